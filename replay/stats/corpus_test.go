package stats

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/category"
	counters "github.com/ctxkit/ctxkit/replay/tokens"
)

func loadPolicies(t testing.TB, names ...string) []*policy.Policy {
	t.Helper()
	reg := must.Get(stage.Registry())(t)
	var list []*policy.Policy
	for _, name := range names {
		p := must.Get(preset.Load(name, reg))(t)
		list = append(list, p)
	}
	return list
}

// followed replays a conversation and holds the ledger against the view at every request.
func followed(t testing.TB, rec *replay.Record, pol *policy.Policy) (*replay.Timeline, *Ledger) {
	t.Helper()
	l := NewLedger(rec.Conv)
	wrong := 0
	tl := must.Get(rec.Replay(pol, replay.Options{Observe: func(n int, v *view.View) {
		if l.Observe(n, v); l.Sum() != v.PayloadTokens() && wrong == 0 {
			wrong = n
			t.Errorf("%s, %s, request %d: the blocks sum to %d tokens, the payload has %d", rec.Conv.SessionID, pol.Name, n, l.Sum(), v.PayloadTokens())
		}
	}}))(t)
	l.Close()
	return tl, l
}

// TestCorpusSums holds that at every request of recorded sessions the categories add up to the context that the API
// reported, and that what is not in the file is within the error of the calibration.
func TestCorpusSums(t *testing.T) {
	pol := loadPolicies(t, "recorded")[0]
	dir := os.Getenv("CTXKIT_CORPUS")
	if dir == "" {
		t.Skip("CTXKIT_CORPUS names no folder of real sessions")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl.*"))
	if more, _ := filepath.Glob(filepath.Join(dir, "*", "*.jsonl")); err != nil || len(files) == 0 {
		t.Fatalf("no sessions: %v", err)
	} else {
		files = append(files, more...)
	}
	var off []float64
	read, byPath, superseded, most := 0, 0, 0, 0
	for _, path := range files {
		f := must.Get(session.Load(path, session.LoadOptions{}))(t)
		rec := must.Get(replay.NewRecord(f.Main))(t)
		tl, l := followed(t, rec, pol)
		off = append(off, sums(t, rec.Conv, tl, l)...)
		b := must.Get(build(rec.Conv, tl, l, Extent{Request: l.Requests, Until: l.Requests}))(t)
		b.finish(nil)
		if b.Reads.Superseded() > b.Reads.Tokens || b.Reads.Stale > b.Reads.InContext || b.Reads.InView > b.Reads.Same || b.Reads.Same > b.Reads.Again {
			t.Errorf("%s: parts exceed the whole: %+v", f.Main.SessionID, b.Reads)
		}
		last := map[string]int{}
		for i, r := range b.files.reads {
			last[r.path] = i
		}
		for i, r := range b.files.reads {
			n := l.Blocks[r.block].Spans[0].Tokens
			if read += n; last[r.path] != i {
				byPath += n
			}
		}
		most = max(most, maxSteps-b.files.steps)
		superseded += b.Reads.Superseded()
		f.Close()
	}
	slices.Sort(off)
	at := func(q float64) float64 { return off[int(q*float64(len(off)-1))] }
	t.Logf("%d requests: not in the file, share of the context: median %.4f, p90 %.4f, p95 %.4f, p99 %.4f, most %.4f",
		len(off), at(0.5), at(0.9), at(0.95), at(0.99), at(1))
	t.Logf("of %d tokens of Read: superseded by lines %.3f; with a later Read of the same path %.3f; at most %d steps of %d",
		read, float64(superseded)/float64(read), float64(byPath)/float64(read), most, maxSteps)
	must.Rows(t, `
0.5  | 0.001
0.9  | 0.015
0.95 | 0.025
0.99 | 0.1
`, func(q, most float64) {
		if at(q) > most {
			t.Errorf("quantile %.2f of what is on no line is %.4f of the context: want at most %.4f", q, at(q), most)
		}
	})
	if superseded > byPath*2 || superseded == 0 {
		t.Errorf("superseded: %d tokens by lines, %d by path", superseded, byPath)
	}
}

// sums holds the composition of every request against its payload and the recorded context, and returns what is on no
// line of the file, as a share of the context.
func sums(t *testing.T, conv *session.Conversation, tl *replay.Timeline, l *Ledger) (off []float64) {
	t.Helper()
	main := mainRequests(tl)
	sent, sizes := 0, bases(conv, main)
	for k, r := range main {
		sent += r.payload
		s := &SessionStats{Request: k + 1, Until: k + 1, Tokens: r.payload, Sent: sent}
		tokens, total, share, sentShare, rest := 0, 0, 0, 0, 0.0
		for _, c := range l.composition(s, nil, sizes) {
			tokens, total, share, sentShare = tokens+c.Tokens, total+c.Sent, share+c.PerMille, sentShare+c.SentPer
			if c.Category == category.Unrecorded {
				rest = float64(max(c.Tokens, -c.Tokens)) / float64(max(r.payload, 1))
			}
		}
		if r.recorded {
			off = append(off, rest)
		}
		if tokens != r.payload || total != sent || share != 1000 || sentShare != 1000 {
			t.Errorf("%s, request %d: the categories add up to %d of %d tokens, %d of %d sent, %d and %d per mille", conv.SessionID, k+1, tokens, r.payload, total, sent, share, sentShare)
			return off
		}
		if r.recorded && tl.Counter == counters.NameUsage && r.input != r.payload { // else the usage contradicts the content, which is counted
			t.Errorf("%s, request %d: %d tokens, recorded are %d", conv.SessionID, k+1, r.payload, r.input)
			return off
		}
	}
	return off
}

// TestRefills holds that what joins before a compaction is what it finds: nothing else is in a view that
// no other edit changes.
func TestRefills(t *testing.T) {
	f := must.Get(session.Load("../../testdata/sessions/big.jsonl", session.LoadOptions{}))(t)
	defer f.Close()
	rec := must.Get(replay.NewRecord(f.Main))(t)
	pol := *loadPolicies(t, "claude-code-2.1.19")[0]
	pol.Window.Context = 120_000
	tl, l := followed(t, rec, &pol)
	list, err := Refills(f.Main, tl, l)
	if err != nil || len(list) < 5 || len(list) != tl.Totals.Compactions {
		t.Fatalf("%v: %d refills of %d compactions", err, len(list), tl.Totals.Compactions)
	}
	whole := 0
	for i, r := range list {
		parts, heaviest := 0, 0
		for _, p := range r.Parts {
			parts += p.Tokens
		}
		for _, p := range r.Heaviest {
			heaviest += p.Tokens
		}
		if parts != r.Joined || heaviest > parts || len(r.Heaviest) > mostSources {
			t.Errorf("%d: the parts add up to %d, the heaviest to %d, of %d", i, parts, heaviest, r.Joined)
		}
		if r.Requests != r.To-r.From || i > 0 && r.From != list[i-1].To {
			t.Errorf("%d: %+v", i, r)
		}
		edited := false
		for _, ev := range tl.Events {
			edited = edited || ev.Kind != policy.KindSummarize && ev.Kind != policy.KindAttach && ev.Request != nil && *ev.Request > r.From && *ev.Request <= r.To
		}
		if !edited {
			whole++
			must.Equal(t, r.Joined, r.Before, i)
		}
	}
	if whole < 2 {
		t.Errorf("only %d refills without another edit", whole)
	}
}
