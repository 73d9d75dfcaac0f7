package record

import (
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// Tail is what the requests before one have shown of where its cached part ends.
type Tail struct {
	Plain  int  // tokens that the client sends behind the last breakpoint, at least
	Behind bool // attachments at the end of a request are behind it, too
	Asked  bool // the client has sent a request that no line holds, and it has written all before the prompt to the cache
}

// longestPlain is the most tokens that belong to the form of a request and not to its content.
const longestPlain = 16

// tails are those of a conversation's requests. What is not known before a request is taken as none.
func (r *Record) tails() []Tail {
	var plain [2]plainInput // without and with something that the user typed
	sent := 0
	var known Tail
	tails := make([]Tail, len(r.Conv.Requests))
	for k := range tails {
		q := r.Conv.Requests[k].Message
		prompt, result := Asks(r.Conv, k)
		kind := min(prompt+1, 1)
		ended := TurnEnded(r.Conv, k)
		tails[k] = Tail{Plain: plain[kind].known, Behind: known.Behind, Asked: result || known.Asked && ended}
		msg := &r.Conv.Messages[q]
		if !msg.HasUsage {
			continue
		}
		u := r.Usage(msg)
		if ended && u.CacheRead*2 > sent {
			known.Asked = u.CacheRead > sent
		}
		if sent = u.Context(); u.Input <= longestPlain {
			plain[kind].learn(u.Input)
		}
		if AttachedFrom(r.Conv, k) < q {
			known.Behind = u.Input > longestPlain
		}
	}
	return tails
}

// plainInput is what requests of one kind have shown of their plain input, tokens.
type plainInput struct {
	known, last int
	any         bool
}

// learn takes a request's. Two in succession that are the same replace what was known.
func (p *plainInput) learn(n int) {
	if !p.any || n == p.last {
		p.known = n
	}
	p.last, p.any = n, true
}

// Asks returns the first message before request k (0-based) that the user typed after the response before it, or -1,
// and whether that follows results of tools: the client had sent these, and the response was lost.
func Asks(conv *session.Conversation, k int) (prompt int, results bool) {
	if k == 0 {
		return 0, false
	}
	for m := conv.Requests[k-1].Message + 1; m < conv.Requests[k].Message; m++ {
		switch msg := &conv.Messages[m]; msg.Class {
		case session.ClassPrompt:
			return m, results && !msg.Is(session.Queued)
		case session.ClassToolResult:
			results = true
		case session.ClassInterrupt:
			return m, false
		}
	}
	return -1, false
}

// AttachedFrom is the first of the attachments that end request k (0-based), or its response where there are none.
func AttachedFrom(conv *session.Conversation, k int) int {
	m := conv.Requests[k].Message
	for m > 0 && conv.Messages[m-1].Class == session.ClassAttachment {
		m--
	}
	return m
}

// Prompted reports whether a turn begins with request k (0-based).
func Prompted(conv *session.Conversation, k int) bool {
	m, _ := Asks(conv, k)
	return k > 0 && m >= 0 && conv.Messages[m].Class == session.ClassPrompt && !conv.Messages[m].Is(session.Queued)
}
