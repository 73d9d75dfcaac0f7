package backtest

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// TestContradicted: a session whose content is counted in place of its usage is left out of the scores of the cache, and
// counted; one without usage is not.
func TestContradicted(t *testing.T) {
	with := &replay.Timeline{Counter: tokens.NameO200K, Requests: []replay.Request{{Kind: "main", N: 1, Recorded: &replay.Usage{Input: 35}}, {Kind: "main", N: 2, Recorded: &replay.Usage{Input: 40}}}}
	without := &replay.Timeline{Counter: "estimate", Requests: []replay.Request{{Kind: "main", N: 1}}}
	var sessions []*SessionScore
	for _, tl := range []*replay.Timeline{with, without} {
		sessions = append(sessions, &SessionScore{Usage: ScoreUsage(nil, tl, price.Default())})
	}
	row := Sum("p", sessions).Usage[0]
	must.Say(t, "1 0 0", row.Contradicted, row.Requests, row.CostError.Sessions)
}
