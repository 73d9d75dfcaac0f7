package replay

import (
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// weighBy sets the counter of the report and returns the weights for the client's own estimate, nil where they are
// the same.
func (e *engine) weighBy(counter string) (client policy.Weigher, err error) {
	r := e.r
	switch counter {
	case "", tokens.NameUsage:
		e.report, e.counter = r.Cal, tokens.NameUsage
		if !r.Cal.Recorded {
			e.warn(0, "no usage is recorded: tokens are an estimate, those of %s times %g", tokens.NameO200K, r.ratio())
			e.counter = "estimate"
		}
		return nil, nil
	case tokens.NameHeuristic:
		e.report, e.counter = r.Cal.Heuristic(), tokens.NameHeuristic
		return r.Cal, nil
	}
	if err := tokens.CheckName(counter); err != nil {
		return nil, err
	}
	if e.report, err = r.Encoded(counter); err != nil {
		return nil, err
	}
	e.counter = counter
	return r.Cal, nil
}

// output is the tokens of the response at message m. Where none are recorded, or the record is known to be wrong, it
// is the weight of the response's blocks; the client's own estimate uses the recorded figure even then.
func (e *engine) output(m int) (n int, estimated bool) {
	msg := &e.conv.Messages[m]
	recorded := e.r.usage(msg).Output
	if e.r.Cal.Reliable[m] {
		return recorded, false
	}
	return max(e.report.Message(m), recorded), true
}

// Encoded is the weight of the conversation's blocks in an encoding. The first call counts; several goroutines may
// call it.
func (r *Record) Encoded(name string) (*tokens.WeightTable, error) {
	r.encoding.Lock()
	defer r.encoding.Unlock()
	if t := r.encoded[name]; t != nil {
		return t, nil
	}
	t, err := r.encode(name, 1)
	if err == nil {
		r.encoded[name] = t
	}
	return t, err
}

// encode counts the conversation in an encoding, ratio tokens for each token of it.
func (r *Record) encode(name string, ratio float64) (*tokens.WeightTable, error) {
	encoder, err := r.encoders.Get(name)
	if err != nil {
		return nil, err
	}
	large := r.model.Tokenizer == tokens.NewTokenizer
	return tokens.Encoded(r.Conv, encoder, tokens.EncodeOptions{Jobs: r.encoders.Jobs, Ratio: ratio, LargeImages: large})
}

// ratio is the number of tokens of the conversation's model per token of o200k_base.
func (r *Record) ratio() float64 { return tokens.Ratio(r.Conv.Model, r.model.Tokenizer) }

// tail is the client's estimate of what joined after the response at message m and is still in view, tokens.
func (e *engine) tail(m int) int {
	n := 0
	for _, id := range slices.Backward(e.view.Arrived()) {
		if id == policy.ItemID(m) {
			break
		}
		if (id < 0 || int(id) > m) && e.view.Has(id) {
			n += e.estimate(id)
		}
	}
	if e.pol.Window.Tail == "after_first" {
		// Newer clients count from the first line of the response: its other blocks a second time.
		msg := &e.conv.Messages[m]
		for b := range msg.Blocks {
			if msg.Blocks[b].Line != msg.Line {
				n += tokens.Estimate(&msg.Blocks[b])
			}
		}
	}
	return n
}

// estimate is the client's estimate of an item in the view, tokens.
func (e *engine) estimate(id policy.ItemID) int {
	if id >= 0 && e.conv.Messages[id].Lost {
		return e.r.Cal.Lost[int(id)]
	}
	if id >= 0 && e.conv.Messages[id].Is(session.Uncounted) {
		return 0
	}
	n := 0
	for b := range e.view.Blocks(id) {
		t := policy.Target{Item: id, Block: b}
		if c := e.view.Replacement(t); c == nil {
			n += tokens.Estimate(e.view.Raw(t))
		} else if c.Tokens > 0 {
			n += c.Tokens
		} else {
			n += policy.RoundQuarter(c.Length.UTF16)
		}
	}
	return n
}
