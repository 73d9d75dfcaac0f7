package kimi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/foreign"
)

// record is a line.
type record struct {
	header
	Time    float64 `json:"timestamp"` // seconds of the epoch
	Message event   `json:"message"`
}

// event is what the client showed, of the session or of a subagent.
type event struct {
	Type    string  `json:"type"`
	Payload payload `json:"payload"`
}

type payload struct {
	part
	Input    json.RawMessage `json:"user_input"` // TurnBegin, SteerInput: a text or parts
	ID       string          `json:"id"`         // ToolCall
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
	CallID string `json:"tool_call_id"` // ToolResult
	Return struct {
		IsError bool            `json:"is_error"`
		Output  json.RawMessage `json:"output"` // a text or parts
		Message string          `json:"message"`
	} `json:"return_value"`
	Usage     *usage `json:"token_usage"` // StatusUpdate: of a response that is complete
	MessageID string `json:"message_id"`
	Context   int    `json:"context_tokens"`
	Window    int    `json:"max_context_tokens"`
	Agent     string `json:"agent_id"` // SubagentEvent
	Event     *event `json:"event"`
}

// part is a part of a content.
type part struct {
	Type      string `json:"type"`
	Text      string `json:"text"`
	Think     string `json:"think"`
	Encrypted string `json:"encrypted"`
	Image     struct {
		URL string `json:"url"`
	} `json:"image_url"`
}

type usage struct {
	Input  int `json:"input_other"`
	Output int `json:"output"`
	Read   int `json:"input_cache_read"`
	Write  int `json:"input_cache_creation"`
}

// partsOf are the parts of a content, which may be a text.
func partsOf(raw json.RawMessage) (list []part) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []part{{Type: "text", Text: text}}
	}
	_ = json.Unmarshal(raw, &list) // the readable part
	return list
}

// blocks are the blocks of parts.
func blocks(parts []part) (list []foreign.Block) {
	for i := range parts {
		switch p := &parts[i]; {
		case p.Text != "":
			list = append(list, foreign.Text(p.Text))
		case p.Think != "" || p.Encrypted != "":
			list = append(list, foreign.Thinking(p.Think, p.Encrypted))
		case p.Image.URL != "":
			mime, data, _ := strings.Cut(strings.TrimPrefix(p.Image.URL, "data:"), ";base64,")
			list = append(list, foreign.Picture(mime, data))
		}
	}
	return list
}

// reader converts one session.
type reader struct {
	*foreign.Writer
	about     foreign.Session
	summaries []context
	agents    map[string]*agent
	order     []*agent
}

// agent is the session's own agent, "", or a subagent.
type agent struct {
	id     string
	typed  *prompt
	step   *step
	sent   []string // uuids of the lines since the context was cleared
	spoken []string // those of them that are messages of the user and the model
	tokens int      // of the context, as the client counts them
}

// prompt is one that a step has not sent yet.
type prompt struct {
	unit  foreign.Unit
	when  time.Time
	parts []part
}

// step is a response, and the results of its calls.
type step struct {
	units   []foreign.Unit
	said    []foreign.Block
	results map[string]result // by the call's id
	done    bool              // the response is complete
	when    time.Time
	id      string
	usage   *usage
}

type result struct {
	unit  foreign.Unit
	when  time.Time
	block foreign.Block
}

func convert(in io.Reader, out *foreign.Writer) error {
	r := &reader{Writer: out, agents: map[string]*agent{}}
	err := out.Lines(in, func(u foreign.Unit, e *jsonl.Entry) {
		rec := record{}
		out.Decode(e.Raw, e.Line, &rec)
		if len(r.agents) == 0 {
			r.about = foreign.Session{ID: rec.ID, CWD: rec.CWD}
			r.summaries = rec.Summaries
			out.Begin(r.about)
		}
		main := r.agent("")
		if rec.Type != "metadata" {
			r.event(u, main, foreign.Millis(rec.Time*1000), &rec.Message)
		} else if foreign.Since(rec.Version, 1, minorRead+1) {
			out.Warn(e.Line, "unreadable-metadata", "version %s of the format is newer than what is read, 1.%d: what is new in it is left out", rec.Version, minorRead)
		}
	})
	for _, a := range r.order {
		r.end(a)
	}
	return err
}

