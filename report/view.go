package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/diff"
	"github.com/ctxkit/ctxkit/replay/wire"
)

// NamedView is one view of a conversation at one request.
type NamedView struct {
	Conv     *session.Conversation
	As       string // raw, model, payload, scrollback
	Policy   string
	Chosen   string       // why a product's bare name means the policy for the session
	Truth    policy.Truth // of the policy
	Request  int          // n of the main request; one more than there are: the end of the file
	Overhead int          // tokens
	System   int          // of these: system prompt and tools; the others are not in the file
	View     *view.View
	Body     *wire.Body
	Record   *OnRecord   // of a payload, where the file holds requests
	Marks    []diff.Mark // of scrollback: where something was compacted or the client restarted

	Own     *replay.OwnRequest // of summary-request
	Classes []diff.Classed     // of tool results, where they are to be shown
}

// viewPages prints a view for people, one message after another.
type viewPages struct {
	*page
	v       *NamedView
	history *diff.History
	n       int // the messages printed
	marks   []diff.Mark
}

// PrintView prints a view.
func PrintView(w io.Writer, v *NamedView, opt Layout) error {
	if opt.Format == FormatJSON {
		return viewJSON(w, v)
	}
	p := &viewPages{page: newPage(w, opt), v: v, history: diff.NewHistory(v.View), marks: v.Marks}
	p.head()
	if v.Record != nil && v.Record.Body != nil {
		if err := p.frame(v.Record.Body); err != nil {
			return err
		}
		if !v.Record.Edited {
			if err := p.recorded(v.Record.Body); err != nil {
				return err
			}
			return p.end()
		}
	}
	for _, msg := range v.Body.Messages {
		for rest := msg.Blocks; len(rest) > 0; {
			own := slices.IndexFunc(rest, func(b wire.BodyBlock) bool { return b.Source.Item != rest[0].Source.Item })
			own = either(own < 0, len(rest), own)
			p.message(msg.Role, rest[:own])
			rest = rest[own:]
			if err := p.flush(); err != nil {
				return err
			}
		}
	}
	p.markers(policy.ItemID(len(v.Conv.Messages)))
	return p.end()
}

func (p *viewPages) head() {
	v := p.v
	p.heading(sessionTitle(v.Conv.SessionID, v.Conv.Agent) + ": " + v.As + " view")
	of := len(v.Conv.Requests)
	at := phrase("before request %v of %v", v.Request, of)
	if v.Request > of {
		at = "at the end of the file, after " + count(of, "request")
	}
	tokens := either(v.As == "payload", v.View.PayloadTokens, v.View.Tokens)()
	if v.Own != nil {
		p.ownHead(at)
		return
	}
	p.fields(field{"file", v.Conv.Path}, field{"at", at}, field{"policy", markedName(v.Policy, v.Truth) + before(": ", v.Chosen)},
		field{"request", cmp.Or(v.Record.text(), heldText(v.Conv.Lines.Recorded, ""))}, field{"restart", v.restart()}, field{"tokens", phrase("%v, and %v of system prompt and tools", tokens, v.System) + phraseIf(v.Overhead != v.System, ", %v not in the file", v.Overhead-v.System)},
		field{"server", editsText(v.Body.Edits)})
}

// restart says what shows that the client was started again before the request; "" if it was not.
func (v *NamedView) restart() string {
	for _, r := range v.Conv.Restarts {
		if r.Request == v.Request {
			return "the client was started again before this request: " + string(r.Sign)
		}
	}
	return ""
}

// ownHead is the head of a request of the policy's own.
func (p *viewPages) ownHead(at string) {
	v, q := p.v, p.v.Own
	over := ""
	system := q.System
	if q.Overhead > 0 {
		over = ", " + thousands(q.Overhead) + " of them overhead"
		system = "the session's, with its tools: no transcript holds them"
	}
	p.fields(field{"file", v.Conv.Path}, field{"at", at}, field{"policy", v.Policy + before(": ", v.Chosen)},
		field{"call", phrase("%v of event %v, by %v%v", q.Call.Kind, q.Event, q.Stage, either(q.Refused, "; it is refused", ""))},
		field{"tokens", phrase("%v counted by the call%v; %v retried", q.Call.Input, over, count(q.Call.Retries, "request"))},
		field{"system", system}, field{"unknown", q.Unknown})
}

