package backtest

import (
	"cmp"
	"math"
	"slices"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/cache"
)

// Scores scores the policy against all sessions.
type Scores struct {
	Schema      string          `json:"schema"`
	Policy      string          `json:"policy"` // as given
	Fidelity    []Bar           `json:"fidelity"`
	Compactions []CompactionRow `json:"compactions"`
	Micro       []MicroRow      `json:"microcompactions"`
	Usage       []UsageRow      `json:"usage"`
	Causes      []CauseRow      `json:"breaks"`
	Authors     []AuthorRow     `json:"authors,omitempty"` // see ByAuthor
	Sessions    []*SessionScore `json:"sessions"`
}

// CompactionRow scores the automatic compactions of one band of clients, or of all. Sessions with a fitted window
// have rows of their own: the policy knows something of their record.
type CompactionRow struct {
	Clients  string  `json:"clients"`
	Fitted   bool    `json:"fitted"`
	Sessions int     `json:"sessions"`
	Requests int     `json:"requests"` // each one a decision
	Recorded int     `json:"recorded"` // scored, without the lost ones
	Hits     int     `json:"hits"`     // at the exact request, each decided on the recorded view
	Misses   int     `json:"misses"`
	Alarms   int     `json:"alarms"`
	Unknown  int     `json:"unknown_pre_tokens"`  // of Recorded: no pre_tokens are recorded, so that the next six figures leave them out
	OwnCount int     `json:"own_count,omitempty"` // of Recorded: the client compares another figure than pre_tokens, so that they are in none of these either
	Exact    int     `json:"exact"`               // the policy's estimate is pre_tokens to the token
	Error    float64 `json:"error"`               // mean absolute error of that estimate, tokens
	Median   float64 `json:"median_error"`        // median of the absolute errors, tokens
	Largest  int     `json:"largest_error"`
	Bias     float64 `json:"bias"` // its mean error, tokens; under 0: too little
	MAPE     float64 `json:"mape"` // % of pre_tokens
	Free     Free    `json:"free"`
	Lost     int     `json:"lost"` // the message before is lost and weighed by pre_tokens: they prove little
	LostHits int     `json:"lost_hits"`
	Manual   int     `json:"manual"`
	Last     int     `json:"at_end"`
	Other    int     `json:"other"`

	off []int // absolute errors, tokens
}

// Free scores the same compactions in a free replay, where one decision changes the next.
type Free struct {
	Exact  int `json:"exact"`
	One    int `json:"within_1"` // requests off; these and nearer
	Five   int `json:"within_5"`
	Alarms int `json:"alarms"`
}

func (r *CompactionRow) add(s *SessionScore) {
	r.Sessions++
	r.Requests += s.Requests
	r.Alarms += len(s.Alarms)
	r.Free.Alarms += s.FreeAlarms
	r.Manual += s.Manual
	r.Last += s.Last
	r.Other += s.Other
	for i := range s.Compactions {
		r.compaction(&s.Compactions[i])
	}
}

func (r *CompactionRow) compaction(c *CompactionScore) {
	if c.Lost {
		r.Lost++
		r.LostHits += count(c.Hit)
		return
	}
	r.Recorded++
	r.Hits += count(c.Hit)
	r.Misses += count(!c.Hit)
	r.estimate(c)
	if c.Distance != nil {
		d := abs(*c.Distance)
		r.Free.Exact += count(d == 0)
		r.Free.One += count(d <= 1)
		r.Free.Five += count(d <= Near)
	}
}

// estimate compares the policy's estimate with the recorded figure.
func (r *CompactionRow) estimate(c *CompactionScore) {
	short, known := c.Short()
	switch {
	case c.Count != nil:
		r.OwnCount++
		return
	case !known:
		r.Unknown++
		return
	}
	off := abs(short)
	r.off = append(r.off, off)
	r.Exact += count(off == 0)
	r.Error += float64(off)
	r.Bias -= float64(short)
	r.Largest = max(r.Largest, off)
	r.MAPE += 100 * float64(off) / float64(c.PreTokens)
}

// Known is the number of compactions whose pre_tokens are recorded and are what the client compares.
func (r *CompactionRow) Known() int { return r.Recorded - r.Unknown - r.OwnCount }

func (r *CompactionRow) means() {
	n := float64(max(r.Known(), 1))
	r.Error, r.Bias, r.MAPE = rounded(r.Error/n), rounded(r.Bias/n), rounded(r.MAPE/n)
	slices.Sort(r.off)
	if k := len(r.off); k > 0 {
		r.Median = float64(r.off[(k-1)/2]+r.off[k/2]) / 2
	}
}

// MicroRow scores the microcompactions of one band of clients, or of all.
type MicroRow struct {
	Clients    string `json:"clients"`
	Recorded   int    `json:"recorded"` // of results that are in the file
	Hits       int    `json:"hits"`     // before the same request
	Same       int    `json:"same"`     // and of the same results
	Savings    int    `json:"savings"`  // of Recorded: those whose saving is recorded, too
	Close      int    `json:"within_1"` // the same results, and the saving is within 1 % of the recorded one
	Unrecorded int    `json:"unrecorded"`
	Confirmed  int    `json:"confirmed"` // unrecorded ones the policy makes where the usage fell
	Alarms     int    `json:"alarms"`    // by the policy alone
	Unscored   int    `json:"unscored"`  // their results lie before the file, or no request follows
}

