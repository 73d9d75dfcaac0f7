// Package interval says how far a ratio over clustered data could be off: the bounds between which the ratio of other
// clusters of the same kind lies with 90 % confidence, from the ratios without each of the clusters in turn (the
// jackknife). Few large clusters say little, however many small ones are next to them: the degrees of freedom follow from
// the weights, as of R. M. Bell and D. F. McCaffrey (2002), "Bias reduction in standard errors for linear regression with
// multi-stage samples".
package interval

import (
	"cmp"
	"math"
	"slices"

	"github.com/ctxkit/ctxkit/replay/exact"
)

const (
	// Percent is the confidence of an interval, and the share of the denominators that a Range covers.
	Percent = 90
	// Places is how many digits a ratio has after the point.
	Places = 9
	// Least is the fewest effective clusters from which an interval is given.
	Least = 4

	boundPlaces = 6 // of bounds, so that the last bits of a machine's arithmetic do not count
)

// Ratio is what one cluster adds to a ratio: its numerator and its denominator, each a sum over what is in the cluster.
// Denominators are not below 0.
type Ratio struct{ Num, Den int64 }

// Interval is a ratio over all clusters with its bounds. They are not known where the denominator is 0, nor below Least
// effective clusters.
type Interval struct {
	Value, Lower, Upper exact.Decimal
	Effective           exact.Decimal // as many clusters of equal weight would say as much; one digit after the point
	Range               Range
}

// Range is between the least and the greatest ratio of the largest clusters, which have Percent of the denominators.
type Range struct {
	Clusters int           `json:"clusters"`
	Least    exact.Decimal `json:"low"`
	Most     exact.Decimal `json:"high"`
}

// Covers reports whether x is in the interval; false where the bounds are not known.
func (i *Interval) Covers(x exact.Decimal) bool {
	return i.Lower.Known && i.Lower.Cmp(x) <= 0 && x.Cmp(i.Upper) <= 0
}

// Of is the interval of the sum of the numerators by the sum of the denominators.
func Of(clusters []Ratio) Interval { return Among(clusters, 1) }

// Among is Of for one of several comparisons. All of their intervals at once contain the true ratios with the confidence
// of one.
func Among(clusters []Ratio, comparisons int) Interval {
	list := slices.Clone(clusters)
	slices.SortFunc(list, compare)
	s, ok := statistic(list)
	if !ok {
		return Interval{}
	}
	i := s.interval(comparisons)
	i.Value = s.exact
	i.Range = largest(list)
	return i
}

// Difference is the interval of the ratio of a less that of b. a[i] and b[i] belong to the same cluster.
func Difference(a, b []Ratio) Interval {
	type pair struct{ a, b Ratio }
	pairs := make([]pair, len(a))
	for i := range a {
		pairs[i] = pair{a[i], b[i]}
	}
	slices.SortFunc(pairs, func(x, y pair) int { return cmp.Or(compare(x.a, y.a), compare(x.b, y.b)) })
	list := make([]Ratio, len(a))
	others := make([]Ratio, len(a))
	for i, p := range pairs {
		list[i] = p.a
		others[i] = p.b
	}
	s, ok := statistic(list)
	other, known := statistic(others)
	if !ok || !known {
		return Interval{}
	}
	s.value -= other.value
	for i := range s.weights {
		s.without[i] -= other.without[i]
		s.weights[i] = (s.weights[i] + other.weights[i]) / 2
	}
	i := s.interval(1)
	i.Value = s.exact.Sub(other.exact)
	return i
}

func compare(a, b Ratio) int { return cmp.Or(cmp.Compare(a.Num, b.Num), cmp.Compare(a.Den, b.Den)) }

// estimate is a ratio with how much it changes without each of the clusters, and their shares of the denominator.
type estimate struct {
	value            float64
	exact            exact.Decimal
	without, weights []float64
}