// agent is the agent with an id.
func (r *reader) agent(id string) *agent {
	a := r.agents[id]
	if a == nil {
		a = &agent{id: id}
		r.agents[id] = a
		r.order = append(r.order, a)
	}
	return a
}

// put puts a line of an agent.
func (r *reader) put(u foreign.Unit, a *agent, when time.Time, l foreign.Line) string {
	l.Agent = a.id
	l.Sidechain = a.id != ""
	l.Time = when
	l.Root = len(a.sent) == 0 && a.id != ""
	uuid := r.Put(u, l)
	a.sent = append(a.sent, uuid)
	return uuid
}

// event reads one event of an agent.
func (r *reader) event(u foreign.Unit, a *agent, when time.Time, e *event) {
	p := &e.Payload
	switch e.Type {
	case "SubagentEvent":
		if p.Event != nil && p.Agent != "" {
			r.event(u, r.agent(p.Agent), when, p.Event)
			return
		}
		r.Aside(u, "an event of an unknown subagent")
	case "TurnBegin":
		r.end(a)
		a.typed = &prompt{u, when, partsOf(p.Input)}
	case "SteerInput": // sent with the next step
		r.finish(a)
		r.spoken(a, r.put(u, a, when, foreign.Line{Type: "user", Turn: foreign.TurnQueued, Message: foreign.Said(blocks(partsOf(p.Input))...)}))
	case "StepBegin":
		r.finish(a)
		if a.typed != nil {
			r.spoken(a, r.put(a.typed.unit, a, a.typed.when, foreign.Line{Type: "user", Message: foreign.Said(blocks(a.typed.parts)...)}))
			a.typed = nil
		}
		a.step = &step{units: []foreign.Unit{u}, results: map[string]result{}}
	case "TurnEnd":
		r.end(a)
	case "CompactionEnd":
		r.compaction(u, a, when)
	case "StatusUpdate":
		a.tokens = cmp.Or(p.Context, a.tokens)
		if a.id == "" && p.Window > 0 && p.Window != r.about.Window {
			r.about.Window = p.Window
			r.Begin(r.about)
		}
		if s := a.step; s != nil && (p.Usage != nil || p.MessageID != "") {
			s.usage = p.Usage
			s.id = p.MessageID
			s.when = when
			s.done = true
		}
	case "ContentPart", "ToolCall":
		s := a.step
		if s == nil || s.done {
			r.Aside(u, "not sent: said by a command")
			return
		}
		s.units = append(s.units, u)
		if e.Type == "ToolCall" {
			s.said = append(s.said, foreign.Call(p.ID, p.Function.Name, []byte(p.Function.Arguments)))
		} else {
			s.said = append(s.said, blocks([]part{p.part})...)
		}
	case "ToolResult":
		if a.step == nil {
			r.Aside(u, "a result without its call")
			return
		}
		a.step.units = append(a.step.units, u)
		a.step.results[p.CallID] = result{u, when, p.result()}
	case "StepRetry": // what the response had said is asked for again
		r.drop(a, "a response that failed")
		a.step = &step{units: []foreign.Unit{u}, results: map[string]result{}}
	case "StepInterrupted":
		r.drop(a, "interrupted")
	default:
		r.Aside(u, "not sent: "+cmp.Or(e.Type, "without type"))
	}
}

// result is the block of a result: the client puts its message in front of the output.
func (p *payload) result() foreign.Block {
	note := p.Return.Message
	if p.Return.IsError {
		note = "ERROR: " + note
	}
	var list []foreign.Block
	if note != "" {
		list = append(list, foreign.Text("<system>"+note+"</system>"))
	}
	return foreign.Result(p.CallID, append(list, blocks(partsOf(p.Return.Output))...), p.Return.IsError)
}

