package record

import (
	"sort"

	"github.com/ctxkit/ctxkit/jsonl/session"
)

// RequestSpan is the requests (0-based) from one on and before another. The zero value has none.
type RequestSpan struct{ From, To int }

// Has reports whether request k is one of them.
func (s RequestSpan) Has(k int) bool { return k >= s.From && k < s.To }

// SpanAt is the requests around request k (0-based) whose responses are of one model, client version and day, and name
// the same window.
func (r *Record) SpanAt(k int) RequestSpan {
	i := sort.Search(len(r.Differ), func(i int) bool { return int(r.Differ[i]) > k })
	s := RequestSpan{int(r.Differ[i-1]), len(r.Conv.Requests)}
	if i < len(r.Differ) {
		s.To = int(r.Differ[i])
	}
	return s
}

// differing are the requests (0-based) that are not like the one before them, the first one included.
func differing(conv *session.Conversation) (list []int32) {
	var last *session.Message
	for k := range conv.Requests {
		m := &conv.Messages[conv.Requests[k].Message]
		if last == nil || m.Model != last.Model || m.Version != last.Version || m.Window != last.Window || Day(m) != Day(last) {
			list = append(list, int32(k))
		}
		last = m
	}
	return list
}

// Day is the day of a message since 1970; 0: unknown.
func Day(m *session.Message) int64 {
	if m.Time.IsZero() {
		return 0
	}
	return m.Time.Unix() / (24 * 60 * 60)
}
