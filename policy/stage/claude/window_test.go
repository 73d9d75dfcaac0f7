package claude

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

// later is the window of the clients from 2.1.21 on.
func later() Window {
	w := DefaultWindow()
	w.ReserveCap = 20000
	return w
}

func TestResolve(t *testing.T) {
	// The analysis of 2.1.19 prints an available window of 178,000; 155,000 follows from 168,000. That of 2.1.x tabulates 160,000 and
	// 960,000 as the warning with auto-compact on; its code counts from the auto-compact threshold, and the code wins. The
	// documentation: the value of CLAUDE_CODE_AUTO_COMPACT_WINDOW is capped at the model's window, and the percentage is of it.
	must.Rows(t, `
# name | parameters, 2.1.x is with a reserve_cap of 20000 | window | max output | reserve, effective, auto, base, warning, blocking; percent, on, reactive
2.1.19                    | ""                  | 200000  | 64000 | 32000 168000 155000 155000 135000 197000 0 true false
2.1.19, auto-compact off  | auto_compact: false | 200000  | 0     | 32000 168000 155000 168000 148000 197000 0 false false
2.1.19, 1M                | ""                  | 1000000 | 0     | 32000 968000 955000 955000 935000 997000 0 true false
2.1.x                     | ""                  | 200000  | 0     | 20000 180000 167000 167000 147000 197000 0 true false
2.1.x, auto-compact off   | auto_compact: false | 200000  | 0     | 20000 180000 167000 180000 160000 197000 0 false false
2.1.x, 1M                 | ""                  | 1000000 | 64000 | 20000 980000 967000 967000 947000 997000 0 true false
2.1.x, 1M, auto-compact off | auto_compact: false | 1000000 | 0   | 20000 980000 967000 980000 960000 997000 0 false false
2.1.x, a model of 8,192   | ""                  | 200000  | 8192  | 8192 191808 178808 178808 158808 197000 0 true false
2.1.x, a model of exactly the cap | ""          | 200000  | 20000 | 20000 180000 167000 167000 147000 197000 0 true false
2.1.19, CLAUDE_CODE_MAX_OUTPUT_TOKENS | max_output: 8000 | 200000 | 64000 | 8000 192000 179000 179000 159000 197000 0 true false
2.1.19, CLAUDE_CODE_MAX_OUTPUT_TOKENS over the default | max_output: 64000 | 200000 | 64000 | 64000 136000 123000 123000 103000 197000 0 true false
2.1.x, CLAUDE_CODE_MAX_OUTPUT_TOKENS | max_output: 8000 | 200000 | 64000 | 8000 192000 179000 179000 159000 197000 0 true false
2.1.x, CLAUDE_CODE_MAX_OUTPUT_TOKENS over the cap | max_output: 64000 | 200000 | 8192 | 20000 180000 167000 167000 147000 197000 0 true false
2.1.x, CLAUDE_CODE_AUTO_COMPACT_WINDOW | auto_compact_window: 500000 | 1000000 | 0 | 20000 480000 467000 467000 447000 997000 0 true false
2.1.x, CLAUDE_CODE_AUTO_COMPACT_WINDOW above the window | auto_compact_window: 500000 | 200000 | 0 | 20000 180000 167000 167000 147000 197000 0 true false
2.1.x, CLAUDE_CODE_AUTO_COMPACT_WINDOW and a percentage | auto_compact_window: 500000, pct_override: '50' | 1000000 | 0 | 20000 480000 240000 240000 220000 997000 50 true false
2.1.x, CLAUDE_CODE_DISABLE_1M_CONTEXT | disable_1m: true | 1000000 | 0 | 20000 180000 167000 167000 147000 197000 0 true false
2.1.x, CLAUDE_CODE_DISABLE_1M_CONTEXT sets no window | disable_1m: true, reactive: true | 1000000 | 0 | 20000 180000 167000 167000 147000 197000 0 true true
2.1.19, CLAUDE_CODE_BLOCKING_LIMIT_OVERRIDE | blocking_limit: 150000 | 200000 | 0 | 32000 168000 155000 155000 135000 150000 0 true false
2.1.19, CLAUDE_AUTOCOMPACT_PCT_OVERRIDE moves the warning too | pct_override: '50' | 200000 | 0 | 32000 168000 84000 84000 64000 197000 50 true false
`, func(name, set string, context, maxOutput int, want string) {
		w := DefaultWindow()
		if strings.HasPrefix(name, "2.1.x") {
			w = later()
		}
		def := defineAutocompact() // whatever the stage, for its parameters to be those of the window
		def.Params = &w
		def.New = func(any) (policy.Stage, error) { return nil, nil }
		got := stagetest.Params(t, def, set).(*Window).Resolve(policy.Circumstances{Window: context, MaxOutput: maxOutput})
		must.Equal(t, fmt.Sprint(got), "{"+want+"}", name)
	})
}

// The override divides by 100 first: 35, 57, 69 and 70 come out one lower than exact arithmetic.
func TestPercentOverride(t *testing.T) {
	must.Rows(t, `
# pct | first | late
1        | 1680   | 1800
35       | 58799  | 62999
57       | 95759  | 102599
69       | 115919 | 124199
70       | 117599 | 125999
92       | 154560 | 165600
93       | 155000 | 167000
100      | 155000 | 167000
80x      | 134400 | 144000
" 80"    | 134400 | 144000
50.5     | 84840  | 90900
.5       | 840    | 900
5e1      | 84000  | 90000
+50      | 84000  | 90000
50.      | 84000  | 90000
80 %     | 134400 | 144000
5e       | 8400   | 9000
# None of these is a percentage.
0        | 155000 | 167000
101      | 155000 | 167000
100.1    | 155000 | 167000
-5       | 155000 | 167000
x80      | 155000 | 167000
""       | 155000 | 167000
NaN      | 155000 | 167000
Infinity | 155000 | 167000
0x50     | 155000 | 167000
.        | 155000 | 167000
%        | 155000 | 167000
`, func(pct string, theFirst, theLate int) {
		first, late := DefaultWindow(), later()
		first.PctOverride, late.PctOverride = pct, pct
		must.Equal(t, first.Resolve(policy.Circumstances{Window: 200000, MaxOutput: 0}).Auto, theFirst, pct)
		must.Equal(t, late.Resolve(policy.Circumstances{Window: 200000, MaxOutput: 0}).Auto, theLate, pct)
	})
}

// A name means a version of a model, not a later one that begins alike.
func TestIsModel(t *testing.T) {
	must.Rows(t, `
claude-opus-5                   | opus-5   | true
claude-opus-5-20261101          | opus-5   | true
claude-opus-5[1m]               | opus-5   | true
eu.anthropic.claude-opus-5-v1:0 | opus-5   | true
claude-opus-5-latest            | opus-5   | true
claude-opus-5-5                 | opus-5   | false
claude-opus-5-5-20261101        | opus-5   | false
claude-opus-5-5                 | opus-5-5 | true
claude-sonnet-5                 | opus-5   | false
`, func(id, name string, want bool) {
		must.Equal(t, isModel(id, name), want, id, name)
	})
}

// limits are the thresholds of a run, to be changed by a test.
func limits(r *stagetest.Bench) *fixed {
	if f, ok := r.Shared.(*fixed); ok {
		return f
	}
	w := DefaultWindow()
	f := fixed(w.Resolve(policy.Circumstances{Window: 200000, MaxOutput: 0}))
	r.Shared = &f
	return &f
}

// fixed are thresholds whatever the window.
type fixed Thresholds

func (f *fixed) Resolve(policy.Circumstances) Thresholds { return Thresholds(*f) }
