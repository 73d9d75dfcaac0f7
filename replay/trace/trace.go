// Package trace follows a replay and lists what each of its requests sends, block by block: every block once, and of
// each request only what changed since the one before. A view is the raw history and edits; a trace is both as data.
package trace

import (
	"cmp"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay/category"
	"github.com/ctxkit/ctxkit/replay/diff"
)

// TextLimit is how much a trace may hold.
type TextLimit struct {
	Text int // bytes of text to keep of all blocks together; longer ones are cut first. 0: no text
}

// Trace is what the main requests of a replay send. Token figures are by the replay's counter.
type Trace struct {
	Items  []TracedItem  // the messages of the conversation by their index, then those that the policy made, in their order
	Blocks []TracedBlock // of the items
	Edits  []TracedEdit  // those that States and Left name
	States []State       // what edits put in the place of blocks
	Steps  []Step        // by main request
	Texts  []string      // of blocks and states, each once; a long one is cut in the middle
	Cut    int           // the most bytes of a text; 0: all texts are whole
}

// TracedItem is one message.
type TracedItem struct {
	Role    session.Role
	Class   string // of a recorded message: see session.Class; of one that the policy made: "made"
	About   string // what it is: "prompt", "result of Read"; of one that the policy made its label
	Line    int    // 0: it is on no line
	Time    time.Time
	Outside bool // no part of the raw history: the policy made it, or only the client's own record has it
	First   int  // index of its first block
	Blocks  int
	Tag     int // the block with the text that an edit appended; -1: none
	Edit    int // that made it; -1: none
}

// TracedBlock is a content block as recorded, or as the policy made it.
type TracedBlock struct {
	Kind   string // as in the API: text, thinking, tool_use, tool_result, image …
	Class  category.Name
	Tool   string // of a call and its result: the tool's name
	Tokens int
	Text   int // index into Texts; -1: it has none
}

// TracedEdit is an edit that changed the payload.
type TracedEdit struct {
	Request int // n of the main request it was made before; 0: after the last
	Stage   string
	Kind    policy.EditKind
	Reason  string
}

// State is what stands in the place of a block.
type State struct {
	Edit   int
	Tokens int
	Text   int // index into Texts; -1: nothing is left, or its text is not known
}

// Step is what changed between the main request before and this one.
type Step struct {
	Joined  int      // Items[:Joined] are the conversation so far, those outside it among them
	System  int      // tokens of system prompt and tools
	Less    int      // tokens that edits took off the history before the file, which no item holds; below 0
	Splices []Splice // of the list of items sent
	Left    []Left   // items that edits took out, by edit
	Changes []StateChange
}

// Splice replaces items of the list of those sent. Splices of a step apply one after another.
type Splice struct {
	At, Delete int
	Insert     []int // indexes into Items
}

// Left is what one edit took out.
type Left struct {
	Edit  int
	Items []int
}

// StateChange gives a block another state; -1: as recorded.
type StateChange struct{ Block, State int }

// Tracer makes a trace.
type Tracer struct {
	t      *Trace
	conv   *session.Conversation
	texts  map[string]int
	keep   bool // texts
	order  []policy.ItemID
	known  []bool // items of the conversation whose blocks are listed
	listed int    // all of those before it are, but for those outside the raw history
	made   map[policy.ItemID]int
	edits  map[int]int // of the view -> index into Trace.Edits
	states map[standing]int
	now    map[policy.Target]int // the state of a block, where it has one
	seen   int                   // edits of the view
	less   int                   // see Step.Less
	kinds  *category.Classes
	err    error
}

// standing is a content in a block's place.
type standing struct {
	at   policy.Target
	with *policy.Content
}

// New returns the tracer of a replay of conv.
func New(conv *session.Conversation, limit TextLimit) *Tracer {
	n := len(conv.Messages)
	tr := &Tracer{
		t: &Trace{Items: make([]TracedItem, n)}, conv: conv, texts: map[string]int{}, keep: limit.Text > 0, known: make([]bool, n),
		made: map[policy.ItemID]int{}, edits: map[int]int{}, states: map[standing]int{}, now: map[policy.Target]int{}, kinds: category.NewClasses(conv),
	}
	for m := range conv.Messages {
		tr.t.Items[m] = TracedItem{First: -1, Tag: -1, Edit: -1}
	}
	if tr.keep {
		tr.t.Cut = longest(conv, limit.Text)
	}
	return tr
}

