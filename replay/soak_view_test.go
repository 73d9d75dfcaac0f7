package replay

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// plainView is the naive view: lists and copies that follow from the edits alone. It keeps no sums, no index and no
// position; every question is answered by going over all of it.
type plainView struct {
	conv     *session.Conversation
	by       [2]policy.Weigher // the report's and the client's counter
	of       *view.View        // whose edits it follows
	items    []policy.ItemID
	since    []policy.ItemID // that joined since the last rebuild, in the order of their places
	made     []policy.Synthetic
	blocks   map[policy.Target]*policy.Content
	tags     map[policy.ItemID]*policy.Content
	standing []policy.Edit // payload-only edits in force, in the order they were made
	cached   []policy.Edit // of these, cache edits
	arrived  []policy.ItemID
	drift    int // of inferred edits since the last rebuild
	epoch    int
	joined   int
	done     int    // edits that it has followed
	wrong    string // the first figure of an edit that is not what the edit did
	memo     [4]int // tokens, since the last change
	counted  bool
}

func newPlainView(of *view.View, report, client policy.Weigher) *plainView {
	if client == nil {
		client = report
	}
	return &plainView{
		conv: of.Conversation(), of: of, by: [2]policy.Weigher{report, client},
		blocks: map[policy.Target]*policy.Content{}, tags: map[policy.ItemID]*policy.Content{},
	}
}

// follow applies what the view has had applied since.
func (p *plainView) follow() {
	edits := p.of.Edits()
	for ; p.done < edits.Len(); p.done++ {
		e := edits.At(p.done)
		p.join(e.Joined)
		p.apply(&e)
	}
	p.join(p.of.Joined())
}

func (p *plainView) join(to int) {
	for ; p.joined < to; p.joined++ {
		if id := policy.ItemID(p.joined); !p.conv.Messages[id].RecordOnly && !slices.Contains(p.since, id) {
			p.items, p.since, p.arrived = append(p.items, id), append(p.since, id), append(p.arrived, id)
			p.counted = false
		}
	}
}

func (p *plainView) apply(e *policy.Edit) {
	before, payload := p.tokens(0), p.payload(0)
	p.change(e)
	p.counted = false
	if len(p.made) > 0 && len(e.Insert) > 0 && e.Insert[0].ID == 0 {
		p.note("edit %d (%s) inserts a message without an id", p.done, e.Kind)
	}
	was, is := before, p.tokens(0)
	if e.Kind.PayloadOnly() {
		was, is = payload, p.payload(0)
	}
	if !e.Kind.KeepsView() && e.After-e.Before != is-was {
		p.note("edit %d (%s by %s) says %d tokens, then %d; recounted %d, then %d", p.done, e.Kind, e.Stage, e.Before, e.After, was, is)
	}
}

func (p *plainView) note(format string, args ...any) {
	if p.wrong == "" {
		p.wrong = fmt.Sprintf(format, args...)
	}
}

