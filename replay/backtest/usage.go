package backtest

import (
	"math"

	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/cache"
)

// UsageScore scores the simulated usage of the recorded track against the reported one, over main requests without
// the first of each file. The total sent is given; its split into read, written and uncached tokens is simulated.
type UsageScore struct {
	Requests int         `json:"requests"`
	Read     InputFigure `json:"cache_read"`
	Write    InputFigure `json:"cache_write"`
	Input    InputFigure `json:"input"`         // not cached
	Near     int         `json:"read_within_5"` // requests whose simulated read is within 5 % of the reported one
	Close    int         `json:"read_within_1"`

	Broken      int `json:"breaks"`           // the reported read is below 95 % of what the request before had left
	Named       int `json:"named"`            // after a compaction, a microcompaction, an expired lifetime or a model switch
	Kind        int `json:"right_kind"`       // of the named: something read, or nothing
	Amount      int `json:"right_amount"`     // of the named: within 10 %
	AllKind     int `json:"all_right_kind"`   // of all breaks: something read, or nothing
	AllAmount   int `json:"all_right_amount"` // of all breaks: within 10 %
	Others      int `json:"other_causes"`     // the simulation names another cause
	Unexplained int `json:"unexplained"`      // the simulation names no cause
	FalseAlarms int `json:"only_simulated"`
}

// InputFigure is one class of input.
type InputFigure struct {
	Recorded  int     `json:"recorded"`  // sum, tokens
	Simulated int     `json:"simulated"` // sum, tokens
	Off       int     `json:"off"`       // sum of the absolute errors, tokens
	Scored    int     `json:"scored"`    // requests whose recorded figure is over 0
	MAPE      float64 `json:"mape"`      // of those: mean absolute error, %
}

// Classes returns the classes of input: read, written, uncached.
func (u *UsageScore) Classes() [3]*InputFigure { return [3]*InputFigure{&u.Read, &u.Write, &u.Input} }

// Recorded is all input reported, tokens.
func (u *UsageScore) Recorded() int { return u.Read.Recorded + u.Write.Recorded + u.Input.Recorded }

func (f *InputFigure) add(recorded, simulated int) {
	one := InputFigure{Recorded: recorded, Simulated: simulated, Off: abs(simulated - recorded)}
	if recorded > 0 {
		one.Scored, one.MAPE = 1, 100*float64(one.Off)/float64(recorded)
	}
	f.join(&one)
}

// join adds the figures of o; the mean is weighted by the requests scored.
func (f *InputFigure) join(o *InputFigure) {
	f.Recorded += o.Recorded
	f.Simulated += o.Simulated
	f.Off += o.Off
	if f.Scored += o.Scored; o.Scored > 0 {
		f.MAPE += (o.MAPE - f.MAPE) * float64(o.Scored) / float64(f.Scored)
	}
}

// rounded rounds to three decimals: processors differ in later ones.
func rounded(x float64) float64 { return math.Round(x*1e3) / 1e3 }

// counts are the plain counts, in the order of the fields.
func (u *UsageScore) counts() []*int {
	return []*int{
		&u.Requests, &u.Near, &u.Close, &u.Broken, &u.Named, &u.Kind, &u.Amount, &u.AllKind, &u.AllAmount,
		&u.Others, &u.Unexplained, &u.FalseAlarms,
	}
}

// Join adds the figures of o.
func (u *UsageScore) Join(o *UsageScore) {
	for i, f := range u.Classes() {
		f.join(o.Classes()[i])
	}
	for i, n := range u.counts() {
		*n += *o.counts()[i]
	}
}

func (u *UsageScore) round() {
	for _, f := range u.Classes() {
		f.MAPE = rounded(f.MAPE)
	}
}

// ScoreUsage scores the simulated usage of the recorded track.
func ScoreUsage(track *replay.Timeline) (u UsageScore) {
	for _, p := range CachePoints(track) {
		row := &track.Requests[p.Row]
		u.Requests++
		u.Read.add(p.Recorded, p.Simulated)
		u.Write.add(row.Recorded.CacheWrite, row.Cache.Write5m+row.Cache.Write1h)
		u.Input.add(row.Recorded.Input, row.Cache.Uncached)
		u.Near += count(p.Error() <= nearRead)
		u.Close += count(p.Error() <= closeRead)
		u.FalseAlarms += count(p.FalseAlarm())
		if !p.Broke {
			continue
		}
		u.Broken++
		u.AllKind += count(p.RightKind())
		u.AllAmount += count(p.RightAmount())
		switch {
		case p.Unexplained():
			u.Unexplained++
		case !NamedBreak(p.Cause.Kind):
			u.Others++
		default:
			u.Named++
			u.Kind += count(p.RightKind())
			u.Amount += count(p.RightAmount())
		}
	}
	return u
}

// Break is a request whose read of the prompt cache broke off, in the record or in the simulation alone.
type Break struct {
	Session   string           `json:"session"`
	Agent     string           `json:"agent,omitempty"`
	File      string           `json:"file"`
	Line      int              `json:"line"` // of the response
	Request   int              `json:"request"`
	Recorded  bool             `json:"in_record"`    // false: only the simulation breaks off
	Cause     cache.BreakCause `json:"cause"`        // Unexplained: the simulation has none
	Why       string           `json:"why"`          // the cause in words
	Left      int              `json:"left"`         // what the request before had read and written, tokens
	Read      int              `json:"read"`         // recorded, tokens
	Simulated int              `json:"simulated"`    // tokens read
	Kind      bool             `json:"right_kind"`   // both read something, or both nothing
	Amount    bool             `json:"right_amount"` // within 10 %
}

// Unexplained is the cause of a recorded break for which the simulation has none.
const Unexplained cache.BreakCause = "unexplained"

// Off is the absolute error of the simulated read, tokens.
func (b *Break) Off() int { return abs(b.Simulated - b.Read) }

// usage scores the recorded track's simulated usage and lists the breaks.
func (s *SessionScore) usage(r *replay.Record, track *replay.Timeline) {
	s.Usage = ScoreUsage(track)
	s.Usage.round()
	for _, p := range CachePoints(track) {
		if !p.Broke && !p.FalseAlarm() {
			continue
		}
		b := Break{
			Session: s.Session, Agent: s.Agent, File: s.File, Line: r.LineAt(p.N), Request: p.N, Recorded: p.Broke,
			Cause: p.Cause.Kind, Why: p.Cause.String(), Left: p.Left, Read: p.Recorded, Simulated: p.Simulated,
			Kind: p.RightKind(), Amount: p.RightAmount(),
		}
		if p.Unexplained() {
			b.Cause, b.Why = Unexplained, "no cause is known"
		}
		s.Breaks = append(s.Breaks, b)
	}
}