// Trace returns the trace of the requests seen, which are main.
func (tr *Tracer) Trace(main []category.Beyond) (*Trace, error) {
	for i, tokens := range category.Bases(tr.conv, main[:len(tr.t.Steps)]) {
		tr.t.Steps[i].System = tokens
	}
	return tr.t, tr.err
}

// longest is Longest of the texts of a conversation.
func longest(conv *session.Conversation, most int) int {
	var sizes []int
	for m := range conv.Messages {
		for b := range conv.Messages[m].Blocks {
			sizes = append(sizes, conv.Messages[m].Blocks[b].Whole().Bytes)
		}
	}
	return Longest(sizes, most)
}

// Longest is the most bytes that a text may have so that texts of these sizes have at most a number together; 0 where
// they have no more as they are. It sorts the sizes.
func Longest(sizes []int, most int) int {
	slices.Sort(sizes)
	for i, n := range sizes { // those before are whole
		if left := len(sizes) - i; n > most/left {
			return max(most/left, 1)
		}
		most -= n
	}
	return 0
}

// See adds the view that main request n sends. Requests come in their order.
func (tr *Tracer) See(n int, v *view.View) {
	if tr.err != nil {
		return
	}
	s := Step{Joined: v.Joined()}
	edits := v.Edits()
	rebuilt := false
	for i := tr.seen; i < len(edits); i++ {
		e := edits[i]
		rebuilt = rebuilt || e.Kind == policy.KindSummarize || len(e.Items)+len(e.Lead)+len(e.Keep) > 0
	}
	if rebuilt {
		tr.reorder(&s, v, edits)
	} else {
		tr.grow(&s, v)
	}
	for i := tr.seen; i < len(edits); i++ {
		e := edits[i]
		switch e.Kind {
		case policy.KindSummarize:
			tr.less = 0
		case policy.KindInferred:
			tr.less += e.Delta
		}
		tr.edit(&s, v, i, &e)
	}
	s.Less = tr.less
	tr.seen = len(edits)
	tr.raw(v)
	tr.t.Steps = append(tr.t.Steps, s)
}

// raw lists what joined and is not sent, or not any more.
func (tr *Tracer) raw(v *view.View) {
	for ; tr.listed < v.Joined(); tr.listed++ {
		if !tr.conv.Messages[tr.listed].RecordOnly {
			tr.item(v, policy.ItemID(tr.listed))
		}
	}
}

// grow adds what joined at the end.
func (tr *Tracer) grow(s *Step, v *view.View) {
	var tail []policy.ItemID
	for id := range v.Backward {
		if n := len(tr.order); n > 0 && tr.order[n-1] == id {
			break
		}
		tail = append(tail, id)
	}
	slices.Reverse(tail)
	tr.splice(s, v, len(tr.order), 0, tail)
}

// reorder compares the items sent with those before, and notes which edit took out what is gone.
func (tr *Tracer) reorder(s *Step, v *view.View, edits []policy.Edit) {
	ids := v.IDs()
	head := 0
	for head < min(len(ids), len(tr.order)) && ids[head] == tr.order[head] {
		head++
	}
	tail := 0
	for tail < min(len(ids), len(tr.order))-head && ids[len(ids)-1-tail] == tr.order[len(tr.order)-1-tail] {
		tail++
	}
	by := map[policy.ItemID]int{} // by which edit an item left last
	rebuild := -1
	for i := tr.seen; i < len(edits); i++ {
		e := edits[i]
		if e.Kind == policy.KindSummarize {
			rebuild = i
		}
		if !e.Kind.KeepsView() {
			for _, id := range e.Items {
				by[id] = i
			}
		}
	}
	left := map[int]int{} // edit -> index into s.Left
	out := func(id policy.ItemID) {
		i, ok := by[id]
		if !ok {
			i = rebuild
		}
		if i < 0 || v.Has(id) {
			return
		}
		ed := edits[i]
		e := tr.editOf(&ed, i)
		at, ok := left[e]
		if !ok {
			at = len(s.Left)
			left[e] = at
			s.Left = append(s.Left, Left{Edit: e})
		}
		s.Left[at].Items = append(s.Left[at].Items, tr.item(v, id))
	}
	for _, id := range tr.order[head : len(tr.order)-tail] {
		out(id)
	}
	for m := tr.listed; m < v.Joined(); m++ { // joined and left before it was ever sent
		if id := policy.ItemID(m); !tr.known[m] && !tr.conv.Messages[m].RecordOnly && !v.Has(id) {
			out(id)
		}
	}
	tr.splice(s, v, head, len(tr.order)-tail-head, ids[head:len(ids)-tail])
}