// message prints one message of the view: the blocks of one item.
func (p *viewPages) message(role session.Role, blocks []wire.BodyBlock) {
	id := blocks[0].Source.Item
	p.markers(id)
	p.n++
	p.line("")
	p.title(bold, "", fmt.Sprintf("── %d  %s", p.n, p.about(id, role, blocks)))
	shown := blocks
	if !p.Full && len(blocks) > mostBlocks {
		shown = blocks[:mostBlocks]
	}
	for i := range shown {
		p.block(&shown[i], len(blocks))
	}
	p.folded("   ", len(blocks)-len(shown), "block", 0)
	if e := p.history.Tagged[id]; e != nil {
		p.title(cyan, "   ", "tagged by "+editPlace(e)+reasonText(e))
	}
}

// about describes a message: what it is, where it comes from and its tokens.
func (p *viewPages) about(id policy.ItemID, role session.Role, blocks []wire.BodyBlock) string {
	tokens := either(p.v.As == "payload", p.v.View.PayloadWeight, p.v.View.Weight)(id)
	parts := []string{role.String()}
	s := p.v.View.Synthetic(id)
	if s == nil && !slices.ContainsFunc(blocks, func(b wire.BodyBlock) bool { return b.Source.Block != wire.Whole }) {
		return joined("  ", role.String(), "words of the client")
	}
	if s != nil {
		label := s.Label
		if e := p.history.Made[id]; e != nil {
			label += ", made by " + actor(e.Stage)
		}
		parts = append(parts, label)
	} else {
		parts = append(parts, aboutMessage(p.v.View.Message(id), p.Zone)...)
	}
	return joined("  ", append(parts, thousands(tokens)+" tokens")...)
}

// aboutMessage describes a recorded message: what it is, its line and its time.
func aboutMessage(m *session.Message, zone *time.Location) []string {
	what := ""
	switch {
	case m.Lost:
		what = "lost result"
	case m.Is(session.Earlier):
		what = "earlier history"
	case m.Class == session.ClassAttachment:
		what = "attachment " + m.Attachment
	case m.Class == session.ClassToolResult:
		what = "result"
	case m.Class != session.ClassResponse:
		what = m.Class.String()
	}
	return []string{what, fmt.Sprintf("line %d", m.Line), timeText(m.Time, "01-02 15:04:05", zone)}
}

// block prints one of n blocks: what it is, the edits of it, its first lines.
func (p *viewPages) block(b *wire.BodyBlock, n int) {
	c := readContent(b.JSON, p.v.Conv.ToolName)
	p.title(cyan, "   ", c.title+either(b.CacheControl != nil, " [cache breakpoint]", "")+p.v.classText(b.Source))
	if b.Source.Block >= 0 {
		if e := p.history.Changed[b.Source]; e != nil {
			p.title(yellow, "     ", changedText(e))
		}
		if e := p.history.Server[b.Source]; e != nil && p.v.As == "payload" {
			p.title(yellow, "     ", "on the server: "+changedText(e))
		}
	}
	p.text(none, "     ", "", c.text, n)
}

// classText is the class of a tool result, behind its title.
func (v *NamedView) classText(t policy.Target) string {
	i := slices.IndexFunc(v.Classes, func(c diff.Classed) bool { return c.Target == t })
	if i < 0 {
		return ""
	}
	c := &v.Classes[i]
	return phrase(" [%v%v]", c.Class, phraseIf(c.Stage != "", ", %v", c.Stage))
}

// markers prints the marks before an item.
func (p *viewPages) markers(id policy.ItemID) {
	for len(p.marks) > 0 && (policy.ItemID(p.marks[0].Before) <= id) {
		m := p.marks[0]
		p.marks = p.marks[1:]
		p.line("")
		p.title(yellow, "", "══ "+markText(&m))
	}
}

func markText(m *diff.Mark) string {
	if m.Kind == policy.KindRestart {
		return phrase("%v %v, %v: %v", m.Kind, place("before", m.Request),
			either(m.Edits > 0, phrase("%v not read back", count(m.TokensBefore-m.TokensAfter, "token")), "all was read back"), m.Reason)
	}
	blocks := m.Kind != policy.KindSummarize && m.Kind != policy.KindCollapse
	return phrase("%v by %v %v, %v%v to %v tokens: %v%v", kindText(m.Kind), actor(m.Stage), place("before", m.Request),
		phraseIf(blocks, "%v, ", count(m.Edits, "block")), m.TokensBefore, m.TokensAfter, m.Reason,
		phraseIf(m.Head != "", "; verbatim behind it: %v to %v", m.Head, m.Tail))
}

