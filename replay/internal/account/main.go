package account

import (
	"cmp"
	"slices"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/internal/record"
	"github.com/ctxkit/ctxkit/replay/price"
)

// Main simulates main request k (0-based), and prices it. The row has its payload and its output. now is the time of the
// last message before it, zero: not known.
func (a *Account) Main(k int, now time.Time, v *view.View, row *Request) error {
	msg := a.record.Conv.Response(k)
	a.askedAgain(k, v, row.Payload)
	a.begin(k)
	if kind, ok := a.record.Settings[k]; ok {
		a.setting(kind)
	}
	if k == 0 {
		a.seed(now, v, row.Payload)
	}
	a.NoteChanges(v)
	a.ladderChanges(v, row.Payload)
	for _, d := range v.ServerDrops() {
		a.sim.Shrink(firstPlace+d.Place, d.Tokens)
		a.auto.Shrink(d.Tokens)
	}
	// By the documentation an entry lives from the start of the request that wrote or read it. In recorded 5-minute
	// sessions it lives from the end of the response: pauses of 4 to 7 minutes were hits up to 303 seconds after it
	// (one of them 364 seconds after the start) and misses from 302 seconds on.
	request := cache.CachedRequest{
		Start: cmp.Or(now, msg.Time), Lives: msg.End, Model: a.model, Minimum: a.minimum(a.model), Tokens: row.Payload,
	}
	left := row.Payload
	var cause cache.Cause
	if a.automatic() {
		if record.Prompted(a.record.Conv, k) {
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
		end, covered := a.covered(k, v, row.Payload)
		a.marked = firstPlace + end - 1
		request.Breakpoints = a.breakpoints(a.marked, covered, firstPlace+last, row.Payload-tail)
		var err error
		if row.Cache.Split, cause, err = a.sim.Request(request); err != nil { // breakpoints follows the rules
			return err
		}
	}
	v.Sent()
	a.last = lastMain{row.Payload, row.Output, row.Estimated}
	if cause.Kind != cache.None {
		row.Cache.Miss = &cause
	}
	row.CostUSD = a.prices.cost(a.model, row.Cache.Split, row.Output)
	read, stage := a.ladder.request(&request, left, a.warm, a.lifetime())
	row.Repeated, row.CostParts = read[losesNothing], a.mainParts(row, read, stage)
	return nil
}

// ladderChanges passes on to the simulations beside the plain one what has changed since the last main request: payload is
// that of the next one, in tokens.
func (a *Account) ladderChanges(v *view.View, payload int) {
	l := &a.ladder
	l.shrink(losesNothing, losesEdits, v.LeftTokens())
	for _, d := range v.ServerDrops() {
		l.shrink(losesEdits, rungs, d.Tokens)
	}
	if c, ok := v.FirstChange(); ok {
		same, stage := max(payload-v.PayloadFrom(c.Place), 0), v.Edits()[c.Edit].Stage
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

// marks is which breakpoints a release of the client sets.
func (a *Account) marks(version string) string {
	return a.settings.Caching.Marks(a.record.Conv.Product, version)
}

// breakpoints are the marks of the policy's client in a request whose last block is at place last, with tokens up to
// there, and whose last message but one ends before place before, with tokensBefore up to there. before is 0 where
// there is no such message.
func (a *Account) breakpoints(last, tokens, before, tokensBefore int) (list []cache.Breakpoint) {
	mark := func(position, n int) {
		if k := len(list); n > 0 && (k == 0 || position > list[k-1].Position && n >= list[k-1].Tokens) && n <= tokens {
			list = append(list, cache.Breakpoint{Position: position, Tokens: n, TTL: a.ttl})
		}
	}
	if a.kind.Mode == "" || a.kind.Mode == cache.Off {
		return list
	}
	switch marks := a.marks(a.version); marks {
	case policy.BreakpointsAutomatic:
		mark(last, tokens)
	case policy.BreakpointsLastTwoIfAnthropic:
		if !price.Anthropic(a.model) {
			break
		}
		fallthrough
	case policy.BreakpointsLast, policy.BreakpointsLastTwo:
		mark(sharedPlace, a.head.Shared)
		mark(systemPlace, a.head.Own)
		if before > firstPlace && marks != policy.BreakpointsLast {
			mark(before-1, tokensBefore)
		}
		if last >= firstPlace {
			mark(last, tokens)
		}
	}
	return list
}

// lastMessage is the place at which the last message of a view begins, and its tokens in the payload. Adjacent messages of
// one role are one.
func lastMessage(v *view.View) (place, tokens int) {
	role, any := session.User, false
	for id := range v.Backward {
		if r := v.Role(id); !any {
			role, any = r, true
		} else if r != role {
			break
		}
		place, _ = v.Place(id)
		tokens += v.PayloadWeight(id)
	}
	return place, tokens
}

// covered is the end of the part of request k (0-based) that its last breakpoint covers: a place of the view, and the
// tokens before it.
func (a *Account) covered(k int, v *view.View, payload int) (place, tokens int) {
	t := a.record.Tails[k]
	if !t.Behind {
		return v.Places(), payload - t.Plain
	}
	place, tokens = until(v, record.AttachedFrom(a.record.Conv, k), payload)
	return place, tokens - t.Plain
}

// until is the place in a view at which the messages from m on begin, and the tokens of a payload before them.
func until(v *view.View, m, payload int) (place, tokens int) {
	place, tokens = v.Places(), payload
	for id := range v.Backward {
		if int(id) < m {
			break
		}
		place, _ = v.Place(id)
		tokens -= v.PayloadWeight(id)
	}
	return place, tokens
}

// askedAgain puts into the cache what a request that no line holds has written before main request k (0-based).
func (a *Account) askedAgain(k int, v *view.View, payload int) {
	if k == 0 || !a.record.Tails[k].Asked || a.kindFor(a.answers(a.record.Conv.Response(k).Model)).Mode == cache.Auto {
		return
	}
	prompt, _ := record.Asks(a.record.Conv, k)
	place, tokens := until(v, prompt, payload)
	if !a.last.estimated && record.TurnEnded(a.record.Conv, k) {
		tokens = a.last.tokens + a.last.output - a.record.Tails[k].Plain
	}
	if more := tokens - a.last.tokens; more > 0 && tokens >= a.minimum(a.model) {
		a.sim.Add(cache.Breakpoint{Position: firstPlace + place - 1, Tokens: tokens, TTL: a.ttl}, a.model, a.record.Conv.Response(k-1).End)
		a.ladder.grow(a.model, more)
	}
}

// seed puts into the cache what the first request of a file that begins mid-conversation read, as recorded: the same
// share of the payload under every policy. What the requests before it wrote beyond that is not known.
func (a *Account) seed(now time.Time, v *view.View, payload int) {
	h := a.record.Earlier()
	if h == nil || h.Cached == nil {
		return
	}
	u := a.record.Usage(a.record.Conv.Response(0))
	n := 0
	if context := u.Context(); context > 0 {
		n = int(int64(*h.Cached) * int64(payload) / int64(context))
	}
	if n <= 0 {
		return
	}
	a.ladder.seed(a.model, n, now)
	if a.automatic() {
		a.auto.Seed(a.model, n+a.kind.Slack, now)
		return
	}
	position := firstPlace + v.Places() - 1
	first := max(position-cache.LookBack+1, systemPlace) // it was read, wherever the client's breakpoints were
	for position > first && payload-v.PayloadFrom(position+1-firstPlace) > n {
		position--
	}
	a.sim.Seed(cache.Breakpoint{Position: position, Tokens: n, TTL: a.ttl}, a.model, now)
}
