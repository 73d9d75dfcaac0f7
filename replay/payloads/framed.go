package payloads

import (
	"encoding/json"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/requests"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/wire"
)

// Framed writes the edits of a policy into a request on record. rebuilt is the request as it is rebuilt from the
// recorded session, and other as it is under the policy; what differs between the two is the policy's. All else is as it
// was sent: parameters, system prompt, tools, roles, message boundaries, and the client's words that are on no line,
// which stay where the block next to them does. It changes both sent and other.
func Framed(sent *requests.SentBody, rebuilt, other *wire.Body) {
	f := newFraming(sent, rebuilt)
	for m := range other.Messages {
		for b := range other.Messages[m].Blocks {
			f.add(&other.Messages[m], m, b)
		}
	}
	other.Messages, sent.Messages = f.out, f.messages()
	set := func(name string, differs bool, value any) {
		if text, err := json.Marshal(value); differs && err == nil {
			sent.Params = slices.DeleteFunc(sent.Params, func(p requests.Param) bool { return p.Name == name })
			sent.Params = append(sent.Params, requests.Param{Name: name, Value: text})
		}
	}
	set("model", other.Model != rebuilt.Model, other.Model)
	set("max_tokens", other.MaxTokens != rebuilt.MaxTokens, other.MaxTokens)
	set("context_management", len(other.Edits) > 0, map[string]any{"edits": other.Edits})
	set("cache_control", other.Automatic && !rebuilt.Automatic, wire.CacheControl{Type: "ephemeral", TTL: other.TTL})
}

// framing is a request under construction.
type framing struct {
	sent []sentBlock
	ours []wire.BodyBlock // rebuilt
	of   []int            // of ours: the block that was sent for it, -1: none
	// Of ours: blocks that were sent for none of them, and stand before or behind it.
	before, behind map[int][]int
	same           map[identity][]int      // of ours, not yet found under the policy
	changed        map[policy.Target][]int // likewise

	out  []wire.BodyMessage
	last origin // of the last block of out
}

// sentBlock is a block of the request on record.
type sentBlock struct {
	*requests.Block
	role    session.Role
	kind    string
	message int
}

// identity is that of a block whose content no edit changed.
type identity struct {
	source policy.Target
	json   string
}

func identityOf(b *wire.BodyBlock) identity {
	source := b.Source
	if source.Block == wire.Whole { // it stands next to any item
		source.Item = 0
	}
	return identity{source, string(b.JSON)}
}

// origin is the message of a block: under the policy, and in the request on record, -1 where it is not of that.
type origin struct{ other, sent int }

func newFraming(sent *requests.SentBody, rebuilt *wire.Body) *framing {
	f := &framing{before: map[int][]int{}, behind: map[int][]int{}, same: map[identity][]int{}, changed: map[policy.Target][]int{}}
	for m := range sent.Messages {
		for b := range sent.Messages[m].Blocks {
			f.sent = append(f.sent, sentBlock{Block: &sent.Messages[m].Blocks[b], role: roleOf(sent.Messages[m].Role), message: m})
		}
	}
	blocks := &reader{}
	want := blocks.recorded(sent)
	for i := range want {
		f.sent[i].kind = want[i].Kind
	}
	for m := range rebuilt.Messages {
		f.ours = append(f.ours, rebuilt.Messages[m].Blocks...)
	}
	for r := range f.ours {
		b := &f.ours[r]
		f.same[identityOf(b)] = append(f.same[identityOf(b)], r)
		if b.Source.Block != wire.Whole {
			f.changed[b.Source] = append(f.changed[b.Source], r)
		}
	}
	at := paired(want, blocks.rebuilt(rebuilt, nil))
	f.of = slices.Repeat([]int{-1}, len(f.ours))
	for t, r := range at {
		if r >= 0 {
			f.of[r] = t
		}
	}
	f.settle(at)
	return f
}

// settle finds the place of the blocks that were sent for none of ours: behind the one before in their message, or before
// the next; a message of such alone is behind the last one before it.
func (f *framing) settle(at []int) {
	before := -1 // of the blocks of ours that were sent
	for t := 0; t < len(at); t++ {
		if at[t] >= 0 {
			before = at[t]
			continue
		}
		end := t
		for end < len(at) && at[end] < 0 && f.sent[end].message == f.sent[t].message {
			end++
		}
		first := t == 0 || f.sent[t-1].message != f.sent[t].message
		next := end
		for next < len(at) && at[next] < 0 {
			next++
		}
		ofNext := next < len(at) && first && f.sent[next].message == f.sent[t].message
		for ; t < end; t++ {
			switch {
			case ofNext || before < 0 && next < len(at):
				f.before[at[next]] = append(f.before[at[next]], t)
			case before >= 0:
				f.behind[before] = append(f.behind[before], t)
			}
		}
		t--
	}
}

