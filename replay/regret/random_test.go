package regret_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// randomStory is a small session whose results hold sentences that are used later, or not, and the number of its
// results.
func randomStory(r *rand.Rand) (*story, int) {
	s := &story{}
	s.prompt("go")
	var said []string
	results := 0
	sentence := func() string {
		if len(said) > 0 && r.IntN(3) > 0 {
			return said[r.IntN(len(said))]
		}
		said = append(said, fmt.Sprintf("the value of generated_identifier_%03d is %d", len(said), r.IntN(100)))
		return said[len(said)-1]
	}
	read := map[string]any{"file_path": "/p/a.go"}
	for range 4 + r.IntN(14) {
		switch r.IntN(8) {
		case 0, 1, 2:
			text := "     1→" + sentence() + "\n"
			if r.IntN(2) == 0 {
				text += "     2→\t" + strings.ToUpper(sentence()) + "\n"
			}
			s.call(fmt.Sprint(results), "Read", read, text)
			results++
		case 3, 4:
			s.call("e", "Edit", map[string]any{"file_path": "/p/a.go", "old_string": sentence(), "new_string": "x"}, "ok")
		case 5:
			s.prompt("and " + sentence() + "?")
		default:
			s.says("because " + sentence())
		}
	}
	s.says("done")
	return s, results
}

// randomEdits are edits of a policy, in the order of requests.
func randomEdits(r *rand.Rand, t *testing.T, s *story, results int, conv *session.Conversation) (edits []policy.Edit) {
	for n := 2; n <= len(conv.Requests); n++ {
		joined := conv.Requests[n-1].Message
		if r.IntN(10) == 0 {
			summary := policy.NewContent(jsonl.KindText, fmt.Sprintf("about Generated-Identifier-%03d", r.IntN(6)))
			edits = append(edits, policy.Edit{
				Request: n, Stage: "test", Kind: policy.KindSummarize, Joined: joined,
				Insert: []policy.Synthetic{{Role: "user", Summary: true, Contents: []policy.Content{summary}}},
			})
			continue
		}
		for j := range results {
			if at := result(t, conv, s.at[fmt.Sprint(j)]); int(at.Item) < joined && r.IntN(4) == 0 {
				edits = append(edits, clear(conv, n, at, "[cleared]"))
			}
		}
	}
	return edits
}

// TestRandomSessions: the evidence of no miss is in the view that the edits make, whatever they are; the misses are
// the same each time; and what is removed but never used is no miss.
func TestRandomSessions(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	found, most := 0, 150
	if must.CI() {
		most = 1500
	}
	for range most {
		s, results := randomStory(r)
		conv := s.load(t)
		edits := randomEdits(r, t, s, results, conv)
		edits = applied(t, conv, edits, nil)
		got := judge(t, conv, nil, edits)
		found += len(got.Misses)
		if again := judge(t, conv, nil, edits); !slices.Equal(got.Misses, again.Misses) {
			t.Fatalf("misses %+v, then %+v", got.Misses, again.Misses)
		}
		applied(t, conv, edits, func(n int, v *view.View) {
			all := strings.ToLower(strings.Join(slices.Collect(texts(t, v)), "\n"))
			for i := range got.Misses {
				if m := &got.Misses[i]; m.Needed == n && inView(all, lower(evidence(t, conv, m))) {
					t.Errorf("%+v: in view", m)
				}
			}
		})
	}
	if found < most/15 {
		t.Errorf("%d misses: too few to test anything", found)
	}
}

func lower(list []string) []string {
	for i := range list {
		list[i] = strings.ToLower(list[i])
	}
	return list
}

// applied applies edits to a view, those it can, and calls each with the view as it is sent.
func applied(t *testing.T, conv *session.Conversation, edits []policy.Edit, each func(n int, v *view.View)) (done []policy.Edit) {
	v := view.New(conv, flat{conv}, nil)
	next := 0
	for n := 1; n <= len(conv.Requests); n++ {
		for m := v.Joined(); m < conv.Requests[n-1].Message; m++ {
			v.Join(m)
		}
		for ; next < len(edits) && edits[next].Request <= n; next++ {
			if e, err := v.Apply(edits[next]); err == nil {
				done = append(done, e)
			} else if each != nil {
				t.Fatal(err)
			}
		}
		if each != nil {
			each(n, v)
		}
	}
	return done
}
