// Package codex reads rollouts, the sessions of Codex CLI.
//
// A rollout is a list of records {timestamp, type, payload}. The history is the response items in order; a record
// "compacted" replaces it, an event "thread_rolled_back" cuts it. A response ends with its token count, which is before
// the outputs of its calls up to 0.130 and after them from 0.139 on. A fork begins with a copy of its parent's records:
// its items are the history, its counts and compactions are the parent's.
//
// Before September 2025 a rollout has no such records: its first line names the session, the others are the items alone.
// Neither the model nor any token count is recorded there.
package codex

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"io"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/foreign"
)

// words.txt lists the words that carry the structure of a session.
//
//go:embed words.txt
var words string

// Form is the form of rollouts.
func Form() foreign.Form {
	const year, two = "[0-9][0-9][0-9][0-9]", "/[0-9][0-9]"
	return foreign.Form{
		Name: "codex", Client: "Codex CLI", Looks: looks, Convert: convert, Words: words,
		Declared: foreign.Declared{
			Reads:     "rollouts, plain, gzip or zstd",
			Exact:     "tokens of each response, the window, compactions with what they kept",
			Estimated: "calls of the server that compact, up to 0.144; what a search found; before September 2025 all token counts",
		},
		Store: foreign.Store{Env: "CODEX_HOME", Home: ".codex", Folder: "sessions", Inside: []string{year, year + two, year + two + two}},
		Tools: foreign.Tools(`
			Bash: exec exec_command shell shell_command local_shell container.exec
			Edit: apply_patch
			Read: view_image read_file
			LS: list_dir
			Grep: grep_files
			TodoWrite: update_plan
			WebSearch: web_search
			Task: spawn_agent
		`),
	}
}

// The types of records.
const (
	recordMeta      = "session_meta"
	recordContext   = "turn_context"
	recordItem      = "response_item"
	recordCompacted = "compacted"
	recordWorld     = "world_state"
	recordEvent     = "event_msg"
	recordAgents    = "inter_agent_communication"          // since 0.14x: what another agent says
	recordTrigger   = "inter_agent_communication_metadata" // next to such an item
	recordParent    = "rollout_reference"                  // of a fork that does not copy its parent
	recordUsage     = "token_usage_record"                 // of a response, also of a compaction's own
)

func looks(v *foreign.Value) bool {
	switch v.Fields["type"] {
	case recordMeta, recordContext, recordItem, recordCompacted, recordWorld, recordEvent:
		return v.Fields["payload"] == "{"
	}
	return v.Fields["record_type"] == "state" || v.Has("id", "timestamp", "instructions") && !v.Has("type") // a rollout without records
}

func convert(in io.Reader, w *foreign.Writer) error {
	c := &converter{Writer: w, calls: map[string]bool{}}
	err := w.Lines(in, c.record)
	c.endCopy()
	c.endResponse(nil)
	c.endCompaction(false)
	if !c.begun {
		c.begin()
	}
	c.endRecord()
	return err
}

// The reasons for which records are set aside.
const (
	asideCopy     = "copied from the parent session"
	asideReplaced = "copied from the parent session, replaced by its compaction"
	asideRepeat   = "repeated token count"
	asideNoUsage  = "token count without usage"
	asideMeta     = "repeated session_meta"
	asideOrphan   = "output without a call"
	asideSummary  = "the response that compacted: the compaction has its summary and tokens"
	asideBroken   = "unreadable payload"
	asideSystem   = "not sent: system message"
	asideGhost    = "not sent: ghost_snapshot"
	asideState    = "metadata: state"
)

// converter reads a rollout record by record.
type converter struct {
	*foreign.Writer
	session   foreign.Session
	named     bool // the first session_meta was read
	old       bool // the lines are items, without records
	unmetered bool // responses have no usage
	begun     bool // the session's own line was written
	model     string
	effort    string
	tier      string // service tier
	limit     int    // bytes of an output that the history keeps
	copied    bool   // the records are the parent's
	forked    string // the parent's id
	copies    []part
	copiedN   int             // records that were copied
	turns     bool            // the copied records name their turns
	copying   time.Time       // of the last copied record; of a rollout without records, of its first line
	calls     map[string]bool // call ids of the history

	answer  []part         // the items of the response in progress
	rest    []part         // what came since the first of them
	output  bool           // rest has an output
	used    *foreign.Usage // of a response that is counted and not written yet: it may be the call of a compaction
	usedID  string         // its id
	billed  *usageRecord   // the last one, of which nothing else is known yet
	n       int            // responses so far
	counted bool           // a token count was read
	total   int            // total_token_usage of the last one
	last    int            // last_token_usage.total_tokens of the last request
	earlier int            // that of the request before it

	history  []entry
	parent   string // uuid of the line before the next one, where that is not the last one
	root     bool   // the next line has no parent
	spoken   bool   // a message or item came since the last turn ended
	before   bool   // spoken, as the response in progress began
	resets   bool   // the model's last item calls for a new context
	compact  *compaction
	compacts int // compactions so far
}

