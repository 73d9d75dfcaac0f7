package record

import (
	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// boundary rebuilds the view at a recorded compaction.
func (t *recordTrack) boundary(act Act) {
	b := &t.r.Conv.Boundaries[act.Index]
	e := policy.Edit{
		Request: b.Request, Kind: policy.KindSummarize, Trigger: b.Trigger,
		Reason: "the client compacted (" + t.r.CompactionKind(act.Index).Text(b.Trigger) + ")",
		Detail: known(map[string]int{"pre_tokens": b.PreTokens, "post_tokens": b.PostTokens}),
	}
	if b.Summary >= 0 || t.r.Conv.Product == session.Product { // other clients leave messages out without a summary
		e.Call = &policy.Call{Kind: "compaction"} // compactionCall says more
	}
	for _, m := range b.Kept() {
		e.Keep = append(e.Keep, policy.ItemID(m))
	}
	t.apply(e, act)
	if b.Summary >= 0 {
		t.r.Summary[act.Index] = t.r.Cal.Message(b.Summary)
		if sealed(&t.r.Conv.Messages[b.Summary]) {
			t.r.Summary[act.Index] = max(t.r.Summary[act.Index], t.r.Client.At(b.Version).SealedSummary)
		}
	}
	t.pending = act.Index
}

// compactedWithin is the edit for what the API compacted within request k (0-based): the compaction's iterations are
// a call of their own, and the message's iteration was sent only what the last of them wrote.
func compactedWithin(k int, c *jsonl.Spent) policy.Edit {
	return policy.Edit{
		Request: k + 1, Kind: policy.KindSummarize, Trigger: "auto",
		Reason: "the API compacted within the request, as its usage says",
		Insert: []policy.Synthetic{{
			Role: "user", Label: "compaction", Summary: true, Contents: []policy.Content{{Kind: jsonl.KindText, Tokens: c.Output}},
		}},
		Call:   &policy.Call{Kind: "compaction", Input: c.Context(), Output: c.Output, Prefix: "session"},
		Detail: map[string]int{"pre_tokens": c.Context()},
	}
}

// WithoutCompaction takes the summary that the API wrote out of response m to a request: on the recorded track it stands
// before the response, and under a policy no client wrote it.
func WithoutCompaction(v *view.View, m, block, request int) error {
	_, err := v.Apply(policy.Edit{
		Request: request, Stage: policy.StageServer, Kind: policy.KindClear, Trigger: TriggerAuto,
		Target: policy.BlockOf(m, block), New: &policy.Content{Kind: jsonl.KindUnknown, Gone: true},
		Reason: "the summary that the API wrote stands before the response",
	})
	return err
}

// sealed reports whether a recorded summary is encrypted, and its encrypted form was taken out of the recording: only
// the type of its block is left.
func sealed(m *session.Message) bool {
	if len(m.Blocks) == 0 {
		return false
	}
	bl := &m.Blocks[0]
	return bl.Kind == jsonl.KindUnknown && bl.JSON.Bytes <= len(`{"type":""}`)+len(bl.Type)
}
