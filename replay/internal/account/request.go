package account

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay/cache"
)

// MainRequest simulates a main request, and prices it. The row has its payload and its output.
func (a *Account) MainRequest(f *RequestFacts, v *view.View, row *Request) error {
	msg := f.Response
	for _, c := range f.Warmings {
		a.renew(a.answers(c.Model), c.Time)
	}
	a.askedAgain(f, v, row.Payload)
	a.begin(f)
	if f.Setting != cache.None {
		a.setting(f.Setting)
	}
	if f.Earlier != nil {
		a.seed(f, v, row.Payload)
	}
	a.NoteChanges(v)
	a.ladderChanges(v, row.Payload)
	for _, d := range v.ServerDrops() {
		a.sim.Shrink(firstPlace+d.Place, d.Tokens)
		a.auto.Shrink(d.Tokens)
	}
	// By the documentation an entry lives from the start of the request that wrote or read it. In recorded 5-minute
	// sessions it lives from the end of the response: pauses of 4 to 7 minutes were hits up to 303 seconds after it
	// (one of them 364 seconds after the start) and cache misses from 302 seconds on.
	request := cache.CachedRequest{
		Start: cmp.Or(f.Now, msg.Time), Lives: msg.End, Model: a.model, Minimum: a.minimum(a.model), Tokens: row.Payload,
	}
	left := row.Payload
	var cause cache.Cause
	if a.automatic() {
		if f.Tail.Typed {
			if n, dropped := a.auto.NewTurn(a.model, a.kind); dropped {
				a.ladder.limit(losesChanges, n, "")
			}
		}
		row.Cache.Split, cause = a.auto.Request(cache.UnmarkedRequest{
			Start: request.Start, Lives: msg.End, Model: a.model, Kind: a.kind, Tokens: row.Payload, Output: row.Output, Floor: a.warm, Reasons: reasons(msg),
		})
		if a.kind.OutputCached {
			left += row.Output
		}
	} else {
		last, tail := lastMessage(v)
		end, covered := covered(&f.Tail, v, row.Payload)
		a.marked = firstPlace + end - 1
		request.Breakpoints = a.breakpoints(a.marked, covered, firstPlace+last, row.Payload-tail)
		var err error
		if row.Cache.Split, cause, err = a.sim.Request(request); err != nil { // breakpoints follows the rules
			return err
		}
		if a.kind.Mode == "" || a.kind.Mode == cache.Off && a.kind.Confidence == cache.Recorded {
			cause = cache.Cause{Kind: cache.Uncached}
		}
	}
	a.last = lastMain{row.Payload, row.Output, row.Estimated, msg.End}
	if cause.Kind != cache.None {
		row.Cache.Miss = &cause
	}
	row.CostUSD = a.prices.cost(a.model, row.Time, row.Cache.Split, row.Output)
	read, stage := a.ladder.request(&request, left, a.warm, a.lifetime())
	row.Repeated, row.CostParts = read[losesNothing], a.mainParts(row, read, stage)
	return nil
}

// renew lets what the last request to a model left in its cache live on from a time: the client sent it again.
func (a *Account) renew(model string, at time.Time) {
	life := a.lifetimeOf(a.kindFor(model))
	a.sim.Renew(model, at.Add(life))
	a.auto.Renew(model, at.Add(life))
	a.ladder.call(&cache.CachedRequest{Start: at, Model: model}, math.MaxInt, life)
}

// ladderChanges passes on to the simulations next to the plain one what has changed since the last main request: payload is
// that of the next one, in tokens.
func (a *Account) ladderChanges(v *view.View, payload int) {
	l := &a.ladder
	l.shrink(losesNothing, losesEdits, v.LeftTokens())
	for _, d := range v.ServerDrops() {
		l.shrink(losesEdits, rungs, d.Tokens)
	}
	if c, ok := v.FirstChange(); ok {
		same := max(payload-v.PayloadFrom(c.Place), 0)
		stage := v.Edits()[c.Edit].Stage
		a.auto.Limit(same, a.causeOf(v, c))
		if stage == policy.StageServer {
			l.limit(losesChanges, same, "") // no edit of the policy's
		} else {
			l.limit(losesEdits, same, stage)
		}
	}
}

// reasons reports whether a response has reasoning.
func reasons(m *session.Message) bool {
	return m.Usage.Thinking > 0 || slices.ContainsFunc(m.Blocks, func(b session.Block) bool {
		return b.Kind == jsonl.KindThinking || b.Kind == jsonl.KindRedactedThinking
	})
}
