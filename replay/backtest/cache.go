package backtest

import (
	"iter"
	"math"

	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/cache"
)

// CachePoint compares the simulated and the recorded cache read of one main request.
type CachePoint struct {
	Row       int         // index into Timeline.Requests
	N         int         // of the request
	Left      int         // what the request before had read and written, recorded, tokens
	Sent      int         // what a cache without cache misses holds of it: Left, or all of its input where no write is recorded
	Recorded  int         // read, tokens
	Simulated int         // read, tokens
	Broke     bool        // the recorded read broke off: it is below 95 % of Left
	Cause     cache.Cause // of the simulated break; its Kind is "" where there is none
}

// Bounds of a score, as shares of the recorded read.
const (
	closeRead  = 0.01
	nearBreak  = 0.10
	brokenRead = 0.95 // of what the request before had left
)

// CachePoints yields the main requests of the recorded track with recorded usage, in order, without the first.
func CachePoints(track *replay.Timeline) iter.Seq[CachePoint] {
	return func(yield func(CachePoint) bool) {
		left := -1
		sent := 0
		for i, r := range track.Requests {
			if r.Kind != "main" || r.Recorded == nil {
				continue
			}
			p := CachePoint{Row: i, N: r.N, Left: left, Sent: sent, Recorded: r.Recorded.CacheRead, Simulated: r.Cache.Read}
			if r.Cache.Miss != nil {
				p.Cause = *r.Cache.Miss
			}
			p.Broke = float64(p.Recorded) < brokenRead*float64(p.Left)
			if left >= 0 && !yield(p) {
				return
			}
			left = r.Recorded.CacheRead + r.Recorded.CacheWrite
			sent = left
			if r.Recorded.CacheWrite == 0 {
				sent += r.Recorded.Input
			}
		}
	}
}

// Error is the error of the simulated read as a share of the recorded one, and 1 where nothing was read and something
// is simulated.
func (p *CachePoint) Error() float64 {
	if p.Recorded == 0 {
		return float64(min(p.Simulated, 1))
	}
	return math.Abs(float64(p.Simulated-p.Recorded)) / float64(p.Recorded)
}

// alarm reports whether the simulated read broke off.
func (p *CachePoint) alarm() bool {
	return p.Cause.Kind != cache.None && float64(p.Simulated) < brokenRead*float64(p.Left)
}

// Unexplained reports whether the recorded read broke off and the simulated one did not.
func (p *CachePoint) Unexplained() bool { return p.Broke && !p.alarm() }

// FalseAlarm reports whether the simulated read broke off and the recorded one did not.
func (p *CachePoint) FalseAlarm() bool { return !p.Broke && p.alarm() }

// RightKind reports whether both reads broke off, and either both are above 0 or both are 0. A break that is not
// simulated is not right, whatever was read.
func (p *CachePoint) RightKind() bool {
	return p.Broke && p.alarm() && (p.Simulated > 0) == (p.Recorded > 0)
}

// RightAmount reports whether the break is right in kind and the simulated read within 10 % of the recorded one.
func (p *CachePoint) RightAmount() bool { return p.RightKind() && p.Error() <= nearBreak }
