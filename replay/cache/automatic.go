package cache

import (
	"cmp"
	"slices"
	"time"
)

// maxModels is how many models an Automatic remembers, so that the cost of a call does not grow with the models of a
// session.
const maxModels = 64

// Automatic simulates a provider that caches by itself: of the beginning that a request has in common with the last one
// to the same model it reads the whole blocks. Nothing is marked, and no write is billed. Like Sim it compares no
// content: the caller says how long the common beginning is where it is not all. Of more than 64 models it forgets the one
// that was asked least recently. The zero value is an empty cache.
type Automatic struct {
	models []prefix // in the order of their last use, at most maxModels
	limits []limit  // see tidy
	acts   int      // Limit calls
	shrunk int      // tokens of all Shrink calls
	any    bool     // a request was made
	now    time.Time
}

// limit is a Limit call that none after it goes below: limits are in order of their calls and of their tokens.
type limit struct {
	act    int // Limit calls before it
	tokens int // with those of Shrink calls before it
	cause  Cause
}

// prefix is what the last request to a model left, as it was when the model was last looked up.
type prefix struct {
	model     string
	acts      int // Limit calls by then
	shrunk    int // tokens of Shrink calls by then
	left      int // tokens, with the response where that is cached
	same      int // of these, what the next request has as well
	reasoning int // tokens before the first response of the turn that has reasoning; -1: none has
	expires   time.Time
	cause     Cause // of same being less than left
}

// UnmarkedRequest is one API call as an automatic cache sees it.
type UnmarkedRequest struct {
	Start   time.Time // zero: when the request before was made
	Lives   time.Time // start of the TTL of what it leaves; zero: Start
	Model   string
	Kind    *CacheKind // of the model; automatic
	Tokens  int        // of the whole input
	Output  int        // of the response
	Floor   int        // tokens at its start that are cached whatever the conversation sent
	Reasons bool       // the response has reasoning
}

// Clone is a cache that goes on by itself.
func (a *Automatic) Clone() Automatic {
	c := *a
	c.models, c.limits = slices.Clone(a.models), slices.Clone(a.limits)
	return c
}

// of finds what a model's last request left, after all Limit and Shrink calls since; nil where there was none. It is
// valid until the next model.
func (a *Automatic) of(model string) *prefix {
	last := len(a.models) - 1
	for i := last; i >= 0; i-- {
		if a.models[i].model != model {
			continue
		}
		if i < last {
			m := a.models[i]
			copy(a.models[i:], a.models[i+1:])
			a.models[last] = m
		}
		a.settle(&a.models[last])
		return &a.models[last]
	}
	return nil
}

// settle applies to a model's prefix the Limit and Shrink calls since it was last looked up.
func (a *Automatic) settle(m *prefix) {
	// Calls that take off and bound tokens at least down to none come to the least bound, less what is taken off.
	same := m.same + m.shrunk
	n, _ := slices.BinarySearchFunc(a.limits, m.acts, func(l limit, act int) int { return cmp.Compare(l.act, act) })
	if n < len(a.limits) && a.limits[n].tokens < same {
		same = a.limits[n].tokens
		m.cause = a.limits[n].cause
	}
	m.same = max(same-a.shrunk, 0)
	m.left = max(m.left+m.shrunk-a.shrunk, 0)
	m.reasoning = min(m.reasoning, m.same)
	m.acts = a.acts
	m.shrunk = a.shrunk
}

// tidy leaves, of the limits, the first that each model has not seen: it is the least of them.
func (a *Automatic) tidy() {
	before := -1
	a.limits = slices.DeleteFunc(a.limits, func(l limit) bool {
		from := before
		before = l.act
		return !slices.ContainsFunc(a.models, func(m prefix) bool { return from < m.acts && m.acts <= l.act })
	})
}

// open belongs to, and makes what there is not.
func (a *Automatic) open(model string) *prefix {
	if m := a.of(model); m != nil {
		return m
	}
	if len(a.models) == maxModels {
		a.models = slices.Delete(a.models, 0, 1)
	}
	a.models = append(a.models, prefix{model: model, acts: a.acts, shrunk: a.shrunk, reasoning: -1})
	return &a.models[len(a.models)-1]
}

// Seed states that requests before the first one left a number of tokens of a model's prompt, which are cached until then.
func (a *Automatic) Seed(model string, tokens int, at time.Time) {
	m := a.open(model)
	m.left = tokens
	m.same = tokens
	m.expires = at
	a.any = true
}

