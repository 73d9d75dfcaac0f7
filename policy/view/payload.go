package view

import (
	"fmt"
	"slices"

	"github.com/ctxkit/ctxkit/policy"
)

// layer is what one stage's payload-only edit left of a block. Stages do not
// see each other's: each lifts its own alone.
type layer struct {
	stage  string
	cache  bool            // a cache_edit, not the server's own clearing
	with   *policy.Content // nil: nothing stands in
	cached int             // of a cache_edit: its index into View.cached
}

// CacheEdits lists the cache edits that stand on blocks in view, in the order
// they were first made: what the payload of a request sends of them.
func (v *View) CacheEdits() []policy.CacheEdit {
	var list []policy.CacheEdit
	for i, c := range v.cached {
		if slices.ContainsFunc(v.layers(c.Target), func(l layer) bool { return l.cache && l.cached == i }) {
			list = append(list, c)
		}
	}
	return list
}

// CacheEdited reports whether a cache_edit stands on the block: then there is
// nothing left of it for the server's own editing to clear.
func (v *View) CacheEdited(t policy.Target) bool {
	l := effective(v.layers(t))
	return l != nil && l.cache
}

// PayloadTokens is Tokens less what payload-only edits take off.
func (v *View) PayloadTokens() int { return v.tokens[0] + v.payload[0] }

// ClientPayloadTokens is PayloadTokens by the counter client arithmetic is
// done in: what the API's usage is about.
func (v *View) ClientPayloadTokens() int {
	if v.weigh[1] == nil {
		return v.PayloadTokens()
	}
	return v.tokens[1] + v.payload[1]
}

// PayloadReplacement reports whether a payload-only edit stands on the block,
// and what it left there (nil: nothing). Where several stages edited it, that
// is what a cache_edit left, or else the one that came last.
func (v *View) PayloadReplacement(t policy.Target) (*policy.Content, bool) {
	if l := effective(v.layers(t)); l != nil {
		return l.with, true
	}
	return nil, false
}

// strip takes the payload-only edits off an item that leaves the view: if it
// comes back it does so without them.
func (v *View) strip(id policy.ItemID) {
	if s := v.state[id]; s != nil {
		clear(s.payload)
	}
}

func (v *View) layers(t policy.Target) []layer {
	if s := v.state[t.Item]; s != nil {
		return s.payload[t.Block]
	}
	return nil
}

// effective is the layer that shows: what is deleted from the cached view is
// gone before the server looks for what to clear.
func effective(layers []layer) *layer {
	for i := range layers {
		if layers[i].cache {
			return &layers[i]
		}
	}
	if n := len(layers); n > 0 {
		return &layers[n-1]
	}
	return nil
}

// payloadWeight is what an item's payload-only edits take off (zero or less).
func (v *View) payloadWeight(id policy.ItemID) (w [2]int) {
	s := v.state[id]
	if s == nil {
		return w
	}
	for b, layers := range s.payload { // a sum: order does not matter
		l := effective(layers)
		if l == nil {
			continue
		}
		if l.with != nil {
			v.sum(&w, v.content(l.with), 1)
		}
		v.sum(&w, v.blockTokens(policy.Target{Item: id, Block: b}), -1)
	}
	return w
}

// payloadBlock is what a block weighs in the payload, by the report's counter.
func (v *View) payloadBlock(t policy.Target) int {
	switch with, on := v.PayloadReplacement(t); {
	case !on:
		return v.BlockTokens(t)
	case with == nil:
		return 0
	default:
		return v.content(with)[0]
	}
}

func (v *View) applyPayload(e *policy.Edit) error {
	t := e.Target
	if !v.Has(t.Item) || t.Block < 0 || t.Block >= v.Blocks(t.Item) || t.Item < 0 {
		return fmt.Errorf("no block %d of item %d in view", t.Block, t.Item)
	}
	if e.Kind == policy.KindCacheEdit && !v.Has(e.Carrier) {
		return fmt.Errorf("no item %d in view to carry the edit", e.Carrier)
	}
	was := v.payloadWeight(t.Item)
	e.Before = v.payloadBlock(t)
	old, had := v.PayloadReplacement(t)
	s := v.ensure(t.Item)
	layers := slices.DeleteFunc(s.payload[t.Block], func(l layer) bool { return l.stage == e.Stage })
	if e.Kind != policy.KindServerKeep {
		l := layer{stage: e.Stage, cache: e.Kind == policy.KindCacheEdit, with: e.New}
		if l.cache {
			l.cached = len(v.cached)
			v.cached = append(v.cached, policy.CacheEdit{Target: t, Carrier: e.Carrier})
		}
		layers = append(layers, l)
	}
	if s.payload == nil {
		s.payload = map[int][]layer{}
	}
	s.payload[t.Block] = layers
	now := v.payloadWeight(t.Item)
	v.sum(&v.payload, now, 1)
	v.sum(&v.payload, was, -1)
	e.After = v.payloadBlock(t)
	v.touchPayload(e, old, had, was[0]-now[0])
	return nil
}