func (p *plainView) change(e *policy.Edit) {
	gone := func(id policy.ItemID) bool { return slices.Contains(e.Items, id) }
	switch e.Kind {
	case policy.KindClear, policy.KindPersist, policy.KindTruncate, policy.KindWrap:
		p.blocks[e.Target] = e.New
	case policy.KindTag:
		p.tags[e.Target.Item] = e.New
	case policy.KindCacheEdit, policy.KindServerClear, policy.KindServerKeep:
		p.lift(func(o policy.Edit) bool { return o.Target == e.Target && o.Stage == e.Stage })
		if e.Kind != policy.KindServerKeep {
			p.standing = append(p.standing, *e)
		}
		if e.Kind == policy.KindCacheEdit {
			p.cached = append(p.cached, *e)
		}
	case policy.KindRemove:
		p.items = slices.DeleteFunc(p.items, gone)
		p.lift(p.unseen)
	case policy.KindCollapse:
		first := slices.IndexFunc(p.items, gone)
		place := slices.Index(p.since, p.items[first])
		id := p.add(&e.Insert[0])
		p.items[first] = id
		p.items = slices.DeleteFunc(p.items, gone)
		p.since = slices.Insert(p.since, place+1, id)
		p.lift(p.unseen)
	case policy.KindAttach:
		for i := range e.Insert {
			p.place(p.add(&e.Insert[i]))
		}
	case policy.KindSummarize:
		p.items, p.since, p.drift = nil, nil, 0
		p.epoch++
		keep := func(ids []policy.ItemID) {
			for _, id := range ids {
				p.place(id)
				if int(id) >= p.joined {
					p.arrived = append(p.arrived, id)
				}
			}
		}
		keep(e.Lead)
		for i := range e.Insert {
			p.place(p.add(&e.Insert[i]))
		}
		keep(e.Keep)
		for i := range e.Tail {
			p.place(p.add(&e.Tail[i]))
		}
		p.lift(p.unseen)
	case policy.KindInferred:
		p.drift += e.Delta
	}
}

func (p *plainView) place(id policy.ItemID) {
	p.items, p.since = append(p.items, id), append(p.since, id)
}

func (p *plainView) add(s *policy.Synthetic) policy.ItemID {
	p.made = append(p.made, *s)
	id := policy.ItemID(-len(p.made))
	p.arrived = append(p.arrived, id)
	if s.ID != id {
		p.note("edit %d inserts message %d as %d", p.done, id, s.ID)
	}
	return id
}

// lift ends payload-only edits.
func (p *plainView) lift(which func(policy.Edit) bool) {
	p.standing, p.cached = slices.DeleteFunc(p.standing, which), slices.DeleteFunc(p.cached, which)
}

func (p *plainView) unseen(e policy.Edit) bool { return !p.Has(e.Target.Item) }

// effective is the payload-only edit that shows, nil for none.
func (p *plainView) effective(t policy.Target) (last *policy.Edit) {
	for i := range p.standing {
		if e := &p.standing[i]; e.Target == t {
			if e.Kind == policy.KindCacheEdit {
				return e
			}
			last = e
		}
	}
	return last
}

func (p *plainView) content(by int, c *policy.Content) int {
	if c.Gone {
		return 0
	}
	return p.by[by].Content(c)
}

func (p *plainView) block(by int, t policy.Target) int {
	if c := p.Replacement(t); c != nil {
		return p.content(by, c)
	}
	return p.by[by].Block(int(t.Item), t.Block)
}

func (p *plainView) weight(by int, id policy.ItemID) (model, payload int) {
	for b := range p.Blocks(id) {
		t := policy.Target{Item: id, Block: b}
		n := p.block(by, t)
		model += n
		if e := p.effective(t); e == nil {
			payload += n
		} else if e.New != nil {
			payload += p.content(by, e.New)
		}
	}
	if c := p.tags[id]; c != nil {
		n := p.content(by, c)
		model, payload = model+n, payload+n
	}
	return model, payload
}

func (p *plainView) count() {
	if p.counted {
		return
	}
	p.counted, p.memo = true, [4]int{p.drift, p.drift, p.drift, p.drift}
	for _, id := range p.items {
		for by := range p.by {
			model, payload := p.weight(by, id)
			p.memo[by] += model
			p.memo[2+by] += payload
		}
	}
}

func (p *plainView) tokens(by int) int  { p.count(); return p.memo[by] }
func (p *plainView) payload(by int) int { p.count(); return p.memo[2+by] }

// What follows is policy.View.

