package tokens

import "math"

// Sample is what one request teaches: how much of each measure joined the
// context since the request before, and by how many tokens it grew.
type Sample struct {
	Amounts Amounts
	Growth  float64
}

// Spread is how far each rate may be from its prior: the standard deviation of
// the prior, tokens a unit.
type Spread [measures]float64

// mostSamples is how many samples a fit goes by: a longer session is sampled
// evenly, so that a fit takes no longer for it.
const mostSamples = 2048

// rounds is how often the samples are weighed anew, each by how far the last
// fit was off it.
const rounds = 4

// A sample's growth is taken to be off what its amounts say by noiseFloor
// tokens and a share of these (standard deviation), whatever it is: by what it
// is, samples with growth no line explains would count for less, and the rates
// would come out low. outlier is how many deviations it may be off and still
// count in full.
const (
	noiseFloor = 30.0
	noiseShare = 0.1
	outlier    = 6.0
)

// Fit finds the rates that explain the samples best: a ridge regression,
// drawn towards the prior by the spread, in which what is far off counts less
// (Huber's weights). Growth no line explains, reminders and notes that a
// client sends and does not write down, is such.
func Fit(prior *Rates, spread *Spread, samples []Sample) Rates {
	return fit(prior, spread, samples, (len(samples)+mostSamples-1)/mostSamples)
}

// FitAll is Fit on all of the samples, however many.
func FitAll(prior *Rates, spread *Spread, samples []Sample) Rates {
	return fit(prior, spread, samples, 1)
}

func fit(prior *Rates, spread *Spread, samples []Sample, step int) Rates {
	rates := *prior
	if len(samples) == 0 {
		return rates
	}
	for round := range rounds {
		var a [measures][measures]float64
		var b [measures]float64
		for i := range a {
			a[i][i] = 1 / (spread[i] * spread[i])
		}
		for n := 0; n < len(samples); n += step {
			s := &samples[n]
			told := rates.Tokens(&s.Amounts)
			sd := noiseFloor + noiseShare*math.Abs(told)
			w := 1 / (sd * sd)
			if off := math.Abs(s.Growth-told) / sd; round > 0 && off > outlier {
				w *= outlier / off
			}
			rest := s.Growth - prior.Tokens(&s.Amounts)
			for i, x := range s.Amounts {
				if x == 0 {
					continue
				}
				b[i] += w * x * rest
				for j, y := range s.Amounts {
					a[i][j] += w * x * y
				}
			}
		}
		if !solve(&a, &b) {
			return *prior // figures so far apart that nothing can be told from them
		}
		for i := range rates {
			rates[i] = prior[i] + b[i]
		}
	}
	return rates
}

// solve replaces b by the x of a x = b, a being symmetric and positive
// definite, by Cholesky's decomposition. It reports whether a is.
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

// OwnSpread is how far a session's rates are from those of other sessions.
func OwnSpread() *Spread { return spread(20, 0.03, 0.1) }

// CommonSpread is how far rates are from those documented.
func CommonSpread() *Spread { return spread(100, 0.1, 0.3) }

// spread is that of counted things, of characters and of marks, tokens each.
// What a measure means by its documentation, output tokens and images, is
// hardly moved.
func spread(count, chars, marks float64) *Spread {
	s := new(Spread)
	for m := range s {
		switch Measure(m) {
		case Output, Images:
			s[m] = 0.02
		case ReadMarks, BashMarks, SearchMarks, OtherMarks, TextMarks, ThinkingMarks, PromptMarks, Wide:
			s[m] = marks
		case Responses, Untold, ToolUses, Results, Prompts, Notes, Attachments, Reminders:
			s[m] = count
		case EditedFiles, References:
			s[m] = 10 * count
		default:
			s[m] = chars
		}
	}
	return s
}
