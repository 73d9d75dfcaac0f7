package engine

import (
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/internal/record"
)

// FitWindow finds the window of a session with recorded automatic compactions, by a policy that compacts as the client
// did. A window W has its threshold at W less what the policy reserves (33,000), so each recorded preTokens bounds W
// from above, and each request made without compacting bounds it from below. Users set round windows: of those between
// the bounds it is the roundest. Nil where nothing is recorded to fit to, or where users of the client could set none.
func FitWindow(r *record.Record, pol *policy.Policy, opt Options) (*record.Fit, error) {
	var at []int
	largest := 0
	for i := range r.Conv.Boundaries {
		if b := &r.Conv.Boundaries[i]; bounds(r.Conv, b) && r.CompactionKind(i) == record.CompactionThreshold {
			at = append(at, i)
			largest = max(largest, r.LargestWindow(r.Conv.Response(b.Request-1)))
		}
	}
	if len(at) == 0 || !fits(pol, r.Conv.Version) {
		return nil, nil
	}
	opt.WindowSet = true // a compaction at a threshold shows it
	decisions, err := Decide(r, pol, opt)
	if err != nil {
		return nil, err
	}
	return fit(r.Conv, at, largest, decisions), nil
}

// fits reports whether the window of a session may be fitted: users of the client that recorded it could set one, and
// the policy sets none and compacts at a fixed distance below the window.
func fits(pol *policy.Policy, version string) bool {
	from := pol.FitsFrom()
	if version == "" || from == "" || session.CompareVersions(version, from) < 0 || pol.Window.Context > 0 {
		return false
	}
	const window, more = 500000, 1000
	return pol.CompactsAt(policy.Circumstances{Window: window + more, Set: true}) == pol.CompactsAt(policy.Circumstances{Window: window, Set: true})+more
}

// bounds reports whether a recorded compaction bounds the window, if it is one at the threshold.
func bounds(conv *session.Conversation, b *session.Boundary) bool {
	return Precedes(conv, b) && b.PreTokens > 0
}

// Precedes reports whether b is a recorded automatic compaction that a main request follows.
func Precedes(conv *session.Conversation, b *session.Boundary) bool {
	return b.Trigger == "auto" && b.Request >= 1 && b.Request <= len(conv.Requests)
}

// NearCompactions returns the numbers of the main requests at which a compaction by a policy counts as no false alarm:
// a compaction is recorded directly before that request or directly before the previous one.
func NearCompactions(conv *session.Conversation) map[int]bool {
	near := map[int]bool{}
	for i := range conv.Boundaries {
		n := conv.Boundaries[i].Request
		near[n], near[n+1] = true, true
	}
	return near
}

// fit is the window between the bounds of the recorded compactions at those indexes; nil where that is larger than any window
// that the model has.
func fit(conv *session.Conversation, at []int, largest int, decisions []Decision) *record.Fit {
	f := &record.Fit{}
	for _, i := range at {
		b := &conv.Boundaries[i]
		if most := b.PreTokens + below(&decisions[b.Request-1]); f.Most == 0 || most < f.Most {
			f.Most = most
		}
	}
	known := NearCompactions(conv)
	for i := range decisions {
		if d := &decisions[i]; !known[d.Request] && !(d.Request == 1 && conv.BeginsMidway()) {
			f.Least = max(f.Least, d.Used+below(d)+1)
		}
	}
	f.Agrees = f.Least <= f.Most
	if f.Least > largest {
		return nil
	}
	f.Window = roundest(f.Least, min(f.Most, max(largest, f.Least)))
	return f
}

// below is how far the threshold lies below the window.
func below(d *Decision) int { return d.Window - d.Limit }

// units of windows, the roundest first.
func units() []int {
	return []int{1000000, 500000, 100000, 50000, 10000, 5000, 1000, 500, 100, 50, 10, 5}
}

// roundest is the roundest number from least to most, the largest of such; most where there is none.
func roundest(least, most int) int {
	for _, u := range units() {
		if n := most / u * u; n >= least && n > 0 {
			return n
		}
	}
	return most
}
