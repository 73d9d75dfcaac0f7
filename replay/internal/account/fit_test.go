package account

import (
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
)

// TestExpectedLoss: a request after a long pause that the simulation has read everything is expected to lose more than one in a
// tool loop, and one that missed already loses nothing more.
func TestExpectedLoss(t *testing.T) {
	kinds := &cache.KindTable{Losses: []cache.Losses{
		{Client: session.Product, Families: []string{""}, Lower: 50, Upper: 200, Idle: []cache.IdleLoss{{Seconds: 30, Share: 1000}, {Share: 100_000}}},
		{Families: []string{""}, Idle: []cache.IdleLoss{{Share: 1e6}}},
	}}
	start := time.Date(2026, 2, 1, 10, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name    string
		product string
		idle    time.Duration
		miss    *cache.Cause
		want    int64 // nano USD
	}{
		{"a tool loop", session.Product, 10 * time.Second, nil, 575_000},
		{"a pause", session.Product, time.Minute, nil, 57_500_000},
		{"a miss", session.Product, time.Minute, &cache.Cause{Kind: cache.Expired}, 0},
		{"another client", "other", time.Minute, nil, 575_000_000},
	} {
		conv := &session.Conversation{Product: tt.product}
		for i, end := range []time.Time{start, start.Add(tt.idle)} {
			conv.Requests = append(conv.Requests, session.APICall{N: i + 1, Message: i})
			conv.Messages = append(conv.Messages, session.Message{
				Role: session.Assistant, Model: "claude-opus-4-6", Time: end, End: end, HasUsage: true, Usage: jsonl.Usage{CacheRead: 100_000, CacheWrite: 10},
			})
		}
		rows := []Request{{N: 2, Kind: "main", Payload: 100_010, Recorded: &Usage{CacheRead: 100_000}, Cache: CacheUse{Split: cache.Split{Read: 100_000, Write5m: 10}, Miss: tt.miss}}}
		f := FitOf(conv, rows, price.Default(), kinds)
		must.Equal(t, f.Expected.Nano, tt.want, tt.name)
		if tt.product == session.Product && (f.Lower.Nano != tt.want/2 || f.Upper.Nano != 2*tt.want) {
			t.Errorf("%s: %d to %d", tt.name, f.Lower.Nano, f.Upper.Nano)
		}
	}
}

// TestHolds: a verdict in money needs the cost within 5 % and 95 % of the requests' reads, and so recorded usage.
func TestHolds(t *testing.T) {
	usd := func(n int64) price.USD { return price.USD{Nano: n, Known: true} }
	for _, tt := range []struct {
		fit  *CacheFit
		want bool
	}{
		{nil, true},
		{&CacheFit{}, true},
		{&CacheFit{Requests: 100, Recorded: 97, Near: 95, Billed: usd(1000), Simulated: usd(1050)}, true},
		{&CacheFit{Requests: 100, Recorded: 100, Near: 95, Billed: usd(1000), Simulated: usd(949)}, false},
		{&CacheFit{Requests: 100, Recorded: 100, Near: 94, Billed: usd(1000), Simulated: usd(1000)}, false},
		{&CacheFit{Requests: 100, Recorded: 90, Near: 90, Billed: usd(1000), Simulated: usd(1000)}, false},
		{&CacheFit{Requests: 9}, false},
		{&CacheFit{Requests: 100, Recorded: 100, Near: 97, Billed: usd(1000), Simulated: usd(942), Expected: usd(49)}, true},
		{&CacheFit{Requests: 100, Recorded: 100, Near: 97, Billed: usd(1000), Simulated: usd(990), Expected: usd(70)}, false},
	} {
		must.Equal(t, tt.fit.Holds(), tt.want, tt.fit)
	}
}

// TestAddAuthors: a sum has the fewest authors of those that expected losses are from.
func TestAddAuthors(t *testing.T) {
	sum := &CacheFit{}
	for _, n := range []int{0, 6, 4, 0} {
		sum.Add(&CacheFit{Requests: 1, Authors: n})
	}
	must.Equal(t, *sum, CacheFit{Requests: 4, Authors: 4}, sum)
}

// TestFitOfNoUsage: a session without usage has requests, and no fit.
func TestFitOfNoUsage(t *testing.T) {
	rows := []Request{{N: 1, Kind: "main", Payload: 100}, {N: 1, Kind: "compaction"}, {N: 2, Kind: "main", Payload: 200}}
	must.Equal(t, *FitOf(&session.Conversation{}, rows, price.Default(), nil), CacheFit{Requests: 2})
}
