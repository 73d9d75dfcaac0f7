package view

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// A view under random edits shows what a naive one shows, which keeps whole lists and copies; an edit it refuses
// changes nothing.

func FuzzView(f *testing.F) {
	for i := range uint64(20) {
		f.Add(i, []byte(nil))
	}
	f.Fuzz(func(t *testing.T, seed uint64, data []byte) { fuzzView(t, seed, data) })
}

func TestViewSeeds(t *testing.T) {
	seeds := uint64(2000)
	if !must.CI() {
		seeds = 200
	}
	for seed := range seeds {
		fuzzView(t, seed, nil)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// listView is the naive view.
type listView struct {
	conv    *session.Conversation
	items   []policy.ItemID
	made    [][]policy.Content
	blocks  map[policy.Target]*policy.Content
	payload map[policy.Target][]policy.Edit // payload-only edits that stand, one a stage
	cached  []policy.Edit                   // those that are cache edits, in order
	tags    map[policy.ItemID]*policy.Content
	drift   int // inferred edits since the last rebuild
	ever    []policy.ItemID
}

type byLength struct{ conv *session.Conversation }

func (w byLength) Block(m, b int) int { return w.conv.Messages[m].Blocks[b].Text.UTF16 }
func (w byLength) Message(m int) (n int) {
	for b := range w.conv.Messages[m].Blocks {
		n += w.Block(m, b)
	}
	return n
}
func (w byLength) Content(c *policy.Content) int {
	if c.Tokens > 0 {
		return c.Tokens
	}
	return c.Length.UTF16
}

func (p *listView) count(id policy.ItemID) int {
	if id < 0 {
		return len(p.made[-id-1])
	}
	return len(p.conv.Messages[id].Blocks)
}

// tokens are those of the model view and of the payload.
func (p *listView) tokens() (model, payload int) {
	w := byLength{p.conv}
	for _, id := range p.items {
		for b := range p.count(id) {
			t := policy.Target{Item: id, Block: b}
			n := 0
			switch c := p.blocks[t]; {
			case id < 0:
				n = w.Content(&p.made[-id-1][b])
			case c != nil:
				n = w.Content(c)
			default:
				n = w.Block(int(id), b)
			}
			model += n
			if e := p.effective(t); e == nil {
				payload += n
			} else if e.New != nil {
				payload += w.Content(e.New)
			}
		}
		if c := p.tags[id]; c != nil {
			model += w.Content(c)
			payload += w.Content(c)
		}
	}
	return model + p.drift, payload + p.drift
}

// effective is the edit that shows in the payload.
func (p *listView) effective(t policy.Target) *policy.Edit {
	standing := p.payload[t]
	for i := range standing {
		if standing[i].Kind == policy.KindCacheEdit {
			return &standing[i]
		}
	}
	if n := len(standing); n > 0 {
		return &standing[n-1]
	}
	return nil
}

func (p *listView) add(s policy.Synthetic) policy.ItemID {
	p.made = append(p.made, s.Contents)
	id := policy.ItemID(-len(p.made))
	p.ever = append(p.ever, id)
	return id
}

// apply does what an edit says, on whole lists.
func (p *listView) apply(e policy.Edit) {
	switch e.Kind {
	case policy.KindClear, policy.KindPersist, policy.KindTruncate:
		p.blocks[e.Target] = e.New
	case policy.KindTag:
		p.tags[e.Target.Item] = e.New
	case policy.KindCacheEdit, policy.KindServerClear, policy.KindServerKeep:
		same := func(o policy.Edit) bool { return o.Target == e.Target && o.Stage == e.Stage }
		p.payload[e.Target] = slices.DeleteFunc(p.payload[e.Target], same)
		p.cached = slices.DeleteFunc(p.cached, same)
		if e.Kind != policy.KindServerKeep {
			p.payload[e.Target] = append(p.payload[e.Target], e)
		}
		if e.Kind == policy.KindCacheEdit {
			p.cached = append(p.cached, e)
		}
	case policy.KindRemove:
		p.items = slices.DeleteFunc(p.items, func(id policy.ItemID) bool { return slices.Contains(e.Items, id) })
		p.strip()
	case policy.KindCollapse:
		first := slices.IndexFunc(p.items, func(id policy.ItemID) bool { return slices.Contains(e.Items, id) })
		p.items[first] = p.add(e.Insert[0])
		p.items = slices.DeleteFunc(p.items, func(id policy.ItemID) bool { return slices.Contains(e.Items, id) })
		p.strip()
	case policy.KindAttach:
		for _, s := range e.Insert {
			p.items = append(p.items, p.add(s))
		}
	case policy.KindSummarize:
		p.items, p.drift = slices.Clone(e.Lead), 0
		for _, s := range e.Insert {
			p.items = append(p.items, p.add(s))
		}
		p.items = append(p.items, e.Keep...)
		for _, s := range e.Tail {
			p.items = append(p.items, p.add(s))
		}
		p.strip()
	case policy.KindInferred:
		p.drift += e.Delta
	}
}

// strip takes the payload-only edits off what is not in view.
func (p *listView) strip() {
	out := func(e policy.Edit) bool { return !slices.Contains(p.items, e.Target.Item) }
	for t := range p.payload {
		p.payload[t] = slices.DeleteFunc(p.payload[t], out)
	}
	p.cached = slices.DeleteFunc(p.cached, out)
}

// shows is what both views are compared by.
type shows struct {
	Items           []policy.ItemID
	Len, Whole      int // Whole: the payload by its items
	Tokens, Payload int
	Results         []string
	Cached          []policy.CacheEdit
	In              []policy.ItemID // of all that ever were
}

func (p *listView) shows(asks bool) shows {
	s := shows{Items: append([]policy.ItemID(nil), p.items...), Len: len(p.items)}
	s.Tokens, s.Payload = p.tokens()
	s.Whole = s.Payload - p.drift
	for _, id := range p.items {
		for b := range p.count(id) {
			if id < 0 || !asks || p.conv.Messages[id].Blocks[b].Kind != jsonl.KindToolResult {
				continue
			}
			st := policy.ResultLive
			if c := p.blocks[policy.Target{Item: id, Block: b}]; c != nil && !c.Partial {
				st = policy.ResultChanged
			}
			s.Results = append(s.Results, fmt.Sprint(id, b, st))
		}
	}
	for _, e := range p.cached {
		s.Cached = append(s.Cached, policy.CacheEdit{Target: e.Target, Carrier: e.Carrier})
	}
	for _, id := range p.ever {
		if slices.Contains(p.items, id) {
			s.In = append(s.In, id)
		}
	}
	return s
}

// viewShows asks for the results, which are listed only then, where asks is set.
func viewShows(v *View, ever []policy.ItemID, asks bool) shows {
	s := shows{Len: v.Len(), Whole: v.PayloadFrom(0), Tokens: v.Tokens(), Payload: v.PayloadTokens(), Cached: v.CacheEdits()}
	for id := range v.Items {
		s.Items = append(s.Items, id)
	}
	if ids := v.IDs(); !slices.Equal(ids, s.Items) {
		panic(fmt.Sprintf("the ids are %v, the items %v", ids, s.Items))
	}
	if asks {
		for _, r := range v.Results() {
			if r.State != policy.ResultGone {
				s.Results = append(s.Results, fmt.Sprint(r.Target.Item, r.Target.Block, r.State))
			}
		}
	}
	for _, id := range ever {
		if v.Has(id) {
			s.In = append(s.In, id)
		}
	}
	return s
}

// choice draws numbers from data while there are some, then from a generator.
type choice struct {
	data []byte
	rng  *rand.Rand
}

func (c *choice) n(limit int) int {
	if limit <= 1 {
		return 0
	}
	if len(c.data) == 0 {
		return c.rng.IntN(limit)
	}
	b := c.data[0]
	c.data = c.data[1:]
	return int(b) % limit
}

func (c *choice) text() policy.Content {
	kind := []jsonl.Kind{jsonl.KindText, jsonl.KindToolResult}[c.n(2)]
	t := policy.NewContent(kind, strings.Repeat("x", c.n(9)))
	t.Partial = c.n(4) == 0
	return t
}

func (c *choice) synthetic() []policy.Synthetic {
	var list []policy.Synthetic
	for range c.n(3) {
		s := policy.Synthetic{Role: []string{"user", "assistant"}[c.n(2)]}
		for range 1 + c.n(2) {
			s.Contents = append(s.Contents, c.text())
		}
		list = append(list, s)
	}
	return list
}

func (c *choice) conversation() *session.Conversation {
	conv := &session.Conversation{}
	for m := range 3 + c.n(14) {
		msg := session.Message{Role: session.Role(m % 2)}
		for b := range 1 + c.n(3) {
			bl := textBlock(strings.Repeat("y", c.n(20)))
			if c.n(2) == 0 {
				id := fmt.Sprintf("t%d.%d", m, b)
				bl.Kind, bl.IsString = jsonl.KindToolResult, true
				bl.ID = id
			}
			msg.Blocks = append(msg.Blocks, bl)
		}
		conv.Messages = append(conv.Messages, msg)
	}
	conv.IndexTools()
	return conv
}

// some is a random part of the ids, in any order where shuffled.
func (c *choice) some(ids []policy.ItemID, shuffled bool) []policy.ItemID {
	var list []policy.ItemID
	for _, id := range ids {
		if c.n(3) == 0 {
			list = append(list, id)
		}
	}
	if shuffled {
		for i := len(list) - 1; i > 0; i-- {
			j := c.n(i + 1)
			list[i], list[j] = list[j], list[i]
		}
	}
	return list
}

// edit is a random edit, now and then one that names what is not there.
func (c *choice) edit(p *listView) policy.Edit {
	e := policy.Edit{Kind: []policy.EditKind{
		policy.KindClear, policy.KindPersist, policy.KindTruncate, policy.KindTag, policy.KindCacheEdit, policy.KindServerClear, policy.KindServerKeep,
		policy.KindRemove, policy.KindCollapse, policy.KindAttach, policy.KindSummarize, policy.KindInferred, policy.KindCall,
	}[c.n(13)], Stage: []string{"a", "b"}[c.n(2)]}
	anyone := append(slices.Clone(p.ever), policy.ItemID(c.n(3)+len(p.conv.Messages)))
	from := p.items
	if c.n(8) == 0 || len(from) == 0 {
		from = anyone
	}
	e.Target = policy.Target{Item: from[c.n(len(from))], Block: c.n(3)}
	if c.n(6) > 0 {
		text := c.text()
		e.New = &text
	}
	switch e.Kind {
	case policy.KindRemove, policy.KindCollapse, policy.KindAttach, policy.KindSummarize, policy.KindInferred, policy.KindCall:
		if c.n(9) > 0 {
			e.Target, e.New = policy.Target{}, nil
		}
	}
	switch e.Kind {
	case policy.KindCacheEdit:
		e.Carrier = from[c.n(len(from))]
	case policy.KindRemove, policy.KindCall:
		e.Items = c.some(from, true)
	case policy.KindCollapse:
		e.Items = c.some(from, false)
		e.Insert = c.synthetic()
	case policy.KindAttach:
		e.Insert = c.synthetic()
	case policy.KindSummarize:
		e.Insert, e.Tail = c.synthetic(), c.synthetic()
		e.Keep = c.some([][]policy.ItemID{from, p.ever}[c.n(2)], true)
		if c.n(3) == 0 {
			e.Keep = slices.Clone(p.items[c.n(len(p.items)+1):])
		}
		if c.n(2) == 0 {
			at := c.n(len(e.Keep) + 1)
			e.Lead, e.Keep = e.Keep[:at:at], e.Keep[at:]
		}
		if c.n(9) == 0 && len(e.Keep) > 0 {
			e.Keep = append(e.Keep, e.Keep[0])
		}
		if c.n(9) == 0 && len(e.Lead) > 0 {
			e.Keep = append(e.Keep, e.Lead[0])
		}
	case policy.KindInferred:
		e.Delta = c.n(50) - 25
	}
	return e
}

func fuzzView(t *testing.T, seed uint64, data []byte) {
	c := &choice{data, rand.New(rand.NewPCG(seed, 3))}
	conv := c.conversation()
	for range 3 {
		followed(t, c, New(conv, byLength{conv}, thrice{byLength{conv}}))
	}
}

// followed makes edits to a view and holds it against a naive one.
func followed(t *testing.T, c *choice, v *View) {
	conv := v.Conversation()
	p := &listView{conv: conv, blocks: map[policy.Target]*policy.Content{}, payload: map[policy.Target][]policy.Edit{}, tags: map[policy.ItemID]*policy.Content{}}
	var done []string
	sent := &sentList{version: map[policy.Target]int{}}
	var listed []policy.Target // when last asked, in this epoch: places in the list stay what they are
	epoch := 0
	for range 60 {
		asks := c.n(3) == 0
		if c.n(5) == 0 {
			sent.send(v, p)
		}
		if m := v.Joined(); m < len(conv.Messages) && c.n(3) == 0 {
			if c.n(8) == 0 {
				v.Skip(m)
			} else {
				v.Join(m)
				p.items, p.ever = append(p.items, policy.ItemID(m)), append(p.ever, policy.ItemID(m))
			}
			done = append(done, fmt.Sprintf("join %d", m))
		} else {
			e := c.edit(p)
			before := viewShows(v, p.ever, asks)
			edits := len(v.Edits())
			own := e
			own.Insert, own.Tail = slices.Clone(e.Insert), slices.Clone(e.Tail)
			_, err := v.Apply(own)
			done = append(done, fmt.Sprintf("%s %v %v lead %v keep %v +%d +%d: %v", e.Kind, e.Target, e.Items, e.Lead, e.Keep, len(e.Insert), len(e.Tail), err))
			if err == nil {
				was, had := p.left(e.Target)
				p.apply(e)
				sent.apply(p, &e, was, had)
			} else if after := viewShows(v, p.ever, asks); !reflect.DeepEqual(before, after) || len(v.Edits()) != edits {
				t.Fatalf("%s\na refused edit: -before +after\n%s", strings.Join(done, "\n"), cmp.Diff(before, after))
			}
		}
		if naive, view := p.shows(asks), viewShows(v, p.ever, asks); !reflect.DeepEqual(naive, view) {
			t.Fatalf("%s\n-naive +view\n%s", strings.Join(done, "\n"), cmp.Diff(naive, view))
		}
		if asks {
			var now []policy.Target
			for _, r := range v.Results() {
				now = append(now, r.Target)
			}
			if v.Epoch() == epoch && (len(now) < len(listed) || !slices.Equal(listed, now[:len(listed)])) {
				t.Fatalf("%s\nresults moved: %v, then %v", strings.Join(done, "\n"), listed, now)
			}
			listed, epoch = now, v.Epoch()
		}
		if !slices.Equal(p.ever, v.Arrived()) {
			t.Fatalf("%s\n%v arrived, want %v", strings.Join(done, "\n"), v.Arrived(), p.ever)
		}
		sent.check(t, v, p)
		checkWeights(t, v)
	}
}

// thrice is another counter, of the client.
type thrice struct{ byLength }

func (w thrice) Block(m, b int) int            { return 3 * w.byLength.Block(m, b) }
func (w thrice) Message(m int) int             { return 3 * w.byLength.Message(m) }
func (w thrice) Content(c *policy.Content) int { return 3*w.byLength.Content(c) + 1 }

// checkWeights holds what a view keeps of weights against those of the blocks, also of items that are out of view.
func checkWeights(t *testing.T, v *View) {
	t.Helper()
	var all, payload weights
	ids := slices.Clone(v.Arrived())
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		var w weights
		for b := range v.Blocks(id) {
			w.add(v.blockTokens(policy.Target{Item: id, Block: b}))
		}
		if tag := v.Tag(id); tag != nil {
			w.add(v.content(tag))
		}
		if n := v.PayloadWeight(id); w != v.weight(id) || n != w[0]+v.payloadWeight(id)[0] {
			t.Fatalf("item %d weighs %v, %d in the payload, and its blocks %v", id, v.weight(id), n, w)
		}
		if v.Has(id) {
			all.add(w)
			payload.add(v.payloadWeight(id))
		}
	}
	if all.add(v.inferred); all != v.tokens || payload != v.payload {
		t.Fatalf("the view weighs %v and %v less in the payload, its items %v and %v", v.tokens, v.payload, all, payload)
	}
}