// statistic is not ok where the ratio is not defined or too large.
func statistic(list []Ratio) (s estimate, ok bool) {
	var num, den int64
	for _, r := range list {
		num += r.Num
		den += r.Den
	}
	s.exact = exact.Ratio(exact.Whole(num), exact.Whole(den), Places)
	if den <= 0 || !s.exact.Known {
		return s, false
	}
	s.value = float64(num) / float64(den)
	for _, r := range list {
		weight := float64(r.Den) / float64(den)
		change := 0.0
		if weight < 1 {
			change = s.value - float64(num-r.Num)/float64(den-r.Den)
		}
		s.without = append(s.without, change)
		s.weights = append(s.weights, weight)
	}
	return s, true
}

// interval has the bounds and the effective clusters of an estimate.
func (s *estimate) interval(comparisons int) (i Interval) {
	squares := 0.0
	for _, w := range s.weights {
		squares += w * w
	}
	effective := 1 / squares
	i.Effective = decimal(effective, 1)
	if effective < Least-1e-9 {
		return i
	}
	variance := 0.0
	for _, x := range s.without {
		variance += x * x
	}
	n := float64(len(s.weights))
	off := student(s.freedom(squares), 1-(1-Percent/100.)/float64(comparisons)) * math.Sqrt(variance*(n-1)/n)
	i.Lower, i.Upper = decimal(s.value-off, boundPlaces), decimal(s.value+off, boundPlaces)
	return i
}

// freedom is the degrees of freedom of the variance where the ratios of the clusters vary alike: it then has the mean
// and the variance of a chi-squared distribution of as many. squares is the sum of the squares of the weights.
func (s *estimate) freedom(squares float64) float64 {
	mean := 0.0
	variance := 0.0
	var sums [3]float64 // of each term times the weight to the power of 0, 1 and 2
	for _, w := range s.weights {
		term := w * w / (1 - w) / (1 - w)
		own := squares - 2*w
		mean += term * (1 + own)
		variance += term * term * (1 + 2*own)
		sums[0], sums[1], sums[2] = sums[0]+term, sums[1]+term*w, sums[2]+term*w*w
	}
	variance += squares*squares*sums[0]*sums[0] + 2*sums[2]*sums[0] - 4*squares*sums[1]*sums[0] + 2*sums[1]*sums[1]
	return mean * mean / variance
}

// student is the bound that a variable of Student's distribution, with a number of degrees of freedom, keeps within on both
// sides with a probability.
func student(freedom, probability float64) float64 {
	const steps = 500
	part := func(i int) float64 { return math.Pow(math.Cos((float64(i)+0.5)*math.Pi/2/steps), freedom-1) }
	all := 0.0
	for i := range steps {
		all += part(i)
	}
	left := probability * all
	at := 0
	for ; at < steps-1 && left > part(at); at++ {
		left -= part(at)
	}
	return math.Sqrt(freedom) * math.Tan((float64(at)+left/part(at))*math.Pi/2/steps)
}

// largest is the range of the largest clusters.
func largest(list []Ratio) (r Range) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Ratio) int { return cmp.Compare(b.Den, a.Den) })
	all := 0.0
	sum := 0.0
	for _, c := range list {
		all += float64(c.Den)
	}
	for _, c := range list {
		if sum >= all*Percent/100 {
			break
		}
		sum += float64(c.Den)
		ratio := exact.Ratio(exact.Whole(c.Num), exact.Whole(c.Den), boundPlaces)
		if r.Clusters++; r.Clusters == 1 || ratio.Cmp(r.Least) < 0 {
			r.Least = ratio
		}
		if ratio.Cmp(r.Most) > 0 {
			r.Most = ratio
		}
	}
	return r
}

// decimal is x with n digits after the point; not known where it is too large.
func decimal(x float64, places int) exact.Decimal {
	n := math.Round(x * math.Pow10(places))
	if math.Abs(n) > 1<<53 {
		return exact.Decimal{}
	}
	return exact.Of(int64(n), places)
}