func (r *MicroRow) add(s *SessionScore) {
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
		r.Savings += count(m.Wanted > 0)
		r.Close += count(m.Same && m.Wanted > 0 && m.Close())
	}
}

// UsageRow is the usage of one band of clients, or of all.
type UsageRow struct {
	Clients  string `json:"clients"`
	Sessions int    `json:"sessions"` // with at least one scored request
	UsageScore
	CostError CostError `json:"input_cost_error"`
}

// CauseRow sums up the cache misses of one cause.
type CauseRow struct {
	Cause     cache.BreakCause `json:"cause"`
	Breaks    int              `json:"breaks"` // in the recorded session
	Kind      int              `json:"right_kind"`
	Amount    int              `json:"right_amount"`
	Left      int              `json:"left"`      // sums, tokens
	Read      int              `json:"read"`      // recorded
	Simulated int              `json:"simulated"` // read
	Only      int              `json:"only_simulated"`
}

// Sum sums up the scores of a policy over sessions, in the order given.
func Sum(policy string, sessions []*SessionScore) *Scores {
	r := &Scores{Schema: Schema, Policy: policy, Sessions: append([]*SessionScore{}, sessions...)}
	names := []string{All}
	for _, s := range sessions {
		names = withBands(names, s.bands, s.Clients)
	}
	for _, fitted := range []bool{false, true} {
		for _, clients := range names {
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
	for _, clients := range names {
		micro := MicroRow{Clients: clients}
		usage := UsageRow{Clients: clients}
		var scored []*SessionScore
		for _, s := range sessions {
			if in(clients, s) {
				scored = append(scored, s)
				micro.add(s)
				usage.Sessions += count(s.Usage.Requests > 0)
				usage.Join(&s.Usage)
			}
		}
		if clients == All || micro.Recorded+micro.Unrecorded+micro.Alarms+micro.Unscored > 0 {
			r.Micro = append(r.Micro, micro)
		}
		usage.CostError = costError(scored)
		if usage.round(); clients == All || usage.Requests > 0 {
			r.Usage = append(r.Usage, usage)
		}
	}
	r.Causes = causes(sessions)
	r.Fidelity = r.measures()
	return r
}

func in(clients string, s *SessionScore) bool { return clients == All || clients == s.Clients }

// causes sums cache misses up by cause, the most first.
func causes(sessions []*SessionScore) []CauseRow {
	rows := []CauseRow{}
	for _, s := range sessions {
		for _, b := range s.Breaks {
			n := slices.IndexFunc(rows, func(r CauseRow) bool { return r.Cause == b.Cause })
			if n < 0 {
				n = len(rows)
				rows = append(rows, CauseRow{Cause: b.Cause})
			}
			one := CauseRow{Only: 1}
			if b.Recorded {
				one = CauseRow{
					Breaks: 1, Kind: count(b.Kind), Amount: count(b.Amount), Left: b.Left, Read: b.Read, Simulated: b.Simulated,
				}
			}
			rows[n].join(&one)
		}
	}
	slices.SortFunc(rows, func(a, b CauseRow) int {
		return cmp.Or(b.Breaks-a.Breaks, b.Only-a.Only, cmp.Compare(a.Cause, b.Cause))
	})
	return rows
}

// join adds the cache misses of o.
func (r *CauseRow) join(o *CauseRow) {
	r.Breaks += o.Breaks
	r.Kind += o.Kind
	r.Amount += o.Amount
	r.Left += o.Left
	r.Read += o.Read
	r.Simulated += o.Simulated
	r.Only += o.Only
}

// Breaks returns the cache misses of all causes in one row.
func (r *Scores) Breaks() CauseRow {
	sum := CauseRow{Cause: All}
	for i := range r.Causes {
		sum.join(&r.Causes[i])
	}
	return sum
}

// Worst returns the n cache misses with the largest error of the simulated read, in tokens.
func (r *Scores) Worst(n int) []Break {
	worst := []Break{}
	for _, s := range r.Sessions {
		worst = append(worst, s.Breaks...)
	}
	slices.SortStableFunc(worst, func(a, b Break) int { return b.Off() - a.Off() })
	return worst[:min(max(n, 0), len(worst))]
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// share is part in % of whole.
func share(part, whole int) float64 {
	return rounded(100 * float64(part) / math.Max(float64(whole), 1))
}

// Prunes is the score of what clients clear where a turn ends, in sessions of clients that do.
func (r *Scores) Prunes() (p policy.PruneScore) {
	for _, s := range r.Sessions {
		if !s.Prunes {
			continue
		}
		var row MicroRow
		row.add(s)
		p.Recorded += row.Recorded
		p.Same += row.Same
		p.Alarms += row.Alarms
	}
	return p
}
