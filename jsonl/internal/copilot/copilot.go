// Package copilot reads the sessions of GitHub Copilot CLI: events.jsonl, one event a line.
//
// Requests are the assistant.message events, those of one call of the API together. Of each older versions record only the
// output tokens; the input is known of the whole run alone, where it was shut down (session.shutdown). What the model got
// of a prompt is its transformedContent. Events with an agentId are a subagent's own conversation.
// From 1.0.102 on (1.0.74 does not have it) session.usage_record has the whole usage of each call.
//
// The results of parallel calls are sent as they came, in 1.0.102 in the order of the calls. A process that resumes the
// session (session.resume) does not read thinking back whose text alone is recorded.
//
// A compaction runs next to the agent: it begins at session.compaction_start and takes effect at
// session.compaction_complete; the messages between them stay.
package copilot

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/foreign"
)

// words.txt lists the words that carry the structure of a session.
//
//go:embed words.txt
var words string

// Form is the form of Copilot CLI's sessions.
func Form() foreign.Form {
	return foreign.Form{
		Name: "copilot", Client: "Copilot CLI", Looks: looks, Convert: convert, Words: words,
		Declared: foreign.Declared{
			Reads:     "`events.jsonl`",
			Exact:     "output of each request, compactions, since 1.0.102 the whole usage",
			Estimated: "the input before 1.0.102; the context after a compaction",
		},
		Store: foreign.Store{Home: ".copilot", Folder: "session-state", Inside: []string{"*"}},
		Tools: foreign.Tools(`
			Read: view
			Bash: bash powershell
			Edit: str_replace edit str_replace_editor apply_patch
			Write: create
			Grep: rg grep
			Glob: glob
			WebFetch: web_fetch fetch
			WebSearch: web_search
			Task: task
		`),
	}
}

func looks(v *foreign.Value) bool {
	switch v.Fields["type"] {
	case "session.start":
		return v.Has("data.copilotVersion") || v.Has("data.producer")
	case "user.message", "assistant.message", "assistant.turn_start", "tool.execution_start", "tool.execution_complete": // the first line is lost
		return v.Has("data", "timestamp")
	}
	return false
}

// event is one line.
type event struct {
	unit foreign.Unit
	line int

	Type      string    `json:"type"`
	ID        string    `json:"id"`
	Timestamp time.Time `json:"timestamp"`
	AgentID   string    `json:"agentId"`
	Data      data      `json:"data"`
}

// data are the fields of all events that are read.
type data struct {
	SessionID string `json:"sessionId"` // session.start
	Version   string `json:"copilotVersion"`
	Format    any    `json:"version"`       // a number
	Selected  string `json:"selectedModel"` // and session.resume
	Context   struct {
		CWD string `json:"cwd"`
	} `json:"context"`

	NewModel string `json:"newModel"` // session.model_change

	Content     json.RawMessage `json:"content"`            // a string in every message
	Transformed *string         `json:"transformedContent"` // user.message
	Source      string          `json:"source"`

	MessageID  string     `json:"messageId"` // assistant.message
	APICallID  string     `json:"apiCallId"`
	RequestID  string     `json:"requestId"`
	Model      string     `json:"model"`
	Reasoning  string     `json:"reasoningText"`
	Opaque     string     `json:"reasoningOpaque"`
	Encrypted  string     `json:"encryptedContent"`
	Output     int        `json:"outputTokens"`
	Calls      []toolCall `json:"toolRequests"`
	ParentCall string     `json:"parentToolCallId"`

	ToolCallID string `json:"toolCallId"` // tool.execution_complete
	Success    *bool  `json:"success"`
	Result     struct {
		Content json.RawMessage `json:"content"`
	} `json:"result"`
	Error struct {
		Message string `json:"message"`
	} `json:"error"`

	SystemTokens int       `json:"systemTokens"` // session.compaction_start, session.shutdown
	ToolTokens   int       `json:"toolDefinitionsTokens"`
	Conversation int       `json:"conversationTokens"`
	PreTokens    int       `json:"preCompactionTokens"` // session.compaction_complete
	PostTokens   int       `json:"postCompactionTokens"`
	Summary      string    `json:"summaryContent"`
	Used         *callUsed `json:"compactionTokensUsed"`

	Usage struct { // session.usage_record, see Form: of one call of the API
		callUsed
		APICallID string `json:"apiCallId"`
		Model     string `json:"model"`
	} `json:"usage"`

	Models map[string]modelMetrics `json:"modelMetrics"` // session.shutdown

	Title string `json:"title"`       // session.title_changed
	UpTo  string `json:"upToEventId"` // session.snapshot_rewind: the first event that was removed
}

