package tokens

import (
	"slices"
	"sort"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// Increment is what joined between two requests of known size.
type Increment struct {
	From, To int  // messages
	Request  int  // n of the later request
	Context  int  // recorded context of the later request, tokens
	Growth   int  // over that of the earlier one
	Cut      bool // a compaction is in it
	Whole    bool // the growth is what joined, less what the server left out from there on
	Learn    bool // Whole, and the context grew: so it gives the weight of blocks
}

// Drop is a fall of the recorded context that no line explains.
type Drop struct {
	Request int    // n of the first request after it
	Tokens  int    // size of the fall
	Cause   string // what changed at the same request, or Unrecorded
	Shared  bool   // a change of scale (model, version): every view shares it
}

// DropThreshold is the least fall of the recorded context, in tokens, that is reported as an inferred event
// (docs/internals/decisions.md, decision 3).
const DropThreshold = 2000

// Spans returns the spans of a conversation's requests, in order. A span is whole if neither the client nor the API recorded
// a removal from the view and was not restarted, the model stayed the same and no result is lost.
func Spans(conv *session.Conversation, model CountedModel) (spans []Increment, drops []Drop) {
	cut := map[int]bool{}
	edited := editedRequests(conv)
	for i := range conv.Boundaries {
		cut[conv.Boundaries[i].Request] = true
	}
	spans = make([]Increment, 0, len(conv.Requests))
	prev := -1
	for k := range conv.Requests {
		cur := conv.Response(k)
		if !cur.HasUsage {
			continue
		}
		from := prev
		if prev = k; from < 0 {
			continue
		}
		p := conv.Response(from)
		s := Increment{
			From: conv.Requests[from].Message, To: conv.Requests[k].Message, Request: conv.Requests[k].N,
			Context: cur.Usage.Context(), Growth: cur.Usage.Context() - p.Usage.Context(),
		}
		_, alone, compacted := p.Compaction()
		_, _, within := cur.Compaction()
		s.Cut = compacted && alone || within
		removed := s.Cut || compacted || p.Applied != cur.Applied // a summary is in the request that it answers
		for n := conv.Requests[from].N + 1; n <= s.Request; n++ {
			s.Cut = s.Cut || cut[n] || conv.Response(n-1).Usage.Compactions().Calls > 0
			removed = removed || s.Cut || edited[n]
		}
		s.Whole = p.Model == cur.Model && !removed &&
			!slices.ContainsFunc(conv.Messages[s.From:s.To], func(m session.Message) bool { return m.Lost })
		s.Learn = s.Whole && s.Growth > 0
		if !removed && s.Growth < -DropThreshold {
			drops = append(drops, dropped(p, cur, &s, model))
		}
		spans = append(spans, s)
	}
	return spans, drops
}

// editedRequests are the requests before which the client recorded a removal from the view other than a compaction, or
// read the history back after a restart.
func editedRequests(conv *session.Conversation) map[int]bool {
	edited := map[int]bool{}
	for i := range conv.Micro {
		edited[conv.Micro[i].Request] = true
	}
	for i := range conv.Snips {
		edited[conv.Snips[i].Request] = true
	}
	for i := range conv.Restarts {
		edited[conv.Restarts[i].Request] = true
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

// replacedAtOnce returns the results that, by the client's record, were sent with another text from the first request
// on that held them.
func replacedAtOnce(conv *session.Conversation) map[policy.Target]jsonl.Metrics {
	var other map[policy.Target]jsonl.Metrics
	for _, r := range conv.Replaced {
		if firstHolding(conv, r.Message) < r.Request {
			continue
		}
		if other == nil {
			other = map[policy.Target]jsonl.Metrics{}
		}
		other[policy.BlockOf(r.Message, r.Block)] = jsonl.Measure(r.Text)
	}
	return other
}

// firstHolding is the number of the first request whose input holds a message, or one more than there are.
func firstHolding(conv *session.Conversation, message int) int {
	return 1 + sort.Search(len(conv.Requests), func(k int) bool { return conv.Requests[k].Message > message })
}

// dropped returns the drop from the context of p to that of q.
func dropped(p, q *session.Message, s *Increment, model CountedModel) Drop {
	d := Drop{Request: s.Request, Tokens: -s.Growth, Cause: Unexplained, Shared: true}
	switch {
	case p.Model != q.Model:
		d.Cause = "model switch from " + p.Model + " to " + q.Model
	case p.Version != q.Version:
		d.Cause = "client version " + p.Version + " to " + q.Version
	case model.client(p.Version).SilentMicrocompaction(p.Usage.Total(), -s.Growth):
		d.Cause = Unrecorded
		d.Shared = false
	}
	return d
}

// Causes of drops that no line records.
const (
	Unexplained = "no line says why"
	Unrecorded  = "unrecorded microcompaction" // of the size of a microcompaction
)
