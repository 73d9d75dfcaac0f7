package tokens

import "math"

// Sample is one request of known growth: the amounts that joined the context since the request before, and the growth
// in tokens.
type Sample struct {
	Amounts Amounts
	Growth  float64
}

// Spread is the standard deviation of the prior of each rate, tokens per unit.
type Spread [measures]float64

// mostSamples limits the samples, and so the time, of a fit: a longer session is sampled evenly.
const mostSamples = 2048

// rounds is the number of fits. From the second on, samples count by their distance from the fit before.
const rounds = 4

// The standard deviation of a sample's growth is noiseFloor tokens plus a share of the fitted growth. (A share of the
// growth itself would give samples with unexplained growth less weight, and rates that are too low.) A sample up to
// outlier deviations from the fit counts in full.
const (
	noiseFloor = 30.0
	noiseShare = 0.1
	outlier    = 6.0
)

// Fit returns the rates that explain the samples best: a ridge regression towards the prior, by the spread, in which
// outliers count less (Huber's weights). Growth that no line explains is an outlier: reminders and notes that a
// client sends and does not record.
func Fit(prior *TokenRates, spread *Spread, samples []Sample) TokenRates {
	return fit(prior, spread, samples, stepOf(len(samples)))
}

// stepOf is the step from one of n samples to the next that a fit takes, the first one first.
func stepOf(n int) int { return (n + mostSamples - 1) / mostSamples }

// FitAll is Fit on all of the samples, however many.
func FitAll(prior *TokenRates, spread *Spread, samples []Sample) TokenRates {
	return fit(prior, spread, samples, 1)
}

func fit(prior *TokenRates, spread *Spread, samples []Sample, step int) TokenRates {
	rates := *prior
	if len(samples) == 0 {
		return rates
	}
	rows := sampled(prior, samples, step)
	for round := range rounds {
		var a [measures][measures]float64 // its lower half
		var b [measures]float64
		for i := range a {
			a[i][i] = 1 / (spread[i] * spread[i])
		}
		for _, s := range rows {
			fitted := 0.0
			for _, p := range s.parts {
				fitted += p.x * rates[p.of]
			}
			sd := noiseFloor + noiseShare*math.Abs(fitted)
			w := 1 / (sd * sd)
			if off := math.Abs(s.growth-fitted) / sd; round > 0 && off > outlier {
				w *= outlier / off
			}
			for k, p := range s.parts {
				b[p.of] += w * p.x * s.rest
				for _, q := range s.parts[:k+1] {
					a[p.of][q.of] += w * p.x * q.x
				}
			}
		}
		if !solve(&a, &b) {
			return *prior // the figures are too far apart
		}
		for i := range rates {
			rates[i] = prior[i] + b[i]
		}
	}
	return rates
}

// row is a sample in a fit: most of its amounts are zero.
type row struct {
	parts  []part  // the others, in the order of measures
	growth float64 // tokens
	rest   float64 // of it beyond what the prior explains
}

type part struct {
	of Measure
	x  float64
}

// sampled returns every step-th sample as a row.
func sampled(prior *TokenRates, samples []Sample, step int) []row {
	rows := make([]row, 0, len(samples)/step+1)
	parts := 0
	for n := 0; n < len(samples); n += step {
		for _, x := range samples[n].Amounts {
			if x != 0 {
				parts++
			}
		}
	}
	all := make([]part, 0, parts)
	for n := 0; n < len(samples); n += step {
		s := &samples[n]
		from := len(all)
		for i, x := range s.Amounts {
			if x != 0 {
				all = append(all, part{Measure(i), x})
			}
		}
		rows = append(rows, row{all[from:len(all):len(all)], s.Growth, s.Growth - prior.Tokens(&s.Amounts)})
	}
	return rows
}

// solve replaces b by the solution x of a x = b, by Cholesky's decomposition. It reports whether a is positive
// definite; a must be symmetric, its upper half is not read.
func solve(a *[measures][measures]float64, b *[measures]float64) bool {
	for i := range a {
		for j := 0; j <= i; j++ {
			sum := a[i][j]
			for k := range j {
				sum -= a[i][k] * a[j][k]
			}
			switch {
			case i != j:
				a[i][j] = sum / a[j][j]
			case sum > 0 && !math.IsInf(sum, 1):
				a[i][i] = math.Sqrt(sum)
			default:
				return false
			}
		}
	}
	for i := range b {
		for k := range i {
			b[i] -= a[i][k] * b[k]
		}
		b[i] /= a[i][i]
	}
	for i := int(measures) - 1; i >= 0; i-- {
		for k := i + 1; k < int(measures); k++ {
			b[i] -= a[k][i] * b[k]
		}
		b[i] /= a[i][i]
	}
	return true
}

// OwnSpread is the spread of a session's rates around those of other sessions.
func OwnSpread() *Spread { return spread(20, 0.03, 0.1) }

// CommonSpread is the spread of rates around the documented ones.
//
// The rate of characters outside ASCII is held: in recorded sessions most are rules and arrows, of which several are
// one token, and in other languages each letter is one.
func CommonSpread() *Spread {
	s := spread(100, 0.1, 0.3)
	s[Wide] = 0.002
	return s
}

// spread returns a spread, in tokens per counted thing, character and mark. That of documented measures, output
// tokens and images, is small.
func spread(count, chars, marks float64) *Spread {
	s := new(Spread)
	for m := range s {
		switch Measure(m) {
		case Output, Images:
			s[m] = 0.02
		case ReadMarks, BashMarks, SearchMarks, OtherMarks, TextMarks, ThinkingMarks, PromptMarks, ReadWide, Wide:
			s[m] = marks
		case Responses, Unreliable, ToolUses, Results, Prompts, Notes, Attachments, Reminders:
			s[m] = count
		case PlanModes, References, Redacted:
			s[m] = 10 * count
		case Searches:
			s[m] = 100 * count
		case Reasoning:
			s[m] = 0.5
		default:
			s[m] = chars
		}
	}
	return s
}
