package claude

import (
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

func with(w Window, change func(*Window)) Window {
	change(&w)
	return w
}

func TestResolve(t *testing.T) {
	off := func(w *Window) { w.AutoCompact = false }
	tests := []struct {
		name               string
		w                  Window
		context, maxOutput int
		want               Thresholds
	}{
		// The analysis of 2.1.19 prints an available window of 178,000; 155,000 follows from 168,000.
		{"2.1.19", DefaultWindow(), 200000, 64000, Thresholds{
			Reserve: 32000, Effective: 168000, Auto: 155000, Base: 155000, Warning: 135000, Blocking: 197000, On: true}},
		{"2.1.19, auto-compact off", with(DefaultWindow(), off), 200000, 0, Thresholds{
			Reserve: 32000, Effective: 168000, Auto: 155000, Base: 168000, Warning: 148000, Blocking: 197000}},
		{"2.1.19, 1M", DefaultWindow(), 1000000, 0, Thresholds{
			Reserve: 32000, Effective: 968000, Auto: 955000, Base: 955000, Warning: 935000, Blocking: 997000, On: true}},
		// The 2.1.x analysis tabulates 160,000 and 960,000 as the warning with auto-compact on; its code counts from
		// the auto-compact threshold, and the code wins.
		{"2.1.x", later(), 200000, 0, Thresholds{
			Reserve: 20000, Effective: 180000, Auto: 167000, Base: 167000, Warning: 147000, Blocking: 197000, On: true}},
		{"2.1.x, auto-compact off", with(later(), off), 200000, 0, Thresholds{
			Reserve: 20000, Effective: 180000, Auto: 167000, Base: 180000, Warning: 160000, Blocking: 197000}},
		{"2.1.x, 1M", later(), 1000000, 64000, Thresholds{
			Reserve: 20000, Effective: 980000, Auto: 967000, Base: 967000, Warning: 947000, Blocking: 997000, On: true}},
		{"2.1.x, 1M, auto-compact off", with(later(), off), 1000000, 0, Thresholds{
			Reserve: 20000, Effective: 980000, Auto: 967000, Base: 980000, Warning: 960000, Blocking: 997000}},
		{"2.1.x, a model of 8,192", later(), 200000, 8192, Thresholds{
			Reserve: 8192, Effective: 191808, Auto: 178808, Base: 178808, Warning: 158808, Blocking: 197000, On: true}},
		{"2.1.x, a model of exactly the cap", later(), 200000, 20000, Thresholds{
			Reserve: 20000, Effective: 180000, Auto: 167000, Base: 167000, Warning: 147000, Blocking: 197000, On: true}},
		{"CLAUDE_CODE_MAX_OUTPUT_TOKENS, 2.1.19", with(DefaultWindow(), func(w *Window) { w.MaxOutput = 8000 }), 200000, 64000, Thresholds{
			Reserve: 8000, Effective: 192000, Auto: 179000, Base: 179000, Warning: 159000, Blocking: 197000, On: true}},
		{"CLAUDE_CODE_MAX_OUTPUT_TOKENS over the default, 2.1.19", with(DefaultWindow(), func(w *Window) { w.MaxOutput = 64000 }), 200000, 64000, Thresholds{
			Reserve: 64000, Effective: 136000, Auto: 123000, Base: 123000, Warning: 103000, Blocking: 197000, On: true}},
		{"CLAUDE_CODE_MAX_OUTPUT_TOKENS, 2.1.x", with(later(), func(w *Window) { w.MaxOutput = 8000 }), 200000, 64000, Thresholds{
			Reserve: 8000, Effective: 192000, Auto: 179000, Base: 179000, Warning: 159000, Blocking: 197000, On: true}},
		{"CLAUDE_CODE_MAX_OUTPUT_TOKENS over the cap, 2.1.x", with(later(), func(w *Window) { w.MaxOutput = 64000 }), 200000, 8192, Thresholds{
			Reserve: 20000, Effective: 180000, Auto: 167000, Base: 167000, Warning: 147000, Blocking: 197000, On: true}},
		// The documentation: the value is capped at the model's window, and the percentage is of it.
		{"CLAUDE_CODE_AUTO_COMPACT_WINDOW", with(later(), func(w *Window) { w.CompactWindow = 500000 }), 1000000, 0, Thresholds{
			Reserve: 20000, Effective: 480000, Auto: 467000, Base: 467000, Warning: 447000, Blocking: 997000, On: true}},
		{"CLAUDE_CODE_AUTO_COMPACT_WINDOW above the window", with(later(), func(w *Window) { w.CompactWindow = 500000 }), 200000, 0, Thresholds{
			Reserve: 20000, Effective: 180000, Auto: 167000, Base: 167000, Warning: 147000, Blocking: 197000, On: true}},
		{"CLAUDE_CODE_AUTO_COMPACT_WINDOW and a percentage", with(later(), func(w *Window) { w.CompactWindow, w.PctOverride = 500000, "50" }), 1000000, 0, Thresholds{
			Reserve: 20000, Effective: 480000, Auto: 240000, Base: 240000, Warning: 220000, Blocking: 997000, Percent: 50, On: true}},
		{"CLAUDE_CODE_DISABLE_1M_CONTEXT", with(later(), func(w *Window) { w.NoMillion = true }), 1000000, 0, Thresholds{
			Reserve: 20000, Effective: 180000, Auto: 167000, Base: 167000, Warning: 147000, Blocking: 197000, On: true}},
		{"CLAUDE_CODE_DISABLE_1M_CONTEXT sets no window", with(later(), func(w *Window) { w.NoMillion, w.Reactive = true, true }), 1000000, 0, Thresholds{
			Reserve: 20000, Effective: 180000, Auto: 167000, Base: 167000, Warning: 147000, Blocking: 197000, On: true, Reactive: true}},
		{"CLAUDE_CODE_BLOCKING_LIMIT_OVERRIDE", with(DefaultWindow(), func(w *Window) { w.BlockingLimit = 150000 }), 200000, 0, Thresholds{
			Reserve: 32000, Effective: 168000, Auto: 155000, Base: 155000, Warning: 135000, Blocking: 150000, On: true}},
		{"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE moves the warning too", with(DefaultWindow(), func(w *Window) { w.PctOverride = "50" }), 200000, 0, Thresholds{
			Reserve: 32000, Effective: 168000, Auto: 84000, Base: 84000, Warning: 64000, Blocking: 197000, Percent: 50, On: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			stagetest.Same(t, tt.want, tt.w.Resolve(policy.Circumstances{Window: tt.context, MaxOutput: tt.maxOutput}))
		})
	}
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
		stagetest.Same(t, theFirst, first.Resolve(policy.Circumstances{Window: 200000, MaxOutput: 0}).Auto, pct)
		stagetest.Same(t, theLate, late.Resolve(policy.Circumstances{Window: 200000, MaxOutput: 0}).Auto, pct)
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
		stagetest.Same(t, want, isModel(id, name), id, name)
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
