package replay

import (
	"cmp"
	"math"
	"slices"

	"github.com/ctxkit/ctxkit/replay/tokens"
)

// score gathers the errors of one counter.
type score struct {
	increment, next, free []float64           // errors: tokens, %, %
	growth                float64             // sum of the absolute increments
	session               map[int]*[2]float64 // by trial: sum of absolute errors, free-running, and their number
}

func (s *score) add(p prediction, trial int) {
	s.increment = append(s.increment, p.total-p.context)
	s.growth += math.Abs(p.growth)
	s.next = append(s.next, 100*(p.total-p.context)/p.context)
	free := 100 * (p.free - p.context) / p.context
	s.free = append(s.free, free)
	if s.session == nil {
		s.session = map[int]*[2]float64{}
	}
	if s.session[trial] == nil {
		s.session[trial] = &[2]float64{}
	}
	s.session[trial][0] += math.Abs(free)
	s.session[trial][1]++
}

func (s *score) incrementError() Error {
	e := errorOf(s.increment)
	scale := 0.0
	if s.growth > 0 {
		scale = 100 * float64(len(s.increment)) / s.growth
	}
	e.MAPE = rounded(e.MAPE * scale)
	e.Bias = rounded(e.Bias * scale)
	return e
}

func (s *score) means() SessionMeans {
	var means []float64
	for _, m := range s.session {
		if m[1] >= leastScored {
			means = append(means, m[0]/m[1])
		}
	}
	slices.Sort(means) // the sum does not depend on the map's order
	m := SessionMeans{Sessions: len(means), Median: rounded(quantile(means, 0.5))}
	for _, v := range means {
		m.Mean += v / float64(len(means))
	}
	m.Mean = rounded(m.Mean)
	return m
}

// leastScored is how many requests of a session must have been scored for it
// to count among the means of sessions.
const leastScored = 5

func errorOf(errors []float64) Error {
	var e Error
	if len(errors) == 0 {
		return e
	}
	size := make([]float64, len(errors))
	for i, x := range errors {
		size[i] = math.Abs(x)
		e.Bias += x
		e.MAPE += size[i]
	}
	slices.Sort(size)
	return Error{
		MAPE: rounded(e.MAPE / float64(len(errors))), Bias: rounded(e.Bias / float64(len(errors))),
		P50: rounded(quantile(size, 0.5)), P90: rounded(quantile(size, 0.9)),
	}
}

// rounded to three places: what processors differ in lies far behind.
func rounded(x float64) float64 { return math.Round(x*1e3) / 1e3 }

// quantile of sorted numbers, between two of them in proportion.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (sorted[high]-sorted[low])*(at-float64(low))
}

type scoreKey struct{ clients, model, counter string }

// scores are the errors by clients, model and counter.
type scores map[scoreKey]*score

func (all scores) add(counter string, s *TrialStep, p prediction, trial int) {
	band := clientBand(s.Version)
	for _, k := range []scoreKey{{All, All, counter}, {band, All, counter}, {band, s.Model, counter}} {
		if all[k] == nil {
			all[k] = &score{}
		}
		all[k].add(p, trial)
	}
}

// rows are in order of client versions and models, all before each.
func (all scores) rows() []CalibratedRow {
	rows := make([]CalibratedRow, 0, len(all))
	for k, s := range all {
		rows = append(rows, CalibratedRow{
			Clients: k.clients, Model: k.model, Counter: k.counter, Sessions: len(s.session), Requests: len(s.free),
			Increment: s.incrementError(), Next: errorOf(s.next), Free: errorOf(s.free), Each: s.means(),
		})
	}
	slices.SortFunc(rows, func(a, b CalibratedRow) int {
		return cmp.Or(cmp.Compare(bandOrder(a.Clients), bandOrder(b.Clients)), compareAllFirst(a.Model, b.Model),
			cmp.Compare(slices.Index(tokens.Names(), a.Counter), slices.Index(tokens.Names(), b.Counter)))
	})
	return rows
}

func bandOrder(clients string) int {
	for i, b := range bands {
		if b.name == clients {
			return len(bands) - i
		}
	}
	return 0
}

func compareAllFirst(a, b string) int {
	switch {
	case a == b:
		return 0
	case a == All:
		return -1
	case b == All:
		return 1
	}
	return cmp.Compare(a, b)
}
