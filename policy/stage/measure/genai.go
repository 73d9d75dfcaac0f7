package measure

import (
	"slices"

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
	return HistoryIn(nil, v, all)
}

// HistoryIn is History in the memory of a list, if that is enough.
func HistoryIn(room []policy.ItemID, v policy.View, all bool) (history, pending []policy.ItemID) {
	ids := slices.Grow(room[:0], v.Len())
	for id := range v.Items {
		ids = append(ids, id)
	}
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
		return len(`{"functionResponse":{"id":"","name":"","response":}}`) + len(raw.ID) + len(g.View.Conversation().Tool(raw)) + g.response(&p)
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
	n, parts := 0, 0
	for b := range g.View.Blocks(id) {
		if part := g.Part(policy.Target{Item: id, Block: b}); part > 0 {
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

// Turns follows the calls of a history from its first item on.
type Turns struct{ open session.OpenCalls }

// Free reports whether every call so far is answered.
func (s *Turns) Free() bool { return len(s.open) == 0 }

// Starts reports whether the next item is a user message that answers no call.
func (s *Turns) Starts(v policy.View, id policy.ItemID) bool {
	free, m := s.Free(), v.Message(id)
	if m == nil {
		return free && v.Role(id) == session.User
	}
	s.open.Note(m)
	return free && m.Class == session.ClassPrompt
}

// Starts is Turns.Starts of each of the items.
func (g GenAI) Starts(items []policy.ItemID) []bool {
	starts, turns := make([]bool, len(items)), Turns{}
	for i, id := range items {
		starts[i] = turns.Starts(g.View, id)
	}
	return starts
}

// Split is Split of items.
func (g GenAI) Split(items []policy.ItemID, share float64) (at int, found bool) {
	lengths, sum := g.Lengths(items)
	starts := g.Starts(items)
	return Split(len(items), sum, share, func(i int) (int, bool) { return lengths[i], starts[i] })
}

// Split looks for the oldest of n items to keep where the newest share of the items' characters stays: the first user
// message of its own behind the other share. Where there is none, found is false and at is the last such message, 0
// for none. of is the length of an item, and whether it is such a message; sum is that of the lengths.
func Split(n, sum int, share float64, of func(i int) (length int, starts bool)) (at int, found bool) {
	target, before := float64(sum)*(1-share), 0
	for i := range n {
		length, starts := of(i)
		if starts {
			if float64(before) >= target {
				return i, true
			}
			at = i
		}
		before += length
	}
	return at, false
}

// CallsTool reports whether an item calls a tool.
func (g GenAI) CallsTool(id policy.ItemID) bool { return g.has(id, jsonl.KindToolUse) }

// AnswersCall reports whether an item has a tool's result.
func (g GenAI) AnswersCall(id policy.ItemID) bool { return g.has(id, jsonl.KindToolResult) }

func (g GenAI) has(id policy.ItemID, kind jsonl.Kind) bool {
	for b := range g.View.Blocks(id) {
		if g.View.Kind(policy.Target{Item: id, Block: b}) == kind {
			return true
		}
	}
	return false
}

// Unsplit remembers a history in which there is nothing to split.
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
	for _, e := range edits.All() {
		u.noted = u.noted && !e.Moves()
	}
	for _, id := range joined {
		m := g.View.Message(id)
		u.noted = u.noted && m != nil && m.Class != session.ClassPrompt && (m.Role != session.Assistant || g.CallsTool(id))
	}
	return u.noted
}