// Limit states that the next request has at most a given number of tokens in common with any request before. Of several
// limits the least counts, and of equal ones the first cause.
func (a *Automatic) Limit(tokens int, cause Cause) {
	if len(a.models) == 0 {
		return
	}
	l := limit{a.acts, max(tokens, 0) + a.shrunk, cause}
	n := len(a.limits)
	for n > 0 && a.limits[n-1].tokens > l.tokens {
		n--
	}
	a.limits = append(a.limits[:n], l)
	a.acts++
	if len(a.limits) > 2*len(a.models) {
		a.tidy()
	}
}

// Shrink states that the server removed tokens from what was sent, and what stays is still cached. Below 0 it put
// something longer in the place of what was sent.
func (a *Automatic) Shrink(tokens int) {
	if tokens < 0 { // what was bounded at none grows from there
		for i := range a.models {
			a.settle(&a.models[i])
		}
	}
	a.shrunk += tokens
}

// NewTurn states that the next request is the first of a turn. Where the server leaves out the reasoning of the finished
// turn, ok is true, and the unchanged part ends before it, after a number of tokens.
func (a *Automatic) NewTurn(model string, kind *CacheKind) (tokens int, ok bool) {
	m := a.of(model)
	if m == nil {
		return 0, false
	}
	tokens = m.reasoning
	m.reasoning = -1
	if tokens < 0 || !kind.DropsReasoning {
		return 0, false
	}
	if m.same > tokens {
		m.same = tokens
		m.cause = Cause{Kind: Thinking}
	}
	return tokens, true
}

// Request makes a request. It returns the split of its input and, if it read less than the last one left, the cause.
func (a *Automatic) Request(r UnmarkedRequest) (Split, Cause) {
	m, read, cause := a.read(&r, r.Tokens)
	if m == nil {
		m = a.open(r.Model)
	}
	m.left, m.cause, m.expires = r.Tokens, Cause{}, a.expiry(&r)
	if r.Kind.OutputCached {
		m.left += r.Output
	}
	m.same = m.left
	if m.reasoning = min(m.reasoning, r.Tokens); r.Reasons && m.reasoning < 0 {
		m.reasoning = r.Tokens
	}
	a.any = true
	return Split{Read: read, Uncached: r.Tokens - read}, cause
}

// Branch makes a request that has only a number of tokens in common with the conversation: the request of a compaction
// itself. It leaves nothing, but what it read lives on.
func (a *Automatic) Branch(common int, r UnmarkedRequest) Split {
	m, read, _ := a.read(&r, common)
	if m != nil && read > 0 {
		m.expires = a.expiry(&r)
	}
	return Split{Read: read, Uncached: r.Tokens - read}
}

// Renew lets what the last request to a model left live until a time: it was sent again, and nothing else.
func (a *Automatic) Renew(model string, until time.Time) {
	if m := a.of(model); m != nil {
		m.expires = until
	}
}

func (a *Automatic) expiry(r *UnmarkedRequest) time.Time {
	from := a.now
	if r.Lives.After(from) {
		from = r.Lives
	}
	return from.Add(r.Kind.Lifetime())
}

// read finds the tokens that a request reads, and why these are less than the last request to its model left. common is
// the most tokens that it has in common with the requests before.
func (a *Automatic) read(r *UnmarkedRequest, common int) (m *prefix, read int, cause Cause) {
	if !r.Start.IsZero() {
		a.now = r.Start
	}
	m = a.of(r.Model)
	floor := max(r.Floor, 0)
	most := min(common, r.Tokens)
	switch {
	case !a.any:
		return m, r.Kind.Blocks(min(floor, most)), Cause{Kind: First}
	case m == nil:
		return m, r.Kind.Blocks(min(floor, most)), Cause{Kind: ModelSwitch}
	}
	left := m.left - r.Kind.Slack
	found := min(left, m.same)
	cause = m.cause
	if a.now.After(m.expires) {
		found = 0
		cause = Cause{Kind: Expired}
	}
	read = r.Kind.Blocks(min(max(found, floor), most))
	switch whole := r.Kind.Blocks(min(left, most)); {
	case whole == 0 && r.Kind.Minimum > 0:
		return m, read, Cause{Kind: BelowMinimum}
	case read >= whole:
		return m, read, Cause{}
	}
	return m, read, cause
}
