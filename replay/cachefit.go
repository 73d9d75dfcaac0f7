package replay

import "github.com/ctxkit/ctxkit/replay/cache"

// CacheFit holds the simulated prompt cache of a recorded track against what the
// API reported. The simulation knows nothing of the recorded reads and writes;
// they only score it.
type CacheFit struct {
	Requests []CachePoint // main requests with recorded usage, in order, but the first of the file
	Near     int          // of these: the simulated read is within 5 % of the recorded one
	Close    int          // within 1 %

	Breaks      int // requests whose recorded read broke off: it is below 95 % of what the request before had left
	Named       int // of these: with a compaction, a microcompaction, an expired lifetime or a model switch before them
	Kind        int // of the named: right in kind, something read or nothing
	Amount      int // of the named: the amount within 10 %
	AllKind     int // of all breaks, whatever the simulation says of them: right in kind
	AllAmount   int // and within 10 % in amount
	Others      int // breaks with another cause that the simulation names
	Unexplained int // breaks that the simulation has no cause for
	FalseAlarms int // requests that the simulation has break off and the record has not
}

// CachePoint is one request: what was recorded and what is simulated.
type CachePoint struct {
	Row      int         // index into Timeline.Requests
	N        int         // of the request
	Left     int         // what the request before had read and written, recorded
	Recorded int         // tokens read
	Read     int         // tokens read, simulated
	Context  int         // tokens of the whole input, recorded
	Broke    bool        // the recorded read broke off
	Cause    cache.Cause // why the simulated one did; its Kind is "" where it did not
}

// Error is how far the simulated read is from the recorded one, as a share of it;
// 1 where nothing was read and something is simulated.
func (p *CachePoint) Error() float64 {
	d := float64(max(p.Read-p.Recorded, p.Recorded-p.Read))
	switch {
	case d == 0:
		return 0
	case p.Recorded == 0:
		return 1
	}
	return d / float64(p.Recorded)
}

// Bounds of a CacheFit.
const (
	nearRead   = 0.05 // share of the recorded read
	closeRead  = 0.01
	nearBreak  = 0.10
	brokenRead = 0.95 // of what the request before had left
)

// FitCache scores the cache simulation of a replay of the recorded policy.
func FitCache(t *Timeline) *CacheFit {
	f := &CacheFit{}
	left := -1
	for i := range t.Requests {
		r := &t.Requests[i]
		if r.Kind != "main" || r.Recorded == nil {
			continue
		}
		u := r.Recorded
		p := CachePoint{Row: i, N: r.N, Left: left, Recorded: u.CacheRead, Read: r.Cache.Read, Context: u.Input + u.CacheRead + u.CacheWrite}
		left = u.CacheRead + u.CacheWrite
		if p.Left < 0 {
			continue
		}
		if r.Cache.Miss != nil {
			p.Cause = *r.Cache.Miss
		}
		p.Broke = float64(p.Recorded) < brokenRead*float64(p.Left)
		f.add(p)
	}
	return f
}

func (f *CacheFit) add(p CachePoint) {
	f.Requests = append(f.Requests, p)
	off := p.Error()
	f.Near += count(off <= nearRead)
	f.Close += count(off <= closeRead)
	f.FalseAlarms += count(p.FalseAlarm())
	if !p.Broke {
		return
	}
	f.Breaks++
	f.AllKind += count(p.RightKind())
	f.AllAmount += count(p.RightAmount())
	switch {
	case p.alarm() && NamedBreak(p.Cause.Kind):
		f.Named++
		f.Kind += count(p.RightKind())
		f.Amount += count(p.RightAmount())
	case p.alarm():
		f.Others++
	default:
		f.Unexplained++
	}
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// alarm reports whether the simulated read broke off.
func (p *CachePoint) alarm() bool {
	return p.Cause.Kind != cache.None && float64(p.Read) < brokenRead*float64(p.Left)
}

// Unexplained reports whether the recorded read broke off and the simulation has
// no cause for it.
func (p *CachePoint) Unexplained() bool { return p.Broke && !p.alarm() }

// FalseAlarm reports whether the simulated read broke off and the recorded one did
// not.
func (p *CachePoint) FalseAlarm() bool { return !p.Broke && p.alarm() }

// RightKind reports whether both reads, the recorded and the simulated, are of
// something or both of nothing.
func (p *CachePoint) RightKind() bool { return (p.Read > 0) == (p.Recorded > 0) }

// RightAmount reports whether the simulated read of a break is within 10 % of the
// recorded one.
func (p *CachePoint) RightAmount() bool { return p.Error() <= nearBreak }

// Add adds another session's figures; its requests stay its own.
func (f *CacheFit) Add(o *CacheFit) {
	f.Near += o.Near
	f.Close += o.Close
	f.Breaks += o.Breaks
	f.Named += o.Named
	f.Kind += o.Kind
	f.Amount += o.Amount
	f.AllKind += o.AllKind
	f.AllAmount += o.AllAmount
	f.Others += o.Others
	f.Unexplained += o.Unexplained
	f.FalseAlarms += o.FalseAlarms
}

// NamedBreak reports whether a break of this cause is one that the recorded
// session itself shows: after a compaction, a microcompaction, an expired
// lifetime or a model switch.
func NamedBreak(k cache.Kind) bool {
	switch k {
	case cache.Compacted, cache.Edited, cache.Expired, cache.ModelSwitch:
		return true
	}
	return false
}
