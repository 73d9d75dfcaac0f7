package tokens

import (
	"math"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// CountedModel is what the usage counter needs to know of a session's model and client.
type CountedModel struct {
	Tokenizer      string                  // one of Tokenizers
	Encoder        *Encoder                // of o200k_base, where the model's tokens are counted so; nil: by characters
	ClearsThinking func(model string) bool // a model is sent the thinking of the current turn alone; nil: none is
	UntilAnswer    func(model string) bool // of such a model a turn ends with a final answer: without one its thinking stays; nil: of none
	Client         *policy.Recorder        // that recorded the session; nil: nothing is known of it
	Rates          *TokenRates             // the prior of a session's own rates; nil: DefaultRates
}

// client is what the client that recorded the session does at a version.
func (m *CountedModel) client(version string) policy.ClientVersion {
	if m.Client == nil {
		return policy.ClientVersion{}
	}
	return m.Client.At(version)
}

// Calibration is the usage counter: weights scaled so that what joined between two requests adds up to what the API
// reported.
type Calibration struct {
	*WeightTable
	Recorded bool       // the session has recorded usage
	Rates    TokenRates // tokens per unit of each measure, fitted to the session
	Drops    []Drop
	Reliable []bool      // by message index: its recorded output tokens are reliable
	Lost     map[int]int // by message index: tokens of the lost results there, client estimate
	Searched map[int]int // by message index: tokens, on no line, of what the provider's searches found within the request it answers
}

// Calibrate fits the weights of a conversation's blocks to its recorded usage. Without usage it takes the model's
// rates.
//
// The true growth between requests k-1 and k is known. All of them together give the session's rates (Fit); and of
// each, the blocks that joined share the growth in proportion to their weight by these rates. Spans in which the
// context shrank (a recorded compaction or microcompaction, a drop) are not used.
func Calibrate(conv *session.Conversation, model CountedModel) (*Calibration, error) {
	prior := model.Rates
	if prior == nil {
		r, err := DefaultRates(model.Tokenizer)
		if err != nil {
			return nil, err
		}
		prior = &r
	}
	spans, drops := Spans(conv, model)
	recorded := slices.ContainsFunc(conv.Requests, func(q session.APICall) bool { return conv.Messages[q.Message].HasUsage })
	if !recorded {
		model.Encoder = nil // its weights are not calibrated
	}
	meter := NewMeter(conv, model)
	c := &Calibration{
		Drops: drops, Reliable: meter.reliable, Rates: Fit(prior, OwnSpread(), learn(meter, spans)), Recorded: recorded,
	}
	c.WeightTable = newTable(conv, c.Rates.content)
	if e := model.Encoder; e != nil {
		c.count = func(text string) int { return scaled(e.Count(text), c.Rates[EncodedTokens]) }
	}
	c.weigh(meter, spans)
	c.placeholders()
	for _, q := range conv.Requests {
		if n := meter.searches(q.Message); n > 0 {
			if c.Searched == nil {
				c.Searched = map[int]int{}
			}
			c.Searched[q.Message] = int(math.Round(float64(n) * math.Max(prior[Searches], 0))) // one of a session tells little of another
		}
	}
	return c, meter.err
}

// learn measures those of the spans whose growth is explained that a fit takes.
func learn(meter *Meter, spans []Increment) []Sample {
	n := 0
	for i := range spans {
		if spans[i].Learn {
			n++
		}
	}
	step := stepOf(n)
	samples := make([]Sample, 0, min(n, mostSamples))
	next := 0 // of the spans to learn from
	for i := range spans {
		left, _ := meter.follow(&spans[i])
		if !spans[i].Learn {
			continue
		}
		if next%step == 0 {
			joined := meter.joined(&spans[i])
			less := meter.Sent(left...)
			joined.Add(&less, -1)
			samples = append(samples, Sample{joined, float64(spans[i].Growth)})
		}
		next++
	}
	return samples
}

// placeholders weighs what no line holds: results lost at a boundary, and the history before the start of the file.
func (c *Calibration) placeholders() {
	conv := c.conv
	c.Lost = map[int]int{}
	for i := range conv.Boundaries {
		b := &conv.Boundaries[i]
		m := b.Before - 1
		if m < 0 || !conv.Messages[m].Lost || b.PreTokens == 0 {
			continue
		}
		if known, ok := usedBefore(conv, m); ok && b.PreTokens > known {
			c.Lost[m] = b.PreTokens - known
			c.set(m, 0, c.Lost[m])
		}
	}
	if !conv.BeginsMidway() || len(conv.Requests) == 0 {
		return
	}
	first := conv.Requests[0].Message
	answer := &conv.Messages[first]
	if !answer.HasUsage {
		return
	}
	w := answer.Usage.Context() - DefaultOverhead
	for _, d := range c.Drops {
		if d.Shared && answer.Model == conv.Model {
			w -= d.Tokens // a drop that every view shares was overhead until then
		}
	}
	for m := 1; m < first; m++ {
		w -= c.Message(m)
	}
	c.set(0, 0, w)
}

// usedBefore is the client's estimate of the context before message m: the last response's total plus the estimates
// of the messages after it.
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
