package engine

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
func (e *Engine) autoOff() *AutoOff {
	r := e.record
	if r.Release == nil || e.options.Window > 0 || e.options.Model != "" {
		return nil
	}
	compacted := map[int]bool{}
	for i := range r.Conv.Boundaries {
		compacted[r.Conv.Boundaries[i].Request-1] = true
	}
	off := &AutoOff{}
	run := 0
	most := 0
	threshold := 0
	window := 0
	for k := 1; k < len(r.Conv.Requests); k++ {
		before := r.Conv.Response(k - 1)
		if w := e.windowUnder(r.Release.Window, k); w != window {
			window = w
			threshold = r.Release.CompactsAt(e.circumstances(k-1, w))
		}
		if threshold <= 0 || !before.HasUsage || before.Usage.Total() < threshold || compacted[k] {
			run = 0
			continue
		}
		run++
		off.Requests++
		off.Threshold = threshold
		most = max(most, run)
	}
	if most < offRun {
		return nil
	}
	return off
}
