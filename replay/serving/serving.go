// Package serving lays the requests of a replay out as blocks of tokens, as the prefix cache of a model server sees
// them. A block has a number for what is in it and all that stands before it: two requests have the same number in a
// place if they are equal up to there. No text is read.
package serving

import (
	"slices"
	"time"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay"
)

// Served is one request.
type Served struct {
	Start time.Time // zero: not known
	End   time.Time // of the response; zero: not known
	Model string
	In    int // tokens of the payload
	Out   int // tokens of the response
	Stop  string
	last  int // index of the last span of its prompt
}

// PromptBlocks are the requests of one replay in blocks. See New.
type PromptBlocks struct {
	Requests []Served

	size   int
	count  int    // blocks numbered so far
	spans  []span // spans[0] ends where every prompt begins
	next   map[step]int
	pieces map[piece]int
	serial int // pieces that are like no other

	head    []part // system prompt and tools
	of      replay.SentHead
	fewer   int // tokens that edits took off what no message holds
	fillers []filler
}

// span is a piece of prompts behind all that stands before it.
type span struct {
	before int // the span in front of it
	end    int // tokens up to its end
	first  int // number of the first block that ends in it
}

// step leads from a span to one behind it.
type step struct{ from, piece, tokens int }

// part is a piece of a prompt with its length. A piece has one length wherever it stands unchanged.
type part struct{ piece, tokens int }

// piece is what a part of a prompt is: a recorded block, a text that the policy made, or what is like nothing else.
type piece struct {
	kind        pieceKind
	item, block int
	text        string
}

type pieceKind int8

const (
	recorded pieceKind = iota
	stub               // the recorded stub of an offloaded result
	made
	unlike
)

// filler is tokens on no line behind a message: unrecorded reminders.
type filler struct {
	after policy.ItemID
	any   bool // there is a message
	part
}

// New returns prompts in blocks of so many tokens.
func New(size int) *PromptBlocks {
	return &PromptBlocks{size: size, spans: make([]span, 1), next: map[step]int{}, pieces: map[piece]int{}}
}

// Add adds a request. It is the Send of replay.Options.
func (l *PromptBlocks) Add(q *replay.SentRequest) {
	var parts []part
	switch {
	case q.Call == nil:
		parts = l.main(q)
	case q.Call.Prefix == "session":
		parts = l.prefixed(q)
	}
	tokens := 0
	for _, p := range parts {
		tokens += p.tokens
	}
	if tokens < q.Payload {
		parts = append(parts, part{l.unlike(), q.Payload - tokens})
	}
	at := 0
	for _, p := range parts {
		if at = l.step(at, p); l.spans[at].end >= q.Payload {
			break
		}
	}
	l.Requests = append(l.Requests, Served{Start: q.Start, End: q.End, Model: q.Model, In: q.Payload, Out: q.Output, Stop: q.Stop, last: at})
}

// Blocks returns the number of blocks numbered: from 1 to it.
func (l *PromptBlocks) Blocks() int { return l.count }

// AppendBlocks appends the numbers of a request's whole blocks. What is behind the last of them is no whole block.
func (l *PromptBlocks) AppendBlocks(list []int, q *Served) []int {
	from := len(list)
	var path []int
	for at := q.last; at > 0; at = l.spans[at].before {
		path = append(path, at)
	}
	for _, at := range slices.Backward(path) {
		s := &l.spans[at]
		for b := range s.end/l.size - l.spans[s.before].end/l.size {
			if len(list)-from == q.In/l.size {
				return list
			}
			list = append(list, s.first+b)
		}
	}
	return list
}

// step is the span of a part behind another span.
func (l *PromptBlocks) step(from int, p part) int {
	key := step{from, p.piece, p.tokens}
	at, ok := l.next[key]
	if !ok {
		at = len(l.spans)
		s := span{from, l.spans[from].end + p.tokens, l.count + 1}
		l.count += s.end/l.size - l.spans[from].end/l.size
		l.spans, l.next[key] = append(l.spans, s), at
	}
	return at
}

func (l *PromptBlocks) number(p piece) int {
	n, ok := l.pieces[p]
	if !ok {
		n = len(l.pieces)
		l.pieces[p] = n
	}
	return n
}

// unlike is a piece like no other.
func (l *PromptBlocks) unlike() int {
	l.serial++
	return l.number(piece{kind: unlike, item: l.serial})
}