// splice makes and notes a splice.
func (tr *Tracer) splice(s *Step, v *view.View, at, del int, ids []policy.ItemID) {
	if del == 0 && len(ids) == 0 {
		return
	}
	sp := Splice{At: at, Delete: del, Insert: make([]int, len(ids))}
	for i, id := range ids {
		back := id >= 0 && tr.known[id]
		sp.Insert[i] = tr.item(v, id)
		for t := range policy.Targets(v, id) {
			// What comes back comes without its payload-only edits.
			if back && tr.now[t] > 0 {
				tr.stands(s, v, t, -1, nil)
			}
		}
	}
	tr.order = slices.Replace(tr.order, at, at+del, ids...)
	s.Splices = append(s.Splices, sp)
}

// edit notes what an edit changed of a block or a message.
func (tr *Tracer) edit(s *Step, v *view.View, i int, e *policy.Edit) {
	for _, s := range e.Made() {
		if at, ok := tr.made[s.ID]; ok {
			tr.t.Items[at].Edit = tr.editOf(e, i)
		}
	}
	if e.New == nil && !e.Kind.PayloadOnly() {
		return // of no single block
	}
	t := e.Target
	if !v.Has(t.Item) && (t.Item < 0 || !tr.known[t.Item]) {
		return // it came and went between two requests
	}
	if e.Kind != policy.KindTag {
		tr.stands(s, v, t, i, e)
		return
	}
	item := &tr.t.Items[tr.item(v, t.Item)]
	if item.Tag < 0 {
		item.Tag = len(tr.t.Blocks)
		tr.t.Blocks = append(tr.t.Blocks, TracedBlock{Kind: "tag", Class: category.Inserted, Text: -1})
	}
	s.Changes = append(s.Changes, StateChange{item.Tag, tr.state(i, e, e.New, e.After-e.Before)})
}

// stands notes the state of a block as it is sent, if it is another than before. e is the edit behind it, nil where
// none is.
func (tr *Tracer) stands(s *Step, v *view.View, t policy.Target, i int, e *policy.Edit) {
	with, on := v.PayloadReplacement(t)
	if !on {
		with = v.Replacement(t)
	}
	state := -1
	if on || with != nil {
		key := standing{t, with}
		var ok bool
		if state, ok = tr.states[key]; !ok && e != nil {
			state = tr.state(i, e, with, v.PayloadBlockTokens(t))
			tr.states[key] = state
		} else if !ok {
			return
		}
	}
	if was, ok := tr.now[t]; ok && was == state+1 || !ok && state < 0 {
		return
	}
	tr.now[t] = state + 1
	s.Changes = append(s.Changes, StateChange{tr.t.Items[tr.item(v, t.Item)].First + t.Block, state})
}

// state adds a state.
func (tr *Tracer) state(i int, e *policy.Edit, with *policy.Content, tokens int) int {
	st := State{Edit: tr.editOf(e, i), Tokens: tokens, Text: -1}
	if with != nil {
		st.Text = tr.content(with)
	}
	tr.t.States = append(tr.t.States, st)
	return len(tr.t.States) - 1
}

func (tr *Tracer) editOf(e *policy.Edit, i int) int {
	at, ok := tr.edits[i]
	if !ok {
		at = len(tr.t.Edits)
		tr.edits[i] = at
		tr.t.Edits = append(tr.t.Edits, TracedEdit{Request: e.Request, Stage: e.Stage, Kind: e.Kind, Reason: e.Reason})
	}
	return at
}

