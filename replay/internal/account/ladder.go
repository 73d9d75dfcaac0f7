package account

import (
	"maps"
	"slices"
	"time"

	"github.com/ctxkit/ctxkit/replay/cache"
)

// The simulations next to the plain one. Each loses what its name says, and what those before it lose.
const (
	losesNothing  = iota // not even at another model
	losesChanges         // what the client does otherwise than the recorded session's messages say
	losesRestarts        // of the client
	losesEdits           // what an edit changes
	losesExpired         // what outlives its TTL
	rungs
)

// prefix is how much of the last payload each simulation has in the cache of a model.
type prefix struct {
	model   string
	tokens  [rungs]int // plus ladder.off: has takes it off again
	most    [rungs]int // no less than tokens here and before in the list; bound sets it for the last
	expires time.Time  // of losesExpired
	broken  string     // the stage whose edit made losesEdits fall behind losesRestarts since the model's last request
}

// ladder holds the simulations of a replay, in which a prefix of any length is cached. Models that were used last are at
// the end of the list. limit goes back from there to the first that has no more, because those before it have no more
// either.
type ladder struct {
	list  []prefix       // a model that was used again is also where it was before
	index map[string]int // index into list, by model
	off   [rungs]int     // what was taken off the tokens of all models
	last  int            // tokens that losesNothing has of the last payload, whichever model it was sent to
	now   time.Time
}

// clone is a ladder that goes on by itself.
func (l ladder) clone() ladder {
	l.list, l.index = slices.Clone(l.list), maps.Clone(l.index)
	return l
}

// has returns the tokens that a simulation has of a model's.
func (l *ladder) has(m *prefix, rung int) int { return max(m.tokens[rung]-l.off[rung], 0) }

// set lets a simulation have a number of tokens of a model's.
func (l *ladder) set(m *prefix, rung, tokens int) { m.tokens[rung] = tokens + l.off[rung] }

// limit lets no simulation from one on have more than a number of tokens of what was sent.
func (l *ladder) limit(from, tokens int, stage string) {
	l.bound()
	for i := len(l.list) - 1; i >= 0; i-- {
		m := &l.list[i]
		over := false
		for r := from; r < rungs; r++ {
			allowed := tokens + l.off[r]
			if r == losesEdits && m.tokens[r] > allowed && m.broken == "" {
				m.broken = stage
			}
			over = over || m.most[r] > allowed
			m.tokens[r] = min(m.tokens[r], allowed)
			m.most[r] = min(m.most[r], allowed)
		}
		if !over {
			return
		}
	}
}

// bound sets most of the last of the list.
func (l *ladder) bound() {
	n := len(l.list)
	if n == 0 {
		return
	}
	m := &l.list[n-1]
	before := &l.list[max(n-2, 0)]
	for r := range rungs {
		m.most[r] = m.tokens[r]
		if n > 1 {
			m.most[r] = max(m.most[r], before.most[r])
		}
	}
}

// shrink takes tokens off what the simulations from one to another have, at least down to none.
func (l *ladder) shrink(from, to, tokens int) {
	for r := from; r < to; r++ {
		l.off[r] += tokens
	}
	if from == losesNothing {
		l.last = max(l.last-tokens, 0)
	}
}

// grow lets every simulation have a number of tokens more of a model's prompt.
func (l *ladder) grow(model string, tokens int) {
	m := l.of(model)
	for r := range rungs {
		l.set(m, r, l.has(m, r)+tokens)
	}
	l.last += tokens
}

// of finds a model's, and puts it at the end of the list.
func (l *ladder) of(model string) *prefix {
	i, known := l.index[model]
	if known && i == len(l.list)-1 {
		return &l.list[i]
	}
	if l.index == nil {
		l.index = map[string]int{}
	}
	l.bound()
	m := prefix{model: model, tokens: l.off}
	if known {
		m = l.list[i]
	}
	l.index[model] = len(l.list)
	l.list = append(l.list, m)
	if len(l.list) > 2*len(l.index) {
		l.tidy()
	}
	return &l.list[len(l.list)-1]
}

// tidy leaves each model in the list once.
func (l *ladder) tidy() {
	n := 0
	for i := range l.list {
		if m := &l.list[i]; l.index[m.model] == i {
			l.index[m.model] = n
			l.list[n] = *m
			n++
		}
	}
	l.list = l.list[:n]
}

// request makes a main request that leaves a number of tokens in the cache for a TTL: it returns what each simulation
// reads, and the stage whose edit broke the prefix.
func (l *ladder) request(r *cache.CachedRequest, left, warm int, life time.Duration) (read [rungs]int, stage string) {
	if !r.Start.IsZero() {
		l.now = r.Start
	}
	m := l.of(r.Model)
	if l.now.After(m.expires) {
		l.set(m, losesExpired, 0)
	}
	l.set(m, losesNothing, max(l.has(m, losesNothing), l.last))
	most := r.Tokens
	for i := range read {
		most = min(max(l.has(m, i), warm), most)
		read[i] = most
		l.set(m, i, left)
	}
	from := l.now
	if r.Lives.After(from) {
		from = r.Lives
	}
	l.last = r.Tokens
	stage, m.broken, m.expires = m.broken, "", from.Add(life)
	return read, stage
}

// seed lets every simulation begin with a number of tokens of a model's prompt.
func (l *ladder) seed(model string, tokens int, now time.Time) {
	m := l.of(model)
	for r := range rungs {
		l.set(m, r, tokens)
	}
	l.last = tokens
	m.expires = now
}

// call makes a call with the session's prefix: what it reads lives on; of what has expired it writes the head anew.
func (l *ladder) call(r *cache.CachedRequest, head int, life time.Duration) {
	if !r.Start.IsZero() {
		l.now = r.Start
	}
	m := l.of(r.Model)
	if l.now.After(m.expires) {
		l.set(m, losesExpired, min(l.has(m, losesExpired), head))
	}
	if end := l.now.Add(life); end.After(m.expires) {
		m.expires = end
	}
}