// main is what a main request sends. What no message holds is the head and what stands on no line. How much that is
// differs between requests by the error of the messages' weights, which must not move all that is behind it: the head
// stays, what is more stands behind the last message, and by what is less the end is cut.
func (l *PromptBlocks) main(q *replay.SentRequest) []part {
	v := q.View
	l.fillers = slices.DeleteFunc(l.fillers, func(f filler) bool { return f.any && !v.Has(f.after) })
	messages := 0
	for id := range v.Items {
		messages += max(v.PayloadWeight(id), 0)
	}
	fewer := messages - v.PayloadTokens() // that edits took off what no message holds
	if l.head == nil || l.of.SharedChanges != q.Head.SharedChanges || l.of.Changes != q.Head.Changes {
		l.fillers = nil
		l.newHead(q.Head, q.Payload-messages)
	} else if fewer > l.fewer {
		l.takeOff(fewer - l.fewer)
	}
	l.fewer = fewer
	over := q.Payload - messages - l.head[0].tokens - l.head[1].tokens
	for i := range l.fillers {
		over -= l.fillers[i].tokens
	}
	if over > 0 {
		last, any := v.Last()
		l.fillers = append(l.fillers, filler{last, any, part{l.unlike(), over}})
	}
	return l.sent(v, nil)
}

// takeOff takes tokens off what no message holds, the last of it first.
func (l *PromptBlocks) takeOff(tokens int) {
	for n := len(l.fillers); tokens > 0 && n > 0; n = len(l.fillers) {
		f := &l.fillers[n-1]
		cut := min(f.tokens, tokens)
		tokens -= cut
		if f.tokens -= cut; f.tokens == 0 {
			l.fillers = l.fillers[:n-1]
		}
	}
	if tokens > 0 {
		l.newHead(l.of, l.head[0].tokens+l.head[1].tokens-tokens)
	}
}

// newHead begins another head of so many tokens. Of the one before it keeps what all sessions of the client share, where
// that has not changed.
func (l *PromptBlocks) newHead(of replay.SentHead, tokens int) {
	tokens = max(tokens, 0)
	shared := min(of.Shared, tokens)
	first := l.unlike
	if len(l.head) > 0 && l.of.SharedChanges == of.SharedChanges && l.head[0].tokens == shared {
		kept := l.head[0].piece
		first = func() int { return kept }
	}
	l.head, l.of = []part{{first(), shared}, {l.unlike(), tokens - shared}}, of
}

// prefixed is what a call of the policy's own with the session's prefix sends of the session: its prompt follows.
func (l *PromptBlocks) prefixed(q *replay.SentRequest) []part {
	if l.head == nil {
		l.newHead(q.Head, q.Overhead)
	}
	return l.sent(q.View, q.Call.Cut)
}

// sent is the prompt up to a block of a view; nil: all of it.
func (l *PromptBlocks) sent(v *view.View, cut *policy.Target) []part {
	var parts []part
	add := func(list ...part) {
		for _, p := range list {
			if p.tokens > 0 {
				parts = append(parts, p)
			}
		}
	}
	add(l.head...)
	at := 0
	for ; at < len(l.fillers) && !l.fillers[at].any; at++ {
		add(l.fillers[at].part)
	}
	behind := map[policy.ItemID][]part{}
	for _, f := range l.fillers[at:] {
		behind[f.after] = append(behind[f.after], f.part)
	}
	for id := range v.Items {
		rest := v.PayloadWeight(id)
		for b := range v.Blocks(id) {
			t := policy.Target{Item: id, Block: b}
			if cut != nil && cut.Item == id && cut.Block <= b {
				return parts
			}
			n := v.PayloadBlockTokens(t)
			rest -= n
			if n > 0 {
				add(part{l.block(v, t), n})
			}
		}
		if tag := v.Tag(id); tag != nil && rest > 0 {
			add(part{l.content(tag, policy.Target{Item: id, Block: policy.WholeItem}), rest})
		}
		add(behind[id]...)
	}
	return parts
}

// block is what stands in a block's place in the payload.
func (l *PromptBlocks) block(v *view.View, t policy.Target) int {
	with, on := v.PayloadReplacement(t)
	if !on {
		with = v.Replacement(t)
	}
	if with == nil {
		return l.number(piece{kind: recorded, item: int(t.Item), block: t.Block})
	}
	return l.content(with, t)
}

// content is a content in a place.
func (l *PromptBlocks) content(c *policy.Content, at policy.Target) int {
	switch {
	case c.Ref != nil && c.Stub:
		return l.number(piece{kind: stub, item: int(c.Ref.Item), block: c.Ref.Block})
	case c.Ref != nil:
		return l.number(piece{kind: recorded, item: int(c.Ref.Item), block: c.Ref.Block})
	case c.Text != "":
		return l.number(piece{kind: made, text: c.Text})
	}
	return l.number(piece{kind: made, item: int(at.Item), block: at.Block}) // a number of tokens
}