// spoken notes a message of the user or the model.
func (r *reader) spoken(a *agent, uuid string) { a.spoken = append(a.spoken, uuid) }

// finish puts the response and the results of the step that ends.
func (r *reader) finish(a *agent) {
	s := a.step
	if s == nil || !s.done {
		r.drop(a, "interrupted")
		return
	}
	a.step = nil
	msg := foreign.Response(cmp.Or(s.id, fmt.Sprintf("step-%d", s.units[0])), "", s.said, s.usage.recorded())
	r.spoken(a, r.put(s.units[0], a, s.when, foreign.Line{Type: "assistant", Request: s.id, Message: msg}))
	for _, b := range s.said {
		if got, ok := s.results[b.ID]; ok && b.Type == "tool_use" {
			delete(s.results, b.ID)
			r.put(got.unit, a, got.when, foreign.Line{Type: "user", Message: foreign.Said(got.block)})
		}
	}
	for _, got := range s.results {
		r.Aside(got.unit, "a result without its call")
	}
}

// drop leaves out a step that ended otherwise: the client sends nothing of it again. A response that was complete is billed.
func (r *reader) drop(a *agent, why string) {
	s := a.step
	a.step = nil
	if s == nil {
		return
	}
	for i, u := range s.units {
		if i == 0 && s.done {
			r.PutCall(u, foreign.BilledCall{ID: s.id, Kind: "other", Time: s.when, Usage: s.usage.recorded()})
		} else {
			r.Aside(u, why)
		}
	}
}

// end ends a turn. A prompt that no step has sent is a command.
func (r *reader) end(a *agent) {
	r.finish(a)
	if a.typed == nil {
		return
	}
	if a.command("/clear") || a.command("/reset") {
		r.Put(a.typed.unit, foreign.Line{Type: "system", Subtype: "client_clear", Agent: a.id, Sidechain: a.id != "", Time: a.typed.when, Removed: a.sent})
		a.sent = nil
		a.spoken = nil
	} else {
		r.Aside(a.typed.unit, "not sent: a command")
	}
	a.typed = nil
}

// command reports whether the prompt that is not sent yet is a command.
func (a *agent) command(name string) bool {
	return a.typed != nil && len(a.typed.parts) > 0 && strings.HasPrefix(strings.TrimSpace(a.typed.parts[0].Text)+" ", name+" ")
}

// kept is how many messages of the user and the model a compaction keeps, with the results between and behind them.
const kept = 2

// compaction puts a compaction. With no more messages than it keeps the client makes none.
func (r *reader) compaction(u foreign.Unit, a *agent, when time.Time) {
	if len(a.spoken) <= kept {
		r.Aside(u, "a compaction of nothing")
		return
	}
	c := &foreign.Compact{Trigger: "auto", PreTokens: a.tokens}
	if a.command("/compact") {
		c.Trigger = "manual"
	}
	last := a.spoken[len(a.spoken)-kept:]
	c.Range = &foreign.KeptRange{Head: last[0], Tail: a.sent[len(a.sent)-1]}
	r.put(u, a, when, foreign.Line{Type: "system", Subtype: "compact_boundary", Compact: c})
	summary := []foreign.Block{}
	if a.id == "" && len(r.summaries) > 0 {
		summary = blocks(partsOf(r.summaries[0].Content))
		r.summaries = r.summaries[1:]
	}
	uuid := r.put(u, a, when, foreign.Line{Type: "user", Summary: true, Message: foreign.Said(summary...)})
	a.spoken = append([]string{uuid}, last...)
}

func (u *usage) recorded() *foreign.Usage {
	if u == nil {
		return nil
	}
	return &foreign.Usage{Input: u.Input, CacheRead: u.Read, CacheWrite: u.Write, Output: u.Output}
}
