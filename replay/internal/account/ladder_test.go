package account

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/replay/cache"
)

// plainLadder is ladder without an order: every change goes to every model.
type plainLadder struct {
	models map[string]*plainPrefix
	last   int
	now    time.Time
}

type plainPrefix struct {
	tokens  [rungs]int
	expires time.Time
	broken  string
}

func (l *plainLadder) limit(from, tokens int, stage string) {
	for _, m := range l.models {
		for r := from; r < rungs; r++ {
			if r == losesEdits && m.tokens[r] > tokens && m.broken == "" {
				m.broken = stage
			}
			m.tokens[r] = min(m.tokens[r], tokens)
		}
	}
}

func (l *plainLadder) shrink(from, to, tokens int) {
	for _, m := range l.models {
		for r := from; r < to; r++ {
			m.tokens[r] = max(m.tokens[r]-tokens, 0)
		}
	}
	if from == losesNothing {
		l.last = max(l.last-tokens, 0)
	}
}

func (l *plainLadder) of(model string) *plainPrefix {
	if l.models[model] == nil {
		l.models[model] = &plainPrefix{}
	}
	return l.models[model]
}

func (l *plainLadder) request(r *cache.CachedRequest, left, warm int, life time.Duration) (read [rungs]int, stage string) {
	l.now = r.Start
	m := l.of(r.Model)
	if l.now.After(m.expires) {
		m.tokens[losesExpired] = 0
	}
	m.tokens[losesNothing] = max(m.tokens[losesNothing], l.last)
	most := r.Tokens
	for i := range read {
		most = min(max(m.tokens[i], warm), most)
		read[i], m.tokens[i] = most, left
	}
	l.last = r.Tokens
	stage, m.broken, m.expires = m.broken, "", l.now.Add(life)
	return read, stage
}

func (l *plainLadder) call(r *cache.CachedRequest, head int, life time.Duration) {
	l.now = r.Start
	m := l.of(r.Model)
	if l.now.After(m.expires) {
		m.tokens[losesExpired] = min(m.tokens[losesExpired], head)
	}
	if end := l.now.Add(life); end.After(m.expires) {
		m.expires = end
	}
}

func TestLadderAgainstPlain(t *testing.T) {
	broken := 0
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 7))
		got, want := ladder{}, plainLadder{models: map[string]*plainPrefix{}}
		models, now := 1+rng.IntN(12), time.Unix(0, 0)
		name := func() string { return fmt.Sprint("m", rng.IntN(models)) }
		if rng.IntN(2) == 0 {
			model, n := name(), rng.IntN(900)
			got.seed(model, n, now.Add(time.Hour))
			m := want.of(model)
			for r := range m.tokens {
				m.tokens[r] = n
			}
			want.last, m.expires = n, now.Add(time.Hour)
		}
		for step := range 200 {
			now = now.Add(time.Duration(rng.IntN(4)) * time.Minute)
			r := cache.CachedRequest{Start: now, Model: name(), Tokens: 1 + rng.IntN(1000)}
			switch n := rng.IntN(1000); rng.IntN(8) {
			case 0, 1:
				from, stage := losesChanges+rng.IntN(3), ""
				if from == losesEdits {
					stage = fmt.Sprint("stage", rng.IntN(3))
				}
				got.limit(from, n, stage)
				want.limit(from, n, stage)
			case 2:
				got.shrink(losesNothing, losesEdits, n/9)
				want.shrink(losesNothing, losesEdits, n/9)
			case 3:
				got.shrink(losesEdits, rungs, n/9)
				want.shrink(losesEdits, rungs, n/9)
			case 4:
				got.call(&r, n/3, 5*time.Minute)
				want.call(&r, n/3, 5*time.Minute)
			case 5:
				got.grow(r.Model, n/9)
				m := want.of(r.Model)
				for r := range m.tokens {
					m.tokens[r] += n / 9
				}
				want.last += n / 9
			default:
				left, warm := r.Tokens+rng.IntN(50), rng.IntN(30)
				read, stage := got.request(&r, left, warm, 5*time.Minute)
				wantRead, wantStage := want.request(&r, left, warm, 5*time.Minute)
				if read != wantRead || stage != wantStage {
					t.Fatalf("seed %d, step %d: reads %v, broken by %q; want %v, %q", seed, step, read, stage, wantRead, wantStage)
				}
				if stage != "" {
					broken++
				}
			}
			if len(got.list) > 2*models {
				t.Fatalf("seed %d, step %d: %d places for %d models", seed, step, len(got.list), models)
			}
		}
	}
	if broken == 0 {
		t.Error("no stage broke a prefix")
	}
}

// Each edit of a sliding window limits what all models have: most of them have no more than that already.
func TestLadderLooksAtFew(t *testing.T) {
	var l ladder
	for i := range 1000 {
		r := cache.CachedRequest{Model: fmt.Sprint("m", i), Tokens: 5000}
		l.shrink(losesNothing, losesEdits, 10)
		l.limit(losesEdits, 2000, "window")
		l.request(&r, 5000, 0, time.Minute)
	}
	for i := range l.list[:900] {
		l.list[i].tokens[losesEdits] = 1 << 40 // is not looked at
	}
	l.limit(losesEdits, 2000, "window")
	if m := &l.list[0]; m.tokens[losesEdits] != 1<<40 {
		t.Error("a limit looks at a model that has no more than that")
	}
}
