package report

import (
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
)

// TestEventText: what an event says of messages, results and figures stands for itself, and does not contradict the
// columns beside it.
func TestEventText(t *testing.T) {
	for _, c := range []struct {
		event      replay.Event
		text, what string
	}{
		{
			replay.Event{Kind: policy.KindSummarize, Reason: "used 9 >= 8; 22 messages stay as they are", Messages: 4, Detail: map[string]int{"pre_tokens": 9000}},
			"used 9 >= 8; 22 messages stay as they are, the view is 4 messages shorter; client's count: pre_tokens 9,000", "summarize, 4 messages fewer",
		},
		{replay.Event{Kind: policy.KindSummarize, Reason: "again", Messages: 1}, "again, the view is 1 message shorter", "summarize, 1 message fewer"},
		{replay.Event{Kind: policy.KindSummarize, Reason: "again"}, "again, the view has no fewer messages", "summarize, no messages fewer"},
		{replay.Event{Kind: policy.KindRemove, Reason: "snipped", Messages: 3}, "snipped, 3 messages leave", "remove 3 messages"},
		{replay.Event{Kind: policy.KindCollapse, Reason: "early", Messages: 3}, "early, 3 messages become one", "collapse 3 messages"},
		{replay.Event{Kind: policy.KindServerKeep, Reason: "cold", Results: 1}, "cold, 1 result given back", "give back 1 result"},
		{
			replay.Event{Kind: policy.KindCacheEdit, Reason: "12 live", Results: 7, Saved: 10, Detail: map[string]int{"tokens_saved": 8, "live_results": 12}},
			"12 live, 7 results; client's count: live_results 12, tokens_saved 8", "cache edit 7 results",
		},
		{replay.Event{Kind: policy.KindCall, Reason: "grown"}, "grown", "call"},
	} {
		must.Equal(t, eventText(&replay.Timeline{}, &c.event), c.text, c.event.Kind)
		must.Equal(t, eventWhat(&c.event), c.what, c.event.Kind)
	}
}

// TestMeanOfWhatIsSent: under an API-level edit the mean is that of what the peak is of, and the model view's is
// named beside it.
func TestMeanOfWhatIsSent(t *testing.T) {
	tl := &replay.Timeline{
		Requests: []replay.Request{
			{N: 1, Kind: kindMain, Raw: 100, Tokens: 90, Payload: 40}, {N: 1, Kind: "collapse", Payload: 500},
			{N: 2, Kind: kindMain, Raw: 100, Tokens: 110, Payload: 61},
		},
		Totals: replay.Totals{Requests: 2, Calls: 3, RawPeak: 100, PayloadPeak: 61, ModelMean: 100, RawInput: 200, Payload: 601, OwnInput: 500, Saved: 99},
	}
	fields := func() string {
		var all []string
		for _, f := range totalFields(tl) {
			all = append(all, f[0]+": "+f[1])
		}
		return strings.Join(all, "\n")
	}
	if got := fields(); !strings.Contains(got, "mean: payload 51, model view 100\n") {
		t.Error(got)
	}
	notes := requestNotes(tl)
	must.Say(t, "peak of the payload, last first, peak of raw", notes[2], notes[0])
	tl.Requests = []replay.Request{{N: 1, Kind: kindMain, Raw: 100, Tokens: 90, Payload: 90}}
	if got := fields(); !strings.Contains(got, "mean: model 100\n") {
		t.Error(got)
	}
}
