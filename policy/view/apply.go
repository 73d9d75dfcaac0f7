package view

import (
	"fmt"
	"sort"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
)

// namedShare is how many items that a call or a failed compaction was about count as one edit.
const namedShare = 10

// Apply makes one edit, fills in its token figures, gives ids to the messages it adds, and appends it to the list. An
// edit of what is not in view is an error of the stage.
func (v *View) Apply(e policy.Edit) (policy.Edit, error) {
	e.Joined = v.joined
	e.Before = 0
	e.After = 0
	if err := e.Check(); err != nil {
		return e, fmt.Errorf("applying %s by %s: %w", e.Kind, e.Stage, err)
	}
	if e.Kind.KeepsView() {
		v.named += len(e.Items)
	}
	if v.most > 0 && len(v.edits)+v.named/namedShare >= v.most {
		return e, fmt.Errorf("the edits are %w", &jsonl.LimitError{Name: "edits", Most: int64(v.most)})
	}
	var err error
	switch e.Kind {
	case policy.KindClear, policy.KindPersist, policy.KindTruncate, policy.KindWrap:
		err = v.replace(&e)
	case policy.KindTag:
		err = v.tag(&e)
	case policy.KindCacheEdit, policy.KindServerClear, policy.KindServerKeep:
		err = v.applyPayload(&e)
	case policy.KindRemove, policy.KindCollapse:
		err = v.remove(&e)
	case policy.KindAttach:
		for i := range e.Insert {
			e.After += v.add(&e.Insert[i])
		}
	case policy.KindSummarize:
		err = v.rebuild(&e)
	case policy.KindCall, policy.KindFail, policy.KindRestart:
		err = v.met(e.Items)
	case policy.KindInferred:
		e.Before = v.tokens[0]
		v.tokens.add(weights{e.Delta, e.Delta})
		v.inferred.add(weights{e.Delta, e.Delta})
		if e.Delta != 0 && v.sent.items > 0 {
			v.changedAt(0, v.items[0].id)
			v.sent.left += max(-e.Delta, 0)
		}
		e.After = v.tokens[0]
	}
	if err != nil {
		return e, fmt.Errorf("applying %s by %s: %w", e.Kind, e.Stage, err)
	}
	v.edits = append(v.edits, e)
	return e, nil
}

// met reports an item that never was in view.
func (v *View) met(ids []policy.ItemID) error {
	for _, id := range ids {
		if v.info(id) == nil {
			return fmt.Errorf("no item %d", id)
		}
	}
	return nil
}

func (v *View) ensure(id policy.ItemID) *state {
	k := v.info(id)
	if k.state == nil {
		k.state = &state{weighs: v.weight(id)}
	}
	return k.state
}

// inView reports a target that is no block of a recorded message in view.
func (v *View) inView(t policy.Target) error {
	if !v.Has(t.Item) || t.Block < 0 || t.Block >= v.Blocks(t.Item) || t.Item < 0 {
		return fmt.Errorf("no block %d of item %d in view", t.Block, t.Item)
	}
	return nil
}

func (v *View) replace(e *policy.Edit) error {
	t := e.Target
	if err := v.inView(t); err != nil {
		return err
	}
	if e.New == nil {
		return fmt.Errorf("no replacement for block %d of item %d", t.Block, t.Item)
	}
	before := v.blockTokens(t)
	payload := v.payloadWeight(t.Item)
	v.leaves(t, v.payloadBlock(t))
	s := v.ensure(t.Item)
	if s.blocks == nil {
		s.blocks = make([]*policy.Content, v.Blocks(t.Item))
	}
	s.blocks[t.Block] = e.New
	v.unsum(t.Item)
	v.touch(t)
	after := v.blockTokens(t)
	s.weighs.add(after)
	s.weighs.sub(before)
	v.tokens.add(after)
	v.tokens.sub(before)
	v.payload.add(v.payloadWeight(t.Item))
	v.payload.sub(payload)
	e.Before = before[0]
	e.After = after[0]
	v.setResult(t, e.New.ResultState())
	if p := v.posOf(t.Item); e.New.Gone && len(v.items)-p <= recount {
		v.number(p)
	}
	return nil
}

// setResult sets the state of a result. Results are in view order, so the positions of their items are sorted.
func (v *View) setResult(t policy.Target, st policy.ResultState) {
	p := v.posOf(t.Item)
	i := sort.Search(len(v.results), func(i int) bool {
		r := v.results[i].Target
		q := v.posOf(r.Item)
		return q > p || q == p && r.Block >= t.Block
	})
	if i < len(v.results) && v.results[i].Target == t {
		v.results[i].State = st
	}
}

func (v *View) tag(e *policy.Edit) error {
	if !v.Has(e.Target.Item) || e.New == nil {
		return fmt.Errorf("no item %d in view", e.Target.Item)
	}
	s := v.ensure(e.Target.Item)
	before := s.weighs
	after := s.weighs
	if last := v.Tag(e.Target.Item); last != nil {
		after.sub(v.content(last))
	}
	after.add(v.content(e.New))
	s.tag = e.New
	s.weighs = after
	v.unsum(e.Target.Item)
	v.touch(policy.Target{Item: e.Target.Item, Block: max(v.Blocks(e.Target.Item)-1, 0)})
	v.tokens.add(after)
	v.tokens.sub(before)
	e.Before = before[0]
	e.After = after[0]
	return nil
}

