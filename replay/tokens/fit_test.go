package tokens_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// drawn is n samples that grew by what the rates say, and off by off.
func drawn(r *rand.Rand, n int, rates *tokens.TokenRates, off func(i int) float64) []tokens.Sample {
	samples := make([]tokens.Sample, n)
	for i := range samples {
		s := &samples[i]
		for range 4 {
			s.Amounts[r.IntN(len(s.Amounts))] += float64(1 + r.IntN(4000))
		}
		s.Growth = rates.Tokens(&s.Amounts) + off(i)
	}
	return samples
}

func evenly(v float64) *tokens.TokenRates {
	var r tokens.TokenRates
	for i := range r {
		r[i] = v
	}
	return &r
}

func spreadOf(v float64) *tokens.Spread {
	var s tokens.Spread
	for i := range s {
		s[i] = v
	}
	return &s
}

func farthest(a, b *tokens.TokenRates) float64 {
	far := 0.0
	for i := range a {
		far = math.Max(far, math.Abs(a[i]-b[i]))
	}
	return far
}

// TestFit: with much to learn from the rates are found, with nothing they are the prior's, and in between they lie
// between.
func TestFit(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	prior, truth := evenly(0.3), evenly(0.3)
	for i := range truth {
		truth[i] += 0.2 * r.Float64()
	}
	none := func(int) float64 { return 0 }
	must.Equal(t, tokens.Fit(prior, spreadOf(0.1), nil), *prior)
	many := tokens.Fit(prior, spreadOf(0.1), drawn(r, 2000, truth, none))
	if far := farthest(&many, truth); far > 0.01 {
		t.Errorf("off the true rates by %v after 2,000 samples", far)
	}
	few := tokens.Fit(prior, spreadOf(0.001), drawn(r, 40, truth, none))
	if far := farthest(&few, prior); far > 0.05 || far == 0 {
		t.Errorf("off the prior by %v with a spread of 0.001", far)
	}
	noisy := tokens.Fit(prior, spreadOf(0.1), drawn(r, 2000, truth, func(int) float64 { return 400 * (r.Float64() - 0.5) }))
	if far := farthest(&noisy, truth); far > 0.03 {
		t.Errorf("off the true rates by %v with noise", far)
	}
}

// TestFitOutliers: samples with growth no line explains hardly move the rates.
func TestFitOutliers(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	truth := evenly(0.3)
	samples := drawn(r, 2000, truth, func(i int) float64 {
		if i%20 == 0 {
			return 100000
		}
		return 0
	})
	got := tokens.Fit(truth, spreadOf(0.1), samples)
	if far := farthest(&got, truth); far > 0.06 {
		t.Errorf("off by %v with one outlier in twenty", far)
	}
}

// TestFitLong: a session beyond what a fit goes by gives the rates of one of that length.
func TestFitLong(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	truth := evenly(0.4)
	samples := drawn(r, 20000, truth, func(int) float64 { return 0 })
	few, all := tokens.Fit(evenly(0.3), spreadOf(0.1), samples), tokens.FitAll(evenly(0.3), spreadOf(0.1), samples)
	if far := farthest(&few, &all); far > 0.01 {
		t.Errorf("off by %v", far)
	}
}

// TestFitHostile: figures no session has give rates that are numbers.
func TestFitHostile(t *testing.T) {
	for _, s := range []tokens.Sample{
		{Growth: math.MaxInt64},
		{Amounts: tokens.Amounts{tokens.TextChars: math.MaxInt64}, Growth: 1},
		{Amounts: tokens.Amounts{tokens.TextChars: math.MaxInt64, tokens.Output: math.MaxInt64}, Growth: math.MaxInt64},
		{Amounts: tokens.Amounts{tokens.TextChars: 1}, Growth: -math.MaxInt64},
		{Amounts: tokens.Amounts{tokens.ReadChars: -math.MaxInt64}, Growth: 1},
	} {
		got := tokens.Fit(evenly(0.3), tokens.OwnSpread(), []tokens.Sample{s, s})
		for m, v := range got {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%+v: the rate of %v is %v", s, tokens.Measure(m), v)
			}
		}
	}
}

// TestDefaultRates: Claude's tokenizers have rates of their own, the newer one's higher, others are counted in o200k_base,
// which is OpenAI's, and an unknown one has the old one's.
func TestDefaultRates(t *testing.T) {
	rates := map[string]tokens.TokenRates{}
	for _, tokenizer := range append(tokens.Tokenizers(), "") {
		r := must.Get(tokens.DefaultRates(tokenizer))(t)
		rates[tokenizer] = r
	}
	must.Equal(t, rates[""], rates["old"], "an unknown tokenizer is not taken for the old one")
	if r := rates[tokens.OpenAITokenizer]; math.Abs(r[tokens.EncodedTokens]-1) > 0.002 || math.Abs(r[tokens.Output]-1) > 0.002 {
		t.Errorf("OpenAI: %v tokens a token of its own encoding, %v an output token", r[tokens.EncodedTokens], r[tokens.Output])
	}
	if r := rates[tokens.OtherTokenizer]; r[tokens.EncodedTokens] < 0.9 || r[tokens.EncodedTokens] > 1.3 {
		t.Errorf("others: %v tokens a token of o200k_base", r[tokens.EncodedTokens])
	}
	for _, m := range []tokens.Measure{tokens.TextChars, tokens.PromptChars, tokens.ReadChars, tokens.BashChars, tokens.EditInput} {
		o, n := rates["old"][m], rates["new"][m]
		if o < 0.2 || o > 0.5 || n < 1.05*o || n > 2*o {
			t.Errorf("%v: %.3f and %.3f tokens a character", m, o, n)
		}
	}
}

func FuzzFit(f *testing.F) {
	f.Add(int64(3), int64(100), int64(-5), uint8(4))
	f.Add(int64(math.MaxInt64), int64(1), int64(math.MinInt64), uint8(0))
	f.Fuzz(func(t *testing.T, x, y, growth int64, at uint8) {
		var s tokens.Sample
		s.Amounts[int(at)%len(s.Amounts)] = float64(x)
		s.Amounts[int(at/2)%len(s.Amounts)] = float64(y)
		s.Growth = float64(growth)
		got := tokens.Fit(evenly(0.3), tokens.OwnSpread(), []tokens.Sample{s, {Growth: 7}})
		for m, v := range got {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("the rate of %v is %v", tokens.Measure(m), v)
			}
		}
	})
}
