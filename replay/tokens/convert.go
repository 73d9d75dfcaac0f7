package tokens

import (
	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/exact"
)

// Factor turns tokens of one tokenizer into tokens of another: it multiplies them by To / From. Both are tokens for a
// hundred of o200k_base. The zero value changes nothing.
type Factor struct{ From, To int64 }

// FactorSource says where the ratios of factors come from.
const FactorSource = "tokens per token of o200k_base, medians of 50 recorded sessions up to generation 4.6 and of 15 from 4.7 on"

// NewFactor is the factor between two tokenizers of the price table, "old" and "new". It changes nothing where one of
// them is another: no ratio of it is measured.
func NewFactor(from, to string) Factor {
	ratios := map[string]int64{OldTokenizer: oldRatio, NewTokenizer: newRatio}
	f := Factor{ratios[from], ratios[to]}
	if from == to || f.From == 0 || f.To == 0 {
		return Factor{}
	}
	return f
}

// IsOne reports whether the factor changes nothing.
func (f Factor) IsOne() bool { return f == Factor{} }

// Of converts a number of tokens, rounded half up.
func (f Factor) Of(n int) int {
	if f.IsOne() {
		return n
	}
	x := int64(n)*f.To*2 + f.From
	n = int(x / (2 * f.From))
	rest := x % (2 * f.From)
	if rest < 0 {
		n--
	}
	return n
}

// Ratio is the factor with three decimals.
func (f Factor) Ratio() exact.Decimal {
	if f.IsOne() {
		return exact.Whole(1)
	}
	return exact.Ratio(exact.Whole(int(f.To)), exact.Whole(int(f.From)), 3)
}

// Terms are the ratios whose quotient the factor is: tokens per token of o200k_base.
func (f Factor) Terms() (to, from exact.Decimal) { return exact.Of(f.To, 2), exact.Of(f.From, 2) }

// Usage converts each amount of a usage.
func (f Factor) Usage(u jsonl.Usage) jsonl.Usage {
	if f.IsOne() {
		return u
	}
	for _, n := range []*int{&u.Input, &u.CacheWrite, &u.CacheRead, &u.Output, &u.Write5m, &u.Write1h, &u.Thinking} {
		*n = f.Of(*n)
	}
	if its := u.Iterations; its != nil {
		u.Iterations = &jsonl.Iterations{Rounds: f.spent(its.Rounds), Compactions: f.spent(its.Compactions)}
	}
	return u
}

func (f Factor) spent(list []jsonl.Spent) (out []jsonl.Spent) {
	for _, s := range list {
		for _, n := range []*int{&s.Input, &s.CacheWrite, &s.Write1h, &s.CacheRead, &s.Output} {
			*n = f.Of(*n)
		}
		out = append(out, s)
	}
	return out
}

// Converted is the calibration in tokens of another tokenizer: of gives the factor of each message, own that of texts
// that a policy puts in. Images are converted like texts.
func (c *Calibration) Converted(of func(message int) Factor, own Factor) *Calibration {
	to := *c
	to.WeightTable = c.converted(of, own)
	to.Lost = make(map[int]int, len(c.Lost))
	for m, n := range c.Lost {
		to.Lost[m] = of(m).Of(n)
	}
	return &to
}

func (t *WeightTable) converted(of func(message int) Factor, own Factor) *WeightTable {
	to := t.beside(func(k jsonl.Kind, n jsonl.Metrics) int { return own.Of(t.scale(k, n)) })
	if t.count != nil {
		to.count = func(text string) int { return own.Of(t.count(text)) }
	}
	if t.stubs != nil {
		to.stubs = make(map[policy.Target]int, len(t.stubs))
		for target, n := range t.stubs {
			to.stubs[target] = of(int(target.Item)).Of(n)
		}
	}
	for m := range t.conv.Messages {
		f := of(m)
		for b := range t.conv.Messages[m].Blocks {
			to.set(m, b, f.Of(t.Block(m, b)))
		}
	}
	return to
}
