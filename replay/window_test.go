package replay_test

import (
	"testing"

	"github.com/ctxkit/ctxkit/replay"
)

// TestUseWindow: every policy without a window of its own compacts in the one that the record's user had set; a named
// window or model replaces it, and the API refuses no more for it.
func TestUseWindow(t *testing.T) {
	conv := load(t, shipped+"/big-2.1.139.jsonl").Main
	rec, err := replay.NewRecord(conv)
	if err != nil {
		t.Fatal(err)
	}
	fit, err := rec.FitWindow(named(t, "claude-code-2.1.119"), replay.Options{})
	if err != nil || fit == nil || !fit.Agrees {
		t.Fatalf("%+v, %v", fit, err)
	}
	if other, err := rec.FitWindow(named(t, "opencode-1.18"), replay.Options{}); other != nil || err != nil {
		t.Errorf("by another product's policy: %+v, %v", other, err)
	}
	run := func(name string, opt replay.Options) *replay.Timeline {
		tl, err := rec.Replay(named(t, name), opt)
		if err != nil {
			t.Fatal(err)
		}
		return tl
	}
	before := run("none", replay.Options{})
	wide := run("opencode-1.18", replay.Options{})
	rec.UseWindow(fit)
	for _, name := range []string{"recorded", "claude-code-2.1.119", "opencode-1.18", "none"} {
		if tl := run(name, replay.Options{}); tl.Window != fit.Window || tl.Fit != fit {
			t.Errorf("%s: window %d, fit %+v, want %d", name, tl.Window, tl.Fit, fit.Window)
		}
	}
	if tl := run("opencode-1.18", replay.Options{}); tl.Totals.Compactions <= wide.Totals.Compactions {
		t.Errorf("%d compactions in %d tokens, %d in %d", tl.Totals.Compactions, tl.Window, wide.Totals.Compactions, wide.Window)
	}
	for _, opt := range []replay.Options{{Window: 123000}, {Model: "claude-opus-4-6"}} {
		if tl := run("claude-code-2.1.119", opt); tl.Fit != nil || tl.Window == fit.Window {
			t.Errorf("%+v: window %d, fit %+v", opt, tl.Window, tl.Fit)
		}
	}
	own := named(t, "claude-code-2.1.119")
	own.Window.Context = 321000
	if tl, err := rec.Replay(own, replay.Options{}); err != nil || tl.Fit != nil || tl.Window != 321000 {
		t.Errorf("a window of the policy's: %d, %+v, %v", tl.Window, tl.Fit, err)
	}
	if after := run("none", replay.Options{}); after.Totals.Refused != before.Totals.Refused {
		t.Errorf("refused %d, in the model's window %d", after.Totals.Refused, before.Totals.Refused)
	}
}
