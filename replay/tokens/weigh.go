package tokens

import (
	"math"
	"slices"

	"github.com/ctxkit/ctxkit/policy"
)

// weighing computes the weights of a conversation's blocks from the rates.
type weighing struct {
	*Calibration
	meter *Meter
	base  []float64                 // by block: tokens by the rates, of the text in raw history
	sent  map[policy.Target]float64 // the same of what was sent, if that is another text
}

// weigh sets the weights of the blocks: by the rates, and in spans whose growth is explained scaled so that they add
// up to that growth.
func (c *Calibration) weigh(meter *Meter, spans []Increment) {
	w := weighing{Calibration: c, meter: meter, base: make([]float64, len(c.weight)), sent: map[policy.Target]float64{}}
	c.stubs = map[policy.Target]int{}
	w.measure()
	for m := range c.conv.Messages {
		w.set(m, 1)
	}
	meter.rewind()
	for i := range spans {
		s := &spans[i]
		left, _ := meter.follow(s)
		if less := w.leaving(s, left); s.Whole && meter.searches(s.To) == 0 && float64(s.Growth)+less.before+less.own > 0 {
			w.share(s, less)
		}
		if len(left) > 0 {
			c.explain(s.Request, w.sum(left))
		}
	}
}

// leaving is what thinking weighs that the server left out from a span on: of messages before it, and of its own, by
// the rates, where its share of the growth is not known yet.
type leaving struct{ before, own float64 }

func (w *weighing) leaving(s *Increment, left []policy.Target) (l leaving) {
	for _, t := range left {
		if m := int(t.Item); m < s.From || w.meter.reliable[m] {
			l.before += float64(w.Block(m, t.Block))
		} else {
			l.own += w.asSent(t)
		}
	}
	return l
}

func (w *weighing) sum(blocks []policy.Target) (n int) {
	for _, t := range blocks {
		n += w.Block(int(t.Item), t.Block)
	}
	return n
}

// explain drops a fall of the context at a request if thinking of a number of tokens, which the server left out, explains
// all of it but what is too little to report.
func (c *Calibration) explain(request, less int) {
	c.Drops = slices.DeleteFunc(c.Drops, func(d Drop) bool {
		return d.Request == request && d.Cause == Unexplained && d.Tokens-less < DropThreshold
	})
}

// measure computes the weight of each block by the rates.
func (w *weighing) measure() {
	// Where the sessions show no weight of signatures, hidden reasoning is still shared out by their lengths.
	const least = 1e-4
	sum := 0.0
	put := func(i Measure, x float64) {
		rate := w.Rates[i]
		if i == SignatureChars {
			rate = math.Max(rate, least)
		}
		sum += x * rate
	}
	for m := range w.conv.Messages {
		msg := &w.conv.Messages[m]
		for b := range msg.Blocks {
			bl := &msg.Blocks[b]
			sum = 0
			w.meter.block(m, b, bl.Whole(), put)
			w.base[int(w.start[m])+b] = sum
			t := policy.BlockOf(m, b)
			sent, replaced := w.meter.other[t]
			if !replaced {
				sent = bl.Text
			}
			if replaced || bl.Offload != nil {
				sum = 0
				w.meter.block(m, b, sent, put)
				w.sent[t] = sum
			}
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

// around is the weight of what the API adds around a message's blocks.
func (w *weighing) around(m int) float64 {
	sum := 0.0
	w.meter.frame(m, func(i Measure, x float64) { sum += x * w.Rates[i] })
	return sum
}

// share scales the blocks that joined in a span to its growth, without responses of reliable output tokens: by at
// least 0.4 and at most 2.5. The rest of the growth belongs to no block.
func (w *weighing) share(s *Increment, less leaving) {
	const least, most = 0.4, 2.5
	known := -less.before
	rest := -less.own
	for m := s.From; m < s.To; m++ {
		if w.meter.reliable[m] {
			out, _ := w.recorded(m)
			known += out + w.around(m)
			continue
		}
		rest += w.around(m)
		for b := range w.conv.Messages[m].Blocks {
			rest += w.asSent(policy.BlockOf(m, b))
		}
	}
	if rest <= 0 {
		return
	}
	by := math.Min(math.Max((float64(s.Growth)-known)/rest, least), most)
	for m := s.From; m < s.To; m++ {
		if !w.meter.reliable[m] {
			w.set(m, by)
		}
	}
}

// set gives the blocks of a message their weights by the rates, times by. The weights of a response with reliable
// output tokens add up to these. A result that was read back has the weight of its file, and its stub, which was
// sent, has a separate weight.
func (w *weighing) set(m int, by float64) {
	blocks := w.conv.Messages[m].Blocks
	base := w.base[w.start[m]:w.start[m+1]]
	around := w.around(m)
	thought := by
	if w.meter.reliable[m] {
		by, thought = w.output(m, base)
	} else {
		around *= by
	}
	for b := range blocks {
		est := base[b] * by
		if w.meter.isHidden(&w.conv.Messages[m], &blocks[b]) {
			est = base[b] * thought
		}
		if b == 0 {
			est += around
		}
		w.WeightTable.set(m, b, int(math.Round(est)))
		if blocks[b].Offload != nil {
			t := policy.BlockOf(m, b)
			w.stubs[t] = int(math.Round(w.sent[t] * by))
		}
	}
}

// recorded is what the output tokens of a response weigh, and the recorded reasoning among them.
func (w *weighing) recorded(m int) (out, reasoning float64) {
	u := w.conv.Messages[m].Usage
	n := float64(u.Thinking)
	return math.Max(float64(u.Output)*w.Rates[Output]+n*w.Rates[Reasoning], 0), math.Max(n*(w.Rates[Output]+w.Rates[Reasoning]), 0)
}

// output distributes the output tokens of a response. Thinking without text has its recorded tokens, or those that
// the other blocks leave. It returns the factors of the other blocks and of the thinking.
func (w *weighing) output(m int, base []float64) (by, thought float64) {
	msg := &w.conv.Messages[m]
	sum := 0.0
	hidden := 0.0
	for b := range msg.Blocks {
		if w.meter.isHidden(msg, &msg.Blocks[b]) {
			hidden += base[b]
		} else {
			sum += base[b]
		}
	}
	out, reasoning := w.recorded(m)
	think := 0.0
	if hidden > 0 {
		think = out - sum
		if msg.Usage.Thinking > 0 {
			think = reasoning
		}
		think = math.Min(math.Max(think, 0), out)
		thought = think / hidden
	}
	if sum <= 0 {
		return 1, thought
	}
	return (out - think) / sum, thought
}
