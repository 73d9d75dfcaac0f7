package tokens

import (
	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// Thinking follows which thinking blocks of a conversation the server leaves out of what a model is sent. Some models
// are sent that of the current turn alone: what came before the user's last prompt is left out, unless the client asks
// the server to keep it.
type Thinking struct {
	conv        *session.Conversation
	clears      func(model string) bool
	untilAnswer func(model string) bool
	client      func(version string) policy.ClientVersion
	model       string // of the last request
	version     string // of the client that sent it
	said        string // the model of the last response
	clear       bool   // clears of it
	next        int    // the next message
	turn        []policy.Target
	answered    int             // of turn: up to its last final answer
	copied      bool            // all responses so far were another session's
	open        bool            // the last of them was no final answer
	sent        []policy.Target // of earlier turns, not left out
	out         []policy.Target // left out
}

// NewThinking returns the state at the beginning of a conversation, for what the server does with models.
func NewThinking(conv *session.Conversation, model CountedModel) *Thinking {
	return &Thinking{conv: conv, clears: model.ClearsThinking, untilAnswer: model.UntilAnswer, client: model.client}
}

// Request follows the conversation up to the request to a model that message m answers. left are the blocks that the
// server leaves out from this request on. back are the blocks that it left out before and sends to the model again.
func (t *Thinking) Request(m int, model string) (left, back []policy.Target) {
	if t.clears == nil {
		return nil, nil
	}
	for ; t.next < m; t.next++ {
		t.message(t.next)
	}
	if t.copied && t.open && t.keeps(model) { // a fork in mid-turn is sent the thinking of all of its parent's turns
		t.turn = append(t.sent, t.turn...)
		t.sent = nil
		t.answered = 0
	}
	t.copied = false
	if version := t.conv.Messages[m].Version; model != t.model || version != t.version {
		t.model = model
		t.version = version
		t.clear = t.clears(model) && !t.client(version).KeepsThinking
	}
	if t.clear {
		left = t.sent
		t.sent = nil
		t.out = append(t.out, left...)
		return left, nil
	}
	back = t.out
	t.out = nil
	t.sent = append(t.sent, back...)
	return nil, back
}

func (t *Thinking) message(m int) {
	msg := &t.conv.Messages[m]
	if msg.Class == session.ClassPrompt && !msg.RecordOnly {
		ended := len(t.turn)
		if t.keeps(t.said) {
			ended = t.answered
		}
		t.sent = append(t.sent, t.turn[:ended]...)
		t.turn = append(t.turn[:0], t.turn[ended:]...)
		t.answered = 0
	}
	for b := range msg.Blocks {
		if k := msg.Blocks[b].Kind; k == jsonl.KindThinking || k == jsonl.KindRedactedThinking {
			t.turn = append(t.turn, policy.BlockOf(m, b))
		}
	}
	if msg.Role == session.Assistant {
		t.copied = msg.Is(session.NoRequest) && (t.copied || t.said == "")
		t.said, t.open = msg.Model, !isFinalAnswer(msg)
		if !t.open {
			t.answered = len(t.turn)
		}
	}
}

// keeps reports whether the server keeps the thinking of a model's turn until it is answered.
func (t *Thinking) keeps(model string) bool { return t.untilAnswer != nil && t.untilAnswer(model) }

// isFinalAnswer reports whether a response says something, calls no tool of the client's, and was not interrupted.
func isFinalAnswer(msg *session.Message) bool {
	says := false
	for b := range msg.Blocks {
		switch msg.Blocks[b].Kind {
		case jsonl.KindToolUse:
			return false
		case jsonl.KindText:
			says = true
		}
	}
	return says && msg.StopReason != ""
}

// forget drops what has been said so far: it is not sent any more.
func (t *Thinking) forget(m int) {
	t.next = m
	t.turn = t.turn[:0]
	t.answered = 0
	t.sent = nil
	t.out = nil
}
