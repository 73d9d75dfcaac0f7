package backtest

import (
	"testing"

	"github.com/ctxkit/ctxkit/replay/cache"
)

// TestRightKind: a break is right only where the simulation breaks, too, and loses all or a part as the record does.
func TestRightKind(t *testing.T) {
	some := cache.Cause{Kind: cache.Expired}
	for _, tt := range []struct {
		name         string
		point        CachePoint
		kind, amount bool
	}{
		{"not simulated", CachePoint{Left: 100, Recorded: 50, Simulated: 100, Broke: true}, false, false},
		{"not simulated, and near", CachePoint{Left: 100, Recorded: 94, Simulated: 100, Broke: true}, false, false},
		{"a cause without a break", CachePoint{Left: 100, Recorded: 94, Simulated: 96, Broke: true, Cause: some}, false, false},
		{"a part, simulated a part", CachePoint{Left: 100, Recorded: 50, Simulated: 20, Broke: true, Cause: some}, true, false},
		{"a part, simulated as much", CachePoint{Left: 100, Recorded: 50, Simulated: 46, Broke: true, Cause: some}, true, true},
		{"a part, simulated all", CachePoint{Left: 100, Recorded: 50, Broke: true, Cause: some}, false, false},
		{"all, simulated all", CachePoint{Left: 100, Broke: true, Cause: some}, true, true},
		{"all, simulated a part", CachePoint{Left: 100, Simulated: 20, Broke: true, Cause: some}, false, false},
		{"no break", CachePoint{Left: 100, Recorded: 100, Simulated: 20, Cause: some}, false, false},
	} {
		if kind, amount := tt.point.RightKind(), tt.point.RightAmount(); kind != tt.kind || amount != tt.amount {
			t.Errorf("%s: kind %v, amount %v", tt.name, kind, amount)
		}
	}
}
