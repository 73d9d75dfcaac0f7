package replay

import (
	"cmp"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/cache"
)

// tail is what the requests before one have shown of where its cached part ends.
type tail struct {
	plain  int  // tokens that the client sends behind the last breakpoint, at least
	behind bool // attachments at the end of a request are behind it, too
	asked  bool // the client has sent a request that no line holds, and it has written all before the prompt to the cache
}

// longestPlain is the most tokens that belong to the form of a request and not to its content.
const longestPlain = 16

// tails are those of a conversation's requests. What is not known before a request is taken as none.
func (r *Record) tails() []tail {
	var plain [2]plainInput // without and with something that the user typed
	sent := 0
	var known tail
	tails := make([]tail, len(r.Conv.Requests))
	for k := range tails {
		q := r.Conv.Requests[k].Message
		prompt, result := asks(r.Conv, k)
		kind := min(prompt+1, 1)
		ended := turnEnded(r.Conv, k)
		tails[k] = tail{plain: plain[kind].known, behind: known.behind, asked: result || known.asked && ended}
		msg := &r.Conv.Messages[q]
		if !msg.HasUsage {
			continue
		}
		u := r.usage(msg)
		if ended && u.CacheRead*2 > sent {
			known.asked = u.CacheRead > sent
		}
		if sent = u.Context(); u.Input <= longestPlain {
			plain[kind].see(u.Input)
		}
		if attachedFrom(r.Conv, k) < q {
			known.behind = u.Input > longestPlain
		}
	}
	return tails
}

// plainInput is what requests of one kind have shown of their plain input, tokens.
type plainInput struct {
	known, last int
	any         bool
}

// see takes a request's. Two in succession that are the same replace what was known.
func (p *plainInput) see(n int) {
	if !p.any || n == p.last {
		p.known = n
	}
	p.last, p.any = n, true
}

// asks returns the first message before request k (0-based) that the user typed after the response before it, or -1,
// and whether that follows results of tools: the client had sent these, and the response was lost.
func asks(conv *session.Conversation, k int) (prompt int, results bool) {
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

// attachedFrom is the first of the attachments that end request k (0-based), or its response where there are none.
func attachedFrom(conv *session.Conversation, k int) int {
	m := conv.Requests[k].Message
	for m > 0 && conv.Messages[m-1].Class == session.ClassAttachment {
		m--
	}
	return m
}

// covered is the end of the part of request k (0-based) that its last breakpoint covers: a place of the view, and the
// tokens before it.
func (e *engine) covered(k, payload int) (place, tokens int) {
	t := e.r.tail[k]
	if !t.behind {
		return e.view.Places(), payload - t.plain
	}
	place, tokens = e.until(attachedFrom(e.conv, k), payload)
	return place, tokens - t.plain
}

// until is the place in the view at which the messages from m on begin, and the tokens of a payload before them.
func (e *engine) until(m, payload int) (place, tokens int) {
	place, tokens = e.view.Places(), payload
	for id := range e.view.Backward {
		if int(id) < m {
			break
		}
		place, _ = e.view.Place(id)
		tokens -= e.view.PayloadWeight(id)
	}
	return place, tokens
}

// askedAgain puts into the cache what a request that no line holds has written before main request k (0-based).
func (e *engine) askedAgain(k, payload int) {
	msg := &e.conv.Messages[e.conv.Requests[k].Message]
	if k == 0 || !e.r.tail[k].asked || e.cache.kindFor(cmp.Or(e.opt.Model, msg.Model())).Mode == cache.Auto {
		return
	}
	prompt, _ := asks(e.conv, k)
	place, tokens := e.until(prompt, payload)
	before := e.conv.Requests[k-1].Message
	if n, estimated := e.output(before); !estimated && turnEnded(e.conv, k) {
		tokens = e.cache.sent + n - e.r.tail[k].plain
	}
	e.cache.asked(firstPlace+place-1, tokens, e.conv.Messages[before].End())
}

// asked is askedAgain for a prefix that ends at a position.
func (c *caching) asked(position, tokens int, at time.Time) {
	if more := tokens - c.sent; more > 0 && tokens >= c.minimum(c.model) {
		c.sim.Add(cache.Breakpoint{Position: position, Tokens: tokens, TTL: c.ttl}, c.model, at)
		c.ladder.grow(c.model, more)
	}
}