// paired tells which of our blocks each that was sent stands for, -1: none. Blocks are paired by what they hold, in order,
// then wherever they stand; calls and results by their ids; then what is left between two pairs, by kind.
func paired(want, got []Block) []int {
	at := matched(want, got)
	taken := make([]bool, len(got))
	for _, j := range at {
		if j >= 0 {
			taken[j] = true
		}
	}
	byKey := map[key][]int{}
	byID := map[key]int{}
	for j := range got {
		if g := &got[j]; !taken[j] {
			byKey[g.key()] = append(byKey[g.key()], j)
			if g.ID != "" {
				byID[key{g.Kind, g.ID, ""}] = j + 1
			}
		}
	}
	pair := func(i, j int) {
		at[i] = j
		taken[j] = true
	}
	for i := range want {
		w := &want[i]
		if list := byKey[w.key()]; at[i] < 0 && len(list) > 0 {
			byKey[w.key()] = list[1:]
			pair(i, list[0])
		} else if j := byID[key{w.Kind, w.ID, ""}]; at[i] < 0 && j > 0 && !taken[j-1] {
			pair(i, j-1)
		}
	}
	j := 0
	for i := range want {
		if at[i] >= 0 {
			j = at[i] + 1
			continue
		}
		for k := j; k < len(got) && !taken[k]; k++ {
			if got[k].Kind == want[i].Kind && got[k].Role == want[i].Role {
				pair(i, k)
				j = k + 1
				break
			}
		}
	}
	return at
}

// add adds block b of a message under the policy.
func (f *framing) add(from *wire.BodyMessage, m, b int) {
	block := from.Blocks[b]
	r, same := f.find(&block)
	switch {
	case r < 0:
		f.put(block, from.Role, origin{m, -1})
		return
	case f.of[r] < 0:
		return // the client did not send it
	}
	ours := &f.ours[r]
	t := f.of[r]
	for _, k := range f.before[r] {
		f.client(k, m, block.Source.Item)
	}
	marked := block.CacheControl
	block.CacheControl = f.sent[t].mark()
	if (marked == nil) != (ours.CacheControl == nil) {
		block.CacheControl = marked
	}
	if same {
		block.JSON = f.sent[t].JSON
		block.Type = f.sent[t].kind
	}
	f.put(block, f.sent[t].role, origin{m, f.sent[t].message})
	for _, k := range f.behind[r] {
		f.client(k, m, block.Source.Item)
	}
}

// find is the block of ours that one under the policy is, -1: none, and whether no edit changed it.
func (f *framing) find(b *wire.BodyBlock) (r int, same bool) {
	if list := f.same[identityOf(b)]; len(list) > 0 {
		f.same[identityOf(b)] = list[1:]
		return list[0], true
	}
	if list := f.changed[b.Source]; len(list) > 0 {
		f.changed[b.Source] = list[1:]
		return list[0], false
	}
	return -1, false
}

// client adds a block with words of the client, next to an item.
func (f *framing) client(t, m int, item policy.ItemID) {
	s := &f.sent[t]
	f.put(wire.BodyBlock{Source: policy.BlockOf(item, wire.Whole), Type: s.kind, JSON: s.JSON, CacheControl: s.mark()}, s.role, origin{m, s.message})
}

// put appends a block to the last message, or to a new one: of another role, of another message that was sent, or where
// the policy begins one that was not sent.
func (f *framing) put(b wire.BodyBlock, role session.Role, at origin) {
	n := len(f.out) - 1
	begins := n < 0 || f.out[n].Role != role || b.Type == "cache_edits" && at.sent < 0
	if !begins && at.other != f.last.other {
		begins = at.sent < 0 || at.sent != f.last.sent
	} else if !begins && at.sent >= 0 && f.last.sent >= 0 {
		begins = at.sent == f.last.sent+1 // both were sent as messages of one role
	}
	if begins {
		f.out = append(f.out, wire.BodyMessage{Role: role})
		n++
	}
	f.out[n].Blocks = append(f.out[n].Blocks, b)
	f.last = at
}

// messages are those of the body that is sent.
func (f *framing) messages() (list []requests.Message) {
	for i := range f.out {
		m := requests.Message{Role: f.out[i].Role.String()}
		for b := range f.out[i].Blocks {
			m.Blocks = append(m.Blocks, requests.Block{JSON: f.out[i].Blocks[b].Append(nil)})
		}
		list = append(list, m)
	}
	return list
}

// mark is the cache breakpoint of a block, nil without one.
func (s *sentBlock) mark() *wire.CacheControl {
	var mark *wire.CacheControl
	if s.Mark != nil && json.Unmarshal(s.Mark, &mark) != nil {
		return &wire.CacheControl{Type: "ephemeral"}
	}
	return mark
}

func roleOf(name string) session.Role {
	for _, r := range []session.Role{session.Assistant, session.System} {
		if r.String() == name {
			return r
		}
	}
	return session.User
}
