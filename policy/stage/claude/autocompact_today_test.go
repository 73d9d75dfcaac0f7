package claude

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

// short is autocompact with a summary and a prompt of ten tokens.
func short(t testing.TB, set string, args ...any) stagetest.Named {
	t.Helper()
	def := defineAutocompact()
	def.Params = stagetest.Params(t, def, "summary: [{fixed: 10}], prompt_tokens: 10")
	return stagetest.Start(t, def, set, args...)
}

// Where no window is set, the client compacts once the API refuses a prompt, and keeps the newest round, and as many more as it
// takes for the rest to fit.
func TestAutocompactReactive(t *testing.T) {
	must.Rows(t, `
# size: characters of the last result
# kept: messages
true  | 2000 | 400  | ""          | 0
true  | 800  | 400  | summarize@9 | 2
true  | 800  | 9000 | summarize@9 | 2  # the last round alone does not fit, and the others do
false | 800  | 400  | ""          | 0  # the threshold is far
`, func(waits bool, window, size int, want string, kept int) {
		c := stagetest.Talk(`prompt go`)
		for i := range 7 {
			c.Call(string(rune('a'+i)), "Read", 400)
		}
		c.Play(`call z Read %d; assistant say done`, size)
		r := stagetest.NewRun(t, c, short(t, "keep_recent: 1"))
		r.Window, r.Overhead = window, 60
		w := DefaultWindow()
		w.Reactive = waits
		if !waits {
			w.OutputReserve, w.Buffer = 0, -5000
		}
		r.Shared = &w
		r.All()
		if diff := cmp.Diff(want, r.Edits()); diff != "" {
			t.Errorf("%+v: -want +got\n%s", waits, diff)
			return
		}
		if want == "" {
			return
		}
		e := r.View.Edits()[0]
		if len(e.Keep) != kept || e.Trigger != "auto" || !strings.Contains(e.Reason, "the API refuses a prompt of") || e.Call.Input > window {
			t.Errorf("%+v: %d kept, %s, a call of %d", waits, len(e.Keep), e.Reason, e.Call.Input)
		}
	})
}

// The fourth compaction in a row within three requests of the one before ends the turn.
func TestAutocompactThrashes(t *testing.T) {
	must.Rows(t, `
3 | 1 | summarize@1, summarize@2, summarize@3, fail@4 m0
3 | 2 | summarize@1, summarize@3, summarize@5, fail@7 m0
3 | 3 | summarize@1, summarize@4, summarize@7
0 | 1 | summarize@1, summarize@2, summarize@3, summarize@4, summarize@5, summarize@6, summarize@7, summarize@8, summarize@9
`, func(most, every int, want string) {
		r := stagetest.NewRun(t, stagetest.Uses(8), short(t, "max_refills: %v", most))
		r.Used = func(k int) (int, int) { return map[bool]int{true: 180000}[k%every == 0], 0 }
		must.Equal(t, r.All().Edits(), want, most, every)
	})
}

// A summary that was written ahead costs its call where it is written; at the threshold what came after it stays.
func TestAutocompactAhead(t *testing.T) {
	r := stagetest.NewRun(t, stagetest.Uses(5), short(t, "ahead: 80"))
	r.Used = func(k int) (int, int) { return []int{100000, 120000, 135000, 140000, 156000, 20000, 20000}[k], 0 }
	r.All()
	if diff := cmp.Diff("call@3 m0, summarize@5", r.Edits()); diff != "" {
		t.Fatalf("-want +got\n%s", diff)
	}
	edits := r.View.Edits()
	if edits[0].Call == nil || edits[0].Call.Kind != "compaction" || edits[1].Call != nil {
		t.Errorf("calls %v and %v", edits[0].Call, edits[1].Call)
	}
	must.Equal(t, edits[1].Keep, []policy.ItemID{5, 6, 7, 8})
}

// While the user is away, from a number of tokens on.
func TestAutocompactIdle(t *testing.T) {
	for _, tt := range []struct {
		away time.Duration
		used int
		want string
	}{
		{53 * time.Minute, 120000, ""},
		{54 * time.Minute, 120000, "summarize@4"},
		{54 * time.Minute, 99999, ""},
	} {
		c := stagetest.Uses(4)
		r := stagetest.NewRun(t, c, short(t, "idle_after: %v, idle_tokens: 100000", 54*time.Minute))
		last := c.Messages[c.Requests[2].Message].Time
		r.At = map[int]time.Time{3: last.Add(tt.away), 4: last}
		r.Used = func(int) (int, int) { return tt.used, 0 }
		must.Equal(t, r.All().Edits(), tt.want, tt.away, tt.used)
	}
}
