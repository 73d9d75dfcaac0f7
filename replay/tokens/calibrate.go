package tokens

import (
	"math"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// Model is what the usage counter has to know of a session's model.
type Model struct {
	Tokenizer      string // "old": up to the 4.6 generation, or "new"
	ClearsThinking bool   // the server clears the thinking of earlier turns as the user says something new
	Rates          *Rates // a session's own are drawn towards these; nil: DefaultRates
}

// Calibration is the usage counter: weights scaled so that what joined between
// two requests adds up to what the API reported.
type Calibration struct {
	*Table
	Recorded bool  // there is recorded usage to calibrate to
	Rates    Rates // tokens a unit of each measure, fitted to the session
	Drops    []Drop
	Lost     []int // by message index -> tokens of the lost results that stand there, client estimate

	estimates []float64 // of the blocks of the message being weighed
}

// Calibrate fits the weights of a conversation's blocks to its recorded usage.
// Without usage the model's rates stand as they are.
//
// Between requests k-1 and k the true growth is known. All of them together
// give the session's rates (Fit); and of each, the blocks that joined share
// what grew in proportion to what they weigh by the rates. Where the context
// shrank (a recorded compaction or microcompaction, a drop) nothing is learned
// and the rates stand.
func Calibrate(conv *session.Conversation, model Model) (*Calibration, error) {
	prior := model.Rates
	if prior == nil {
		r, err := DefaultRates(model.Tokenizer)
		if err != nil {
			return nil, err
		}
		prior = &r
	}
	spans, drops := Spans(conv)
	meter := NewMeter(conv, model)
	c := &Calibration{Recorded: hasUsage(conv), Drops: drops, Rates: Fit(prior, OwnSpread(), learn(meter, spans))}
	c.Table = newTable(conv, c.Rates.content)
	c.stubs = map[policy.Target]int{}
	for m := range conv.Messages {
		c.weigh(meter, m, 1)
	}
	meter.restart()
	c.share(meter, spans)
	c.placeholders()
	return c, nil
}

// learn measures the spans that teach, evenly thinned out where they are many.
func learn(meter *Meter, spans []Span) []Sample {
	teach := 0
	for i := range spans {
		if spans[i].Learn {
			teach++
		}
	}
	if teach == 0 {
		return nil
	}
	step := (teach + mostSamples - 1) / mostSamples
	samples := make([]Sample, 0, teach/step+1)
	n := 0
	for i := range spans {
		joined, cleared := meter.Next(&spans[i])
		if !spans[i].Learn {
			continue
		}
		if n%step == 0 {
			less := meter.Sent(cleared...)
			joined.Add(&less, -1)
			samples = append(samples, Sample{joined, float64(spans[i].Growth)})
		}
		n++
	}
	return samples
}

// share gives the blocks that joined in a span that teaches what it grew by,
// beyond responses whose output tokens are right, in proportion to what they
// weigh by the rates: at least least of it and at most most. What is beyond
// that is none of theirs.
func (c *Calibration) share(meter *Meter, spans []Span) {
	const least, most = 0.4, 2.5
	for i := range spans {
		s := &spans[i]
		joined, cleared := meter.Next(s)
		gone := meter.Sent(cleared...)
		if !s.Learn {
			c.explain(s, c.Rates.Tokens(&gone))
			continue
		}
		known := joined[Output]*c.Rates[Output] + joined[Responses]*c.Rates[Responses]
		rest := c.Rates.Tokens(&joined) - known
		if rest <= 0 {
			continue
		}
		by := (float64(s.Growth) + c.Rates.Tokens(&gone) - known) / rest
		for m := s.From; m < s.To; m++ {
			c.weigh(meter, m, math.Min(math.Max(by, least), most))
		}
	}
}

// explain says of a fall that no line explains that the server cleared thinking
// there, where that is most of it.
func (c *Calibration) explain(s *Span, cleared float64) {
	for i := range c.Drops {
		if d := &c.Drops[i]; d.Request == s.Request && d.Cause == unexplained && 2*cleared > float64(d.Tokens) {
			d.Cause = "the server cleared the thinking of earlier turns"
		}
	}
}

// weigh gives the blocks of a message their weights by the rates, times by. A
// response whose output tokens are right weighs these, whatever by is, and
// thinking without text what nothing else of it explains. A result that is read
// back has the weight of its file, and its stub, which is what was sent, one of
// its own.
func (c *Calibration) weigh(meter *Meter, m int, by float64) {
	msg := &c.conv.Messages[m]
	if len(msg.Blocks) == 0 {
		return
	}
	c.estimates = c.estimates[:0]
	known := told(msg)
	sum, hidden := 0.0, -1
	for b := range msg.Blocks {
		bl := &msg.Blocks[b]
		est := c.tokens(meter, msg, bl, bl.Whole())
		c.estimates = append(c.estimates, est)
		if known && bl.Kind == jsonl.KindThinking && bl.Text.UTF16 == 0 && bl.Signature > 0 {
			hidden = b
			continue
		}
		sum += est
		if bl.ReadBack() {
			c.stubs[policy.Target{Item: policy.ItemID(m), Block: b}] = int(math.Round(c.tokens(meter, msg, bl, bl.Text) * by))
		}
	}
	around := 0.0
	frame(msg, known, func(i Measure, x float64) { around += x * c.Rates[i] })
	if known {
		by = c.output(msg, sum, hidden)
	} else {
		around *= by
	}
	for b, est := range c.estimates {
		if b != hidden {
			est *= by
		}
		if b == 0 {
			est += around
		}
		c.set(m, b, int(math.Round(est)))
	}
}

// output shares the output tokens of a response: thinking without text has
// those recorded for it, or those that the other blocks leave; the others are
// given the factor that makes them add up.
func (c *Calibration) output(msg *session.Message, sum float64, hidden int) (by float64) {
	out := float64(msg.Usage.Output) * c.Rates[Output]
	if hidden >= 0 {
		thought := out - sum
		if n := msg.Usage.Thinking; n > 0 {
			thought = float64(n) * c.Rates[Output]
		}
		c.estimates[hidden] = math.Min(math.Max(thought, 0), out)
		out -= c.estimates[hidden]
	}
	if sum <= 0 {
		return 1
	}
	return out / sum
}

// tokens is the weight of a block by the rates, its text being of length n.
func (c *Calibration) tokens(meter *Meter, msg *session.Message, bl *session.Block, n jsonl.Metrics) float64 {
	sum := 0.0
	meter.block(msg, bl, n, func(i Measure, x float64) { sum += x * c.Rates[i] })
	return sum
}

// placeholders weighs what no line holds: results lost at a boundary, and the
// history before the start of the file.
func (c *Calibration) placeholders() {
	conv := c.conv
	c.Lost = make([]int, len(conv.Messages))
	for i := range conv.Boundaries {
		b := &conv.Boundaries[i]
		m := b.Before - 1
		if m < 0 || !conv.Messages[m].Lost || b.PreTokens == 0 {
			continue
		}
		known, ok := usedBefore(conv, m)
		if ok && b.PreTokens > known {
			c.Lost[m] = b.PreTokens - known
			c.set(m, 0, c.Lost[m])
		}
	}
	if len(conv.Messages) > 0 && conv.Messages[0].Earlier && len(conv.Requests) > 0 && conv.Messages[conv.Requests[0].Message].HasUsage {
		first := conv.Requests[0].Message
		w := conv.Messages[first].Usage.Context() - DefaultOverhead
		for _, d := range c.Drops {
			if d.Shared && conv.Messages[first].Model == conv.Model {
				w -= d.Tokens // a fall that every view shares was overhead till then
			}
		}
		for m := 1; m < first; m++ {
			w -= c.Message(m)
		}
		c.set(0, 0, w)
	}
}

// usedBefore is the client's arithmetic for what stands before message m: the
// last response's total plus the estimates of what came after it.
func usedBefore(conv *session.Conversation, m int) (int, bool) {
	tail := 0
	for m--; m >= 0; m-- {
		msg := &conv.Messages[m]
		if msg.Role == session.Assistant && msg.HasUsage {
			return msg.Usage.Total() + tail, true
		}
		for b := range msg.Blocks {
			tail += Estimate(&msg.Blocks[b])
		}
	}
	return 0, false
}

func hasUsage(conv *session.Conversation) bool {
	for _, q := range conv.Requests {
		if conv.Messages[q.Message].HasUsage {
			return true
		}
	}
	return false
}
