package backtest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Bar is one figure of how well the simulation agrees with the recorded session, and the bar by which it is judged.
type Bar struct {
	Name  string  `json:"measure"`
	About string  `json:"about"`
	Value float64 `json:"value"` // %
	Of    int     `json:"of"`    // what it is a share or a mean of; 0: there was nothing to score
	Most  bool    `json:"most"`  // the bar is the most the value may be; else the least
	Bar   float64 `json:"bar"`   // %
	Least int     `json:"least"` // the least Of that is judged; under it the value is only reported
	Holds bool    `json:"holds"` // the value keeps to the bar, or is not judged
}

// Judged reports whether there is enough to judge the measure by its bar.
func (m *Bar) Judged() bool { return m.Of > 0 && m.Of >= m.Least }

// fewest is the least count of any measure. leastFor raises it so that one wrong case alone does not fail the bar.
const fewest = 10

// fewestSessions is the least count of a measure of sessions that is no share of them.
const fewestSessions = 20

func leastFor(m *Bar) int {
	margin := m.Bar // % that may be wrong
	if !m.Most {
		margin = 100 - m.Bar
	}
	return max(fewest, int(math.Ceil(100/margin)))
}

// measures computes the measures, with the default bars. A bar is what sessions recorded by many users reached, less
// a margin.
func (r *Scores) measures() []Bar {
	c := &r.Compactions[0]
	m := &r.Micro[0]
	u := &r.Usage[0].UsageScore
	var list []Bar
	add := func(name string, part, of int, bar float64, about string) *Bar {
		list = append(list, Bar{Name: name, About: about, Value: share(part, of), Of: of, Bar: bar})
		return &list[len(list)-1]
	}
	errorOf := func(name string, value float64, of int, bar float64, about string) *Bar {
		m := add(name, 0, of, bar, about)
		m.Value = value
		m.Most = true
		return m
	}
	decided := c.Hits + c.LostHits + c.Alarms
	micro := m.Recorded + m.Unrecorded
	add("hits", c.Hits, c.Recorded, 85, "recorded automatic compactions decided at the exact request")
	add("alarms", c.Alarms, decided, 5, "of the policy's compactions: those where none is recorded").Most = true
	add("microcompactions", m.Same+m.Confirmed, micro, 90,
		"recorded microcompactions that the policy makes too: the same results cleared, or at the same drop in usage")
	add("microcompaction_alarms", m.Alarms, m.Hits+m.Confirmed+m.Alarms, 20,
		"of the policy's microcompactions: those where none is recorded").Most = true
	add("read_within_5", u.Near, u.Requests, 98, "requests whose simulated cache read is within 5 %")
	add("read_within_1", u.Close, u.Requests, 95, "requests whose simulated cache read is within 1 %")
	errorOf("read_mape", u.Read.MAPE, u.Read.Scored, 5, "mean absolute error of the simulated cache read")
	add("write_within_5", u.WriteNear, u.Requests, 92, "requests whose simulated cache write is within 5 %")
	add("break_kind", u.Kind, u.Broken, 80, "recorded cache misses that are simulated too, partial or total as recorded")
	add("break_amount", u.Amount, u.Broken, 70, "of these, those whose simulated read is within 10 % of the recorded one")
	add("break_alarms", u.FalseAlarms, u.Broken-u.Unexplained+u.FalseAlarms, 15,
		"of the simulated cache misses: those where none is recorded").Most = true
	cost := &r.Usage[0].CostError
	errorOf("input_cost_mean", cost.Mean, cost.Sessions, 4, "mean error of a session's input cost by the simulated cache").Least = fewestSessions
	errorOf("input_cost_median", cost.Median, cost.Sessions, 2, "the median of these errors").Least = fewestSessions
	errorOf("input_cost_sum", math.Abs(cost.Expected), cost.Sessions, 2, "error of the input cost of all sessions together, the expected cache misses that no line explains included").Least = fewestSessions
	for i := range list {
		list[i].Least = cmp.Or(list[i].Least, leastFor(&list[i]))
		list[i].judge()
	}
	return list
}

func (m *Bar) judge() {
	m.Holds = !m.Judged() || m.Most && m.Value <= m.Bar || !m.Most && m.Value >= m.Bar
}

// MeasureNames lists the measures.
func MeasureNames() []string {
	var names []string
	for _, m := range Sum("", nil).Fidelity {
		names = append(names, m.Name)
	}
	return names
}

// SetBar judges a measure by another bar, in %.
func (r *Scores) SetBar(name string, bar float64) error {
	i := slices.IndexFunc(r.Fidelity, func(m Bar) bool { return m.Name == name })
	if i < 0 {
		return fmt.Errorf("no measure is called %q", name)
	}
	r.Fidelity[i].Bar = bar
	r.Fidelity[i].judge()
	return nil
}

// SetLeast judges every measure of n or more cases.
func (r *Scores) SetLeast(n int) {
	for i := range r.Fidelity {
		r.Fidelity[i].Least = n
		r.Fidelity[i].judge()
	}
}

// Unjudged returns the measures with too few cases to judge; judged reports whether any measure is judged.
func (r *Scores) Unjudged() (few []Bar, judged bool) {
	for _, m := range r.Fidelity {
		switch {
		case m.Judged():
			judged = true
		case m.Of > 0:
			few = append(few, m)
		}
	}
	return few, judged
}

// Shortfall says by what a measure fails its bar.
func (m *Bar) Shortfall() string {
	want := "at least"
	if m.Most {
		want = "at most"
	}
	return fmt.Sprintf("%s is %.2f %%, want %s %v %%", m.Name, m.Value, want, m.Bar)
}

// Failed returns the measures that fail their bar.
func Failed(list []Bar) []Bar {
	return slices.DeleteFunc(slices.Clone(list), func(m Bar) bool { return m.Holds })
}
