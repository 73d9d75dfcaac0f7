package record

import (
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// Output is the tokens of the response at message m. Where none are recorded, or the recorded session is known to be
// wrong, it is the weight of the response's blocks; the client's own estimate uses the recorded figure even then.
func (r *Record) Output(m int, by policy.Weigher) (n int, estimated bool) {
	recorded := r.Usage(&r.Conv.Messages[m]).Output
	if r.Cal.Reliable[m] {
		return recorded, false
	}
	return max(by.Message(m), recorded), true
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
		if r.encoded == nil {
			r.encoded = map[string]*tokens.WeightTable{}
		}
		r.encoded[name] = t
	}
	return t, err
}

// encode counts the conversation in an encoding, ratio tokens for each token of it.
func (r *Record) encode(name string, ratio float64) (*tokens.WeightTable, error) {
	encoder, err := r.Encoders.Get(name)
	if err != nil {
		return nil, err
	}
	large := r.Model.Tokenizer == tokens.NewTokenizer
	return tokens.Encoded(r.Conv, encoder, tokens.EncodeOptions{Jobs: r.Encoders.Jobs, Ratio: ratio, LargeImages: large})
}

// ratio is the number of tokens of the conversation's model per token of o200k_base.
func (r *Record) ratio() float64 { return tokens.Ratio(r.Conv.Model, r.Model.Tokenizer) }
