package record

import (
	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// longestPlain is the most tokens that belong to the form of a request and not to its content.
const longestPlain = 16

// tails are those of a conversation's requests. What is not known before a request is taken as none.
func (r *Record) tails() []cache.Tail {
	var plain [2]plainInput // without and with something that the user typed
	sent := 0
	asks := false   // the client sends a request after each turn that no line holds
	behind := false // attachments at the end of a request are behind the last breakpoint
	tails := make([]cache.Tail, len(r.Conv.Requests))
	for k := range tails {
		q := r.Conv.Requests[k].Message
		prompt, result := typed(r.Conv, k)
		kind := min(prompt+1, 1)
		attached := attachedFrom(r.Conv, k)
		t := &tails[k]
		*t = cache.Tail{Plain: plain[kind].known, Behind: q, Ended: turnEnded(r.Conv, k), Typed: prompted(r.Conv, k)}
		if behind {
			t.Behind = attached
		}
		if result || asks && t.Ended {
			t.Asked = prompt
		}
		msg := &r.Conv.Messages[q]
		if !msg.HasUsage {
			continue
		}
		u := r.Usage(msg)
		if t.Ended && u.CacheRead*2 > sent {
			asks = u.CacheRead > sent
		}
		if sent = u.Context(); u.Input <= longestPlain {
			plain[kind].learn(u.Input)
		}
		if attached < q {
			behind = u.Input > longestPlain
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
	p.last = n
	p.any = true
}

// asksAgain reports whether the recorded client sends a request after each turn that no line holds, such as the one for
// a suggestion of the next prompt: the first request of the next turn then reads the last response of this one.
func asksAgain(conv *session.Conversation, cal *tokens.Calibration) bool {
	yes := 0
	no := 0
	for k := range conv.Requests {
		m := conv.Requests[k].Message
		u := conv.Messages[m].Usage
		if !turnEnded(conv, k) || u.CacheRead == 0 {
			continue
		}
		response := 0
		joined := 0
		for i := conv.Requests[k-1].Message; i < m; i++ {
			for b := range conv.Messages[i].Blocks {
				if kind := conv.Messages[i].Blocks[b].Kind; kind != jsonl.KindThinking && kind != jsonl.KindRedactedThinking {
					joined += cal.Block(i, b)
				}
			}
			if response == 0 {
				response = joined
			}
		}
		switch before := u.Context() - joined; {
		case u.CacheRead > before+response/2:
			yes++
		case u.CacheRead > before-before/10: // else the cache was lost
			no++
		}
	}
	return yes > no
}
