package report

import (
	"io"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/cache"
)

// CostSchema is the version of the JSON form of costs.
const CostSchema = "ctxkit.cost/v1"

// SessionCost is what one conversation costs under a policy.
type SessionCost struct {
	named
	Model string `json:"model"`
	*replay.Cost
	Total replay.Bill `json:"total"`
}

// CostOf returns the cost of a timeline.
func CostOf(tl *replay.Timeline) SessionCost {
	c := tl.Cost()
	return SessionCost{names(tl), tl.Model, c, c.Total()}
}

// Costs prints what conversations cost under the policies that use names.
func Costs(w io.Writer, list []SessionCost, use policy.Use, opt Layout) error {
	t := newTable([]column{{Title: "session", Flex: true}}, keys(namedKeys), keys("model kind"),
		[]column{{Title: "calls", Key: "calls"}, {Title: "read", Key: "cache_read"}, {Title: "written"}}, keys("cache_write_5m cache_write_1h"),
		[]column{{Title: "uncached", Key: "cache_uncached"}, {Title: "output", Key: "output_tokens"}, {Key: "estimated_outputs"}, {Title: "USD", Key: "cost_usd"}},
		keys("unpriced_requests conversation_tokens"))
	add := func(st style, title, kind string, s *SessionCost, b replay.Bill) *row {
		cells := append([]any{title}, s.cells()...)
		return t.add(st, append(cells, s.Model, kind, b.Calls, b.Input.Read, b.Input.Write5m+b.Input.Write1h, b.Input.Write5m, b.Input.Write1h,
			b.Input.Uncached, b.Output, b.Estimated, b.CostUSD, b.Unpriced, s.Conversation)...)
	}
	sum := SessionCost{Cost: &replay.Cost{}}
	for i := range list {
		s := &list[i]
		add(none, strings.TrimSpace(s.Session+" "+s.Agent), "main", s, s.Main)
		add(yellow, "+ the policy's own calls", "own", s, s.Own).noTab = s.Own.Calls == 0
		sum.Total.Add(s.Total)
		sum.Own.Add(s.Own)
		sum.Conversation += s.Conversation
		sum.Lost = append(sum.Lost, s.Lost...)
	}
	if len(list) != 1 || list[0].Own.Calls > 0 {
		add(bold, "sum", "", &sum, sum.Total).noCSV = true
	}
	json := object{{"schema", CostSchema}, {"sessions", list}, {"total", sum.Total}}
	d := listing(t, json, costNotes(&sum)...)
	return d.after(use).print(w, opt)
}

// costNotes explain the sum.
func costNotes(sum *SessionCost) []string {
	var notes []string
	note := func(when bool, format string, args ...any) {
		if when {
			notes = append(notes, phrase(format, args...))
		}
	}
	total, own := sum.Total, sum.Own.Tokens()
	in, lost := total.Input.Input(), lostText(sum.Lost)
	note(in > 0, "%v of the %v input tokens are cache reads (simulated).", percent(total.Input.Read, in), in)
	share := percent(own, sum.Conversation) + " of"
	if own > sum.Conversation {
		share = places(float64(own)/float64(max(sum.Conversation, 1)), 1) + " times"
	}
	note(own > 0, "The policy's own calls use %v tokens, %v the conversation itself (%v).", own, share, sum.Conversation)
	note(lost != "", "Tokens sent before and not read from the cache, by cause: %v.", lost)
	note(total.Estimated > 0, "%v of %v have no reliable output count; their output is estimated.",
		total.Estimated, count(total.Calls, "response"))
	note(total.Unpriced > 0, "%v of %v have no known price; the cost leaves them out.", total.Unpriced, count(total.Calls, "request"))
	return notes
}

// lostText lists the tokens lost by cause, most tokens first.
func lostText(list []replay.Lost) string {
	tokens, requests := map[string]int{}, map[string]int{}
	for _, x := range list {
		name := either(x.Cause == cache.Edited, "edits by "+x.Stage, cache.Cause{Kind: x.Cause}.String())
		tokens[name] += x.Tokens
		requests[name] += x.Requests
	}
	var parts []string
	for _, name := range byCount(tokens) {
		if tokens[name] > 0 {
			parts = append(parts, phrase("%v %v (%v)", name, tokens[name], count(requests[name], "request")))
		}
	}
	return strings.Join(parts, ", ")
}
