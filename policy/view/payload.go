package view

import (
	"fmt"
	"slices"

	"github.com/ctxkit/ctxkit/policy"
)

// layer is a payload-only edit of one stage to a block. A stage lifts its own alone.
type layer struct {
	stage  string
	cache  bool            // a cache_edit, not the server's own clearing
	with   *policy.Content // the replacement; nil: none
	cached int             // of a cache_edit: its index into View.cached
}

// CacheEdits lists the cache edits to blocks in view, in the order they were first made: those that the payload of a
// request holds.
func (v *View) CacheEdits() (list []policy.CacheEdit) {
	for i, c := range v.cached {
		if slices.ContainsFunc(v.layers(c.Target), func(l layer) bool { return l.cache && l.cached == i }) {
			list = append(list, c)
		}
	}
	return list
}

// CacheEdited reports whether a cache_edit deleted the block, which leaves the server's own editing nothing to clear.
func (v *View) CacheEdited(t policy.Target) bool {
	l := effective(v.layers(t))
	return l != nil && l.cache
}

// PayloadTokens is Tokens with the payload-only edits.
func (v *View) PayloadTokens() int { return v.tokens[0] + v.payload[0] }

// ClientPayloadTokens is PayloadTokens by the client's counter, which counts as the API's usage does.
func (v *View) ClientPayloadTokens() int { return v.tokens[v.client] + v.payload[v.client] }

// PayloadReplacement reports whether a payload-only edit changed the block, and to what (nil: it was removed). Of
// several edits a cache_edit counts, else the last.
func (v *View) PayloadReplacement(t policy.Target) (*policy.Content, bool) {
	if l := effective(v.layers(t)); l != nil {
		return l.with, true
	}
	return nil, false
}

// PolicyReplacement is PayloadReplacement without what the server leaves out by itself.
func (v *View) PolicyReplacement(t policy.Target) (*policy.Content, bool) {
	own := slices.DeleteFunc(slices.Clone(v.layers(t)), func(l layer) bool { return l.stage == policy.StageServer })
	if l := effective(own); l != nil {
		return l.with, true
	}
	return nil, false
}

// strip takes the payload-only edits off an item that leaves the view. An item that comes back has none.
func (v *View) strip(id policy.ItemID) {
	if s := v.stateOf(id); s != nil {
		clear(s.payload)
	}
}

func (v *View) layers(t policy.Target) []layer {
	if s := v.stateOf(t.Item); s != nil && t.Block >= 0 && t.Block < len(s.payload) {
		return s.payload[t.Block]
	}
	return nil
}

// effective is the layer that counts, nil for none. A cache_edit deletes a block before the server looks for blocks
// to clear.
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
func (v *View) payloadWeight(id policy.ItemID) (w weights) {
	s := v.stateOf(id)
	if s == nil {
		return w
	}
	for b, layers := range s.payload {
		if l := effective(layers); l != nil {
			if l.with != nil {
				w.add(v.content(l.with))
			}
			w.sub(v.blockTokens(policy.BlockOf(id, b)))
		}
	}
	return w
}

// PayloadBlockTokens is what a block weighs in the payload, in tokens.
func (v *View) PayloadBlockTokens(t policy.Target) int { return v.payloadBlock(t) }

// payloadBlock is what a block weighs in the payload, by the report's counter.
func (v *View) payloadBlock(t policy.Target) int { return v.payloadBlocks(t)[0] }

// payloadBlocks is what a block weighs in the payload.
func (v *View) payloadBlocks(t policy.Target) (w weights) {
	switch with, on := v.PayloadReplacement(t); {
	case !on:
		return v.blockTokens(t)
	case with == nil:
		return w
	default:
		return v.content(with)
	}
}

func (v *View) applyPayload(e *policy.Edit) error {
	t := e.Target
	if err := v.inView(t); err != nil {
		return err
	}
	if e.Kind == policy.KindCacheEdit && !v.Has(e.Carrier) {
		return fmt.Errorf("no item %d in view to carry the edit", e.Carrier)
	}
	was := v.payloadWeight(t.Item)
	e.Before = v.payloadBlock(t)
	old, had := v.PayloadReplacement(t)
	s := v.ensure(t.Item)
	if s.payload == nil {
		s.payload = make([][]layer, v.Blocks(t.Item))
	}
	layers := slices.DeleteFunc(s.payload[t.Block], func(l layer) bool { return l.stage == e.Stage })
	if e.Kind != policy.KindServerKeep {
		l := layer{stage: e.Stage, cache: e.Kind == policy.KindCacheEdit, with: e.New}
		if l.cache {
			l.cached = len(v.cached)
			v.cached = append(v.cached, policy.CacheEdit{Target: t, Carrier: e.Carrier})
		}
		layers = append(layers, l)
	}
	s.payload[t.Block] = layers
	v.unsum(t.Item)
	now := v.payloadWeight(t.Item)
	v.payload.add(now)
	v.payload.sub(was)
	e.After = v.payloadBlock(t)
	if with, on := v.PayloadReplacement(t); on != had || !sameContent(old, with) {
		v.leaves(t, e.Before)
	}
	v.touchPayload(e, old, had, was[0]-now[0])
	return nil
}
