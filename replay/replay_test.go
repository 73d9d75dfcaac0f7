package replay_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay"
)

const shipped = "../testdata/sessions"

func shippedFiles(t testing.TB) []string {
	files := must.Glob(t, 1, shipped+"/*.jsonl")
	return files
}

// naive recounts a view from its edits, one message after another: the oracle for the running sums.
func naive(t *testing.T, conv *session.Conversation, v *view.View) []policy.ItemID {
	var items []policy.ItemID
	joined := 0
	join := func(upTo int, record bool) {
		for ; joined < upTo; joined++ {
			if conv.Messages[joined].RecordOnly && !record {
				continue
			}
			in := false
			for _, id := range items {
				in = in || id == policy.ItemID(joined)
			}
			if !in {
				items = append(items, policy.ItemID(joined))
			}
		}
	}
	record := len(v.Edits()) > 0 && v.Edits()[0].Stage == "recorded"
	for _, e := range v.Edits() {
		join(e.Joined, record)
		switch e.Kind {
		case policy.KindAttach:
			for _, s := range e.Insert {
				items = append(items, s.ID)
			}
		case policy.KindRemove, policy.KindCollapse:
			gone := map[policy.ItemID]bool{}
			for _, id := range e.Items {
				gone[id] = true
			}
			var kept []policy.ItemID
			for _, id := range items {
				if !gone[id] {
					kept = append(kept, id)
				} else if e.Kind == policy.KindCollapse && id == e.Items[0] {
					kept = append(kept, e.Insert[0].ID)
				}
			}
			items = kept
		case policy.KindSummarize:
			items = slices.Clone(e.Lead)
			for _, s := range e.Insert {
				items = append(items, s.ID)
			}
			items = append(items, e.Keep...)
			for _, s := range e.Tail {
				items = append(items, s.ID)
			}
		}
	}
	join(v.Joined(), record)
	return items
}

// TestViewFromEdits rebuilds each view from the edit list alone and compares items and sums.
func TestViewFromEdits(t *testing.T) {
	all := presets(t)
	for i, path := range shippedFiles(t) {
		for _, conv := range load(t, path).Conversations() {
			rec := recordOf(t, conv)
			for k, pol := range all {
				if pol.Recorded || (i+k)%4 > 0 && !must.CI() {
					continue // its summary joins when the boundary does: see TestRecordedTrack
				}
				opt := replay.Options{Observe: func(n int, v *view.View) {
					want := naive(t, conv, v)
					if got := v.IDs(); !slices.Equal(want, got) {
						t.Errorf("%s under %s, request %d: items (-edits +view)\n%s", path, pol.Name, n, cmp.Diff(want, got))
					}
					sum := 0
					for _, id := range want {
						sum += v.Weight(id)
					}
					must.Equal(t, sum, v.Tokens(), path, pol.Name, n)
				}}
				must.Get(rec.Replay(pol, opt))(t)
			}
		}
	}
}

// TestStop: an error of Options.Stop ends a replay at once.
func TestStop(t *testing.T) {
	rec, left, n := recordOf(t, load(t, shippedFiles(t)[0]).Main), errors.New("left"), 0
	stop := func() error {
		if n++; n < 3 {
			return nil
		}
		return left
	}
	_, err := rec.Replay(named(t, "recorded"), replay.Options{Stop: stop})
	must.Say(t, "true 3", errors.Is(err, left), n)
}

// TestRecordedTotals: where the record has usage, the recorded policy sends the recorded context, to the
// token.
func TestRecordedTotals(t *testing.T) {
	for _, path := range shippedFiles(t) {
		for _, conv := range load(t, path).Conversations() {
			for _, q := range run(t, conv, "recorded").Requests {
				if q.Kind != "main" || q.Recorded == nil {
					continue
				}
				if want := q.Recorded.Input + q.Recorded.CacheWrite + q.Recorded.CacheRead; q.Payload != want {
					t.Errorf("%s request %d: %d tokens, recorded %d", path, q.N, q.Payload, want)
				}
			}
		}
	}
}

// TestNoneIsRaw: without a policy the model sees everything that was said.
func TestNoneIsRaw(t *testing.T) {
	for _, path := range shippedFiles(t) {
		for _, conv := range load(t, path).Conversations() {
			tl := run(t, conv, "none")
			for _, q := range tl.Requests {
				if q.Tokens != q.Raw || q.Payload != q.Raw {
					t.Errorf("%s request %d: raw %d, model %d, payload %d", path, q.N, q.Raw, q.Tokens, q.Payload)
				}
			}
			must.Equal(t, tl.Totals.Saved, 0, path)
		}
	}
}

