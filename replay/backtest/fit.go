package backtest

import (
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
)

// Fit is a context window that the recorded compactions tell, tokens.
type Fit struct {
	Window int  `json:"window"`
	Least  int  `json:"least"`  // above it no request that was made would have been
	Most   int  `json:"most"`   // up to it every recorded automatic compaction fires
	Agrees bool `json:"agrees"` // Least <= Most: some window explains all of the record
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

// fit finds the window of a session with recorded automatic compactions. A window W has its threshold at W less what
// the policy reserves (33,000), so each recorded preTokens bounds W from above, and each request made without
// compacting bounds it from below. Users set round windows: of those between the bounds it is the roundest. nil where
// nothing is recorded to fit to.
func fit(conv *session.Conversation, decisions []replay.Decision) *Fit {
	f := &Fit{}
	for i := range conv.Boundaries {
		b := &conv.Boundaries[i]
		if !scored(conv, b) || b.PreTokens <= 0 {
			continue
		}
		if most := b.PreTokens + below(&decisions[b.Request-1]); f.Most == 0 || most < f.Most {
			f.Most = most
		}
	}
	if f.Most == 0 {
		return nil
	}
	known := explained(conv)
	for i := range decisions {
		if d := &decisions[i]; !known[d.Request] {
			f.Least = max(f.Least, d.Used+below(d)+1)
		}
	}
	f.Agrees = f.Least <= f.Most
	f.Window = roundest(f.Least, f.Most)
	return f
}

// below is how far the threshold lies below the window.
func below(d *replay.Decision) int { return d.Window - d.Limit }

// units of windows, the roundest first.
var units = []int{1000000, 500000, 100000, 50000, 10000, 5000, 1000, 500, 100, 50, 10, 5}

// roundest is the roundest number from least to most, the largest of such; most where there is none.
func roundest(least, most int) int {
	for _, u := range units {
		if n := most / u * u; n >= least && n > 0 {
			return n
		}
	}
	return most
}
