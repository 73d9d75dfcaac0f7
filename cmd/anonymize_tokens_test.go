package cmd

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// drift is how far the figures of anonymised sessions are from those of their originals, by one counter: one entry a
// session and policy.
type drift struct {
	peak, sum []float64 // of the model's tokens, relative
	events    int       // replays with other events
}

// add compares two replays. A refusal of a payload that is over the window by no more than a share is not compared: the
// counter's own drift decides it.
func (d *drift) add(before, after *replay.Timeline, share float64) {
	figures := func(tl *replay.Timeline) (peak, sum float64, events string) {
		for _, r := range tl.Requests {
			peak, sum = max(peak, float64(r.Tokens)), sum+float64(r.Tokens)
		}
		var b strings.Builder
		for _, e := range tl.Events {
			if over := float64(e.Detail["over"]); e.Kind == "refuse" && over <= share*(float64(e.Before)-over) {
				continue
			}
			fmt.Fprintln(&b, requestOf(e.Request), e.Stage, e.Kind, len(e.Targets))
		}
		return peak, sum, b.String()
	}
	peak, sum, events := figures(before)
	otherPeak, otherSum, otherEvents := figures(after)
	if peak > 0 {
		d.peak = append(d.peak, math.Abs(otherPeak/peak-1))
		d.sum = append(d.sum, math.Abs(otherSum/sum-1))
	}
	if events != otherEvents {
		d.events++
	}
}

// quantiles are the median, the ninth decile and the largest, in percent.
func quantiles(list []float64) (q [3]float64) {
	list = slices.Sorted(slices.Values(list))
	for i, share := range []float64{0.5, 0.9, 1} {
		q[i] = 100 * list[int(share*float64(len(list)-1))]
	}
	return q
}

// measureDrift anonymises sessions and replays them and their originals under every built-in policy by every counter.
func measureDrift(t *testing.T, sessions []string, flags ...string) map[string]*drift {
	t.Helper()
	reg := must.Get(stage.Registry())(t)
	found := map[string]*drift{}
	for _, counter := range tokens.Names() {
		found[counter] = &drift{}
	}
	shared := &tokens.Encoders{}
	requests := 0
	for _, path := range sessions {
		out := filepath.Join(t.TempDir(), "out.jsonl")
		mustRun(t, append([]string{"anonymize", path, "-q", "-o", out}, flags...)...)
		before, after := record(t, path), record(t, out)
		requests += len(before.Conv.Requests)
		for _, name := range preset.Names(reg) {
			pol := must.Get(preset.Load(name, reg))(t)
			for counter, d := range found {
				opt := replay.Options{Counter: counter, Encoders: shared}
				a := must.Get(before.Replay(pol, opt))(t)
				b := must.Get(after.Replay(pol, opt))(t)
				d.add(a, b, drifts[counter].most/100)
			}
		}
	}
	if requests < 20*len(sessions) {
		t.Errorf("only %d requests in %d sessions: the test tests too little", requests, len(sessions))
	}
	return found
}

// drifts is what docs/anonymize.md says of a counter: how far the peak and the sum of the model's tokens are off in half of
// all replays and at most, in percent; most also with a seed, where sessions share their substitutes.
var drifts = map[string]struct{ half, most, seeded float64 }{
	"heuristic":   {0, 0, 0},
	"usage":       {0.01, 0.01, 0.01},
	"o200k_base":  {12, 16, 16},
	"cl100k_base": {12, 18, 18},
}

// TestAnonymizeTokens holds it over one of 32 sessions, and that the events are the same by the counters that count lengths.
func TestAnonymizeTokens(t *testing.T) {
	corpus := folderOf(t, "CTXKIT_CORPUS")
	sample := every(32, withoutCodex(sessionFiles(t, corpus)))
	for counter, d := range measureDrift(t, sample) {
		d.hold(t, counter, drifts[counter].half, drifts[counter].most)
		if d.events > 0 && drifts[counter].half < 1 {
			t.Errorf("%s: other events in %d of %d replays", counter, d.events, len(d.peak))
		}
	}
	for counter, d := range measureDrift(t, sample[:len(sample)/2], "--seed", "shared") {
		d.hold(t, counter+" with a seed", drifts[counter].seeded, drifts[counter].seeded)
	}
}

// hold fails where half of the figures, or the largest, are further off.
func (d *drift) hold(t *testing.T, name string, half, most float64) {
	t.Helper()
	for what, list := range map[string][]float64{"peak": d.peak, "sum": d.sum} {
		q := quantiles(list)
		t.Logf("%s: %s: median %.2f %%, p90 %.2f %%, max %.2f %%; other events in %d of %d replays", name, what, q[0], q[1], q[2], d.events, len(list))
		if q[0] > half || q[2] > most {
			t.Errorf("%s: the %s is off by %.2f %% in half of the replays and by %.2f %% at most, want %v and %v", name, what, q[0], q[2], half, most)
		}
	}
}

// requestOf is a request, -1 behind the last.
func requestOf(request *int) int {
	if request == nil {
		return -1
	}
	return *request
}
