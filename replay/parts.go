package replay

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
)

// CostParts is a cost by its reasons. The parts add up to the cost exactly; each may be below zero. They are the
// differences between simulations of the same payloads, each with one more reason than the one before it.
type CostParts struct {
	Ideal     price.USD   `json:"ideal"`                   // input: what was sent before and is still there is read, only the rest is written; what restarts lost is written, too
	Restarts  price.USD   `json:"ideal_restarts,omitzero"` // of Ideal: what restarts of the client lost; left out where they lost nothing
	Changes   price.USD   `json:"ideal_changes,omitzero"`  // of Ideal: what other models, tools and settings, and thinking that the server stripped, lost; likewise
	Breaks    price.USD   `json:"breaks"`                  // what the policy's edits made the cache lose
	Lifetime  price.USD   `json:"lifetime"`                // what had expired
	Placement price.USD   `json:"placement"`               // what no breakpoint or look-back covered, or was too short
	OwnCalls  price.USD   `json:"own_calls"`               // the policy's own calls, with what they write
	Output    price.USD   `json:"output"`                  // of main requests, at the price of short prompts
	ByStage   []StageCost `json:"breaks_by_stage,omitempty"`
}

// StageCost is the part of breaks that the edits of a stage caused.
type StageCost struct {
	Stage  string    `json:"stage"`
	Breaks price.USD `json:"breaks"`
}

// Sum is all parts together.
func (p *CostParts) Sum() price.USD {
	var sum price.USD
	for _, part := range [...]price.USD{p.Ideal, p.Breaks, p.Lifetime, p.Placement, p.OwnCalls, p.Output} {
		sum.Add(part)
	}
	return sum
}

// Add adds another cost's parts; nil has none.
func (p *CostParts) Add(o *CostParts) {
	if o == nil {
		return
	}
	p.Ideal.Add(o.Ideal)
	p.Restarts.Add(o.Restarts)
	p.Changes.Add(o.Changes)
	p.Breaks.Add(o.Breaks)
	p.Lifetime.Add(o.Lifetime)
	p.Placement.Add(o.Placement)
	p.OwnCalls.Add(o.OwnCalls)
	p.Output.Add(o.Output)
	for _, s := range o.ByStage {
		at, found := slices.BinarySearchFunc(p.ByStage, s.Stage, func(c StageCost, name string) int { return strings.Compare(c.Stage, name) })
		if !found {
			p.ByStage = slices.Insert(p.ByStage, at, StageCost{Stage: s.Stage})
		}
		p.ByStage[at].Breaks.Add(s.Breaks)
	}
}

// The simulations beside the plain one, by what makes the cache lose something: nothing, not even another model; what the
// client does otherwise than the record's messages say; restarts of the client too, edits too, the end of a lifetime too.
const (
	keepsEvery = iota
	keepsMost
	keepsAll
	losesEdits
	losesExpired
	rungs
)

// kept is how much of the last payload each simulation has in the cache of a model.
type kept struct {
	model   string
	tokens  [rungs]int // plus ladder.off: has takes it off again
	most    [rungs]int // no less than tokens here and before in the list; bound sets it for the last
	expires time.Time  // of losesExpired
	broken  string     // the stage whose edit made losesEdits fall behind keepsAll since the model's last request
}

// ladder holds the simulations of a replay, in which a prefix of any length is cached. Models that were used last are at
// the end of the list. limit goes back from there to the first that has no more, because those before it have no more
// either.
type ladder struct {
	list []kept         // a model that was used again is also where it was before
	at   map[string]int // index into list, by model
	off  [rungs]int     // what was taken off the tokens of all models
	last int            // tokens that keepsEvery has of the last payload, whichever model it was sent to
	now  time.Time
}

// clone is a ladder that goes on by itself.
func (l ladder) clone() ladder {
	l.list, l.at = slices.Clone(l.list), maps.Clone(l.at)
	return l
}

// has returns the tokens that a simulation has of a model's.
func (l *ladder) has(m *kept, rung int) int { return max(m.tokens[rung]-l.off[rung], 0) }

func (l *ladder) set(m *kept, rung, tokens int) { m.tokens[rung] = tokens + l.off[rung] }

