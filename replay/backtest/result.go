package backtest

import (
	"cmp"
	"math"
	"slices"

	"github.com/ctxkit/ctxkit/replay/cache"
)

// Result is the policy held against all sessions.
type Result struct {
	Schema      string          `json:"schema"`
	Policy      string          `json:"policy"` // as asked for
	Fidelity    []Measure       `json:"fidelity"`
	Compactions []CompactionRow `json:"compactions"`
	Micro       []MicroRow      `json:"microcompactions"`
	Usage       []UsageRow      `json:"usage"`
	Causes      []CauseRow      `json:"breaks"`
	Sessions    []*Session      `json:"sessions"`
}

// CompactionRow scores the automatic compactions of one band of clients, or of all.
// Sessions whose windows are fitted stand in rows of their own: their record has
// told the policy something.
type CompactionRow struct {
	Clients  string  `json:"clients"`
	Fitted   bool    `json:"fitted"`
	Sessions int     `json:"sessions"`
	Requests int     `json:"requests"` // each one a decision
	Recorded int     `json:"recorded"` // scored; what is lost is not among them
	Hits     int     `json:"hits"`     // at the exact request, each decided on the recorded view
	Misses   int     `json:"misses"`
	Alarms   int     `json:"alarms"`
	Exact    int     `json:"exact"` // the policy's arithmetic is pre_tokens to the token
	Error    float64 `json:"error"` // mean absolute error of that arithmetic, tokens
	Largest  int     `json:"largest_error"`
	Bias     float64 `json:"bias"` // its mean error, tokens; under 0: too little
	MAPE     float64 `json:"mape"` // % of pre_tokens
	Free     Free    `json:"free"`
	Lost     int     `json:"lost"` // their last message is lost and weighed by pre_tokens: they prove little
	LostHits int     `json:"lost_hits"`
	Manual   int     `json:"manual"`
	Last     int     `json:"at_end"`
}

// Free scores the same compactions replayed freely, where one decision moves the
// next.
type Free struct {
	Exact  int `json:"exact"`
	One    int `json:"within_1"` // requests off; these and nearer
	Five   int `json:"within_5"`
	Alarms int `json:"alarms"`
}

func (r *CompactionRow) add(s *Session) {
	r.Sessions++
	r.Requests += s.Requests
	r.Alarms += len(s.Alarms)
	r.Free.Alarms += s.FreeAlarms
	r.Manual += s.Manual
	r.Last += s.Last
	for i := range s.Compactions {
		r.compaction(&s.Compactions[i])
	}
}

func (r *CompactionRow) compaction(c *Compaction) {
	if c.Lost {
		r.Lost++
		r.LostHits += count(c.Hit)
		return
	}
	r.Recorded++
	r.Hits += count(c.Hit)
	r.Misses += count(!c.Hit)
	off := -c.Short()
	r.Exact += count(off == 0)
	r.Error += float64(abs(off))
	r.Bias += float64(off)
	r.Largest = max(r.Largest, abs(off))
	if c.PreTokens > 0 {
		r.MAPE += 100 * float64(abs(off)) / float64(c.PreTokens)
	}
	if c.Distance != nil {
		d := abs(*c.Distance)
		r.Free.Exact += count(d == 0)
		r.Free.One += count(d <= 1)
		r.Free.Five += count(d <= Near)
	}
}

func (r *CompactionRow) means() {
	n := float64(max(r.Recorded, 1))
	r.Error, r.Bias, r.MAPE = rounded(r.Error/n), rounded(r.Bias/n), rounded(r.MAPE/n)
}

// MicroRow scores the microcompactions of one band of clients, or of all.
type MicroRow struct {
	Clients    string `json:"clients"`
	Recorded   int    `json:"recorded"` // of results that are in the file
	Hits       int    `json:"hits"`     // before the same request
	Same       int    `json:"same"`     // and of the same results
	Close      int    `json:"within_1"` // and the saving is within 1 % of the recorded one
	Unrecorded int    `json:"unrecorded"`
	Confirmed  int    `json:"confirmed"` // unrecorded ones the policy makes where the usage fell
	Alarms     int    `json:"alarms"`    // the policy's where neither is
	Unscored   int    `json:"unscored"`  // their results lie before the file, or no request follows
}

func (r *MicroRow) add(s *Session) {
	r.Alarms += len(s.MicroAlarms)
	r.Unscored += s.MicroUnknown
	for i := range s.Micro {
		m := &s.Micro[i]
		if !m.Recorded {
			r.Unrecorded++
			r.Confirmed += count(m.Hit)
			continue
		}
		r.Recorded++
		r.Hits += count(m.Hit)
		r.Same += count(m.Same)
		r.Close += count(m.Same && m.Close())
	}
}

