package backtest

import (
	"cmp"
	"math"
	"slices"

	"github.com/ctxkit/ctxkit/replay/tokens"
)

// score gathers the errors of one counter.
type score struct {
	increment, next, free []float64          // errors: tokens, %, %
	growth                float64            // sum of the absolute increments
	session               map[int][2]float64 // by trial: sum of absolute errors, free-running, and their number
}

func (s *score) add(p prediction, trial int) {
	s.increment = append(s.increment, p.total-p.context)
	s.growth += math.Abs(p.growth)
	s.next = append(s.next, 100*(p.total-p.context)/p.context)
	free := 100 * (p.free - p.context) / p.context
	s.free = append(s.free, free)
	if s.session == nil {
		s.session = map[int][2]float64{}
	}
	m := s.session[trial]
	s.session[trial] = [2]float64{m[0] + math.Abs(free), m[1] + 1}
}

func (s *score) incrementError() PredictionError {
	e := errorOf(s.increment)
	scale := 0.0
	if s.growth > 0 {
		scale = 100 * float64(len(s.increment)) / s.growth
	}
	e.MAPE, e.Bias = rounded(e.MAPE*scale), rounded(e.Bias*scale)
	return e
}

// leastScored is the least number of scored requests of a session in SessionMeans.
const leastScored = 5

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

func errorOf(errors []float64) PredictionError {
	if len(errors) == 0 {
		return PredictionError{}
	}
	var sum, bias float64
	size := make([]float64, len(errors))
	for i, x := range errors {
		size[i] = math.Abs(x)
		bias += x
		sum += size[i]
	}
	slices.Sort(size)
	n := float64(len(errors))
	return PredictionError{rounded(sum / n), rounded(bias / n), rounded(quantile(size, 0.5)), rounded(quantile(size, 0.9))}
}

// quantile interpolates between sorted numbers; 0 where there are none.
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
	for _, k := range []scoreKey{{All, All, counter}, {s.Clients, All, counter}, {s.Clients, s.Model, counter}} {
		if all[k] == nil {
			all[k] = &score{}
		}
		all[k].add(p, trial)
	}
}

// rows are in order of client versions and models, All before each.
func (all scores) rows(clients []string) []CalibratedRow {
	rows := make([]CalibratedRow, 0, len(all))
	for k, s := range all {
		rows = append(rows, CalibratedRow{
			Clients: k.clients, Model: k.model, Counter: k.counter, Sessions: len(s.session), Requests: len(s.free),
			Increment: s.incrementError(), Next: errorOf(s.next), Free: errorOf(s.free), Each: s.means(),
		})
	}
	counters := tokens.Names()
	slices.SortFunc(rows, func(a, b CalibratedRow) int {
		return cmp.Or(slices.Index(clients, a.Clients)-slices.Index(clients, b.Clients),
			count(a.Model != All)-count(b.Model != All), cmp.Compare(a.Model, b.Model),
			slices.Index(counters, a.Counter)-slices.Index(counters, b.Counter))
	})
	return rows
}