// limit lets no simulation from one on have more than so many tokens of what was sent.
func (l *ladder) limit(from, tokens int, stage string) {
	l.bound()
	for i := len(l.list) - 1; i >= 0; i-- {
		m, over := &l.list[i], false
		for r := from; r < rungs; r++ {
			allowed := tokens + l.off[r]
			if r == losesEdits && m.tokens[r] > allowed && m.broken == "" {
				m.broken = stage
			}
			over = over || m.most[r] > allowed
			m.tokens[r], m.most[r] = min(m.tokens[r], allowed), min(m.most[r], allowed)
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
	m, before := &l.list[n-1], &l.list[max(n-2, 0)]
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
	if from == keepsEvery {
		l.last = max(l.last-tokens, 0)
	}
}

// grow lets every simulation have so many tokens more of a model's prompt.
func (l *ladder) grow(model string, tokens int) {
	m := l.of(model)
	for r := range rungs {
		l.set(m, r, l.has(m, r)+tokens)
	}
	l.last += tokens
}

// of finds a model's, and puts it at the end of the list.
func (l *ladder) of(model string) *kept {
	i, known := l.at[model]
	if known && i == len(l.list)-1 {
		return &l.list[i]
	}
	if l.at == nil {
		l.at = map[string]int{}
	}
	l.bound()
	m := kept{model: model, tokens: l.off}
	if known {
		m = l.list[i]
	}
	l.at[model] = len(l.list)
	l.list = append(l.list, m)
	if len(l.list) > 2*len(l.at) {
		l.tidy()
	}
	return &l.list[len(l.list)-1]
}

// tidy leaves each model in the list once.
func (l *ladder) tidy() {
	n := 0
	for i := range l.list {
		if m := &l.list[i]; l.at[m.model] == i {
			l.at[m.model] = n
			l.list[n] = *m
			n++
		}
	}
	l.list = l.list[:n]
}

// request makes a main request that leaves so many tokens in the cache for a lifetime: it returns what each simulation
// reads, and the stage whose edit broke the prefix.
func (l *ladder) request(r *cache.CachedRequest, left, warm int, life time.Duration) (read [rungs]int, stage string) {
	if !r.Start.IsZero() {
		l.now = r.Start
	}
	m := l.of(r.Model)
	if l.now.After(m.expires) {
		l.set(m, losesExpired, 0)
	}
	l.set(m, keepsEvery, max(l.has(m, keepsEvery), l.last))
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

// seed lets every simulation begin with so many tokens of a model's prompt.
func (l *ladder) seed(model string, tokens int, at time.Time) {
	m := l.of(model)
	for r := range rungs {
		l.set(m, r, tokens)
	}
	l.last, m.expires = tokens, at
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

// ladderChanges passes on to the simulations what has changed since the last main request: payload is that of the next
// one, in tokens.
func (e *engine) ladderChanges(payload int) {
	l, v := &e.cache.ladder, e.view
	l.shrink(keepsEvery, losesEdits, v.LeftTokens())
	for _, d := range v.ServerDrops() {
		l.shrink(losesEdits, rungs, d.Tokens)
	}
	if c, ok := v.FirstChange(); ok {
		kept, stage := max(payload-v.PayloadFrom(c.Place), 0), v.Edits().Stage(c.Edit)
		e.cache.auto.Limit(kept, e.causeOf(c))
		if stage == policy.StageServer {
			l.limit(keepsMost, kept, "") // no edit of the policy's
		} else {
			l.limit(losesEdits, kept, stage)
		}
	}
}

// mainParts are the parts of the cost of a main request; nil where its model has no price.
func (c *caching) mainParts(r *Request, model string, read [rungs]int, stage string) *CostParts {
	m := c.find(model)
	if m.ID == "" {
		return nil
	}
	var cost [rungs + 1]int64
	for i, n := range read {
		if i > 0 && n == read[i-1] {
			cost[i] = cost[i-1]
			continue
		}
		if in := c.read(c.kind, n, r.Payload-n); in == r.Cache.Split {
			cost[i] = r.CostUSD.Nano
		} else {
			cost[i] = m.Cost(in, r.Output).Nano
		}
	}
	cost[rungs] = r.CostUSD.Nano
	usd := func(n int64) price.USD { return price.USD{Nano: n, Known: true} }
	p := &CostParts{Output: m.Cost(cache.Split{}, r.Output), OwnCalls: usd(0)}
	p.Ideal = usd(cost[keepsAll] - p.Output.Nano)
	if lost := cost[keepsAll] - cost[keepsMost]; lost != 0 {
		p.Restarts = usd(lost)
	}
	if lost := cost[keepsMost] - cost[keepsEvery]; lost != 0 {
		p.Changes = usd(lost)
	}
	p.Breaks = usd(cost[losesEdits] - cost[keepsAll])
	p.Lifetime = usd(cost[losesExpired] - cost[losesEdits])
	p.Placement = usd(cost[rungs] - cost[losesExpired])
	if p.Breaks.Nano != 0 {
		p.ByStage = []StageCost{{stage, p.Breaks}}
	}
	return p
}

// callParts are the parts of the cost, which is known, of a call of the policy's own.
func callParts(cost price.USD) *CostParts {
	none := price.USD{Known: true}
	return &CostParts{Ideal: none, Breaks: none, Lifetime: none, Placement: none, OwnCalls: cost, Output: none}
}

// CacheMode says whose prompt cache a replay simulates.
type CacheMode string

// The modes. The zero value is CacheOwn.
const (
	CacheEqual CacheMode = "equal" // that of the record's own client and provider, for every policy
	CacheOwn   CacheMode = "own"   // that of the policy's product
	CacheNone  CacheMode = "none"
)

// caching is how a policy's requests use the cache in the mode.
func (m CacheMode) caching(pol *policy.Policy) policy.Caching {
	switch m {
	case CacheEqual:
		return policy.DefaultCaching() // Claude Code's, with the lifetime that the record shows
	case CacheNone:
		return policy.Caching{Breakpoints: policy.BreakpointsNone, TTL: "5m", Warm: "never"}
	}
	return pol.Cache
}
