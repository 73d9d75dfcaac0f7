package replay

import (
	"sync"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// weighBy sets what the report is counted by, and gives what the client's
// arithmetic goes by, nil where that is the same.
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
		e.report, e.counter = tokens.Heuristic(r.Conv), tokens.NameHeuristic
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

// output is how many tokens the response at message m is. Where the record does
// not say, or is known to be wrong, it is what the response's blocks weigh; the
// client's own arithmetic takes what is recorded all the same.
func (e *engine) output(m int) (n int, estimated bool) {
	msg := &e.conv.Messages[m]
	if e.r.Cal.Told[m] {
		return msg.Usage.Output, false
	}
	for b := range msg.Blocks {
		n += e.report.Block(m, b)
	}
	return max(n, msg.Usage.Output), true
}

// encodedTables keeps what Encoded has counted.
type encodedTables struct {
	mu     sync.Mutex
	byName map[string]*tokens.Table
}

// Encoded is the weight of the conversation's blocks in an encoding. It is
// counted when it is first asked for; several goroutines may ask.
func (r *Record) Encoded(name string) (*tokens.Table, error) {
	r.encoded.mu.Lock()
	defer r.encoded.mu.Unlock()
	if t := r.encoded.byName[name]; t != nil {
		return t, nil
	}
	t, err := r.encode(name, 1)
	if err != nil {
		return nil, err
	}
	if r.encoded.byName == nil {
		r.encoded.byName = map[string]*tokens.Table{}
	}
	r.encoded.byName[name] = t
	return t, nil
}

// encode counts the conversation in an encoding, ratio tokens for each of it.
func (r *Record) encode(name string, ratio float64) (*tokens.Table, error) {
	encoder, err := r.encoders.Get(name)
	if err != nil {
		return nil, err
	}
	return tokens.Encoded(r.Conv, encoder, tokens.EncodeOptions{
		Jobs: r.encoders.Jobs, Ratio: ratio, LargeImages: r.model.Tokenizer == tokens.NewTokenizer,
	})
}

// ratio is how many tokens of the conversation's model one of o200k_base is.
func (r *Record) ratio() float64 { return tokens.Ratio(r.Conv.Model, r.model.Tokenizer) }
