package why_test

import (
	"os"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/backtest"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/replay/why"
)

func policies(t testing.TB, names ...string) (list []*policy.Policy) {
	t.Helper()
	reg := must.Get(stage.Registry())(t)
	for _, name := range names {
		p := must.Get(preset.Load(name, reg))(t)
		list = append(list, p)
	}
	return list
}

func recordOf(t testing.TB, path string) *replay.Record {
	t.Helper()
	f := must.Get(session.Load(path, session.LoadOptions{}))(t)
	t.Cleanup(func() { f.Close() })
	rec := must.Get(replay.NewRecord(f.Main))(t)
	return rec
}

// check holds that the recorded breaks are those of a backtest, that the expenses add up to the bill or the simulated cost,
// the contents to the input in it, and the causes to the breaks.
func check(t *testing.T, rec *replay.Record, pol *policy.Policy, scored []backtest.Break) *why.SessionBreaks {
	t.Helper()
	s, tl, err := why.Replay(rec, pol, replay.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	name := rec.Conv.Path + ", " + pol.Name
	if pol.Recorded {
		want, got := map[int]backtest.Break{}, map[int]why.CacheBreak{}
		for _, b := range scored {
			if b.Recorded {
				want[b.Request] = b
			}
		}
		for _, b := range s.Breaks {
			if b.InFile != nil {
				got[b.Request] = b
			}
		}
		if len(got) != len(want) || len(got) != s.Total.Breaks {
			t.Errorf("%s: %d recorded breaks of %d, and a sum of %d", name, len(got), len(want), s.Total.Breaks)
		}
		for n, w := range want {
			g, ok := got[n]
			switch {
			case !ok:
				t.Errorf("%s: the break at request %d is missing", name, n)
			case g.InFile.Left != w.Left || g.InFile.Read != w.Read || g.Line != w.Line || g.InFile.Unexplained != (w.Cause == backtest.Unexplained) || g.Cause == backtest.Unexplained && !g.InFile.Unexplained:
				t.Errorf("%s: request %d: %+v %+v, the backtest has %+v", name, n, g, *g.InFile, w)
			case g.Cause == backtest.Unexplained && (g.Stage != "" || g.Event != nil):
				t.Errorf("%s: request %d: unexplained, and explained: %+v", name, n, g)
			case g.Cause == cache.None:
				t.Errorf("%s: request %d: no cause", name, n)
			}
		}
	}
	want := tl.Totals.CostUSD
	if s.ByUsage() {
		want = tl.Bill.CostUSD
	}
	var total, misses, listed, input, contents price.USD
	for _, e := range s.Expenses {
		total.Add(e.USD)
		switch e.Part {
		case why.PartMisses:
			misses.Add(e.USD)
			fallthrough
		case why.PartReads, why.PartResent, why.PartNew:
			input.Add(e.USD)
		}
		if e.USD.Nano < 0 && s.ByUsage() { // a simulation with one more reason may read more
			t.Errorf("%s: %+v", name, e)
		}
	}
	if total.Nano != want.Nano || s.Spent != want {
		t.Errorf("%s: the parts add up to %v, the sum is %v, billed or simulated %v", name, total, s.Spent, want)
	}
	for _, c := range s.Contents {
		contents.Add(c.USD)
	}
	must.Equal(t, contents.Nano, input.Nano, name, contents, input)
	of := s.Total.SimUSD
	if s.ByUsage() {
		of = s.Total.USD
	}
	must.Equal(t, misses.Nano, of.Nano, name, misses, of)
	for _, b := range s.Breaks {
		if b.Sim == nil {
			continue
		}
		listed.Add(b.Sim.USD)
		sum := int64(0)
		for _, u := range []price.USD{b.Sim.Restarts, b.Sim.Changes, b.Sim.Edits, b.Sim.Lifetime, b.Sim.Placement} {
			sum += u.Nano
		}
		must.Equal(t, sum, b.Sim.USD.Nano, name, b.Request)
		if b.Cause == cache.None || b.Cause == cache.First {
			t.Errorf("%s: request %d: the cause is %q", name, b.Request, b.Cause)
		}
	}
	var causes why.BreakSum
	for i := range s.Causes {
		causes.Add(&s.Causes[i])
	}
	if causes != s.Total || s.Total.SimUSD.Nano != listed.Nano {
		t.Errorf("%s: the causes add up to %+v, all to %+v and %d", name, causes, s.Total, listed.Nano)
	}
	for i := 1; i < len(s.Breaks); i++ {
		if a, b := &s.Breaks[i-1], &s.Breaks[i]; (a.InFile != nil) == (b.InFile != nil) && a.USD().Nano < b.USD().Nano {
			t.Errorf("%s: the break at request %d is before a more expensive one", name, a.Request)
		}
	}
	return s
}

func score(t *testing.T, rec *replay.Record) []backtest.Break {
	t.Helper()
	b := must.Get(backtest.Score(rec, policies(t, "claude-code-2.1.19")[0], backtest.ScoreOptions{}))(t)
	return b.Breaks
}

func TestBreaks(t *testing.T) {
	files := must.Glob(t, 10, "../../testdata/sessions/*.jsonl")
	list, breaks, refills := policies(t, "recorded", "claude-code-2.1.19", "opencode-1.1.36", "three-layer", "langchain-clear-tool-uses", "anthropic-context-editing"), 0, 0
	for _, file := range files {
		rec := recordOf(t, file)
		scored := score(t, rec)
		for _, pol := range list {
			s := check(t, rec, pol, scored)
			breaks += len(s.Breaks)
			refills += len(s.Refills)
		}
	}
	t.Logf("%d breaks, %d refills", breaks, refills)
	if breaks < 50 {
		t.Errorf("only %d breaks", breaks)
	}
}

// TestCorpusBreaks is TestBreaks over real sessions, and holds that what joins between two compactions is what the second
// one finds, where no other edit is in between.
func TestCorpusBreaks(t *testing.T) {
	dir := os.Getenv("CTXKIT_CORPUS")
	if dir == "" {
		t.Skip("CTXKIT_CORPUS names no folder of real sessions")
	}
	files := must.Glob(t, 1, dir, "*.jsonl*")
	list := policies(t, "recorded", "opencode-1.1.36")
	breaks, whole := 0, 0
	for _, file := range files {
		rec := recordOf(t, file)
		scored := score(t, rec)
		for _, pol := range list {
			s := check(t, rec, pol, scored)
			if !pol.Recorded {
				continue
			}
			breaks += s.Total.Breaks
			for _, r := range s.Refills {
				if r.Joined < r.Before-r.Before/10 { // the server leaves out thinking that the client holds
					t.Errorf("%s: requests %d to %d: %d tokens joined, the compaction found %d", file, r.From, r.To, r.Joined, r.Before)
				}
				if r.Joined == r.Before {
					whole++
				}
			}
		}
	}
	if breaks < 200 || whole < 5 {
		t.Errorf("only %d recorded breaks, and %d refills without an edit in between", breaks, whole)
	}
}

// TestCauses holds the breaks of a shipped session: what the record lost, by what, in which order.
func TestCauses(t *testing.T) {
	s := check(t, recordOf(t, "../../testdata/sessions/big.jsonl"), policies(t, "recorded")[0], score(t, recordOf(t, "../../testdata/sessions/big.jsonl")))
	type row struct {
		request int
		cause   cache.BreakCause
		kind    policy.EditKind
		trigger string
		idle    bool // longer than the cache lives
	}
	var got []row
	for _, b := range s.Breaks {
		got = append(got, row{b.Request, b.Cause, b.Edit, b.Trigger, b.Idle > 300})
	}
	want := []row{
		{128, cache.Expired, "", "", true}, {101, cache.Expired, "", "", true},
		{215, cache.Edited, policy.KindClear, "auto", false}, {184, cache.Edited, policy.KindClear, "auto", false},
		{100, cache.Edited, policy.KindClear, "auto", false}, {144, cache.Edited, policy.KindClear, "auto", false},
		{245, cache.Compacted, policy.KindSummarize, "auto", false},
	}
	must.Equal(t, got, want)
}
