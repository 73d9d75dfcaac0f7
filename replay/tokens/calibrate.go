package tokens

import "github.com/ctxkit/ctxkit/jsonl/session"

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
	Told     []bool // by message index -> its recorded output tokens are right
	Lost     []int  // by message index -> tokens of the lost results that stand there, client estimate
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
	c := &Calibration{Recorded: hasUsage(conv), Drops: drops, Told: meter.told, Rates: Fit(prior, OwnSpread(), learn(meter, spans))}
	c.Table = newTable(conv, c.Rates.content)
	c.weigh(meter, spans)
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
		cleared := meter.follow(&spans[i])
		if !spans[i].Learn {
			continue
		}
		if n%step == 0 {
			joined, less := meter.joined(&spans[i]), meter.Sent(cleared...)
			joined.Add(&less, -1)
			samples = append(samples, Sample{joined, float64(spans[i].Growth)})
		}
		n++
	}
	return samples
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