func (p *plainView) Conversation() *session.Conversation { return p.conv }
func (p *plainView) Items(yield func(policy.ItemID) bool) {
	slices.Values(slices.Clone(p.items))(yield)
}
func (p *plainView) IDs() []policy.ItemID                     { return append([]policy.ItemID{}, p.items...) }
func (p *plainView) Len() int                                 { return len(p.items) }
func (p *plainView) Has(id policy.ItemID) bool                { return slices.Contains(p.items, id) }
func (p *plainView) Arrived() []policy.ItemID                 { return p.arrived }
func (p *plainView) Joined() int                              { return p.joined }
func (p *plainView) Epoch() int                               { return p.epoch }
func (p *plainView) Edits() policy.EditList                   { return p.of.Edits() }
func (p *plainView) Tokens() int                              { return p.tokens(0) }
func (p *plainView) ClientTokens() int                        { return p.tokens(1) }
func (p *plainView) PayloadTokens() int                       { return p.payload(0) }
func (p *plainView) ClientPayloadTokens() int                 { return p.payload(1) }
func (p *plainView) Weight(id policy.ItemID) int              { n, _ := p.weight(0, id); return n }
func (p *plainView) ClientWeight(id policy.ItemID) int        { n, _ := p.weight(1, id); return n }
func (p *plainView) PayloadWeight(id policy.ItemID) int       { _, n := p.weight(0, id); return n }
func (p *plainView) ClientPayloadWeight(id policy.ItemID) int { _, n := p.weight(1, id); return n }
func (p *plainView) BlockTokens(t policy.Target) int          { return p.block(0, t) }
func (p *plainView) Tag(id policy.ItemID) *policy.Content     { return p.tags[id] }
func (p *plainView) Backward(yield func(policy.ItemID) bool) {
	ids := p.IDs()
	slices.Reverse(ids)
	slices.Values(ids)(yield)
}

func (p *plainView) Last() (policy.ItemID, bool) {
	if n := len(p.items); n > 0 {
		return p.items[n-1], true
	}
	return 0, false
}

func (p *plainView) Results() (list []policy.Result) {
	for _, id := range p.since {
		if id < 0 {
			continue
		}
		for b := range p.conv.Messages[id].Blocks {
			bl, t := &p.conv.Messages[id].Blocks[b], policy.Target{Item: id, Block: b}
			if bl.Kind != jsonl.KindToolResult {
				continue
			}
			tool := p.conv.ToolName(bl.ID)
			r := policy.Result{Target: t, Tool: tool, Alike: p.conv.Alike(tool), ID: bl.ID}
			switch c := p.Replacement(t); {
			case !p.Has(id):
				r.State = policy.ResultGone
			case c != nil:
				r.State = c.ResultState()
			}
			list = append(list, r)
		}
	}
	return list
}

func (p *plainView) Length(t policy.Target) jsonl.Metrics {
	if c := p.Replacement(t); c != nil {
		return c.Length
	}
	return p.conv.Messages[t.Item].Blocks[t.Block].Whole()
}

func (p *plainView) Message(id policy.ItemID) *session.Message {
	if id < 0 {
		return nil
	}
	return &p.conv.Messages[id]
}

func (p *plainView) Synthetic(id policy.ItemID) *policy.Synthetic {
	if id >= 0 {
		return nil
	}
	return &p.made[-id-1]
}

func (p *plainView) Role(id policy.ItemID) session.Role {
	switch {
	case id >= 0:
		return p.conv.Messages[id].Role
	case p.made[-id-1].Role == "assistant":
		return session.Assistant
	}
	return session.User
}

func (p *plainView) Blocks(id policy.ItemID) int {
	if id < 0 {
		return len(p.made[-id-1].Contents)
	}
	return len(p.conv.Messages[id].Blocks)
}

func (p *plainView) Kind(t policy.Target) jsonl.Kind {
	if t.Item < 0 {
		return p.made[-t.Item-1].Contents[t.Block].Kind
	}
	return p.Raw(t).Kind
}

func (p *plainView) Raw(t policy.Target) *session.Block {
	if t.Item < 0 {
		return nil
	}
	return &p.conv.Messages[t.Item].Blocks[t.Block]
}