type toolCall struct {
	ID        string          `json:"toolCallId"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// agent is the subagent of an event, "" for the main conversation.
func (e *event) agent() string { return cmp.Or(e.AgentID, e.Data.ParentCall) }

// call is the id of the API call of an assistant.message.
func (e *event) call() string { return cmp.Or(e.Data.APICallID, e.Data.RequestID, e.Data.MessageID) }

// text is the content of a message.
func (e *event) text() string {
	var s string
	if json.Unmarshal(e.Data.Content, &s) != nil {
		return string(e.Data.Content) // as it is
	}
	return s
}

// reader converts one session.
type reader struct {
	*foreign.Writer
	events   []*event
	version  string
	model    string
	usage    map[*event]*foreign.Usage // of the responses of which all is known
	reported map[string]*foreign.Usage // by call of the API, as recorded
	answered map[string]bool           // calls of the API with a response
	agents   map[string]*agent
	titled   bool
	before   map[string]string // of the main conversation's events: uuid of the line before each
	rewound  bool              // and nothing came since
	branched bool              // it was rewound at any time
	parent   string            // of the next line, after a rewind; "": it has none
}

// agent is the state of one conversation.
type agent struct {
	working    bool // in a turn
	compacting *event
	auto       bool
	since      []string // uuids of the messages since compacting began
	said       string   // the last message of the user
	calls      []string // of the responses since the last message that is no result
	results    []*event // of calls, which are sent in the order of the calls
}

func convert(in io.Reader, out *foreign.Writer) error {
	r := &reader{Writer: out, agents: map[string]*agent{}, before: map[string]string{}, reported: map[string]*foreign.Usage{}, answered: map[string]bool{}}
	err := out.Lines(in, r.read)
	r.begin()
	runs := runsOf(r.events)
	r.usage = single(runs)
	for _, e := range r.events {
		if e.ID != "" && e.agent() == "" {
			r.before[e.ID] = r.at()
		}
		r.put(e)
		if run := runs[e]; run != nil {
			r.totals(e, run)
		}
	}
	for _, e := range r.events {
		if u := &e.Data.Usage; e.Type == "session.usage_record" && u.recorded() != nil && !r.answered[u.APICallID] {
			r.PutCall(e.unit, foreign.BilledCall{ID: u.APICallID, Kind: "other", Model: u.Model, Time: e.Timestamp, Usage: u.recorded()})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(r.agents)) {
		r.results(r.agents[id])
	}
	if at := r.at(); r.branched && at != "" {
		out.Leaf(at)
	}
	return err
}

func (r *reader) read(u foreign.Unit, raw *jsonl.Entry) {
	e := &event{unit: u, line: raw.Line}
	r.Decode(raw.Raw, e.line, e)
	r.events = append(r.events, e)
}

// begin finds what holds for the whole session.
func (r *reader) begin() {
	var s foreign.Session
	for _, e := range r.events {
		d := &e.Data
		switch e.Type {
		case "session.start":
			if format, ok := d.Format.(float64); ok {
				r.Format(e.line, format, 1)
			}
			s.ID = cmp.Or(s.ID, d.SessionID)
			s.Version = cmp.Or(s.Version, d.Version)
			s.CWD = cmp.Or(s.CWD, d.Context.CWD)
		case "session.usage_record":
			r.reported[d.Usage.APICallID] = d.Usage.recorded()
		case "session.compaction_start", "session.shutdown":
			if n := d.SystemTokens + d.ToolTokens; s.Overhead == 0 && n > 0 && e.agent() == "" {
				s.Overhead = n
			}
		}
	}
	r.version = s.Version
	r.Begin(s)
}

func (r *reader) of(id string) *agent {
	a := r.agents[id]
	if a == nil {
		a = &agent{}
		r.agents[id] = a
	}
	return a
}

// at is the uuid of the line that the main conversation's next one follows.
func (r *reader) at() string {
	if r.rewound {
		return r.parent
	}
	return r.Last()
}

func (r *reader) put(e *event) {
	a := r.of(e.agent())
	d := &e.Data
	switch e.Type {
	case "assistant.turn_start", "assistant.turn_end", "assistant.message", "user.message", "system.notification", "session.resume",
		"session.compaction_start", "session.compaction_complete", "session.shutdown", "session.snapshot_rewind":
		r.results(a)
	}
	switch e.Type {
	case "user.message":
		text := e.text()
		if d.Transformed != nil && *d.Transformed != "" {
			text = *d.Transformed
		}
		if d.Source == "system" && text == a.said {
			r.Aside(e.unit, "the message before, again")
			return
		}
		a.said = text
		r.title(e)
		r.message(e, foreign.Line{Type: "user", Meta: d.Source != "" && e.agent() == ""}, foreign.Text(text))
	case "system.notification":
		r.message(e, foreign.Line{Type: "user", Meta: true}, foreign.Text(e.text()))
	case "assistant.message":
		r.response(e)
	case "tool.execution_complete":
		a.results = append(a.results, e)
	case "session.compaction_start":
		a.compacting = e
		a.auto = a.working
		a.since = nil
	case "session.compaction_complete":
		r.compaction(e)
	case "session.usage_record": // of a response, or of a call of its own, which comes last
		if d.Usage.recorded() == nil {
			r.Aside(e.unit, "metadata: "+e.Type)
		}
	case "session.shutdown":
		if len(d.Models) == 0 {
			r.Aside(e.unit, "metadata: "+e.Type)
		}
	case "session.start", "session.resume":
		r.version = cmp.Or(d.Version, r.version)
		r.model = cmp.Or(d.Selected, r.model)
		if e.Type == "session.resume" {
			r.message(e, foreign.Line{Type: "system", Subtype: foreign.SubtypeResume})
		}
	case "session.title_changed":
		r.Aside(e.unit, "metadata: "+e.Type)
		if d.Title != "" {
			r.Put(-1, foreign.Line{Type: "ai-title", Title: d.Title})
		}
	case "session.snapshot_rewind":
		r.Aside(e.unit, "metadata: "+e.Type)
		r.rewind(d.UpTo)
	case "session.truncation", "session.context_cleared":
		r.Warn(e.line, "unreadable-metadata", "the client removed old messages; which is not recorded, and they stay")
		r.Aside(e.unit, "metadata: "+e.Type)
	case "system.message":
		r.Aside(e.unit, "the system prompt: part of the overhead")
	case "tool.execution_start":
		r.Aside(e.unit, "the start of a tool: its call and its result are used")
	case "":
		r.Aside(e.unit, "no type")
	default:
		if e.Type == "session.model_change" {
			r.model = cmp.Or(d.NewModel, r.model)
		}
		a.working = e.Type == "assistant.turn_start" || a.working && e.Type != "assistant.turn_end"
		r.Aside(e.unit, "metadata: "+e.Type)
	}
}

// results puts the results that came since the last response. Up to 1.0.92 they are sent as they came, in 1.0.102 in the
// order of the calls.
func (r *reader) results(a *agent) {
	if len(a.results) == 0 {
		return
	}
	if foreign.Since(r.version, 1, 0, 102) {
		place := map[string]int{}
		for i, id := range a.calls {
			place[id] = i - len(a.calls) // those without a call come last
		}
		slices.SortStableFunc(a.results, func(x, y *event) int { return place[x.Data.ToolCallID] - place[y.Data.ToolCallID] })
	}
	for _, e := range a.results {
		d := &e.Data
		content := ""
		failed := d.Success != nil && !*d.Success
		if json.Unmarshal(d.Result.Content, &content) != nil {
			content = string(d.Result.Content)
		}
		if failed {
			content = cmp.Or(content, d.Error.Message)
		}
		r.message(e, foreign.Line{Type: "user"}, foreign.Result(d.ToolCallID, content, failed))
	}
	a.calls = nil
	a.results = nil
}

// title makes the first prompt as typed the title: what the model got begins with texts of the client's.
func (r *reader) title(e *event) {
	text := strings.TrimSpace(e.text())
	if r.titled || e.Data.Transformed == nil || e.Data.Source != "" || e.agent() != "" || text == "" {
		return
	}
	r.titled = true
	text, _, _ = strings.Cut(text, "\n")
	r.Put(-1, foreign.Line{Type: "ai-title", Title: strings.ToValidUTF8(text[:min(len(text), maxTitle)], "")})
}

// maxTitle is the longest title that is made of a prompt, bytes.
const maxTitle = 200

// rewind goes back to before an event, if it is in the file: what comes next follows on from there.
func (r *reader) rewind(event string) {
	uuid, ok := r.before[event]
	if !ok {
		return
	}
	r.rewound = true
	r.branched = true
	r.parent = uuid
}

// message puts a line of an event's conversation.
func (r *reader) message(e *event, l foreign.Line, content ...foreign.Block) {
	l.UUID = e.ID
	l.Time = e.Timestamp
	l.Version = r.version
	l.Agent, l.Sidechain = e.agent(), e.agent() != ""
	if l.Message == nil {
		l.Message = &foreign.Message{}
	}
	l.Message.Content = content
	if r.rewound && l.Agent == "" {
		l.Parent = r.parent
		l.Root = r.parent == ""
		r.rewound = false
	}
	a := r.of(l.Agent)
	a.since = append(a.since, r.Put(e.unit, l))
}

func (r *reader) response(e *event) {
	d := &e.Data
	var content []foreign.Block
	if opaque := cmp.Or(d.Opaque, d.Encrypted); d.Reasoning != "" || opaque != "" {
		content = append(content, foreign.Thinking(d.Reasoning, opaque))
	}
	if text := e.text(); text != "" {
		content = append(content, foreign.Text(text))
	}
	for _, c := range d.Calls {
		content = append(content, foreign.Call(c.ID, c.Name, c.Arguments))
		a := r.of(e.agent())
		a.calls = append(a.calls, c.ID)
	}
	r.answered[e.call()] = true
	m := foreign.Response(e.call(), cmp.Or(d.Model, r.model), content, r.usage[e])
	if m.Usage == nil {
		m.Usage = r.reported[e.call()]
	}
	if m.Usage == nil && d.Output > 0 {
		m.Usage = &foreign.Usage{Output: d.Output}
	}
	r.message(e, foreign.Line{Type: "assistant", Message: m, Request: m.ID}, content...)
}

// compaction puts the boundary and the summary of a compaction that has finished.
func (r *reader) compaction(e *event) {
	a := r.of(e.agent())
	d := &e.Data
	start := a.compacting
	a.compacting = nil
	if d.Success != nil && !*d.Success || d.Summary == "" {
		r.Aside(e.unit, "a compaction that failed")
		if start != nil {
			r.Aside(start.unit, "a compaction that failed")
		}
		return
	}
	c := &foreign.Compact{Trigger: "unknown", PreTokens: d.PreTokens, PostTokens: d.PostTokens, Usage: d.Used.recorded(), Request: e.ID}
	if start != nil {
		c.Trigger = "manual"
		if a.auto {
			c.Trigger = "auto"
		}
		s := &start.Data
		c.PreTokens = cmp.Or(c.PreTokens, s.SystemTokens+s.ToolTokens+s.Conversation)
		if len(a.since) > 0 {
			c.Preserved = &foreign.Preserved{UUIDs: a.since}
		}
	} else {
		r.Warn(e.line, "unreadable-metadata", "the start of the compaction is not in the file: what it kept is not known")
	}
	r.message(e, foreign.Line{Type: "system", Subtype: "compact_boundary", Compact: c})
	summary := *e
	summary.ID = "" // the boundary has it
	r.message(&summary, foreign.Line{Type: "user", Summary: true}, foreign.Text(d.Summary))
}