// TestSavedIsOfTheSessionsRequests: what a policy's own calls send is told apart, and does not count against what its
// edits saved.
func TestSavedIsOfTheSessionsRequests(t *testing.T) {
	own, all := 0, presets(t)
	for _, path := range shippedFiles(t) {
		for _, conv := range load(t, path).Conversations() {
			rec := recordOf(t, conv)
			for _, pol := range all {
				tl := runOn(t, rec, pol)
				var want, got struct{ saved, input, output, sent int }
				for _, q := range tl.Requests {
					want.sent += q.Payload
					if q.Kind == "main" {
						want.saved += q.Raw - q.Payload
					} else {
						want.input += q.Payload
						want.output += q.Output
					}
				}
				tot := tl.Totals
				got.saved, got.input, got.output, got.sent = tot.Saved, tot.OwnInput, tot.OwnOutput, tot.Payload
				must.Equal(t, got, want, path, pol.Name)
				own += got.input
			}
		}
	}
	if own == 0 {
		t.Error("no policy made a call of its own")
	}
	// Upkeep of session memory alone saves nothing, and costs no savings either.
	s := turns(12)
	conv := s.load(t)
	pol := named(t, "claude-code-pipeline")
	pol.Stages = slices.DeleteFunc(pol.Stages, func(c policy.StageConfig) bool { return c.Definition.Name != "session_memory" })
	tl := must.Get(replay.Run(conv, pol, replay.Options{}))(t)
	if tot := tl.Totals; tot.Saved != 0 || tot.OwnInput < 20000 || tot.OwnOutput != 2000*(tot.Calls-tot.Requests) {
		t.Errorf("saved %d, %d calls of the policy's own sent %d and wrote %d", tot.Saved, tot.Calls-tot.Requests, tot.OwnInput, tot.OwnOutput)
	}
}

// TestBigTriggersEverything: the shipped big session makes each stage work.
func TestBigTriggersEverything(t *testing.T) {
	conv := load(t, shipped+"/big.jsonl").Main
	must.Rows(t, `
opencode-1.1.36    | ["opencode_prune", "opencode_compaction"]
claude-code-2.1.19 | ["microcompact_size", "autocompact"]
claude-code-2.1    | ["autocompact"]
recorded           | ["recorded"]
`, func(policyName string, stages []string) {
		fired := map[string]int{}
		for _, ev := range run(t, conv, policyName).Events {
			fired[ev.Stage]++
		}
		for _, s := range stages {
			if fired[s] == 0 {
				t.Errorf("%s: %s never fired", policyName, s)
			}
		}
	})
}

// TestDeterministic: the same input gives the same bytes at any GOMAXPROCS and any number of workers, twice.
func TestDeterministic(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	all := presets(t)
	if !must.CI() {
		all = all[:8]
	}
	render := func(jobs int) []byte {
		var out bytes.Buffer
		for _, path := range shippedFiles(t) {
			f := must.Get(session.Load(path, session.LoadOptions{Jobs: jobs}))(t)
			for _, conv := range f.Conversations() {
				rec := recordOf(t, conv)
				for _, pol := range all {
					tl := must.Get(rec.Replay(pol, replay.Options{}))(t)
					must.Do(t, json.NewEncoder(&out).Encode(tl))
				}
			}
			f.Close()
		}
		return out.Bytes()
	}
	runtime.GOMAXPROCS(1)
	want := render(1)
	runtime.GOMAXPROCS(8)
	if got := render(8); !bytes.Equal(got, want) {
		t.Error("output differs at 8 workers, or from one time to the next")
	}
}

func TestOptions(t *testing.T) {
	conv := load(t, shipped+"/big.jsonl").Main
	if _, err := replay.Run(conv, named(t, "none"), replay.Options{Counter: "gpt"}); err == nil {
		t.Error("an unknown counter was taken")
	}
	if _, err := replay.Run(conv, named(t, "none"), replay.Options{CompactAt: []int{len(conv.Requests) + 9}}); err == nil {
		t.Error("a request that is not there was taken")
	}
	tl := must.Get(replay.Run(conv, named(t, "claude-code-2.1.19"), replay.Options{CompactAt: []int{7}}))(t)
	if len(tl.Events) == 0 || tl.Events[0].Trigger != "manual" || *tl.Events[0].Request != 7 {
		t.Errorf("no manual compaction before request 7: %+v", tl.Events)
	}
	tl = must.Get(replay.Run(conv, named(t, "none"), replay.Options{Overhead: policy.Overhead{Tokens: 12345, Given: true}, Window: 500000, Counter: "heuristic"}))(t)
	must.Say(t, "500000 12345 heuristic", tl.Window, tl.Requests[0].Overhead, tl.Counter)
}

// A given overhead takes the place of the recorded one in what the client counts, and so in what policies compare with
// their limits, as it does in the requests.
func TestOverheadIsCounted(t *testing.T) {
	conv := load(t, shipped+"/big.jsonl").Main
	own := mains(replayed(t, conv, named(t, "none"), replay.Options{}))
	for _, given := range []int{0, 90000} {
		rows := mains(replayed(t, conv, named(t, "none"), replay.Options{Overhead: policy.Overhead{Tokens: given, Given: true}}))
		for k, r := range rows {
			if k == 0 {
				continue // counted from no response
			}
			before := own[k-1].Overhead
			if got, want := r.Used-own[k].Used, given-before; got != want {
				t.Fatalf("overhead %d instead of %d: request %d counts %d more, not %d", given, before, r.N, got, want)
			}
		}
	}
	over := policy.Overhead{Tokens: 90000, Given: true}
	few := len(replayed(t, conv, named(t, "opencode-1.18"), replay.Options{}).Events)
	if more := len(replayed(t, conv, named(t, "opencode-1.18"), replay.Options{Overhead: over}).Events); more <= few {
		t.Errorf("%d events with a large overhead, %d with the recorded one", more, few)
	}
}