func (v *View) remove(e *policy.Edit) error {
	if len(e.Items) == 0 {
		return fmt.Errorf("no items named")
	}
	if e.Kind == policy.KindCollapse && len(e.Insert) != 1 {
		return fmt.Errorf("a collapse inserts one placeholder, not %d", len(e.Insert))
	}
	first := -1
	for i, id := range e.Items {
		if !v.Has(id) { // or named twice
			for _, back := range e.Items[:i] {
				v.items[v.posOf(back)].next = 0
			}
			return fmt.Errorf("no item %d in view", id)
		}
		p := v.posOf(id)
		if first < 0 || p < first {
			first = p
		}
		v.items[p].next = p + 1
	}
	v.Results() // what is listed later has not left, and is at its place
	for _, id := range e.Items {
		w := v.weight(id)
		payload := v.payloadWeight(id)
		v.unsum(id)
		v.itemLeaves(v.posOf(id), id, w[0]+payload[0])
		e.Before += w[0]
		v.tokens.sub(w)
		v.payload.sub(payload)
		v.strip(id)
		v.live--
		for t := range policy.Targets(v, id) {
			if v.Kind(t) == jsonl.KindToolResult {
				v.setResult(t, policy.ResultGone)
			}
		}
	}
	if e.Kind == policy.KindCollapse {
		// The item that was there keeps its position, so that results stay sorted by it; Has compares ids.
		id := v.newSynthetic(&e.Insert[0])
		v.hidden = append(v.hidden, v.items[first].id)
		v.items[first] = item{id: id, place: v.items[first].place}
		v.setPos(id, first)
		v.arrived = append(v.arrived, id)
		v.live++
		w := v.weight(id)
		e.After = w[0]
		v.tokens.add(w)
	}
	v.left(first)
	return nil
}

func (v *View) newSynthetic(s *policy.Synthetic) policy.ItemID {
	s.ID = policy.ItemID(-len(v.synth) - 1)
	made := syntheticItem{Synthetic: *s, itemInfo: itemInfo{at: -1}}
	for i := range s.Contents {
		made.weighs.add(v.content(&s.Contents[i]))
	}
	v.synth = append(v.synth, made)
	return s.ID
}

func (v *View) add(s *policy.Synthetic) int {
	id := v.newSynthetic(s)
	v.push(id)
	return v.Weight(id)
}

// rebuild replaces the view by Lead, Insert, Keep and Tail. Items that are kept and were not in view join now (a
// recorded summary, or a message a boundary brought back).
func (v *View) rebuild(e *policy.Edit) error {
	e.Before = v.tokens[0]
	if err := v.leaveAll(e); err != nil {
		return err
	}
	before := v.items
	v.items = make([]item, 0, len(e.Lead)+len(e.Insert)+len(e.Keep)+len(e.Tail))
	v.epoch++
	v.sums = nil
	v.keep(e.Lead)
	for i := range e.Insert {
		v.add(&e.Insert[i])
	}
	v.keep(e.Keep)
	for i := range e.Tail {
		v.add(&e.Tail[i])
	}
	v.rebuilt(before)
	e.After = v.tokens[0]
	return nil
}

// leaveAll takes everything out of the view, for a rebuild, and marks what it keeps.
func (v *View) leaveAll(e *policy.Edit) error {
	if err := v.keeps(e.Lead, e.Keep); err != nil {
		return err
	}
	v.allLeave()
	for _, it := range v.items {
		if v.posOf(it.id) <= -2 {
			continue // keep gives it its position
		}
		v.setPos(it.id, -1)
		v.strip(it.id)
	}
	for _, id := range v.hidden {
		v.setPos(id, -1)
	}
	v.hidden = nil
	v.results = nil
	v.listed = 0
	v.live = 0
	v.tokens = weights{}
	v.payload = weights{}
	v.inferred = weights{}
	return nil
}

// keeps marks the items that a rebuild keeps by positions below -1, until keep gives them new ones: -3-p stands for
// position p, so -2 for an item that is not in view.
func (v *View) keeps(lists ...[]policy.ItemID) error {
	for i, list := range lists {
		for k, id := range list {
			err := v.met(list[k : k+1])
			if err == nil && v.posOf(id) <= -2 {
				err = fmt.Errorf("keeping item %d twice", id)
			}
			if err != nil {
				v.unmark(lists[:i]...)
				v.unmark(list[:k])
				return err
			}
			v.setPos(id, -3-v.posOf(id))
		}
	}
	return nil
}

// unmark gives marked items their positions back.
func (v *View) unmark(lists ...[]policy.ItemID) {
	for _, list := range lists {
		for _, id := range list {
			v.setPos(id, -3-v.posOf(id))
		}
	}
}

// keep appends items to a view that is being rebuilt, with the edits to them.
func (v *View) keep(ids []policy.ItemID) {
	for _, id := range ids {
		v.setPos(id, len(v.items))
		v.items = append(v.items, item{id: id})
		if int(id) >= v.joined {
			v.arrived = append(v.arrived, id)
		}
		v.live++
		v.tokens.add(v.weight(id))
		v.payload.add(v.payloadWeight(id))
	}
}
