package measure

import (
	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// GenAI measures a view as the contents of Google's GenAI API: a message is a content, a tool_use a functionCall, a
// tool_result a functionResponse, thinking is left out. Cuts are texts that take the place of results.
type GenAI struct {
	View policy.View
	Cuts map[policy.Target]*policy.Content

	// Plain are tools whose failures are ordinary output, such as a shell's.
	Plain []string
}

// History divides a view into the history, up to the last response, and the message about to be sent. With all the
// whole view is history.
func History(v policy.View, all bool) (history, pending []policy.ItemID) {
	ids := v.IDs()
	end := len(ids)
	for !all && end > 0 && v.Role(ids[end-1]) == session.User {
		end--
	}
	return ids[:end], ids[end:]
}

// ResponseKey is the member of a functionResponse's response that holds a result's text.
func (g GenAI) ResponseKey(raw *session.Block) string {
	if raw.IsError && !Called(g.Plain, g.View.Conversation(), raw) {
		return "error"
	}
	return "output"
}

// part is a block as a view shows it.
type part struct {
	raw  *session.Block  // nil: of a message that a policy made
	with *policy.Content // in its place; nil: it is as recorded
	cut  *policy.Content // in the place of both; nil: it is not cut
}

func (g GenAI) part(t policy.Target) part {
	return part{g.View.Raw(t), g.View.Replacement(t), g.Cuts[t]}
}

func (p *part) kind() jsonl.Kind {
	if p.raw == nil {
		return p.with.Kind
	}
	return p.raw.Kind
}

func (p *part) length() jsonl.Metrics {
	if p.with != nil {
		return p.with.Length
	}
	return p.raw.Whole()
}

// text is the length of a block's text as a JSON string, in UTF-16 units.
func (p *part) text() int {
	n := 0
	switch {
	case p.cut != nil:
		n = p.cut.Length.JSON
	case p.with != nil && p.with.Tokens > 0:
		n = ContentJSON(p.with)
	default:
		n = p.length().JSON
	}
	return max(n, len(`""`))
}

// Response is the length of the JSON of a functionResponse's response, in UTF-16 units.
func (g GenAI) Response(t policy.Target) int {
	p := g.part(t)
	return g.response(&p)
}

func (g GenAI) response(p *part) int {
	key := "output"
	if p.cut == nil && p.with == nil {
		key = g.ResponseKey(p.raw)
	}
	return len(`{"":}`) + len(key) + p.text()
}

// Part is the length of a part's JSON, in UTF-16 units; 0 for a block that is not sent.
func (g GenAI) Part(t policy.Target) int {
	p := g.part(t)
	switch raw, kind := p.raw, p.kind(); {
	case kind == jsonl.KindAttachment && p.length().UTF16 == 0:
		return 0
	case raw == nil, kind == jsonl.KindText, kind == jsonl.KindAttachment:
		return len(`{"text":}`) + p.text()
	case kind == jsonl.KindToolResult:
		return len(`{"functionResponse":{"id":"","name":"","response":}}`) + len(raw.ID) + len(g.View.Conversation().ToolName(raw.ID)) + g.response(&p)
	case kind == jsonl.KindToolUse && p.with == nil:
		return len(`{"functionCall":{"id":"","name":"","args":}}`) + len(raw.ID) + len(raw.Name) + raw.JSON.UTF16
	case kind == jsonl.KindThinking || kind == jsonl.KindRedactedThinking:
		return 0
	default:
		return max(raw.JSON.UTF16, raw.Span.Len)
	}
}

// Item is the length of a content's JSON, in UTF-16 units; 0 for one without parts.
func (g GenAI) Item(id policy.ItemID) int {
	n := 0
	parts := 0
	for t := range policy.Targets(g.View, id) {
		if part := g.Part(t); part > 0 {
			n += part
			parts++
		}
	}
	if parts == 0 {
		return 0
	}
	role := "user"
	if g.View.Role(id) == session.Assistant {
		role = "model"
	}
	return n + len(`{"role":"","parts":[]}`) + len(role) + parts - 1
}

// Lengths are Item of each of the items, and their sum.
func (g GenAI) Lengths(items []policy.ItemID) (lengths []int, sum int) {
	lengths = make([]int, len(items))
	for i, id := range items {
		lengths[i] = g.Item(id)
		sum += lengths[i]
	}
	return lengths, sum
}

// Starts reports of each of the items of a history whether it is a user message that answers no call.
func (g GenAI) Starts(items []policy.ItemID) []bool {
	starts := make([]bool, len(items))
	open := session.OpenCalls{}
	for i, id := range items {
		free := len(open) == 0
		m := g.View.Message(id)
		if m == nil {
			starts[i] = free && g.View.Role(id) == session.User
			continue
		}
		open.Note(m)
		starts[i] = free && m.Class == session.ClassPrompt
	}
	return starts
}

// Split looks for the oldest of a history's items to keep where the newest share of its characters stays: the first
// user message of its own behind the other share. Where there is none, found is false and at is the last such message,
// 0 for none.
func (g GenAI) Split(items []policy.ItemID, share float64) (at int, found bool) {
	lengths, sum := g.Lengths(items)
	target := float64(sum) * (1 - share)
	before := 0
	for i, starts := range g.Starts(items) {
		if starts {
			if float64(before) >= target {
				return i, true
			}
			at = i
		}
		before += lengths[i]
	}
	return at, false
}

// CallsTool reports whether an item calls a tool.
func (g GenAI) CallsTool(id policy.ItemID) bool { return Has(g.View, id, jsonl.KindToolUse) }

// AnswersCall reports whether an item has a tool's result.
func (g GenAI) AnswersCall(id policy.ItemID) bool { return Has(g.View, id, jsonl.KindToolResult) }

// Has reports whether an item has a block that was recorded as one of a kind.
func Has(v policy.View, id policy.ItemID, kind jsonl.Kind) bool {
	for t := range policy.Targets(v, id) {
		if v.Kind(t) == kind {
			return true
		}
	}
	return false
}

// Unsplit remembers a history in which there is nothing to split. Without it a replay of one long turn grows faster than
// its requests (bar in docs/performance.md).
type Unsplit struct {
	noted bool
	seen  Follower
}

// Note notes that there is nothing to split in the history, with the items about to be sent behind it. One of these that
// starts a turn is in the next history: then there is nothing to note.
func (u *Unsplit) Note(v policy.View, pending []policy.ItemID) {
	*u = Unsplit{}
	for _, id := range pending {
		if m := v.Message(id); m == nil || m.Class == session.ClassPrompt {
			return
		}
	}
	u.noted = true
	u.seen.Follow(v)
}

// Still reports whether there is still nothing to split: since Note nothing has left, no prompt has joined, and every
// response called a tool.
func (u *Unsplit) Still(g GenAI) bool {
	if !u.noted {
		return false
	}
	edits, joined, anew := u.seen.Follow(g.View)
	u.noted = !anew
	for _, e := range edits {
		u.noted = u.noted && !e.Moves()
	}
	for _, id := range joined {
		m := g.View.Message(id)
		u.noted = u.noted && m != nil && m.Class != session.ClassPrompt && (m.Role != session.Assistant || g.CallsTool(id))
	}
	return u.noted
}