// part is a piece of the history that is not written yet.
type part struct {
	unit foreign.Unit
	line int
	time time.Time
	item item
	used *foreign.Usage // of an end of a response
}

// entry is a message or item of the history.
type entry struct {
	uuid     string
	boundary bool   // a message of a real user
	context  bool   // a message that the client adds
	said     string // what a compaction may retain: role and text
	text     string // of a real user's message
}

// compaction is a record "compacted" that is not written yet.
type compaction struct {
	part
	message     string
	replacement []item         // nil: not recorded
	used        *foreign.Usage // of the call that wrote the summary; nil: not recorded
	request     string         // its id
	pre         int            // tokens of the last request before it
	post        int            // the client's estimate behind it
	own         bool           // nothing was said in its turn before it
	change      bool           // its turn goes on with another model or effort
	called      bool           // the model called for a new context right before it
}

// record reads one record.
func (c *converter) record(u foreign.Unit, e *jsonl.Entry) {
	var r struct{ Payload json.RawMessage }
	err := json.Unmarshal(e.Raw, &r)
	p := part{unit: u, line: e.Line, time: e.Time}
	if err == nil && len(r.Payload) == 0 && c.bare(p, e) {
		return
	}
	if err != nil || len(r.Payload) == 0 || r.Payload[0] != '{' {
		c.broken(u, e.Line, err)
		return
	}
	if e.Part > 0 && !c.copied {
		c.restart(&p)
	}
	if c.copied && c.named {
		c.copy(&p)
	}
	switch e.Type {
	case recordMeta:
		c.meta(p, r.Payload)
	case recordContext:
		c.context(p, r.Payload)
	case recordItem:
		if err := json.Unmarshal(r.Payload, &p.item); err != nil {
			c.broken(u, e.Line, err)
			return
		}
		p.item.name()
		c.said(p)
	case recordAgents:
		if err := p.item.agent(r.Payload); err != nil {
			c.broken(u, e.Line, err)
			return
		}
		c.said(p)
	case recordCompacted:
		c.compacted(p, r.Payload)
	case recordEvent:
		c.event(p, r.Payload)
	case recordUsage:
		c.usageRecord(p, r.Payload)
	case recordWorld, recordTrigger, recordParent, "dynamic_tools_updated", "security_risk_score":
		c.Aside(u, "metadata: "+e.Type)
	case "":
		c.Aside(u, "no type")
	default:
		c.Aside(u, "unknown type: "+e.Type)
	}
}

// bare reads a line of a rollout without records; false: it is none.
func (c *converter) bare(p part, e *jsonl.Entry) bool {
	var head struct {
		ID        string    `json:"id"`
		Timestamp time.Time `json:"timestamp"`
		State     string    `json:"record_type"`
	}
	switch _ = json.Unmarshal(e.Raw, &head); {
	case !c.named && e.Type == "" && head.ID != "" && !head.Timestamp.IsZero():
		c.old = true
		c.unmetered = true
		c.copying = head.Timestamp
		c.meta(p, e.Raw)
	case !c.old:
		return false
	case head.State != "":
		c.Aside(p.unit, asideState)
	case json.Unmarshal(e.Raw, &p.item) != nil || !p.item.known():
		return false
	default:
		if p.time.IsZero() {
			p.time = c.copying
		}
		if !p.item.generated() && p.item.Type == "message" {
			c.endResponse(nil)
		}
		c.said(p)
	}
	return true
}

// said takes an item of the history.
func (c *converter) said(p part) {
	if c.copied {
		c.copies = append(c.copies, p)
		return
	}
	c.item(p)
}

// copyPause is longer than a client takes to copy a record: all records of a copy are stamped as it is written.
const copyPause = time.Second

// copy notes a record of a copy, or ends the copy. Where the parent's turns have no ids, which the own ones could be
// distinguished from, it ends with the first record that is stamped later.
func (c *converter) copy(p *part) {
	if !c.turns && c.copiedN > 0 && p.time.Sub(c.copying) > copyPause {
		c.endCopy()
		return
	}
	c.copiedN += 1
	c.copying = p.time
}

