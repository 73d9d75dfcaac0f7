package backtest

import (
	"math"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
)

// UsageScore scores the simulated usage of the recorded track against the reported one, over main requests without
// the first of each file. The total sent is given; its split into read, written and uncached tokens is simulated.
type UsageScore struct {
	Requests  int         `json:"requests"`
	Read      InputFigure `json:"cache_read"`
	Write     InputFigure `json:"cache_write"`
	Input     InputFigure `json:"input"`         // not cached
	Near      int         `json:"read_within_5"` // requests whose simulated read is within 5 % of the reported one
	Close     int         `json:"read_within_1"`
	WriteNear int         `json:"write_within_5"` // the same of the write
	NaiveNear int         `json:"naive_within_5"` // requests that read, within 5 %, all that the request before had left: the prediction without cache misses
	Cost      InputCost   `json:"input_cost"`

	Broken      int `json:"breaks"`         // the reported read is below 95 % of what the request before had left
	Kind        int `json:"right_kind"`     // of the cache misses: simulated with a cause, and something is read as reported, or nothing
	Amount      int `json:"right_amount"`   // of those: the read is within 10 %
	Unexplained int `json:"unexplained"`    // of the cache misses: not simulated
	FalseAlarms int `json:"only_simulated"` // the simulation has a cache miss, the reported usage has none

	// Sessions left out: their usage contradicts the content, which the simulation counts in its place.
	Contradicted int `json:"contradicted_sessions,omitempty"`
}

// InputCost is what the input of requests costs by the reported split and by the simulated one, at the prices of the
// embedded table. Requests of models without a price are left out of both.
type InputCost struct {
	Recorded  price.USD `json:"recorded_usd"`
	Simulated price.USD `json:"simulated_usd"`
	Expected  price.USD `json:"expected_loss_usd"` // what cache misses that no line shows are expected to add to it
}

func (c *InputCost) join(o *InputCost) {
	c.Recorded.Add(o.Recorded)
	c.Simulated.Add(o.Simulated)
	c.Expected.Add(o.Expected)
}

// off is the simulated cost less the recorded one, % of the recorded one; ok is false where nothing has a price.
func (c *InputCost) off() (percent float64, ok bool) {
	if c.Recorded.Nano <= 0 {
		return 0, false
	}
	return 100 * float64(c.Simulated.Nano-c.Recorded.Nano) / float64(c.Recorded.Nano), true
}

// CostError is the error of the simulated input cost.
type CostError struct {
	Sessions int     `json:"sessions"` // whose input has a price
	Mean     float64 `json:"mean"`     // of the absolute errors of the sessions, %
	Median   float64 `json:"median"`   // the same
	Sum      float64 `json:"sum"`      // error of the sum over all sessions, %; below 0: too little
	Expected float64 `json:"expected"` // the same with the expected loss
}

// costError is the error over sessions.
func costError(sessions []*SessionScore) (e CostError) {
	var all InputCost
	var off []float64
	for _, s := range sessions {
		if x, ok := s.Usage.Cost.off(); ok {
			off = append(off, math.Abs(x))
			e.Mean += math.Abs(x)
			all.join(&s.Usage.Cost)
		}
	}
	if len(off) == 0 {
		return e
	}
	slices.Sort(off)
	sum, _ := all.off()
	all.Simulated.Add(all.Expected)
	expected, _ := all.off()
	return CostError{len(off), rounded(e.Mean / float64(len(off))), rounded(quantile(off, 0.5)), rounded(sum), rounded(expected)}
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
		one.Scored = 1
		one.MAPE = 100 * float64(one.Off) / float64(recorded)
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
		&u.Requests, &u.Near, &u.Close, &u.WriteNear, &u.NaiveNear, &u.Broken, &u.Kind, &u.Amount, &u.Unexplained, &u.FalseAlarms, &u.Contradicted,
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
	u.Cost.join(&o.Cost)
}

