// Package view holds the View: a conversation seen through edits. It applies the edits that stages propose, keeps the
// running sums and indexes that stages read, follows what was sent, and checks the result against the rules of the
// Messages API.
package view

import (
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// View is a conversation seen through edits: which messages the model is shown, in which order, and what replaces
// changed blocks. It holds no texts and no copies of messages; applying an edit costs what it touches. Views of one
// conversation share everything but their edits.
//
// A view is owned by one goroutine. Stages read it; only the engine applies edits.
type View struct {
	conv     *session.Conversation
	weigh    [2]policy.Weigher // the report's, and the client's where it is another
	client   int               // index into weights of the client's counter
	items    []item
	recorded []itemInfo      // by message index
	synth    []syntheticItem // synth[i] has ItemID -(i+1)
	arrived  []policy.ItemID // every item that ever joined, in the order it did
	results  []policy.Result
	listed   int // results are those of items[:listed]
	edits    []policy.Edit
	most     int // edits that may be made; 0: any number
	named    int // items that calls and failed compactions were about
	joined   int // conv.Messages[:joined] have been offered
	sums     []sum
	tokens   weights
	inferred weights            // of tokens: what inferred edits added since the last rebuild
	payload  weights            // what payload-only edits take off (negative or zero)
	cached   []policy.CacheEdit // every cache edit ever made, lifted ones too
	live     int                // items not removed
	hidden   []policy.ItemID    // whose place a collapse gave to its placeholder
	epoch    int
	places   int // of the block that joins next
	sent     sending
}

// item is one place of a view. Where next is not 0 the item is out of view, and so are all from here up to next.
type item struct {
	id    policy.ItemID
	next  int
	place int // of its first block in the payload
}

func (it item) removed() bool { return it.next != 0 }

// weights are numbers of tokens by each of View.weigh.
type weights [2]int

func (w *weights) add(o weights) { w[0], w[1] = w[0]+o[0], w[1]+o[1] }
func (w *weights) sub(o weights) { w[0], w[1] = w[0]-o[0], w[1]-o[1] }

// itemInfo is what a view knows of an item.
type itemInfo struct {
	at    int    // index into View.items, -1 where it is not in view
	state *state // what edits did to it; nil: nothing
}

// syntheticItem is a message that an edit made.
type syntheticItem struct {
	policy.Synthetic
	itemInfo
	weighs weights // as made, without edits
}

// info is what the view knows of an item; nil: it never was in view.
func (v *View) info(id policy.ItemID) *itemInfo {
	switch {
	case id >= 0 && int(id) < len(v.recorded):
		return &v.recorded[id]
	case id < 0 && int(-id) <= len(v.synth):
		return &v.synth[-id-1].itemInfo
	}
	return nil
}

// stateOf is what edits did to an item, nil for nothing.
func (v *View) stateOf(id policy.ItemID) *state { return v.info(id).state }

// state is what edits did to one item's blocks.
type state struct {
	blocks  []*policy.Content // model view replacements, by block; nil where there is none at all
	payload [][]layer         // by block: what payload-only edits left of it, one layer a stage; nil where there is none at all
	tag     *policy.Content
	weighs  weights // of the item in the model view
}

// New returns an empty view of conv. The report's figures are by report; client is the counter of the client's own
// arithmetic (nil: report).
func New(conv *session.Conversation, report, client policy.Weigher) *View {
	n := len(conv.Messages)
	v := &View{
		conv: conv, weigh: [2]policy.Weigher{report}, recorded: make([]itemInfo, n),
		items: make([]item, 0, n), arrived: make([]policy.ItemID, 0, n),
	}
	if client != nil && client != report {
		v.weigh[1] = client
		v.client = 1
	}
	for i := range v.recorded {
		v.recorded[i].at = -1
	}
	return v
}

// Limit is how many edits may be made: one more is a *jsonl.LimitError. Without a call there may be any number.
func (v *View) Limit(edits int) { v.most = edits }

// Join appends message m of the conversation. Messages join in index order; those a track does not hold are passed
// over with Skip.
func (v *View) Join(m int) {
	v.joined = m + 1
	if v.recorded[m].at >= 0 { // a rebuild has taken it in already
		return
	}
	if msg := &v.conv.Messages[m]; msg.RecordOnly && msg.Role == session.Assistant {
		return // a response that the client dropped
	}
	v.push(policy.ItemID(m))
}

// Skip notes that message m was passed over: it is no part of this view.
func (v *View) Skip(m int) { v.joined = m + 1 }

// Joined is how many messages of the conversation have been offered so far.
func (v *View) Joined() int { return v.joined }

func (v *View) push(id policy.ItemID) {
	v.setPos(id, len(v.items))
	v.items = append(v.items, item{id: id, place: v.places})
	v.places += v.SentBlocks(id)
	v.arrived = append(v.arrived, id)
	v.live++
	v.tokens.add(v.weight(id))
}

// list adds an item's tool results to the list of results.
func (v *View) list(id policy.ItemID) {
	if id < 0 {
		return
	}
	m := &v.conv.Messages[id]
	for b := range m.Blocks {
		if m.Blocks[b].Kind == jsonl.KindToolResult {
			tool := v.conv.ToolName(m.Blocks[b].ID)
			r := policy.Result{Target: policy.BlockOf(id, b), Tool: tool, Alike: v.conv.Alike(tool), ID: m.Blocks[b].ID}
			if c := v.Replacement(r.Target); c != nil {
				r.State = c.ResultState()
			}
			v.results = append(v.results, r)
		}
	}
}

func (v *View) setPos(id policy.ItemID, at int) { v.info(id).at = at }

// posOf is the index of an item into items, -1 where it is not in view; while a view is rebuilt also below (keeps).
func (v *View) posOf(id policy.ItemID) int {
	if k := v.info(id); k != nil {
		return k.at
	}
	return -1
}

// Has reports whether the item is in view now.
func (v *View) Has(id policy.ItemID) bool {
	p := v.posOf(id)
	return p >= 0 && !v.items[p].removed() && v.items[p].id == id
}

// Conversation is the conversation seen.
func (v *View) Conversation() *session.Conversation { return v.conv }

// Items calls yield with the id of each item in view, in order.
func (v *View) Items(yield func(policy.ItemID) bool) { v.itemsFrom(0)(yield) }

// itemsFrom is Items from a position on.
func (v *View) itemsFrom(from int) func(yield func(policy.ItemID) bool) {
	return func(yield func(policy.ItemID) bool) {
		for i := from; i < len(v.items); i++ {
			if v.items[i].removed() {
				if i = v.skip(i); i == len(v.items) {
					return
				}
			}
			if !yield(v.items[i].id) {
				return
			}
		}
	}
}

// skip is the index of the first item in view behind index i, which is out of view. It shortens the links it follows.
// Without that a replay with a sliding window grows faster than its requests (bar in docs/performance.md).
func (v *View) skip(i int) int {
	to := i
	for to < len(v.items) && v.items[to].removed() {
		to = v.items[to].next
	}
	for i < to {
		i, v.items[i].next = v.items[i].next, to
	}
	return to
}

// Backward is Items from the newest to the oldest.
func (v *View) Backward(yield func(policy.ItemID) bool) {
	for i := len(v.items) - 1; i >= 0; i-- {
		if it := v.items[i]; !it.removed() && !yield(it.id) {
			return
		}
	}
}

// IDs is the ids of the items in view, in order, as a new slice.
func (v *View) IDs() []policy.ItemID {
	ids := make([]policy.ItemID, 0, v.live)
	for i := 0; i < len(v.items); i++ {
		if it := v.items[i]; it.removed() {
			i = v.skip(i) - 1
		} else {
			ids = append(ids, it.id)
		}
	}
	return ids
}

// Len is the number of items in view.
func (v *View) Len() int { return v.live }

// Last is the newest item in view.
func (v *View) Last() (policy.ItemID, bool) {
	for id := range v.Backward {
		return id, true
	}
	return 0, false
}

// Arrived is every item that ever joined, in order. The slice is the view's own.
func (v *View) Arrived() []policy.ItemID { return v.arrived }

// Results is every tool_result that joined since the last rebuild, in view order, with its state. It is listed when it is
// asked for, and before messages are taken away. The slice is the view's own, and valid until the next edit.
func (v *View) Results() []policy.Result {
	for ; v.listed < len(v.items); v.listed++ {
		v.list(v.items[v.listed].id)
	}
	return v.results
}

// Epoch counts the rebuilds by summarize edits. Indexes into Results are valid within one epoch.
func (v *View) Epoch() int { return v.epoch }

// Edits is every edit applied so far, in order.
func (v *View) Edits() []policy.Edit { return slices.Clip(v.edits) }

// Made is how many messages edits have made so far: those with the ids -1, -2 and so on.
func (v *View) Made() int { return len(v.synth) }

// Tokens is the model view's size without overhead, by the report's counter.
func (v *View) Tokens() int { return v.tokens[0] }

// ClientTokens is Tokens by the client's counter.
func (v *View) ClientTokens() int { return v.tokens[v.client] }

// Message is the recorded message behind an item, or nil for a synthetic one.
func (v *View) Message(id policy.ItemID) *session.Message {
	if id < 0 {
		return nil
	}
	return &v.conv.Messages[id]
}

// Synthetic is the made-up message behind an item, or nil for a recorded one.
func (v *View) Synthetic(id policy.ItemID) *policy.Synthetic {
	if id >= 0 {
		return nil
	}
	return &v.synth[-id-1].Synthetic
}

// Role of an item.
func (v *View) Role(id policy.ItemID) session.Role {
	if s := v.Synthetic(id); s != nil {
		if s.Role == "assistant" {
			return session.Assistant
		}
		return session.User
	}
	if v.conv.Messages[id].Is(session.AsAssistant) {
		return session.Assistant
	}
	return v.conv.Messages[id].Role
}

// Blocks is how many blocks an item has.
func (v *View) Blocks(id policy.ItemID) int {
	if s := v.Synthetic(id); s != nil {
		return len(s.Contents)
	}
	return len(v.conv.Messages[id].Blocks)
}

// Kind of a block, as recorded.
func (v *View) Kind(t policy.Target) jsonl.Kind {
	if s := v.Synthetic(t.Item); s != nil {
		return s.Contents[t.Block].Kind
	}
	return v.conv.Messages[t.Item].Blocks[t.Block].Kind
}

// Raw is the recorded block, or nil in a synthetic message.
func (v *View) Raw(t policy.Target) *session.Block {
	if t.Item < 0 {
		return nil
	}
	return &v.conv.Messages[t.Item].Blocks[t.Block]
}

// Replacement is what an edit put in a block's place in the model view, or nil.
func (v *View) Replacement(t policy.Target) *policy.Content {
	if s := v.Synthetic(t.Item); s != nil {
		return &s.Contents[t.Block]
	}
	if s := v.stateOf(t.Item); s != nil && t.Block >= 0 && t.Block < len(s.blocks) {
		return s.blocks[t.Block]
	}
	return nil
}

// Tag is the text an edit appended to a message, or nil.
func (v *View) Tag(id policy.ItemID) *policy.Content {
	if s := v.stateOf(id); s != nil {
		return s.tag
	}
	return nil
}

// BlockTokens is the current weight of a block in the model view.
func (v *View) BlockTokens(t policy.Target) int { return v.blockTokens(t)[0] }

func (v *View) blockTokens(t policy.Target) weights {
	if c := v.Replacement(t); c != nil {
		return v.content(c)
	}
	return v.recordedTokens(t)
}

// RecordedTokens is the weight of a recorded block as recorded, whatever edits put in its place, in tokens.
func (v *View) RecordedTokens(t policy.Target) int { return v.recordedTokens(t)[0] }

func (v *View) recordedTokens(t policy.Target) (w weights) {
	for i, by := range v.weigh {
		if by != nil {
			w[i] = by.Block(int(t.Item), t.Block)
		}
	}
	return w
}

func (v *View) content(c *policy.Content) (w weights) {
	if c.Gone {
		return w
	}
	for i, by := range v.weigh {
		if by != nil {
			w[i] = by.Content(c)
		}
	}
	return w
}

// Length is the current length of a block's text in the model view. For an unchanged tool_result with array content
// it is the sum over its texts.
func (v *View) Length(t policy.Target) jsonl.Metrics {
	if c := v.Replacement(t); c != nil {
		return c.Length
	}
	return v.conv.Messages[t.Item].Blocks[t.Block].Whole()
}

// Weight is the current weight of an item in the model view, in tokens.
func (v *View) Weight(id policy.ItemID) int { return v.weight(id)[0] }

// ClientWeight is Weight by the client's counter.
func (v *View) ClientWeight(id policy.ItemID) int { return v.weight(id)[v.client] }

func (v *View) weight(id policy.ItemID) (w weights) {
	if s := v.stateOf(id); s != nil {
		return s.weighs
	}
	if id < 0 {
		return v.synth[-id-1].weighs
	}
	for i, by := range v.weigh {
		if by != nil {
			w[i] = by.Message(int(id))
		}
	}
	return w
}

// Text is the current text of a block in the model view: that of an edit, else the recorded text, with an offloaded
// result read back. It is empty for content that is only a number of tokens.
func (v *View) Text(t policy.Target) (string, error) {
	return v.TextOf(t, v.Replacement(t))
}

// TextOf is the text of a block with a replacement; nil: none.
func (v *View) TextOf(t policy.Target, c *policy.Content) (string, error) {
	switch {
	case c == nil:
		return v.conv.WholeText(int(t.Item), t.Block)
	case c.Ref != nil && c.Stub:
		return v.conv.Text(int(c.Ref.Item), c.Ref.Block)
	case c.Ref != nil:
		return v.conv.WholeText(int(c.Ref.Item), c.Ref.Block)
	}
	return c.Text, nil
}

// Recorded is the recorded text of a block, whatever edits put in its place.
func (v *View) Recorded(t policy.Target) (string, error) {
	return v.conv.WholeText(int(t.Item), t.Block)
}