// restart marks that the client was started again before a record that shares its line with another: the process before
// was stopped as it wrote that one, and the new one appended.
func (c *converter) restart(p *part) {
	if !c.begun {
		return
	}
	c.endResponse(nil)
	c.endCompaction(false)
	c.put(p, foreign.Line{Type: "system", Subtype: foreign.SubtypeRestart})
}

func (c *converter) broken(u foreign.Unit, line int, err error) {
	c.Aside(u, asideBroken)
	if err != nil {
		c.Warn(line, "malformed-line", "the payload cannot be read (%s): line set aside", kind(err))
		return
	}
	c.Warn(line, "malformed-line", "a record without a payload: line set aside")
}

// kind is what is wrong, without the text of a decoder's error, which differs between versions of Go.
func kind(err error) string {
	if t, ok := err.(*json.UnmarshalTypeError); ok && t.Field != "" { //nolint:errorlint // json returns it bare
		return t.Field + " is a " + strings.Fields(t.Value)[0]
	}
	return "it has another form"
}

// meta reads the session's identity. Later ones belong to the parent of a fork, or only describe git.
func (c *converter) meta(p part, payload []byte) {
	var m struct {
		ID       string          `json:"id"`
		Forked   string          `json:"forked_from_id"`
		Parent   string          `json:"parent_thread_id"`
		CWD      string          `json:"cwd"`
		Version  string          `json:"cli_version"`
		Provider string          `json:"model_provider"`
		Source   json.RawMessage `json:"source"`
		Git      struct {
			Address string `json:"repository_url"`
		} `json:"git"`
	}
	if err := json.Unmarshal(payload, &m); err != nil {
		c.broken(p.unit, p.line, err)
		return
	}
	switch {
	case !c.named:
		c.named = true
		c.copied = m.Forked != ""
		c.forked = m.Forked
		c.session.ID = m.ID
		c.session.CWD = m.CWD
		c.session.Version = m.Version
		c.session.Provider = m.Provider
		c.session.Parent, c.session.Repository = m.Parent, foreign.Repository(m.Git.Address)
		var s struct {
			Subagent struct {
				Spawn struct {
					Parent string `json:"parent_thread_id"`
				} `json:"thread_spawn"`
			} `json:"subagent"`
		}
		if c.session.Parent == "" && json.Unmarshal(m.Source, &s) == nil {
			c.session.Parent = s.Subagent.Spawn.Parent
		}
	case c.copied || m.ID != c.session.ID:
		c.Aside(p.unit, asideCopy)
	default:
		c.Aside(p.unit, asideMeta)
	}
}

// historyShare is how much of a turn's limit for outputs the history keeps of one, in percent.
const historyShare = 120

// defaultLimit is the limit of a turn that names none, bytes: 10,000 tokens.
const defaultLimit = 40000

// context reads the settings of a turn.
func (c *converter) context(p part, payload []byte) {
	var t struct {
		Model  string `json:"model"`
		Effort string `json:"effort"`
		Tier   string `json:"service_tier"`
		Policy struct {
			Mode  string `json:"mode"`
			Limit int    `json:"limit"`
		} `json:"truncation_policy"`
	}
	if err := json.Unmarshal(payload, &t); err != nil {
		c.broken(p.unit, p.line, err)
		return
	}
	c.endCounted()
	if k := c.compact; k != nil && c.model != "" {
		k.change = t.Model != "" && t.Model != c.model || t.Effort != c.effort
	}
	c.effort = t.Effort
	c.tier = cmp.Or(t.Tier, c.tier)
	if t.Model != "" {
		c.model = t.Model
	}
	c.limit = max(0, min(t.Policy.Limit, 1<<40))
	if t.Policy.Mode == "tokens" {
		c.limit *= 4
	}
	if c.copied {
		c.Aside(p.unit, asideCopy)
	}
}

// kept is how many bytes of an output the history keeps.
func (c *converter) kept() int {
	if c.limit == 0 {
		return defaultLimit * historyShare / 100
	}
	return c.limit * historyShare / 100
}

// begin writes the session's own line, and again where its window changes.
func (c *converter) begin() {
	c.begun = true
	c.Begin(c.session)
}

// put writes a line of a part.
func (c *converter) put(p *part, l foreign.Line) string {
	if !c.begun {
		c.begin()
	}
	if l.Time.IsZero() {
		l.Time = p.time
	}
	if c.root || c.parent != "" {
		l.Root = c.root
		l.Parent = c.parent
		c.root = false
		c.parent = ""
	}
	return c.Put(p.unit, l)
}
