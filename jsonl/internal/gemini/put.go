package gemini

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/foreign"
)

func (r *reader) put(m *message) {
	switch m.Type {
	case "user":
		r.user(m)
	case "gemini":
		r.response(m)
	case compression:
		r.compressed(m)
	case resumed: // the file holds results twice, with their calls and as messages; a resume reads both
		r.Put(m.unit, foreign.Line{Type: "system", Subtype: foreign.SubtypeRepeat, Time: m.Timestamp})
	case "":
		r.Aside(m.unit, "no type")
	default:
		r.Aside(m.unit, "not sent: "+m.Type)
	}
}

// line puts a line of a message.
func (r *reader) line(m *message, l foreign.Line) {
	l.Time = m.Timestamp
	uuid := r.Put(m.unit, l)
	r.uuids[m.ID] = append(r.uuids[m.ID], uuid)
}

// compressed puts the boundary and the summary of a compression. Who asked for it is not recorded, nor its request.
func (r *reader) compressed(m *message) {
	c := &foreign.Compact{Trigger: "unknown"}
	var kept []string
	for _, id := range m.kept {
		kept = append(kept, r.uuids[id]...)
	}
	if len(kept) > 0 {
		c.Preserved = &foreign.Preserved{UUIDs: kept}
	}
	r.open = ""
	r.Put(m.unit, foreign.Line{Type: "system", Subtype: "compact_boundary", Time: m.Timestamp, Compact: c})
	r.Put(m.unit, foreign.Line{Type: "user", Summary: true, Time: m.Timestamp, Message: foreign.Said(foreign.Text(m.summary))})
}

func (r *reader) user(m *message) {
	var content []foreign.Block
	list := parts(m.Content)
	results := slices.ContainsFunc(list, func(p part) bool { return p.Response != nil }) // the calls hold them, too, with their pictures
	for _, p := range list {
		switch {
		case p.Response != nil, results && p.Inline != nil:
		case p.Inline != nil:
			content = append(content, p.picture())
		case p.Text != "":
			content = append(content, foreign.Text(p.Text))
		}
	}
	if len(content) == 0 {
		reason := "a message without content"
		if results {
			reason = "results that the calls hold"
		}
		r.Aside(m.unit, reason)
		return
	}
	r.open = ""
	r.line(m, foreign.Line{Type: "user", UUID: m.ID, Message: foreign.Said(content...)})
}

// picture is the block of a part that holds a file.
func (p *part) picture() foreign.Block {
	return foreign.Picture(p.Inline.MIME, p.Inline.Data)
}

// response puts a message of the model, and the results of its calls behind it.
func (r *reader) response(m *message) {
	var content []foreign.Block
	for _, p := range parts(m.Content) {
		if p.Text != "" && !p.Thought { // thoughts are not sent again
			content = append(content, foreign.Text(p.Text))
		}
	}
	for _, c := range m.Calls {
		content = append(content, foreign.Call(c.ID, c.Name, c.Args))
	}
	usage := m.Tokens.recorded()
	if usage == nil && len(content) == 0 {
		r.Aside(m.unit, "a message without content")
		return
	}
	l := foreign.Line{Type: "assistant", UUID: m.ID}
	l.Message = foreign.Response(m.ID, m.Model, content, usage)
	if usage == nil && r.open != "" {
		l.Message.ID = r.open
	}
	r.open = l.Message.ID
	l.Request = l.Message.ID
	r.line(m, l)
	for i := range m.Calls {
		c := &m.Calls[i]
		if content, beside, ok := result(c); ok {
			failed := c.Status == "error" || c.Status == "cancelled"
			r.line(m, foreign.Line{Type: "user", Message: foreign.Said(append([]foreign.Block{foreign.Result(c.ID, content, failed)}, beside...)...)})
		}
	}
}

// result is the content of a call's result, a text or blocks where it has pictures, and the content sent next to it; false:
// there is none.
func result(c *toolCall) (content any, beside []foreign.Block, ok bool) {
	var out []string
	var pictures []foreign.Block
	for _, p := range parts(c.Result) {
		switch {
		case p.Response != nil && (p.Response.ID == "" || p.Response.ID == c.ID):
			var text struct {
				Output *string `json:"output"`
				Error  *string `json:"error"`
			}
			_ = json.Unmarshal(p.Response.Response, &text)
			switch {
			case text.Output != nil:
				out = append(out, *text.Output)
			case text.Error != nil:
				out = append(out, *text.Error)
			default:
				out = append(out, string(p.Response.Response))
			}
			for _, within := range parts(p.Response.Parts) {
				if within.Inline != nil {
					pictures = append(pictures, within.picture())
				}
			}
		case p.Inline != nil:
			beside = append(beside, p.picture())
		case p.Text != "":
			out = append(out, p.Text)
		}
	}
	text := strings.Join(out, "\n")
	if len(pictures) > 0 {
		return append([]foreign.Block{foreign.Text(text)}, pictures...), beside, true
	}
	return text, beside, len(out)+len(beside) > 0
}
