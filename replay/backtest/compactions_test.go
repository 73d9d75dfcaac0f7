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
	for _, c := range []struct {
		recorded, fired []int
		distances       string // x: none
		free            Free
	}{
		{[]int{20}, []int{20}, "[0]", Free{1, 1, 1, 0}},
		{[]int{20}, []int{21}, "[1]", Free{0, 1, 1, 0}},
		{[]int{20}, []int{22}, "[2]", Free{0, 0, 1, 1}},
		{[]int{20}, []int{19}, "[-1]", Free{0, 1, 1, 1}},
		{[]int{20}, []int{15}, "[-5]", Free{0, 0, 1, 1}},
		{[]int{20}, []int{14, 26}, "[x]", Free{0, 0, 0, 2}},
		{[]int{20, 23}, []int{22}, "[x -1]", Free{0, 1, 1, 1}},
		{[]int{20, 23}, []int{20, 22}, "[0 -1]", Free{1, 2, 2, 1}},
		{[]int{20, 24}, []int{21, 22}, "[1 -2]", Free{0, 1, 2, 1}},
		{[]int{20}, nil, "[x]", Free{}},
		{nil, []int{7}, "[]", Free{0, 0, 0, 1}},
	} {
		conv := &session.Conversation{Requests: make([]session.APICall, 40)}
		s := &SessionScore{}
		for _, n := range c.recorded {
			conv.Boundaries = append(conv.Boundaries, session.Boundary{Trigger: "auto", Request: n})
			s.Compactions = append(s.Compactions, CompactionScore{Request: n})
		}
		own := &replay.Timeline{}
		for _, n := range c.fired {
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
		must.Equal(t, fmt.Sprint(distances), c.distances, c.recorded, c.fired)
		must.Equal(t, Sum("p", []*SessionScore{s}).Compactions[0].Free, c.free, c.recorded, c.fired)
	}
}
