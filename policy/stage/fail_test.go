package stage

import (
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

// TestSummaryRequestsFail: where a summary request does not fit the window, every stage that makes one leaves the view,
// bills nothing, says both sizes, and tries again at a later request. Some products cut the request until it fits, or the view instead.
func TestSummaryRequestsFail(t *testing.T) {
	mayFit := map[string]bool{ // what goes is cut until it fits, or each message of it to so many characters or tokens
		"cline_compaction": true, "condenser_events": true, "langchain_summarization": true, "opencode_checkpoint": true,
	}
	for _, def := range allStages(t).Definitions() {
		if def.Compaction == nil {
			continue
		}
		t.Run(def.Name, func(t *testing.T) {
			c := stagetest.NewConvo()
			for range 20 {
				c.Play(`prompt x*%d; assistant say y*%d`, 4*40000, 4*40000)
			}
			r := stagetest.NewRun(t, c, stagetest.Start(t, def, nil))
			r.Window = 5000
			r.Manual = map[int]bool{10: true, 15: true}
			r.All()
			at, fits := map[int]bool{}, false
			for _, e := range r.View.Edits() {
				switch {
				case e.Kind == policy.KindSummarize && e.Call != nil && e.Call.Input <= r.Window:
					fits = true
					continue
				case e.Kind != policy.KindFail && e.Kind != policy.KindSummarize && e.Call == nil:
					continue // what the product cuts instead
				}
				if e.Kind != policy.KindFail || e.Call != nil || e.Detail["input_tokens"] <= e.Detail["limit_tokens"] ||
					!strings.Contains(e.Reason, " tokens does not fit ") || !strings.Contains(e.Reason, ": it fails") {
					t.Errorf("request %d: %s, call %v: %s %v", e.Request, e.Kind, e.Call, e.Reason, e.Detail)
				}
				at[e.Request] = true
			}
			switch {
			case fits != mayFit[def.Name]:
				t.Errorf("a request fits: %t, want %t", fits, mayFit[def.Name])
			case len(at) < 2 && !fits:
				t.Errorf("failures at requests %v, want several", at)
			}
		})
	}
}
