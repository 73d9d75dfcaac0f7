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
	type usage struct{ plain, extra int } // extra: read beyond what the request before had sent
	for _, tt := range []struct {
		name  string
		list  []usage
		plain []int // simulated
		more  []int // simulated: read beyond what the request before had read and written
	}{
		{"nothing behind the breakpoint", []usage{{}, {}, {}}, []int{0, 0, 0}, []int{0, 0, 0}},
		{"the plain input of the first request", []usage{{plain: 3}, {plain: 5}, {plain: 4}}, []int{0, 3, 3}, []int{0, 3, 2}},
		{"and of two that agree", []usage{{plain: 3}, {plain: 5}, {plain: 5}, {plain: 5}}, []int{0, 3, 3, 5}, []int{0, 3, 2, 2}},
		{"a long one says nothing", []usage{{plain: 3}, {plain: 500}, {plain: 3}}, []int{0, 3, 3}, []int{0, 3, 497}},
		{"no request of the kind yet", []usage{{}, {extra: 50}}, []int{0, 0}, []int{0, 0}},
		{"the client asks after a turn", []usage{{}, {extra: 50}, {extra: 50}, {}, {}}, []int{0, 0, 0, 0, 0}, []int{0, 0, 26, 26, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScript()
			sent, cached := 0, 0
			for i, u := range tt.list {
				s.user(950 * 4)
				before, read := sent, cached
				if sent += 1000; i == 0 {
					sent = 20000
				}
				if u.extra > 0 {
					read = before + u.extra
				}
				s.answer(jsonl.Usage{Input: u.plain, CacheRead: read, CacheWrite: sent - u.plain - read, Output: 50}, text(40))
				cached = sent - u.plain
			}
			left := 0
			for i, row := range mains(replayed(t, s.load(t), named(t, "recorded"), replay.Options{})) {
				must.Equal(t, row.Cache.Uncached, tt.plain[i])
				if more := row.Cache.Read - left; i > 0 && more != tt.more[i] {
					t.Errorf("request %d: %d tokens more than the request before had left are read, want %d", i+1, more, tt.more[i])
				}
				left = row.Recorded.CacheRead + row.Recorded.CacheWrite
			}
		})
	}
}