func (u *UsageScore) round() {
	for _, f := range u.Classes() {
		f.MAPE = rounded(f.MAPE)
	}
}

// ScoreUsage scores the simulated usage of a conversation's recorded track, by a table of prices. Where the content was
// counted in place of the usage, which contradicts it, nothing is scored: the two have other totals.
func ScoreUsage(conv *session.Conversation, track *replay.Timeline, models *price.Table) (u UsageScore) {
	if track.InsteadOfUsage() {
		u.Contradicted = 1
		return u
	}
	for p := range CachePoints(track) {
		row := track.Requests[p.Row]
		u.Requests++
		u.Read.add(p.Recorded, p.Simulated)
		written := row.Cache.Write5m + row.Cache.Write1h
		u.Write.add(row.Recorded.CacheWrite, written)
		u.Input.add(row.Recorded.Input, row.Cache.Uncached)
		u.Near += count(cache.Near(p.Recorded, p.Simulated))
		u.Close += count(p.Error() <= closeRead)
		u.NaiveNear += count(cache.Near(p.Recorded, min(p.Sent, row.Payload)))
		u.WriteNear += count(cache.Near(row.Recorded.CacheWrite, written))
		msg := conv.Response(p.N - 1)
		if m, ok := models.Find(msg.Model); ok {
			used := msg.Usage
			m := m.On(msg.Time)
			u.Cost.join(&InputCost{Recorded: m.Cost(bill.RecordedSplit(&used), 0), Simulated: m.Cost(row.Cache.Split, 0)})
		}
		u.FalseAlarms += count(p.FalseAlarm())
		u.Broken += count(p.Broke)
		u.Kind += count(p.RightKind())
		u.Amount += count(p.RightAmount())
		u.Unexplained += count(p.Unexplained())
	}
	if track.CacheFit != nil {
		u.Cost.Expected = track.CacheFit.Expected
	}
	return u
}

// Break is a request whose read of the prompt cache broke off, in the recorded session or in the simulation alone.
type Break struct {
	Session   string           `json:"session"`
	Agent     string           `json:"agent,omitempty"`
	File      string           `json:"file"`
	Line      int              `json:"line"` // of the response
	Request   int              `json:"request"`
	Recorded  bool             `json:"in_record"`    // false: only the simulation has it
	Cause     cache.BreakCause `json:"cause"`        // Unexplained: the simulation has none
	Why       string           `json:"why"`          // the cause in words
	Left      int              `json:"left"`         // what the request before had read and written, tokens
	Read      int              `json:"read"`         // recorded, tokens
	Simulated int              `json:"simulated"`    // tokens read
	Kind      bool             `json:"right_kind"`   // simulated with a cause, and both read something, or both nothing
	Amount    bool             `json:"right_amount"` // and within 10 %
}

// Unexplained is the cause of a recorded break for which the simulation has none.
const Unexplained cache.BreakCause = "unexplained"

// Off is the absolute error of the simulated read, tokens.
func (b *Break) Off() int { return abs(b.Simulated - b.Read) }

// usage scores the recorded track's simulated usage and lists the cache misses.
func (s *SessionScore) usage(r *replay.Record, track *replay.Timeline) {
	u := ScoreUsage(r.Conv, track, r.Prices(replay.Options{}))
	u.round()
	s.Usage = u
	if u.Contradicted > 0 {
		return
	}
	for p := range CachePoints(track) {
		if !p.Broke && !p.FalseAlarm() {
			continue
		}
		b := Break{
			Session: s.Session, Agent: s.Agent, File: s.File, Line: r.LineAt(p.N), Request: p.N, Recorded: p.Broke,
			Cause: p.Cause.Kind, Why: p.Cause.String(), Left: p.Left, Read: p.Recorded, Simulated: p.Simulated,
			Kind: p.RightKind(), Amount: p.RightAmount(),
		}
		if p.Unexplained() {
			b.Cause = Unexplained
			b.Why = "no cause is known"
		}
		s.Breaks = append(s.Breaks, b)
	}
}
