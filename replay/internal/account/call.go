package account

import (
	"time"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
)

// Call simulates a call of the policy's own before a main request, nil: the conversation has none, and prices it. The
// row has its payload and its output. A call with the session's prefix reads what the last main request left, up to the
// first block that it omits; any other reads nothing, and is written to the cache where the client marks the
// model's requests.
func (a *Account) Call(f *RequestFacts, v *view.View, call *policy.Call, row *Request) (err error) {
	switch {
	case f == nil || a.settings.Caching.Breakpoints == policy.BreakpointsNone:
		row.Cache.Uncached = row.Payload
	case call.Prefix == "session":
		row.Cache.Split, err = a.branch(f, v, call.Cut, row.Payload)
	case a.writes(f.Response, row.Payload):
		row.Cache.Write5m = row.Payload
	default:
		row.Cache.Uncached = row.Payload
	}
	var day time.Time
	if f != nil && !a.ended {
		day = f.Response.Time
	}
	row.CostUSD = a.prices.cost(a.answers(row.Model), day, row.Cache.Split, row.Output)
	if row.CostUSD.Known {
		row.CostParts = callParts(row.CostUSD)
	}
	return err
}

// writes reports whether a call with a prompt of its own, before the request that a response answers, is written to the
// cache.
func (a *Account) writes(msg *session.Message, input int) bool {
	model := a.answers(msg.Model)
	marks := a.marks(msg.Version)
	return marks != policy.BreakpointsAutomatic && (marks != policy.BreakpointsLastTwoIfAnthropic || price.Anthropic(model)) &&
		a.kindFor(model).Mode == cache.Breakpoints && input >= a.minimum(model)
}

// branch simulates a call with the session's prefix, up to the block at which it is cut.
func (a *Account) branch(f *RequestFacts, v *view.View, cut *policy.Target, input int) (split cache.Split, err error) {
	a.begin(f)
	end := firstPlace + v.Places()
	from := end
	if cut != nil {
		if place, ok := v.Place(cut.Item); ok {
			from = firstPlace + place + cut.Block
		}
	}
	request := cache.CachedRequest{Start: f.Now, Model: a.model, Minimum: a.minimum(a.model), Tokens: input}
	if a.automatic() {
		split = a.auto.Branch(unchanged(f.Overhead, v, from), cache.UnmarkedRequest{Start: f.Now, Model: a.model, Kind: a.kind, Tokens: input, Floor: a.warm})
	} else {
		last := end
		tokens := input
		if a.marks(a.version) == policy.BreakpointsLast {
			last, tokens = a.callMark(f.Overhead, v, from)
		}
		request.Breakpoints = a.breakpoints(last, tokens, 0, 0)
		split, err = a.sim.Branch(from, request)
	}
	a.ladder.call(&request, a.head.Own, a.lifetime())
	return split, err
}

// callMark is the last place that a call with the session's prefix and a request's overhead marks, and its tokens up to
// there, where the client marks one message and the call sends all before a position unchanged. What it asks for is part
// of the user's last message, so the mark is on the message before that. If the last main request ended there, its mark
// is the one.
func (a *Account) callMark(overhead int, v *view.View, from int) (place, tokens int) {
	end := firstPlace + v.Places()
	for id := range v.Backward {
		if end <= from && v.Role(id) == session.Assistant {
			break
		}
		begins, _ := v.Place(id)
		end = min(end, firstPlace+begins)
	}
	end = max(end, min(a.marked+1, from))
	return end - 1, max(overhead+v.PayloadTokens()-v.PayloadFrom(end-firstPlace), 0)
}

// unchanged is the tokens of a call with an overhead that are as the last request sent them, up to a position.
func unchanged(overhead int, v *view.View, position int) int {
	if c, ok := v.FirstChange(); ok {
		position = min(position, firstPlace+c.Place)
	}
	return max(overhead+v.PayloadTokens()-v.PayloadFrom(position-firstPlace), 0)
}
