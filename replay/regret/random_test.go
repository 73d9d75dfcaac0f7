package regret_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
)

// randomStory is a small session whose results hold names that are used later, or not, and the number of its results.
func randomStory(r *rand.Rand) (*story, int) {
	s := &story{}
	s.prompt("go")
	steps := 4 + r.IntN(12)
	var names []string
	results := 0
	for i := range steps {
		switch r.IntN(4) {
		case 0, 1:
			name := fmt.Sprintf("generated_identifier_%03d", i)
			names = append(names, name)
			text := "value of " + name
			if len(names) > 1 && r.IntN(3) == 0 {
				text += " and " + names[r.IntN(len(names))]
			}
			s.call(fmt.Sprint(results), "Bash", map[string]any{"command": "x"}, text)
			results++
		case 2:
			if len(names) > 0 {
				s.says("because of " + names[r.IntN(len(names))])
				break
			}
			fallthrough
		default:
			if len(names) > 0 && r.IntN(2) == 0 {
				s.prompt("and " + names[r.IntN(len(names))] + "?")
			}
			s.says("thinking")
		}
	}
	s.says("done")
	return s, results
}

// The bound is never above the misses of the policy it is judged beside.
func TestBoundRandomSessions(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	misses, bounds := 0, 0
	for i := range 1000 {
		s, results := randomStory(r)
		conv := s.load(t)
		var edits []policy.Edit
		for n := 2; n <= len(conv.Requests); n++ {
			joined := conv.Requests[n-1].Message
			if r.IntN(10) == 0 {
				summary := policy.Content{Kind: jsonl.KindText, Tokens: 10}
				if r.IntN(2) == 0 {
					summary = policy.NewContent(jsonl.KindText, fmt.Sprintf("about generated_identifier_%03d", r.IntN(8)))
				}
				edits = append(edits, policy.Edit{
					Request: n, Stage: "test", Kind: policy.KindSummarize, Joined: joined,
					Insert: []policy.Synthetic{{Role: "user", Summary: true, Contents: []policy.Content{summary}}},
				})
			}
			for j := range results {
				at := result(t, conv, s.at[fmt.Sprint(j)])
				if int(at.Item) < joined && r.IntN(6) == 0 {
					edits = append(edits, clear(conv, n, at, "[cleared]"))
				}
			}
		}
		got := judge(t, conv, nil, edits)
		if got.BoundMisses > len(got.Misses) || got.BoundTokens > got.Tokens {
			t.Fatalf("session %d: bound %d misses, %d tokens; the policy has %d, %d", i, got.BoundMisses, got.BoundTokens, len(got.Misses), got.Tokens)
		}
		misses += len(got.Misses)
		bounds += got.BoundMisses
	}
	if misses == 0 || bounds == 0 {
		t.Errorf("%d misses and a bound of %d over all sessions: nothing was tested", misses, bounds)
	}
}
