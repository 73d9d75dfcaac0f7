package goose

import (
	"slices"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

// callers lists the responses of a view that call tools, of earlier turns and of the current one.
func callers(v policy.View) (earlier, turn []response) {
	for id := range v.Items {
		m := v.Message(id)
		if beginsTurn(m) {
			earlier, turn = append(earlier, turn...), nil
		}
		if m == nil || m.Role != session.Assistant {
			continue
		}
		if n := len(callsOf(id, m)); n > 0 {
			turn = append(turn, response{id, n})
		}
	}
	return earlier, turn
}

// TestGooseFollows compares what the stage notes of a view with a walk through all of it, in views that both stages and
// others change.
func TestGooseFollows(t *testing.T) {
	noted := 0
	for seed := range uint64(150) {
		d := stagetest.NewDice(seed, nil)
		pairs := defineGooseToolPairs().Params.(*GooseToolPairs)
		pairs.Cutoff, pairs.Batch = 1+d.N(4), 1+d.N(3)
		c := d.Conversation()
		r := stagetest.NewRun(t, c, stagetest.Start(t, defineGooseToolPairs(), pairs), stagetest.Start(t, defineGooseCompaction(), goose(nil)))
		r.Window = 4000 + d.N(20000)
		s := &gooseToolPairs{}
		r.Each = func(k int) {
			for range d.N(3) {
				ids := r.View.IDs()
				e := policy.Edit{Kind: policy.KindRemove, Trigger: "auto", Stage: "test", Items: []policy.ItemID{ids[d.N(len(ids))]}}
				if d.One(3) {
					e.Kind, e.Insert = policy.KindCollapse, []policy.Synthetic{{Role: "user", Label: "gone", Contents: []policy.Content{{Tokens: 3}}}}
				}
				if r.View.Len() > 1 {
					if _, err := r.View.Apply(e); err != nil {
						t.Fatal(err)
					}
				}
			}
			if d.One(3) {
				return
			}
			s.follow(r.View)
			earlier, turn := callers(r.View)
			if !slices.Equal(s.earlier, earlier) || !slices.Equal(s.turn, turn) {
				t.Fatalf("seed %d, request %d: %v and %v, want %v and %v", seed, k, s.earlier, s.turn, earlier, turn)
			}
			noted += len(earlier)
		}
		r.All()
	}
	if noted < 1000 {
		t.Errorf("%d responses noted", noted)
	}
}
