package tokens

import (
	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// Thinking follows which thinking blocks of a conversation the server leaves out of what a model is sent. Some models
// are sent that of the current turn alone: what came before the user's last prompt is left out.
type Thinking struct {
	conv   *session.Conversation
	clears func(model string) bool
	model  string // of the last request
	clear  bool   // clears of it
	next   int    // the next message
	turn   []policy.Target
	sent   []policy.Target // of earlier turns, not left out
	out    []policy.Target // left out
}

// NewThinking returns the state at the beginning of a conversation. clears reports whether a model is sent the
// thinking of the current turn alone; nil: none is.
func NewThinking(conv *session.Conversation, clears func(model string) bool) *Thinking {
	return &Thinking{conv: conv, clears: clears}
}

// Request follows the conversation up to the request that message m answers, which goes to a model. It returns the
// blocks that the server leaves out from this request on, and those it left out before and does not leave out of this
// one.
func (t *Thinking) Request(m int, model string) (left, back []policy.Target) {
	if t.clears == nil {
		return nil, nil
	}
	for ; t.next < m; t.next++ {
		t.message(t.next)
	}
	if model != t.model {
		t.model, t.clear = model, t.clears(model)
	}
	if t.clear {
		left, t.sent = t.sent, nil
		t.out = append(t.out, left...)
		return left, nil
	}
	back, t.out = t.out, nil
	t.sent = append(t.sent, back...)
	return nil, back
}

func (t *Thinking) message(m int) {
	msg := &t.conv.Messages[m]
	if msg.Class == session.ClassPrompt && !msg.RecordOnly {
		t.sent = append(t.sent, t.turn...)
		t.turn = t.turn[:0]
	}
	for b := range msg.Blocks {
		if k := msg.Blocks[b].Kind; k == jsonl.KindThinking || k == jsonl.KindRedactedThinking {
			t.turn = append(t.turn, policy.Target{Item: policy.ItemID(m), Block: b})
		}
	}
}

// forget drops what has been said so far: it is not sent any more.
func (t *Thinking) forget(m int) {
	t.next, t.turn, t.sent, t.out = m, t.turn[:0], nil, nil
}
