package diff_test

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/diff"
)

// checkSums holds that Sums, asked at some requests by lot, says of each what Compare does of its two views.
func checkSums(t *testing.T, rec *replay.Record, against, pol *policy.Policy, oneIn int) {
	t.Helper()
	lots := rand.New(rand.NewPCG(uint64(len(rec.Conv.Messages)), uint64(len(pol.Name)*oneIn)))
	name := "raw"
	if against != nil {
		name = against.Name
	}
	var sums diff.Sums
	must.Do(t, rec.EachPair(against, pol, replay.Options{}, func(n int, left, right *view.View) bool {
		if lots.IntN(oneIn) > 0 && n <= len(rec.Conv.Requests) {
			return true
		}
		want := must.Get(diff.Compare(left, right))(t)
		got, rows := sums.At(left, right)
		if got.Before != want.Before || got.After != want.After {
			t.Errorf("%s, %s to %s, request %d: %d to %d tokens, want %d to %d", rec.Conv.Path, name, pol.Name, n, got.Before, got.After, want.Before, want.After)
		}
		if d := cmp.Diff(want.Stat(), rows); d != "" {
			t.Errorf("%s, %s to %s, request %d: -want +got\n%s", rec.Conv.Path, name, pol.Name, n, d)
		}
		return !t.Failed()
	}))
}

// TestSums holds that sums that go on from request to request are those of each request alone: on the sample sessions, of
// every built-in policy against raw and against another.
func TestSums(t *testing.T) {
	policies := presets(t)
	turn := 0
	loadAll(t, globs(t, shipped, "*.jsonl", "*/*.jsonl", "*/*/subagents/*.jsonl"), func(rec *replay.Record) {
		for i, pol := range policies {
			if turn++; turn%5 > 0 && !must.CI() {
				continue
			}
			checkSums(t, rec, nil, pol, 30)
			checkSums(t, rec, policies[(i+turn)%len(policies)], pol, 30)
		}
	})
}

// TestSumsCorpus holds the same of real sessions. CTXKIT_LONG=1 takes all of them and every built-in policy; otherwise it
// is a tenth of the sessions.
func TestSumsCorpus(t *testing.T) {
	corpus := os.Getenv("CTXKIT_CORPUS")
	if corpus == "" {
		t.Skip("CTXKIT_CORPUS is not set")
	}
	policies, step := presets(t, "recorded", "claude-code-2.1.37", "opencode", "gemini-cli", "sliding-window"), 10
	if os.Getenv("CTXKIT_LONG") == "1" {
		policies, step = presets(t), 1
	}
	turn := 0
	for i, file := range globs(t, corpus, "*.jsonl.gz") {
		if i%step > 0 {
			continue
		}
		loadAll(t, []string{file}, func(rec *replay.Record) {
			for k, pol := range policies {
				turn++
				checkSums(t, rec, nil, pol, 20)
				checkSums(t, rec, policies[(k+turn)%len(policies)], pol, 20)
			}
		})
	}
}

// TestSumsOfAnyEdits holds the same of edits by lot: each kind, of any message, and messages that arrive late.
func TestSumsOfAnyEdits(t *testing.T) {
	for seed := range uint64(400) {
		lots := rand.New(rand.NewPCG(seed, 1))
		conv := said(25)
		for i := range conv.Messages {
			conv.Messages[i].RecordOnly = lots.IntN(5) == 0
		}
		views := [2]*view.View{view.New(conv, flat{conv}, nil), view.New(conv, flat{conv}, nil)}
		steps := []string{}
		var sums diff.Sums
		for n := range 80 {
			v := views[lots.IntN(2)]
			if steps = append(steps, change(v, lots, n)); lots.IntN(3) > 0 {
				continue
			}
			if lots.IntN(20) == 0 {
				views[0], views[1] = views[1], views[0]
				steps = append(steps, "views change sides")
			}
			want := must.Get(diff.Compare(views[0], views[1]))(t)
			got, rows := sums.At(views[0], views[1])
			if got.Before != want.Before || got.After != want.After || cmp.Diff(want.Stat(), rows) != "" {
				t.Fatalf("seed %d, after %v: -want +got\n%s", seed, steps, cmp.Diff(want.Stat(), rows))
			}
		}
	}
}

// change joins a message to a view, passes over it, or edits the view by lot. It says what it did; the view refuses some.
func change(v *view.View, lots *rand.Rand, n int) string {
	messages := len(v.Conversation().Messages)
	some := func() (ids []policy.ItemID) {
		for id := range policy.ItemID(v.Joined()) {
			if lots.IntN(4) == 0 {
				ids = append(ids, id)
			}
		}
		return ids
	}
	kinds := []policy.EditKind{
		policy.KindClear, policy.KindTruncate, policy.KindTag, policy.KindWrap, policy.KindRemove, policy.KindSummarize, policy.KindAttach,
		policy.KindCacheEdit, policy.KindServerClear, policy.KindServerKeep,
	}
	k := lots.IntN(len(kinds) + 4)
	if k >= len(kinds) {
		switch m := v.Joined(); {
		case m == messages:
			return "nothing"
		case lots.IntN(4) == 0:
			v.Skip(m)
			return "skip"
		default:
			v.Join(m)
			return "join"
		}
	}
	e := policy.Edit{Kind: kinds[k], Request: n + 1, Stage: []string{"a", "b"}[lots.IntN(2)], Group: n, Joined: v.Joined()}
	target := policy.Target{Item: policy.ItemID(lots.IntN(messages))}
	content := policy.NewContent(jsonl.KindText, []string{"one", "two"}[lots.IntN(2)])
	made := []policy.Synthetic{{Role: "user", Label: "made", Contents: []policy.Content{content}}}
	switch e.Kind {
	case policy.KindRemove:
		for _, id := range some() {
			if v.Has(id) {
				e.Items = append(e.Items, id)
			}
		}
	case policy.KindSummarize:
		e.Keep, e.Insert = some(), made
	case policy.KindAttach:
		e.Insert = made
	case policy.KindCacheEdit:
		e.Target, e.Carrier = target, target.Item
	case policy.KindServerKeep:
		e.Target = target
	case policy.KindWrap:
		e.Target, e.New = target, &content
		if lots.IntN(2) == 0 {
			e.New.Ref = &target
		}
	default:
		e.Target, e.New = target, &content
	}
	if _, err := v.Apply(e); err != nil {
		return "refused " + string(e.Kind)
	}
	return string(e.Kind)
}

// TestSumsLinear: four times the requests take about four times the time, not the sixteen of reading all at each.
func TestSumsLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time")
	}
	took := func(n int) time.Duration {
		conv := said(n)
		best := time.Hour
		for range 3 {
			raw, v := view.New(conv, flat{conv}, nil), view.New(conv, flat{conv}, nil)
			var sums diff.Sums
			start := time.Now()
			for m := range n {
				raw.Join(m)
				v.Join(m)
				if m%10 > 0 {
					continue
				}
				must.Get(v.Apply(put(1, policy.ItemID(m), "cleared")))(t)
				if _, rows := sums.At(raw, v); len(rows) == 0 {
					t.Fatal("no sums")
				}
			}
			best = min(best, time.Since(start))
		}
		return best
	}
	var few, many time.Duration
	for range 5 { // a busy machine slows one of the two
		if few, many = took(5000), took(20000); many <= 8*few {
			return
		}
	}
	t.Errorf("%v for 5,000 messages, %v for 20,000", few, many)
}
