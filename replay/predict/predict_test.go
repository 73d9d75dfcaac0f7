package predict

import (
	"fmt"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/price"
)

// TestRows holds ratios, how far a prediction is off, and which sessions it is of.
func TestRows(t *testing.T) {
	timeline := func(payload, cost int) *replay.Timeline {
		tl := &replay.Timeline{}
		first, later := 1, 2
		usd := price.USD{Nano: int64(cost) * 1000, Known: true}
		tl.Requests = []replay.Request{
			{N: 1, Kind: "main", Raw: 60_000, Payload: payload, CostUSD: usd},
			{N: 1, Kind: "compaction", Raw: 60_000, Payload: 9, CostUSD: usd},
			{N: 2, Kind: "main", Raw: 600_000, Payload: 7},
		}
		tl.Events = []replay.Event{
			{Request: &first, Kind: policy.KindSummarize, Trigger: "manual", Before: 1},
			{Request: &first, Kind: policy.KindClear, Before: 1},
			{Request: &later, Kind: policy.KindSummarize, Trigger: "auto", Before: payload * 2},
		}
		tl.Totals.RawPeak = 600_000
		return tl
	}
	was, own, other := TallyOf(timeline(1000, 4)), TallyOf(timeline(1010, 4)), TallyOf(timeline(1100, 5))
	var list []SessionTally
	for i := range 6 {
		list = append(list, SessionTally{Project: fmt.Sprint(i), Window: 1, Recorded: was, Replayed: own}, SessionTally{Project: fmt.Sprint(i), Window: 1, Replayed: other})
	}
	list = append(list, SessionTally{Window: 2, Replayed: TallyOf(timeline(1, 1))})
	list = Comparable(list)
	if len(list) != 12 {
		t.Fatalf("%d sessions are comparable", len(list))
	}
	var got []string
	for _, r := range Rows(list) {
		got = append(got, fmt.Sprintln(r.Measure, r.From, r.To, r.Sessions, r.Recorded, r.Replayed, r.Predicted, r.Off, r.Low, r.High))
	}
	want := []string{
		"context 50000 100000 [6 6] 1000 1010 1100 0.1 0.1 0.1\n",
		"context 500000 0 [6 6] 7 7 7 0 0 0\n",
		"usd 50000 100000 [6 6] 0.000008 0.000008 0.00001 0.25 0.25 0.25\n",
		"compactions 0 0 [6 6] 0.166667 0.166667 0.166667 0 0 0\n",
		"compacted from 0 0 [6 6] 2000 2020 2200 0.1 0.1 0.1\n",
	}
	must.Equal(t, fmt.Sprint(got), fmt.Sprint(want))
	if rows := Rows(list[:8]); len(rows) > 0 {
		t.Errorf("of too few sessions: %+v", rows)
	}
}
