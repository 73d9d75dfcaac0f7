package engine

import (
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/internal/record"
)

// FitWindow finds the window of a session with recorded automatic compactions, by a policy that compacts as the client
// did. A window W has its threshold at W less what the policy reserves (33,000), so each recorded preTokens bounds W
// from above, and each request made without compacting bounds it from below. Users set round windows: of those between
// the bounds it is the roundest. Nil where nothing is recorded to fit to, or where users of the client could set none.
func FitWindow(r *record.Record, pol *policy.Policy, opt Options) (*record.Fit, error) {
	if !fits(pol, r.Conv.Version) || !slices.ContainsFunc(r.Conv.Boundaries, func(b session.Boundary) bool { return bounds(r.Conv, &b) }) {
		return nil, nil
	}
	decisions, err := Decide(r, pol, opt)
	if err != nil {
		return nil, err
	}
	return fit(r.Conv, decisions), nil
}

// fits reports whether the window of a session may be fitted: users of the client that recorded it could set one, and
// the policy sets none and compacts at a fixed distance below the window.
func fits(pol *policy.Policy, version string) bool {
	from := pol.FitsFrom()
	if version == "" || from == "" || session.CompareVersions(version, from) < 0 || pol.Window.Context > 0 {
		return false
	}
	const window, more = 500000, 1000
	return pol.CompactsAt(policy.Circumstances{Window: window + more}) == pol.CompactsAt(policy.Circumstances{Window: window})+more
}

// bounds reports whether a recorded compaction bounds the window.
func bounds(conv *session.Conversation, b *session.Boundary) bool {
	return Precedes(conv, b) && b.PreTokens > 0
}

// Precedes reports whether a recorded compaction is automatic and a request follows it.
func Precedes(conv *session.Conversation, b *session.Boundary) bool {
	return b.Trigger == "auto" && b.Request >= 1 && b.Request <= len(conv.Requests)
}

// NearCompactions returns the requests (n) at which a compaction by a policy is no false alarm: one is recorded there
// or at the request before.
func NearCompactions(conv *session.Conversation) map[int]bool {
	near := map[int]bool{}
	for i := range conv.Boundaries {
		n := conv.Boundaries[i].Request
		near[n], near[n+1] = true, true
	}
	return near
}

// fit finds the window between the bounds of what the policy would have decided; nil where nothing bounds it from above.
func fit(conv *session.Conversation, decisions []Decision) *record.Fit {
	f := &record.Fit{}
	for i := range conv.Boundaries {
		b := &conv.Boundaries[i]
		if !bounds(conv, b) {
			continue
		}
		if most := b.PreTokens + below(&decisions[b.Request-1]); f.Most == 0 || most < f.Most {
			f.Most = most
		}
	}
	if f.Most == 0 {
		return nil
	}
	known := NearCompactions(conv)
	for i := range decisions {
		if d := &decisions[i]; !known[d.Request] && !(d.Request == 1 && conv.BeginsMidway()) {
			f.Least = max(f.Least, d.Used+below(d)+1)
		}
	}
	f.Agrees = f.Least <= f.Most
	f.Window = roundest(f.Least, f.Most)
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