// item is the index of an item. It lists its blocks the first time.
func (tr *Tracer) item(v *view.View, id policy.ItemID) int {
	if id < 0 {
		return tr.madeItem(v, id)
	}
	if tr.known[id] {
		return int(id)
	}
	tr.known[id] = true
	m := &tr.conv.Messages[id]
	tr.t.Items[id] = TracedItem{
		Role: m.Role, Class: m.Class.String(), About: diff.About(tr.conv, m), Line: m.Line, Time: m.Time, Outside: m.RecordOnly,
		First: len(tr.t.Blocks), Blocks: len(m.Blocks), Tag: -1, Edit: -1,
	}
	for b := range m.Blocks {
		bl := &m.Blocks[b]
		t := policy.BlockOf(id, b)
		one := TracedBlock{Kind: bl.Type, Tool: bl.Name, Tokens: v.RecordedTokens(t), Text: -1}
		one.Class, _ = tr.kinds.Of(v, t)
		if bl.Kind == jsonl.KindToolResult {
			one.Tool = tr.conv.ToolName(bl.ID)
		}
		if tr.keep && bl.Kind != jsonl.KindImage && bl.Kind != jsonl.KindDocument && bl.Kind != jsonl.KindRedactedThinking {
			text, err := tr.conv.WholeText(int(id), b)
			tr.err = cmp.Or(tr.err, err)
			one.Text = tr.text(text)
		}
		tr.t.Blocks = append(tr.t.Blocks, one)
	}
	return int(id)
}

// madeItem is item for a message that the policy made.
func (tr *Tracer) madeItem(v *view.View, id policy.ItemID) int {
	if at, ok := tr.made[id]; ok {
		return at
	}
	at := len(tr.t.Items)
	tr.made[id] = at
	s := v.Synthetic(id)
	if s == nil {
		tr.err = cmp.Or(tr.err, fmt.Errorf("no item %d", id))
		return at
	}
	tr.t.Items = append(tr.t.Items, TracedItem{
		Role: v.Role(id), Class: "made", About: s.Label, Outside: true, First: len(tr.t.Blocks), Blocks: len(s.Contents), Tag: -1, Edit: -1,
	})
	for b := range s.Contents {
		t := policy.BlockOf(id, b)
		one := TracedBlock{Kind: kindNames[s.Contents[b].Kind], Tokens: v.BlockTokens(t), Text: tr.content(&s.Contents[b])}
		one.Class, _ = tr.kinds.Of(v, t)
		tr.t.Blocks = append(tr.t.Blocks, one)
	}
	return at
}

// kindNames are the API's names of the kinds that a policy makes; "" is text.
var kindNames = map[jsonl.Kind]string{
	jsonl.KindToolUse: "tool_use", jsonl.KindToolResult: "tool_result", jsonl.KindThinking: "thinking", jsonl.KindImage: "image",
	jsonl.KindDocument: "document", jsonl.KindAttachment: "attachment",
}

// content is the index of the text of a content; -1 where it has none.
func (tr *Tracer) content(c *policy.Content) int {
	switch {
	case !tr.keep:
		return -1
	case c.Ref == nil:
		return tr.text(c.Text)
	}
	read := tr.conv.WholeText
	if c.Stub {
		read = tr.conv.Text
	}
	text, err := read(int(c.Ref.Item), c.Ref.Block)
	tr.err = cmp.Or(tr.err, err)
	return tr.text(text)
}

// text is the index of a text.
func (tr *Tracer) text(s string) int {
	if s == "" {
		return -1
	}
	s = Shorten(s, tr.t.Cut)
	at, ok := tr.texts[s]
	if !ok {
		at = len(tr.t.Texts)
		tr.texts[s] = at
		tr.t.Texts = append(tr.t.Texts, s)
	}
	return at
}

// Shorten cuts a text above a number of bytes in the middle, and says how much is left out. most 0 cuts nothing.
func Shorten(s string, most int) string {
	if most <= 0 || len(s) <= most {
		return s
	}
	head := most * 3 / 4
	tail := len(s) - most/4
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n[… %s bytes are left out here …]\n%s", s[:head], policy.Thousands(tail-head), s[tail:])
}
