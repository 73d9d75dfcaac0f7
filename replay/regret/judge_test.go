package regret

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// blocksOf is the index of a conversation with random messages, which has no uses.
func blocksOf(r *rand.Rand) *Index {
	conv := &session.Conversation{Messages: make([]session.Message, 5+r.IntN(40))}
	x := &Index{conv: conv, base: make([]int, len(conv.Messages)+1)}
	for m := range conv.Messages {
		conv.Messages[m].RecordOnly = r.IntN(8) == 0
		if m > 0 && r.IntN(2) == 0 {
			conv.Requests = append(conv.Requests, session.APICall{Message: m})
		}
		for range r.IntN(3) {
			x.of = append(x.of, m)
		}
		x.base[m+1] = len(x.of)
	}
	x.forms = newForms(len(x.of))
	return x
}

// randomActs are edits of whole messages and of the server's view, also of what is not in view.
func randomActs(r *rand.Rand, x *Index) (edits []policy.Edit) {
	for n := 1; n <= len(x.conv.Requests); n++ {
		joined := x.conv.Requests[n-1].Message
		for range r.IntN(4) {
			m := r.IntN(joined)
			id := policy.ItemID(m)
			e := policy.Edit{Request: n, Joined: joined, Target: policy.Target{Item: id}}
			switch e.Kind = policy.KindServerKeep; r.IntN(5) {
			case 0:
				e.Kind, e.Keep = policy.KindSummarize, []policy.ItemID{id, policy.ItemID(r.IntN(joined))}
			case 1:
				e.Kind, e.Items = policy.KindRemove, []policy.ItemID{id}
			case 2:
				e.Kind = policy.KindServerClear
			}
			if x.base[m] < x.base[m+1] {
				edits = append(edits, e)
			}
		}
	}
	return edits
}

// TestRemovedBlocks compares the removals that a judge notes with those of one that goes through all messages at each
// rebuild.
func TestRemovedBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	removed := 0
	for range 2000 {
		x := blocksOf(r)
		edits, record := randomActs(r, x), r.IntN(2) == 0
		j, plain := newJudge(x, edits, record), newJudge(x, edits, record)
		plain.onEdit = func(i int, e *policy.Edit) {
			if e.Kind != policy.KindSummarize {
				plain.note(i, e)
				return
			}
			for m := range plain.joined {
				if b := x.base[m]; b < x.base[m+1] && !plain.present[b] {
					plain.removeMessage(m, i)
				}
			}
		}
		first := map[int]int{} // by block: the edit that removed it first
		for n := 1; n <= len(x.conv.Requests); n++ {
			must.Do(t, errors.Join(j.until(edits, n), plain.until(edits, n)))
			if !slices.Equal(j.removed, plain.removed) || !slices.Equal(j.removedBy, plain.removedBy) {
				t.Fatalf("request %d: removed %v by %v, want %v by %v", n, j.removed, j.removedBy, plain.removed, plain.removedBy)
			}
			for b, by := range j.removedBy {
				if by > 0 && first[b] > 0 && first[b] != by {
					removed++ // again
				}
				if first[b] == 0 {
					first[b] = by
				}
			}
		}
	}
	if removed < 100 {
		t.Errorf("%d blocks were removed again", removed)
	}
}
