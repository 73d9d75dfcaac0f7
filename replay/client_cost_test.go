package replay_test

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/bill"
)

// TestClientCost: what the client recorded as the cost of its requests and compactions is summed up, and none where it
// recorded nothing.
func TestClientCost(t *testing.T) {
	for path, want := range map[string]int64{"../jsonl/internal/pi/testdata/v1.jsonl": 39_400_000, "../jsonl/internal/codex/testdata/rollout.jsonl": 0} {
		f := must.Get(session.Load(path, session.LoadOptions{}))(t)
		b := bill.Of(f.Main, nil)
		f.Close()
		if b.ClientUSD.Nano != want || b.ClientUSD.Known != (want > 0) || (b.Client != nil) != (want > 0) {
			t.Errorf("%s: %+v; want %d", path, b.Client, want)
		}
	}
}
