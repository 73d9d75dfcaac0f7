package replay_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/trace"
)

// A record's replays are the same whatever was replayed on it before, and by however many at once.
func TestSharedRecord(t *testing.T) {
	files := slices.DeleteFunc(shippedFiles(t), func(path string) bool { return strings.Contains(path, "big") })
	if os.Getenv("CTXKIT_CORPUS") != "" && !testing.Short() {
		files = append(files, corpusFiles(t)[:3]...)
	}
	for i, path := range files {
		if i%4 > 0 && (!must.CI() || testing.Short()) {
			continue
		}
		for _, conv := range load(t, path).Conversations() {
			compareShared(t, conv)
		}
	}
}

func compareShared(t *testing.T, conv *session.Conversation) {
	record := must.Get(replay.NewRecord(conv))(t)
	alone := must.Get(replay.NewRecord(conv))(t)
	type run struct {
		policy *policy.Policy
		opt    replay.Options
	}
	var runs []run
	for _, name := range presetNames(t) {
		for _, window := range []int{0, 20_000} {
			opt := replay.Options{Window: window, Regret: len(runs)%3 == 0}
			if len(runs)%5 == 4 {
				opt.Model = "gpt-5"
			}
			if len(runs)%4 == 3 {
				opt.Trace = &trace.TextLimit{}
			}
			runs = append(runs, run{named(t, name), opt})
		}
	}
	want := make([]string, len(runs))
	for i, r := range runs {
		want[i] = must.Get(told(alone, r.policy, r.opt))(t)
	}
	var all sync.WaitGroup
	for _, order := range []iter.Seq2[int, run]{slices.All(runs), slices.Backward(runs)} {
		all.Go(func() {
			for i, r := range order {
				got, err := told(record, r.policy, r.opt)
				if err != nil {
					t.Error(err)
					return
				}
				must.Equal(t, got, want[i], conv.Path, r.policy.Name, r.opt.Window)
			}
		})
	}
	all.Wait()
	fresh := must.Get(replay.NewRecord(conv))(t)
	for _, replayed := range []*replay.Record{record, alone} {
		must.Equal(t, fresh.Edits(), replayed.Edits(), conv.Path)
	}
}

// told is a replay's timeline and every text its policy put in.
func told(rec *replay.Record, pol *policy.Policy, opt replay.Options) (string, error) {
	var b strings.Builder
	edits := 0
	opt.Observe = func(n int, v *view.View) {
		for _, e := range v.Edits()[edits:] {
			for _, s := range slices.Concat(e.Insert, e.Tail) {
				for _, c := range s.Contents {
					fmt.Fprintf(&b, "%d %s %q\n", n, s.Label, c.Text)
				}
			}
		}
		edits = len(v.Edits())
	}
	var sent strings.Builder
	opt.Send = sends(&sent)
	tl, err := rec.Replay(pol, opt)
	if err != nil {
		return "", err
	}
	out, err := json.Marshal(tl)
	if err != nil {
		return "", err
	}
	return b.String() + sent.String() + string(out), nil
}

// sends writes each request that is sent.
func sends(b *strings.Builder) func(*replay.SentRequest) {
	return func(q *replay.SentRequest) {
		fmt.Fprintln(b, q.N, q.UUID, q.Kind, q.Model, q.Tokens, q.Payload, q.Cache, q.CostUSD, q.Events, q.Start, q.End)
	}
}
