package record

import (
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// Output is the tokens of the response at message m. Where only its start was counted it is as large as the bill takes it
// to be, and where nothing was, the weight of its blocks.
func (r *Record) Output(m int, by policy.Weigher) (n int, estimated bool) {
	msg := r.Conv.Messages[m]
	switch {
	case msg.Is(session.StartOnly):
		msg.Usage.Output = max(msg.Usage.Output, session.WrittenTokens(msg.Blocks))
		return r.Usage(&msg).Output, true
	case msg.HasUsage || msg.Is(session.OutputOnly):
		return r.Usage(&msg).Output, false
	}
	return max(by.Message(m), r.Usage(&msg).Output), true
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
