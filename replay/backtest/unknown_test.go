package backtest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay"
)

// TestUnknownPreTokens: a compaction whose pre_tokens are not recorded is scored as a hit or a miss, and is in no error
// of the policy's count.
func TestUnknownPreTokens(t *testing.T) {
	conv := &session.Conversation{Requests: make([]session.APICall, 9)}
	var decisions []replay.Decision
	for n := range 9 {
		decisions = append(decisions, replay.Decision{Request: n + 1, Used: 150000, Compact: true})
	}
	for i, pre := range []int{0, 150000, 149900, 0, 149000} {
		conv.Boundaries = append(conv.Boundaries, session.Boundary{Trigger: "auto", Request: i + 1, PreTokens: pre})
	}
	s := &SessionScore{}
	s.compactions(conv, func(int) replay.CompactionKind { return replay.CompactionThreshold }, decisions)
	row := Sum("p", []*SessionScore{s}).Compactions[0]
	row.off = nil
	want := CompactionRow{
		Clients: All, Sessions: 1, Recorded: 5, Hits: 5, Unknown: 2, Exact: 1, Error: 366.667, Median: 100, Largest: 1000, Bias: 366.667, MAPE: 0.246,
	}
	must.Equal(t, cmp.Diff(want, row, cmp.AllowUnexported(CompactionRow{})), "")
	data, err := json.Marshal(s.Compactions)
	must.Say(t, "<nil> 3", err, strings.Count(string(data), `"pre_tokens"`))
}