// kindText returns the participle for a kind of edit.
func kindText(k policy.EditKind) string {
	return cmp.Or(map[policy.EditKind]string{
		policy.KindClear: "cleared", policy.KindServerClear: "cleared", policy.KindPersist: "persisted", policy.KindTruncate: "truncated",
		policy.KindRemove: "removed", policy.KindCollapse: "collapsed", policy.KindSummarize: "summarised", policy.KindAttach: "added",
		policy.KindCacheEdit: "deleted from the cache", policy.KindTag: "tagged", policy.KindWrap: "wrapped",
	}[k], string(k))
}

// changedText describes an edit of a block and its reason.
func changedText(e *policy.Edit) string {
	return phrase("%v by %v, %v to %v tokens%v", kindText(e.Kind), editPlace(e), e.Before, e.After, reasonText(e))
}

// editPlace is the stage and the request of an edit.
func editPlace(e *policy.Edit) string { return actor(e.Stage) + " " + place("at", e.Request) }

// actor is who made an edit: a stage, or on the recorded track the client.
func actor(stage string) string { return either(stage == "recorded", "the client", stage) }

// place is "at request 3", or "at the end" for request 0.
func place(preposition string, request int) string {
	return either(request > 0, phrase("%v request %v", preposition, request), "at the end")
}

func reasonText(e *policy.Edit) string { return before(": ", e.Reason) }

// viewJSON prints a view as a request body, the scrollback with its marks.
func viewJSON(w io.Writer, v *NamedView) error {
	body, err := v.Body.Append(nil)
	if v.Record != nil && v.Record.Body != nil {
		body = v.Record.Body.Append(nil)
	}
	if err != nil {
		return err
	}
	if v.As == "scrollback" {
		if body, err = appendMember(body, "marks", placed(v)); err != nil {
			return err
		}
	}
	if v.Classes != nil {
		if body, err = appendMember(body, "results", classed(v)); err != nil {
			return err
		}
	}
	_, err = w.Write(escapeJSON(body))
	return err
}

// appendMember adds a member to the JSON of a body.
func appendMember(body []byte, name string, value any) ([]byte, error) {
	text, err := json.Marshal(value)
	body = append(bytes.TrimSuffix(body, []byte("}\n")), ",\n\""+name+"\":"...)
	return append(append(body, text...), "\n}\n"...), err
}

// classedResult is the class of a tool result with its place in the body.
type classedResult struct {
	Message int              `json:"message"`
	Block   int              `json:"block"`
	ToolUse string           `json:"tool_use_id"`
	Class   diff.ResultClass `json:"class"`
	Stage   string           `json:"stage,omitempty"`
}

func classed(v *NamedView) []classedResult {
	list := []classedResult{}
	at := map[policy.Target]*diff.Classed{}
	for i := range v.Classes {
		at[v.Classes[i].Target] = &v.Classes[i]
	}
	for m := range v.Body.Messages {
		for b, block := range v.Body.Messages[m].Blocks {
			if c := at[block.Source]; c != nil {
				list = append(list, classedResult{m, b, block.ToolUse, c.Class, c.Stage})
			}
		}
	}
	return list
}

// placedMark is a mark with its place in the body: before block Block of message Message. At the end of the body
// Message is the number of messages.
type placedMark struct {
	Message int `json:"message"`
	Block   int `json:"block"`
	diff.Mark
}

func placed(v *NamedView) []placedMark {
	list := []placedMark{}
	message := 0
	block := 0
	for _, m := range v.Marks {
		for ; message < len(v.Body.Messages); message, block = message+1, 0 {
			blocks := v.Body.Messages[message].Blocks
			for block < len(blocks) && int(blocks[block].Source.Item) < m.Before {
				block++
			}
			if block < len(blocks) {
				break
			}
		}
		list = append(list, placedMark{message, block, m})
	}
	return list
}

// editsText returns the server's edits as JSON, "" if there are none.
func editsText(edits []any) string {
	js, err := json.Marshal(edits)
	if err != nil {
		return err.Error()
	}
	return either(len(edits) > 0, string(js), "")
}
