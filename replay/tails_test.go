package replay_test

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay"
)

// TestTails: plain input, and what a request that no line holds has written, are as the requests before show.
func TestTails(t *testing.T) {
	// Each request has 1,000 tokens more than the one before. The weight of an answer is 26.
	must.Rows(t, `
# name | plain input | read beyond what the request before had sent | simulated plain input | simulated: read beyond what the request before had read and written
nothing behind the breakpoint | [0, 0, 0] | [0, 0, 0] | [0, 0, 0] | [0, 0, 0]
the plain input of the first request | [3, 5, 4] | [0, 0, 0] | [0, 3, 3] | [0, 3, 2]
and of two that agree | [3, 5, 5, 5] | [0, 0, 0, 0] | [0, 3, 3, 5] | [0, 3, 2, 2]
a long one says nothing | [3, 500, 3] | [0, 0, 0] | [0, 3, 3] | [0, 3, 497]
no request of the kind yet | [0, 0] | [0, 50] | [0, 0] | [0, 0]
the client asks after a turn | [0, 0, 0, 0, 0] | [0, 50, 50, 0, 0] | [0, 0, 0, 0, 0] | [0, 0, 26, 26, 0]
`, func(name string, plain, extra, wantPlain, wantMore []int) {
		s := newScript()
		sent, cached := 0, 0
		for i, n := range plain {
			s.user(950 * 4)
			before, read := sent, cached
			if sent += 1000; i == 0 {
				sent = 20000
			}
			if extra[i] > 0 {
				read = before + extra[i]
			}
			s.answer(jsonl.Usage{Input: n, CacheRead: read, CacheWrite: sent - n - read, Output: 50}, text(40))
			cached = sent - n
		}
		left := 0
		for i, row := range mains(replayed(t, s.load(t), named(t, "recorded"), replay.Options{})) {
			more := row.Cache.Read - left
			if i == 0 {
				more = wantMore[0]
			}
			must.Both(row.Cache.Uncached, more)(t, wantPlain[i], wantMore[i], name, i)
			left = row.Recorded.CacheRead + row.Recorded.CacheWrite
		}
	})
}
