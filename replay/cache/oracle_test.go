package cache

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"time"
)

// naive is the cache as the documentation describes it: it keeps every prefix that was written by what it holds,
// block for block.
type naive struct{ entries map[string]*kept }

type kept struct {
	tokens  int
	ttl     TTL
	expires time.Time
}

type block struct {
	text   string
	tokens int
}

func prefixKey(model string, blocks []block) string {
	var b strings.Builder
	b.WriteString(model)
	for _, x := range blocks {
		b.WriteByte(0)
		b.WriteString(x.text)
	}
	return b.String()
}

func sum(blocks []block) (n int) {
	for _, b := range blocks {
		n += b.tokens
	}
	return n
}

func (c *naive) request(now time.Time, model string, blocks []block, marks map[int]TTL, minimum int) Split {
	a, found := 0, ""
	last := -1
	for p := len(blocks) - 1; p >= 0 && found == ""; p-- {
		if _, marked := marks[p]; !marked {
			continue
		}
		last = max(last, p)
		for back := range LookBack {
			if p-back < 0 {
				break
			}
			key := prefixKey(model, blocks[:p-back+1])
			if e := c.entries[key]; e != nil && !now.After(e.expires) {
				a, found = e.tokens, key
				break
			}
		}
	}
	if e := c.entries[found]; found != "" {
		e.expires = now.Add(e.ttl.Duration())
	}
	b, end := a, a
	for p := range blocks {
		ttl, marked := marks[p]
		n := sum(blocks[:p+1])
		if !marked || n < minimum {
			continue
		}
		if n > a {
			if ttl == Long {
				b = n
			}
			end = n
		}
		key := prefixKey(model, blocks[:p+1])
		e := &kept{n, ttl, now.Add(ttl.Duration())}
		if old := c.entries[key]; old != nil && !now.After(old.expires) && old.expires.After(e.expires) {
			e.ttl, e.expires = old.ttl, old.expires
		}
		c.entries[key] = e
	}
	return Split{Read: a, Write1h: b - a, Write5m: end - b, Uncached: sum(blocks) - end}
}

// TestAgainstNaive plays random histories: blocks are appended, edited, taken out and put back in, models change,
// time passes.
func TestAgainstNaive(t *testing.T) {
	for seed := range int64(150) {
		rnd := rand.New(rand.NewSource(seed))
		sim, oracle := &Sim{}, &naive{entries: map[string]*kept{}}
		var blocks []block
		fresh := 0
		add := func(n int) (out []block) {
			for range n {
				fresh++
				out = append(out, block{fmt.Sprint("b", fresh), 1 + rnd.Intn(60)})
			}
			return out
		}
		now, model := start, "m1"
		minimum := []int{0, 40, 400}[rnd.Intn(3)]
		for step := range 60 {
			blocks = append(blocks, add(1+rnd.Intn(8)*rnd.Intn(4))...)
			switch p := rnd.Intn(len(blocks)); rnd.Intn(12) {
			case 0: // a block is replaced
				blocks = append(append(append([]block{}, blocks[:p]...), add(1)...), blocks[p+1:]...)
				sim.Change(p, Cause{Kind: Edited})
			case 1: // blocks are taken out; what stands there then is another block
				if len(blocks) > p+3 {
					blocks = append(append(append([]block{}, blocks[:p]...), add(1)...), blocks[p+3:]...)
					sim.Change(p, Cause{Kind: Edited})
				}
			case 2:
				model = []string{"m1", "m2"}[rnd.Intn(2)]
			case 3:
				now = now.Add(time.Duration(rnd.Intn(90)) * time.Minute)
			default:
				now = now.Add(time.Duration(rnd.Intn(200)) * time.Second)
			}
			marks := map[int]TTL{}
			var bs []Breakpoint
			long := rnd.Intn(3)
			for p := range blocks {
				if len(bs) < MaxBreakpoints && (p == len(blocks)-1 && rnd.Intn(9) > 0 || rnd.Intn(len(blocks)) < 2) {
					ttl := Short
					if len(bs) < long {
						ttl = Long
					}
					marks[p] = ttl
					bs = append(bs, Breakpoint{p, sum(blocks[:p+1]), ttl})
				}
			}
			got, cause, err := sim.Request(CachedRequest{Start: now, Model: model, Minimum: minimum, Tokens: sum(blocks), Breakpoints: bs})
			if err != nil {
				t.Fatal(err)
			}
			if want := oracle.request(now, model, blocks, marks, minimum); got != want {
				t.Fatalf("seed %d, request %d: %+v (%s), the naive cache has %+v", seed, step, got, cause, want)
			}
		}
	}
}
