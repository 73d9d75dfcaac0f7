package tokens

import (
	"math"

	"github.com/ctxkit/ctxkit/policy"
)

// weighing works out the weights of a conversation's blocks, its rates given.
type weighing struct {
	*Calibration
	meter *Meter
	base  []float64                 // by block: tokens by the rates, as raw history has it
	sent  map[policy.Target]float64 // the same of what was sent, where that is another text
}

// weigh gives the blocks their weights: by the rates, and in spans that teach
// so that they add up to what the context grew by.
func (c *Calibration) weigh(meter *Meter, spans []Span) {
	w := weighing{Calibration: c, meter: meter, base: make([]float64, len(c.weight)), sent: map[policy.Target]float64{}}
	c.stubs = map[policy.Target]int{}
	w.measure()
	for m := range c.conv.Messages {
		w.set(m, 1)
	}
	meter.restart()
	for i := range spans {
		s := &spans[i]
		cleared := 0.0
		for _, t := range meter.follow(s) {
			cleared += w.asSent(t)
		}
		if s.Learn {
			w.share(s, cleared)
		} else {
			c.explain(s, cleared)
		}
	}
}

// measure works out what each block weighs by the rates.
func (w *weighing) measure() {
	sum := 0.0
	put := func(i Measure, x float64) { sum += x * w.Rates[i] }
	for m := range w.conv.Messages {
		msg := &w.conv.Messages[m]
		for b := range msg.Blocks {
			bl := &msg.Blocks[b]
			sum = 0
			w.meter.block(msg, bl, bl.Whole(), put)
			w.base[int(w.start[m])+b] = sum
			t := policy.Target{Item: policy.ItemID(m), Block: b}
			other, replaced := w.meter.other[t]
			if !replaced && !bl.ReadBack() {
				continue
			}
			if !replaced {
				other = bl.Text
			}
			sum = 0
			w.meter.block(msg, bl, other, put)
			w.sent[t] = sum
		}
	}
}

// asSent is the weight by the rates of a block as it was sent.
func (w *weighing) asSent(t policy.Target) float64 {
	if n, ok := w.sent[t]; ok {
		return n
	}
	return w.base[int(w.start[t.Item])+t.Block]
}

// around is the weight of what goes around a message's blocks.
func (w *weighing) around(m int) float64 {
	sum := 0.0
	frame(&w.conv.Messages[m], w.meter.told[m], func(i Measure, x float64) { sum += x * w.Rates[i] })
	return sum
}

// share gives the blocks that joined in a span that teaches what it grew by,
// beyond responses whose output tokens are right, in proportion to what they
// weigh by the rates: at least 0.4 of it and at most 2.5 times. What is beyond
// that is none of theirs.
func (w *weighing) share(s *Span, cleared float64) {
	const least, most = 0.4, 2.5
	known, rest := 0.0, 0.0
	for m := s.From; m < s.To; m++ {
		if w.meter.told[m] {
			known += float64(w.conv.Messages[m].Usage.Output)*w.Rates[Output] + w.around(m)
			continue
		}
		rest += w.around(m)
		for b := range w.conv.Messages[m].Blocks {
			rest += w.asSent(policy.Target{Item: policy.ItemID(m), Block: b})
		}
	}
	if rest <= 0 {
		return
	}
	by := math.Min(math.Max((float64(s.Growth)+cleared-known)/rest, least), most)
	for m := s.From; m < s.To; m++ {
		if !w.meter.told[m] {
			w.set(m, by)
		}
	}
}

// explain says of a fall that no line explains that the server cleared thinking
// there, where that is most of it.
func (c *Calibration) explain(s *Span, cleared float64) {
	for i := range c.Drops {
		if d := &c.Drops[i]; d.Request == s.Request && d.Cause == Unexplained && 2*cleared > float64(d.Tokens) {
			d.Cause = ThinkingCleared
		}
	}
}

// set gives the blocks of a message what they weigh by the rates, times by. A
// response whose output tokens are right weighs these. A result that is read
// back has the weight of its file, and its stub, which is what was sent, one of
// its own.
func (w *weighing) set(m int, by float64) {
	blocks := w.conv.Messages[m].Blocks
	base := w.base[w.start[m]:w.start[m+1]]
	around, thought := w.around(m), by
	if w.meter.told[m] {
		by, thought = w.output(m, base)
	} else {
		around *= by
	}
	for b := range blocks {
		est := base[b] * by
		if isHidden(&blocks[b]) {
			est = base[b] * thought
		}
		if b == 0 {
			est += around
		}
		w.Table.set(m, b, int(math.Round(est)))
		if blocks[b].ReadBack() {
			t := policy.Target{Item: policy.ItemID(m), Block: b}
			w.stubs[t] = int(math.Round(w.sent[t] * by))
		}
	}
}

// output shares the output tokens of a response: thinking without text has
// those recorded for it, or those that the other blocks leave. It gives the
// factors that make the others and the thinking add up.
func (w *weighing) output(m int, base []float64) (by, thought float64) {
	msg := &w.conv.Messages[m]
	sum, hidden := 0.0, 0.0
	for b := range msg.Blocks {
		if isHidden(&msg.Blocks[b]) {
			hidden += base[b]
		} else {
			sum += base[b]
		}
	}
	out, think := float64(msg.Usage.Output)*w.Rates[Output], 0.0
	if hidden > 0 {
		think = out - sum
		if n := msg.Usage.Thinking; n > 0 {
			think = float64(n) * w.Rates[Output]
		}
		think = math.Min(math.Max(think, 0), out)
		thought = think / hidden
	}
	if sum <= 0 {
		return 1, thought
	}
	return (out - think) / sum, thought
}
