package backtest

import (
	"fmt"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
)

// TestFree pairs recorded compactions with the policy's own: each with one, the nearest first; what pairs with none
// within 5 requests is on its own.
func TestFree(t *testing.T) {
	must.Rows(t, `
# recorded | fired | distances | free
[20] | [20] | [0] | {"exact": 1, "within_1": 1, "within_5": 1}
[20] | [21] | [1] | {"within_1": 1, "within_5": 1}
[20] | [22] | [2] | {"within_5": 1, "alarms": 1}
[20] | [19] | [-1] | {"within_1": 1, "within_5": 1, "alarms": 1}
[20] | [15] | [-5] | {"within_5": 1, "alarms": 1}
[20] | [14, 26] | [x] | {"alarms": 2}
[20, 23] | [22] | [x -1] | {"within_1": 1, "within_5": 1, "alarms": 1}
[20, 23] | [20, 22] | [0 -1] | {"exact": 1, "within_1": 2, "within_5": 2, "alarms": 1}
[20, 24] | [21, 22] | [1 -2] | {"within_1": 1, "within_5": 2, "alarms": 1}
[20] | null | [x] | {}
null | [7] | [] | {"alarms": 1}
`, func(recorded, fired []int, theDistances string, free Free) {
		conv := &session.Conversation{Requests: make([]session.APICall, 40)}
		s := &SessionScore{}
		for _, n := range recorded {
			conv.Boundaries = append(conv.Boundaries, session.Boundary{Trigger: "auto", Request: n})
			s.Compactions = append(s.Compactions, CompactionScore{Request: n})
		}
		own := &replay.Timeline{}
		for _, n := range fired {
			own.Events = append(own.Events, replay.Event{Kind: policy.KindSummarize, Trigger: "auto", Request: &n},
				replay.Event{Kind: policy.KindSummarize, Trigger: "manual", Request: &n})
		}
		s.free(conv, own)
		distances := []string{}
		for _, c := range s.Compactions {
			text := "x"
			if c.Distance != nil {
				text = fmt.Sprint(*c.Distance)
			}
			distances = append(distances, text)
		}
		must.Equal(t, fmt.Sprint(distances), theDistances, recorded, fired)
		must.Equal(t, Sum("p", []*SessionScore{s}).Compactions[0].Free, free, recorded, fired)
	})
}
