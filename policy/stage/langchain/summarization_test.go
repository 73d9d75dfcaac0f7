package langchain

import (
	"slices"
	"testing"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

// TestSummarizationTooLong: a summary request that does not fit the window is not billed, and the error stands where
// the summary would.
func TestSummarizationTooLong(t *testing.T) {
	r := stagetest.NewRun(t, stagetest.RoundsOf(30, 400), stagetest.Start(t, defineSummarization(), nil))
	r.Window = 1000
	r.All()
	edits := r.View.Edits()
	at := slices.IndexFunc(edits, func(e policy.Edit) bool { return e.Kind == policy.KindFail })
	if at < 0 || at+1 == len(edits) {
		t.Fatalf("no failure in %v", r.Edits())
	}
	fail, e := edits[at], edits[at+1]
	if e.Kind != policy.KindSummarize || e.Call != nil || e.Insert[0].Contents[0].Text != summaryPrefix+errorSummary {
		t.Errorf("%s: %s; %s: %+v", fail.Kind, fail.Reason, e.Kind, e.Insert[0].Contents)
	}
}