func (p *plainView) Replacement(t policy.Target) *policy.Content {
	if t.Item < 0 {
		return &p.made[-t.Item-1].Contents[t.Block]
	}
	return p.blocks[t]
}

func (p *plainView) PayloadReplacement(t policy.Target) (*policy.Content, bool) {
	if e := p.effective(t); e != nil {
		return e.New, true
	}
	return nil, false
}

func (p *plainView) CacheEdits() (list []policy.CacheEdit) {
	for i := range p.cached {
		list = append(list, policy.CacheEdit{Target: p.cached[i].Target, Carrier: p.cached[i].Carrier})
	}
	return list
}

func (p *plainView) CacheEdited(t policy.Target) bool {
	e := p.effective(t)
	return e != nil && e.Kind == policy.KindCacheEdit
}

// differs says where a view answers otherwise than the naive one, "" for nowhere. With whole, every block is asked for.
func (p *plainView) differs(v policy.View, whole bool) string {
	if p.wrong != "" {
		return p.wrong
	}
	sums := func(v policy.View) [7]int {
		return [7]int{v.Tokens(), v.ClientTokens(), v.PayloadTokens(), v.ClientPayloadTokens(), v.Len(), v.Joined(), v.Epoch()}
	}
	if a, b := sums(p), sums(v); a != b {
		return fmt.Sprintf("tokens, client's, payload, client's, items, joined, epoch are %v, recounted %v", b, a)
	}
	if a, b := p.IDs(), v.IDs(); !slices.Equal(a, b) {
		return fmt.Sprintf("items are %v, recounted %v", b, a)
	}
	if !whole {
		return ""
	}
	if a, b := p.Results(), v.Results(); !reflect.DeepEqual(a, append([]policy.Result(nil), b...)) {
		return fmt.Sprintf("results are %v, recounted %v", b, a)
	}
	if a, b := p.CacheEdits(), v.CacheEdits(); !slices.Equal(a, b) {
		return fmt.Sprintf("cache edits are %v, recounted %v", b, a)
	}
	if a, b := p.arrived, v.Arrived(); !slices.Equal(a, b) {
		return fmt.Sprintf("arrived are %v, recounted %v", b, a)
	}
	var back []policy.ItemID
	for id := range v.Backward {
		back = append(back, id)
	}
	slices.Reverse(back)
	if !slices.Equal(back, p.items) {
		return fmt.Sprintf("items backward are %v, recounted %v", back, p.items)
	}
	for _, id := range p.arrived {
		if p.Has(id) != v.Has(id) {
			return fmt.Sprintf("item %d is in view: %t, recounted %t", id, v.Has(id), p.Has(id))
		}
	}
	for _, id := range p.items {
		weights := func(v policy.View) [4]int {
			return [4]int{v.Weight(id), v.ClientWeight(id), v.PayloadWeight(id), v.ClientPayloadWeight(id)}
		}
		if a, b := weights(p), weights(v); a != b || p.Role(id) != v.Role(id) || p.Blocks(id) != v.Blocks(id) || !reflect.DeepEqual(p.Tag(id), v.Tag(id)) {
			return fmt.Sprintf("item %d weighs %v, recounted %v, or has another role, tag or number of blocks", id, b, a)
		}
		for b := range p.Blocks(id) {
			t := policy.Target{Item: id, Block: b}
			with, on := p.PayloadReplacement(t)
			viewWith, viewOn := v.PayloadReplacement(t)
			if p.Kind(t) != v.Kind(t) || p.Length(t) != v.Length(t) || on != viewOn || !reflect.DeepEqual(with, viewWith) ||
				!reflect.DeepEqual(p.Replacement(t), v.Replacement(t)) || p.CacheEdited(t) != v.CacheEdited(t) {
				return fmt.Sprintf("block %v is another one in the naive view", t)
			}
		}
	}
	return ""
}
