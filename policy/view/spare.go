package view

import (
	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// Spare is the memory of a view and of its checks that nobody uses any more, for another view. The zero value is none.
type Spare struct {
	items, spare []item
	pos          []int32
	state        []int32
	arrived      []policy.ItemID
	results      []policy.Result
	sums         []sum

	edits       []policy.Edit // this and the following lists hold what edits made
	synth       []policy.Synthetic
	synthAt     []int32
	made        []int32
	synthWeighs []weights
	states      states

	fed      []checked
	covered  itemSet
	calls    []toolCall
	answers  []int32
	thinking []checkedThinking
}

// Leave returns the memory of a view and, where c is not nil, of its checker. Neither may be used any more; the view's
// edits may.
func (v *View) Leave(c *Checker) *Spare {
	clear(v.state)
	items, spare := v.items[:0], v.spare[:0]
	if cap(items) < cap(spare) { // a rebuild exchanges them
		items, spare = spare, items
	}
	m := &Spare{
		items: items, spare: spare, pos: v.pos, state: v.state, arrived: v.arrived[:0], results: v.results[:0], sums: v.sums[:0],
	}
	if c != nil {
		k := &c.check
		m.fed, m.calls, m.answers, m.thinking = c.fed[:0], k.calls[:0], k.answers[:0], k.thinking[:0]
		m.covered = itemSet{c.covered.recorded[:0], c.covered.made[:0]}
		*c = Checker{}
	}
	*v = View{edits: v.edits}
	return m
}

// LeaveAll is Leave, with the memory of the edits, which may not be used any more either.
func (v *View) LeaveAll(c *Checker) *Spare {
	edits, synth, synthAt, made, synthWeighs, states := v.edits, v.synth, v.synthAt, v.made, v.synthWeighs, v.states
	m := v.Leave(c)
	*v = View{}
	clear(edits)
	clear(synth)
	states.clear()
	m.edits, m.synth, m.synthAt, m.made, m.synthWeighs, m.states = edits[:0], synth[:0], synthAt[:0], made[:0], synthWeighs[:0], states
	return m
}

// Fill makes the memory enough for a view that holds the whole of a conversation, and for its checker: the lists of its
// messages and blocks do not grow, but for that of results, for which not all policies ask.
func (m *Spare) Fill(conv *session.Conversation) {
	n := len(conv.Messages)
	calls, results, thinking := blocksOf(conv)
	m.fed, m.calls, m.answers, m.thinking = room(m.fed, n), room(m.calls, calls), room(m.answers, results), room(m.thinking, thinking)
	m.hold(n)
}

// blocksOf counts the blocks of a conversation that views and checkers list.
func blocksOf(conv *session.Conversation) (calls, results, thinking int) {
	for i := range conv.Messages {
		blocks := conv.Messages[i].Blocks
		for b := range blocks {
			switch blocks[b].Kind {
			case jsonl.KindToolUse:
				calls++
			case jsonl.KindToolResult:
				results++
			case jsonl.KindThinking, jsonl.KindRedactedThinking:
				thinking++
			}
		}
	}
	return calls, results, thinking
}

// room is an empty list with room for n, in the memory of one where that is enough.
func room[T any](list []T, n int) []T {
	if cap(list) < n {
		return make([]T, 0, n)
	}
	return list
}

// hold makes room for so many messages, unless there is some.
func (m *Spare) hold(n int) {
	if cap(m.pos) < n {
		made := n/64 + 4 // messages that edits make, of which few are in view at once
		m.pos, m.state, m.items, m.arrived = make([]int32, n), make([]int32, n), make([]item, 0, n+4), make([]policy.ItemID, 0, n+made)
	}
}

// New returns an empty view of a conversation, as [New] does, in this memory.
func (m *Spare) New(conv *session.Conversation, report, client policy.Weigher) *View {
	n := len(conv.Messages)
	m.hold(n)
	v := &View{
		conv: conv, weigh: [2]policy.Weigher{report}, items: m.items, spare: m.spare, arrived: m.arrived,
		pos: m.pos[:n], state: m.state[:n], results: m.results, sums: m.sums, summed: summed,
		edits: m.edits, synth: m.synth, synthAt: m.synthAt, made: m.made, synthWeighs: m.synthWeighs, states: m.states,
	}
	if client != nil && client != report {
		v.weigh[1], v.client = client, 1
	}
	for i := range v.pos {
		v.pos[i] = -1
	}
	*m = Spare{fed: m.fed, covered: m.covered, calls: m.calls, answers: m.answers, thinking: m.thinking}
	return v
}

// NewChecker returns a checker of v that has checked nothing, in this memory.
func (m *Spare) NewChecker(v *View) *Checker {
	c := NewChecker(v)
	c.fed, c.covered, c.check.calls, c.check.answers, c.check.thinking = m.fed, m.covered, m.calls, m.answers, m.thinking
	m.fed, m.covered, m.calls, m.answers, m.thinking = nil, itemSet{}, nil, nil, nil
	return c
}
