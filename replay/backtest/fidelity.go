package backtest

import (
	"fmt"
	"math"
)

// Measure is one figure of how true the simulation is, and the bar it is held
// against.
type Measure struct {
	Name  string  `json:"measure"`
	About string  `json:"about"`
	Value float64 `json:"value"` // %
	Of    int     `json:"of"`    // what it is a share or a mean of; 0: there was nothing to score
	Most  bool    `json:"most"`  // the bar is the most the value may be; else the least
	Bar   float64 `json:"bar"`   // %
	Least int     `json:"least"` // of so many on it is judged; under that it is only said
	Holds bool    `json:"holds"` // also where it is not judged
}

// Judged reports whether there is enough to hold the measure against its bar.
func (m *Measure) Judged() bool { return m.Of > 0 && m.Of >= m.Least }

// fewest is the least count of any measure. leastFor raises it until one wrong
// among them does not decide alone.
const fewest = 10

func leastFor(m *Measure) int {
	room := m.Bar // % that may be wrong
	if !m.Most {
		room = 100 - m.Bar
	}
	return max(fewest, int(math.Ceil(100/room)))
}

// Names of the measures.
const (
	Hits        = "hits"
	Alarms      = "alarms"
	Micro       = "microcompactions"
	ReadWithin5 = "read_within_5"
	ReadWithin1 = "read_within_1"
	ReadMAPE    = "read_mape"
	BreakKind   = "break_kind"
	BreakAmount = "break_amount"
	AllKind     = "all_break_kind"
	AllAmount   = "all_break_amount"
	BreakCauses = "break_causes"
)

// measures works the measures out, with the bars they are held against where
// nobody says otherwise. A bar is what sessions recorded by many users reached,
// less some room.
func (r *Result) measures() []Measure {
	c, m, u := &r.Compactions[0], &r.Micro[0], &r.Usage[0].Usage
	list := []Measure{
		{Name: Hits, About: "recorded automatic compactions decided at the exact request", Value: share(c.Hits, c.Recorded), Of: c.Recorded, Bar: 85},
		{Name: Alarms, About: "of the policy's decisions to compact: nothing is recorded there", Value: share(c.Alarms, c.Hits+c.LostHits+c.Alarms), Of: c.Hits + c.LostHits + c.Alarms, Most: true, Bar: 5},
		{Name: Micro, About: "microcompactions made with the same results, or where the usage fell", Value: share(m.Same+m.Confirmed, m.Recorded+m.Unrecorded), Of: m.Recorded + m.Unrecorded, Bar: 90},
		{Name: ReadWithin5, About: "requests whose simulated cache read is within 5 %", Value: share(u.Near, u.Requests), Of: u.Requests, Bar: 98},
		{Name: ReadWithin1, About: "requests whose simulated cache read is within 1 %", Value: share(u.Close, u.Requests), Of: u.Requests, Bar: 95},
		{Name: ReadMAPE, About: "mean absolute error of the simulated cache read", Value: u.Read.MAPE, Of: u.Read.Scored, Most: true, Bar: 5},
		{Name: BreakKind, About: "breaks of the cache of known cause, right in kind", Value: share(u.Kind, u.Named), Of: u.Named, Bar: 90},
		{Name: BreakAmount, About: "and within 10 % in amount", Value: share(u.Amount, u.Named), Of: u.Named, Bar: 70},
		{Name: AllKind, About: "all breaks of the cache, of no known cause too, right in kind", Value: share(u.AllKind, u.Broken), Of: u.Broken, Bar: 85},
		{Name: AllAmount, About: "and within 10 % in amount", Value: share(u.AllAmount, u.Broken), Of: u.Broken, Bar: 60},
		{Name: BreakCauses, About: "breaks of the cache that the simulation has a cause for", Value: share(u.Broken-u.Unexplained, u.Broken), Of: u.Broken, Bar: 80},
	}
	for i := range list {
		list[i].Least = leastFor(&list[i])
		list[i].hold()
	}
	return list
}

func (m *Measure) hold() {
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

// SetBar holds a measure against another bar, in %.
func (r *Result) SetBar(name string, bar float64) error {
	for i := range r.Fidelity {
		if m := &r.Fidelity[i]; m.Name == name {
			m.Bar = bar
			m.hold()
			return nil
		}
	}
	return fmt.Errorf("no measure is called %q", name)
}

// SetLeast has every measure judged that is of n or more.
func (r *Result) SetLeast(n int) {
	for i := range r.Fidelity {
		r.Fidelity[i].Least = n
		r.Fidelity[i].hold()
	}
}

// Unjudged are the measures there is something to score of, and too little to
// judge them; judged reports whether any is judged.
func (r *Result) Unjudged() (few []Measure, judged bool) {
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

// Failed are the measures that do not hold.
func (r *Result) Failed() []Measure {
	var failed []Measure
	for _, m := range r.Fidelity {
		if !m.Holds {
			failed = append(failed, m)
		}
	}
	return failed
}
