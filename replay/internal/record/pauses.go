package record

import (
	"slices"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/session"
)

// Pause is the time from the end of a response to the sending of the next request, as far as the lines show it.
type Pause struct {
	Length time.Duration // 0: not known, or none
	Tool   bool          // it ended with the result of a tool, and not with what the user typed
}

// Pauses are the pauses before the conversation's requests, in their order; the first request has none.
func (r *Record) Pauses() []Pause {
	l := headLearner{conv: r.Conv}
	list := make([]Pause, len(r.Conv.Requests))
	var end time.Time
	for k := range list {
		start := l.sent(k)
		if k > 0 && !end.IsZero() && start.After(end) {
			prompt, _ := typed(r.Conv, k)
			list[k] = Pause{start.Sub(end), prompt < 0 && hasResult(r.Conv.Messages[r.Conv.Requests[k-1].Message:r.Conv.Requests[k].Message])}
		}
		end = r.Conv.Response(k).End
	}
	return list
}

// hasResult reports whether one of some messages is the result of a tool.
func hasResult(list []session.Message) bool {
	return slices.ContainsFunc(list, func(m session.Message) bool { return m.Class == session.ClassToolResult })
}
