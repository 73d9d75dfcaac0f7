package backtest

import (
	"math"

	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/cache"
)

// Usage is how the simulated usage of the recorded track stands to the reported
// one, over main requests but the first of each file. What is sent is given, how it
// splits into read, written and plain input is simulated.
type Usage struct {
	Requests int    `json:"requests"`
	Read     Figure `json:"cache_read"`
	Write    Figure `json:"cache_write"`
	Input    Figure `json:"input"`         // not cached
	Near     int    `json:"read_within_5"` // requests whose simulated read is within 5 % of the reported one
	Close    int    `json:"read_within_1"`

	Broken      int `json:"breaks"`           // the reported read is below 95 % of what the request before had left
	Named       int `json:"named"`            // after a compaction, a microcompaction, an expired lifetime or a model switch
	Kind        int `json:"right_kind"`       // of the named: something read, or nothing
	Amount      int `json:"right_amount"`     // of the named: within 10 %
	AllKind     int `json:"all_right_kind"`   // of all breaks: something read, or nothing
	AllAmount   int `json:"all_right_amount"` // of all breaks: within 10 %
	Others      int `json:"other_causes"`     // the simulation names another cause
	Unexplained int `json:"unexplained"`      // and it has none
	FalseAlarms int `json:"only_simulated"`
}

// Figure is one class of input.
type Figure struct {
	Recorded  int     `json:"recorded"`  // sum, tokens
	Simulated int     `json:"simulated"` // sum, tokens
	Off       int     `json:"off"`       // sum of the absolute errors, tokens
	Scored    int     `json:"scored"`    // requests whose recorded figure is over 0
	MAPE      float64 `json:"mape"`      // of those: mean absolute error, %
}

// Classes are the classes of input: read, written, plain.
func (u *Usage) Classes() [3]*Figure { return [3]*Figure{&u.Read, &u.Write, &u.Input} }

// Recorded is all input reported, tokens.
func (u *Usage) Recorded() int { return u.Read.Recorded + u.Write.Recorded + u.Input.Recorded }

func (f *Figure) add(recorded, simulated int) {
	off := abs(simulated - recorded)
	f.Recorded += recorded
	f.Simulated += simulated
	f.Off += off
	if recorded > 0 {
		f.mean(100*float64(off)/float64(recorded), 1)
	}
}

func (f *Figure) join(o *Figure) {
	f.Recorded += o.Recorded
	f.Simulated += o.Simulated
	f.Off += o.Off
	f.mean(o.MAPE, o.Scored)
}

// mean takes the mean error of n more requests into the mean.
func (f *Figure) mean(mape float64, n int) {
	if f.Scored += n; n > 0 {
		f.MAPE += (mape - f.MAPE) * float64(n) / float64(f.Scored)
	}
}

// rounded to three places: what processors differ in lies far behind.
func rounded(x float64) float64 { return math.Round(x*1e3) / 1e3 }

func (u *Usage) join(o *Usage) {
	u.Requests += o.Requests
	u.Read.join(&o.Read)
	u.Write.join(&o.Write)
	u.Input.join(&o.Input)
	u.Near += o.Near
	u.Close += o.Close
	u.Broken += o.Broken
	u.Named += o.Named
	u.Kind += o.Kind
	u.Amount += o.Amount
	u.AllKind += o.AllKind
	u.AllAmount += o.AllAmount
	u.Others += o.Others
	u.Unexplained += o.Unexplained
	u.FalseAlarms += o.FalseAlarms
}

func (u *Usage) round() {
	for _, f := range u.Classes() {
		f.MAPE = rounded(f.MAPE)
	}
}

// Break is a request whose read of the prompt cache broke off: in the record, or in
// the simulation alone.
type Break struct {
	Session   string     `json:"session"`
	Agent     string     `json:"agent,omitempty"`
	File      string     `json:"file"`
	Line      int        `json:"line"` // of the response
	Request   int        `json:"request"`
	Recorded  bool       `json:"in_record"`    // false: only the simulation breaks off
	Cause     cache.Kind `json:"cause"`        // Unexplained: the simulation has none
	Why       string     `json:"why"`          // the cause in words
	Left      int        `json:"left"`         // what the request before had read and written, tokens
	Read      int        `json:"read"`         // recorded, tokens
	Simulated int        `json:"simulated"`    // tokens read
	Kind      bool       `json:"right_kind"`   // both read something, or both nothing
	Amount    bool       `json:"right_amount"` // within 10 %
}

// Unexplained is the cause of a recorded break that the simulation has none for.
const Unexplained cache.Kind = "unexplained"

// Off is how far the simulated read is from the recorded one, tokens.
func (b *Break) Off() int { return abs(b.Simulated - b.Read) }

// usage holds the recorded track's simulated usage against the reported one.
func (s *Session) usage(r *replay.Record, track *replay.Timeline) {
	f := replay.FitCache(track)
	s.Usage = Usage{
		Requests: len(f.Requests), Near: f.Near, Close: f.Close, Broken: f.Breaks, Named: f.Named, Kind: f.Kind, Amount: f.Amount,
		AllKind: f.AllKind, AllAmount: f.AllAmount,
		Others: f.Others, Unexplained: f.Unexplained, FalseAlarms: f.FalseAlarms,
	}
	for i := range f.Requests {
		p := &f.Requests[i]
		row := &track.Requests[p.Row]
		s.Usage.Read.add(row.Recorded.CacheRead, row.Cache.Read)
		s.Usage.Write.add(row.Recorded.CacheWrite, row.Cache.Write5m+row.Cache.Write1h)
		s.Usage.Input.add(row.Recorded.Input, row.Cache.Uncached)
		if !p.Broke && !p.FalseAlarm() {
			continue
		}
		b := Break{
			Session: s.Session, Agent: s.Agent, File: s.File, Line: r.LineAt(p.N), Request: p.N, Recorded: p.Broke, Cause: p.Cause.Kind, Why: p.Cause.String(),
			Left: p.Left, Read: p.Recorded, Simulated: p.Read, Kind: p.RightKind(), Amount: p.RightAmount(),
		}
		if p.Unexplained() {
			b.Cause, b.Why = Unexplained, "no cause is known"
		}
		s.Breaks = append(s.Breaks, b)
	}
	s.Usage.round()
}
