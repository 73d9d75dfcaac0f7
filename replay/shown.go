package replay

import (
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/price"
)

// largerWindow is the window of models that have one larger than DefaultWindow, tokens. No line marks the requests that
// asked for it.
const largerWindow = 1000000

// shownWindow is a window that model and client give, n, or the larger one where a recorded context exceeds n and no
// automatic compaction is recorded: the API refuses what is larger than the window.
func (r *Record) shownWindow(model string, n int) int {
	if most := r.largest[model]; most <= n || most > largerWindow || slices.ContainsFunc(r.Conv.Boundaries, func(b session.Boundary) bool { return b.Trigger == "auto" }) {
		return n
	}
	return largerWindow
}

// AutoOff says that the recorded client did not compact by itself where its release would have.
type AutoOff struct {
	Threshold int `json:"threshold"` // of the release that recorded the session, tokens
	Requests  int `json:"requests"`  // made although the response before had reached it
}

// offRun is how many requests in a row have to be made above the threshold: automatic compaction comes before the next
// one.
const offRun = 3

// autoOff finds that automatic compaction was off: settings and environment variables can only lower the threshold, so
// that requests above it, one after another, were made without it. Nil where that does not show.
func (e *engine) autoOff() *AutoOff {
	r := e.r
	if r.release == nil || e.opt.Window > 0 || e.opt.Model != "" {
		return nil
	}
	by := offBy{r.release, r.fit, r.table(e.opt)}
	found := r.off.Load()
	if found == nil || found.by != by {
		found = &offFound{by, e.findOff()}
		r.off.Store(found)
	}
	if found.off == nil {
		return nil
	}
	off := *found.off // each timeline has its own
	return &off
}

// offFound is an AutoOff, and offBy what it was found by: it is the same under every policy.
type offFound struct {
	by  offBy
	off *AutoOff
}

type offBy struct {
	release *policy.Policy
	fit     *Fit
	table   *price.Table
}

func (e *engine) findOff() *AutoOff {
	r := e.r
	compacted := map[int]bool{}
	for i := range r.Conv.Boundaries {
		compacted[r.Conv.Boundaries[i].Request-1] = true
	}
	off, run, most, at, window := &AutoOff{}, 0, 0, 0, 0
	var of alike
	for k := 1; k < len(r.Conv.Requests); k++ {
		before := &r.Conv.Messages[r.Conv.Requests[k-1].Message]
		if !of.has(k) {
			of = r.alikeAt(k)
			if w := e.windowUnder(r.release.Window, k); w != window {
				window, at = w, r.release.CompactsAt(e.circumstances(k-1, w))
			}
		}
		if at <= 0 || !before.HasUsage || before.Usage.Total() < at || compacted[k] {
			run = 0
			continue
		}
		run++
		off.Requests++
		off.Threshold, most = at, max(most, run)
	}
	if most < offRun {
		return nil
	}
	return off
}