// UsageRow is the usage of one band of clients, or of all.
type UsageRow struct {
	Clients  string `json:"clients"`
	Sessions int    `json:"sessions"` // with at least one scored request
	Usage
}

// CauseRow sums the breaks of one cause up.
type CauseRow struct {
	Cause     cache.Kind `json:"cause"`
	Named     bool       `json:"named"`  // one that the record itself shows
	Breaks    int        `json:"breaks"` // in the record
	Kind      int        `json:"right_kind"`
	Amount    int        `json:"right_amount"`
	Left      int        `json:"left"`      // sums, tokens
	Read      int        `json:"read"`      // recorded
	Simulated int        `json:"simulated"` // read
	Only      int        `json:"only_simulated"`
}

// Sum holds a policy against all sessions, in the order given.
func Sum(policy string, sessions []*Session) *Result {
	r := &Result{Schema: Schema, Policy: policy, Sessions: append([]*Session{}, sessions...)}
	for _, fitted := range []bool{false, true} {
		for _, clients := range compactionBands.names() {
			row := CompactionRow{Clients: clients, Fitted: fitted}
			for _, s := range sessions {
				if in(clients, s) && (s.Fit != nil) == fitted {
					row.add(s)
				}
			}
			if row.means(); row.Sessions > 0 || clients == All && !fitted {
				r.Compactions = append(r.Compactions, row)
			}
		}
	}
	for _, clients := range compactionBands.names() {
		micro, usage := MicroRow{Clients: clients}, UsageRow{Clients: clients}
		for _, s := range sessions {
			if in(clients, s) {
				micro.add(s)
				usage.Sessions += count(s.Usage.Requests > 0)
				usage.Join(&s.Usage)
			}
		}
		if clients == All || micro.Recorded+micro.Unrecorded+micro.Alarms+micro.Unscored > 0 {
			r.Micro = append(r.Micro, micro)
		}
		if usage.round(); clients == All || usage.Requests > 0 {
			r.Usage = append(r.Usage, usage)
		}
	}
	r.Causes = causes(sessions)
	r.Fidelity = r.measures()
	return r
}

func in(clients string, s *Session) bool { return clients == All || clients == s.Clients }

// causes sums breaks up by cause, the most first.
func causes(sessions []*Session) []CauseRow {
	rows := []CauseRow{}
	at := map[cache.Kind]int{}
	for _, s := range sessions {
		for i := range s.Breaks {
			b := &s.Breaks[i]
			n, ok := at[b.Cause]
			if !ok {
				n = len(rows)
				at[b.Cause] = n
				rows = append(rows, CauseRow{Cause: b.Cause, Named: NamedBreak(b.Cause)})
			}
			row := &rows[n]
			if !b.Recorded {
				row.Only++
				continue
			}
			row.Breaks++
			row.Kind += count(b.Kind)
			row.Amount += count(b.Amount)
			row.Left += b.Left
			row.Read += b.Read
			row.Simulated += b.Simulated
		}
	}
	slices.SortFunc(rows, func(a, b CauseRow) int {
		return cmp.Or(cmp.Compare(b.Breaks, a.Breaks), cmp.Compare(b.Only, a.Only), cmp.Compare(a.Cause, b.Cause))
	})
	return rows
}

// join adds another cause's breaks.
func (r *CauseRow) join(o *CauseRow) {
	r.Breaks += o.Breaks
	r.Kind += o.Kind
	r.Amount += o.Amount
	r.Left += o.Left
	r.Read += o.Read
	r.Simulated += o.Simulated
	r.Only += o.Only
}

// Breaks are the breaks of all causes in one row, or of the named ones.
func (r *Result) Breaks(named bool) CauseRow {
	sum := CauseRow{Cause: All, Named: named}
	for i := range r.Causes {
		if row := &r.Causes[i]; row.Named || !named {
			sum.join(row)
		}
	}
	return sum
}

// Worst are the n breaks whose simulated read is furthest from the recorded one,
// in tokens.
func (r *Result) Worst(n int) []Break {
	worst := []Break{}
	for _, s := range r.Sessions {
		worst = append(worst, s.Breaks...)
	}
	slices.SortStableFunc(worst, func(a, b Break) int { return cmp.Compare(b.Off(), a.Off()) })
	return worst[:min(max(n, 0), len(worst))]
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// share is part of whole in %.
func share(part, whole int) float64 {
	return rounded(100 * float64(part) / math.Max(float64(whole), 1))
}
