package tokens

import (
	"sort"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// Span is what joined between two requests of known size, and by how much the
// recorded context grew.
type Span struct {
	From, To int  // messages
	Request  int  // n of the later request
	Context  int  // recorded context of the later request, tokens
	Growth   int  // over that of the earlier
	Cut      bool // a compaction lies in it
	Learn    bool // what grew is what joined: its growth teaches what blocks weigh
}

// Drop is a fall of the recorded context that no line explains.
type Drop struct {
	Request int    // n of the first request after it
	Tokens  int    // how far the recorded context fell
	Cause   string // what changed at the same request, what the server cleared, or Unrecorded
	Shared  bool   // a change of scale (model, version): every view shares it
}

// DropThreshold is how far the recorded context must fall, in tokens, for the
// fall to be told as an inferred event (docs/internals/decisions.md, decision 3).
const DropThreshold = 2000

// Spans are those of a conversation's requests, in order. A span teaches where
// the context grew, nothing that the client recorded lies in it of what it took
// out of the view, the model stayed the same and no result is lost.
func Spans(conv *session.Conversation) ([]Span, []Drop) {
	cut, edited := map[int]bool{}, editedRequests(conv)
	for i := range conv.Boundaries {
		cut[conv.Boundaries[i].Request] = true
	}
	var spans []Span
	var drops []Drop
	prev := -1
	for k := range conv.Requests {
		cur := &conv.Messages[conv.Requests[k].Message]
		if !cur.HasUsage {
			continue
		}
		if prev < 0 {
			prev = k
			continue
		}
		p := &conv.Messages[conv.Requests[prev].Message]
		s := Span{
			From: conv.Requests[prev].Message, To: conv.Requests[k].Message, Request: conv.Requests[k].N,
			Context: cur.Usage.Context(), Growth: cur.Usage.Context() - p.Usage.Context(),
		}
		s.Learn = s.Growth > 0 && p.Model == cur.Model
		told := false
		for n := conv.Requests[prev].N + 1; n <= s.Request; n++ {
			within := conv.Messages[conv.Requests[n-1].Message].Usage.Compactions().Calls > 0
			s.Cut = s.Cut || cut[n] || within
			told = told || cut[n] || edited[n] || within
		}
		s.Learn = s.Learn && !told
		for m := s.From; m < s.To; m++ {
			s.Learn = s.Learn && !conv.Messages[m].Lost
		}
		if !told && s.Growth < -DropThreshold {
			drops = append(drops, dropped(p, cur, &s))
		}
		spans = append(spans, s)
		prev = k
	}
	return spans, drops
}

// editedRequests are the requests before which the client recorded that it
// took something out of the view, compactions left out.
func editedRequests(conv *session.Conversation) map[int]bool {
	edited := map[int]bool{}
	for i := range conv.Micro {
		edited[conv.Micro[i].Request] = true
	}
	for i := range conv.Snips {
		edited[conv.Snips[i].Request] = true
	}
	for i := range conv.Collapses {
		edited[conv.Collapses[i].Request] = true
	}
	for i := range conv.Replaced {
		if r := &conv.Replaced[i]; firstHolding(conv, r.Message) < r.Request {
			edited[r.Request] = true
		}
	}
	return edited
}

// replacedAtOnce is the results of which the client recorded that it sent
// another text, and did so from the first request on that held them.
func replacedAtOnce(conv *session.Conversation) map[policy.Target]jsonl.Metrics {
	var other map[policy.Target]jsonl.Metrics
	for i := range conv.Replaced {
		r := &conv.Replaced[i]
		if firstHolding(conv, r.Message) < r.Request {
			continue
		}
		if other == nil {
			other = map[policy.Target]jsonl.Metrics{}
		}
		other[policy.Target{Item: policy.ItemID(r.Message), Block: r.Block}] = jsonl.Measure(r.Text)
	}
	return other
}

// firstHolding is the number of the first request whose input holds a message,
// or one more than there are.
func firstHolding(conv *session.Conversation, message int) int {
	return 1 + sort.Search(len(conv.Requests), func(k int) bool { return conv.Requests[k].Message > message })
}

// dropped says what is known of a fall from the context of p to that of q.
func dropped(p, q *session.Message, s *Span) Drop {
	d := Drop{Request: s.Request, Tokens: -s.Growth, Cause: Unexplained, Shared: true}
	switch {
	case p.Model != q.Model:
		d.Cause = "model switch from " + p.Model + " to " + q.Model
	case p.Version != q.Version:
		d.Cause = "client version " + p.Version + " to " + q.Version
	case unrecordedMicrocompaction(p.Version, p.Usage.Total(), -s.Growth):
		d.Cause, d.Shared = Unrecorded, false
	}
	return d
}

// Causes of drops that a line does not tell.
const (
	Unexplained     = "no line says why"
	ThinkingCleared = "the server cleared the thinking of earlier turns"
)

// Unrecorded is the cause of a drop that looks like a microcompaction by size
// in all but the line that says so.
const Unrecorded = "unrecorded microcompaction"

// unrecordedMicrocompaction reports whether a fall is what a microcompaction
// by size leaves behind: clients up to 2.1.24 made them from 135,000 tokens
// used on, to save at least 20,000 by their estimate.
func unrecordedMicrocompaction(version string, used, fell int) bool {
	return used >= 135000 && fell >= 16000 && session.CompareVersions(version, "2.1.25") < 0
}
