package backtest_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/backtest"
)

func shipped(name string) string {
	return filepath.Join("..", "..", "testdata", "sessions", name)
}

// TestScore moves the threshold of the matching policy about the recorded compaction, at which used is 155,117 by its
// own arithmetic.
func TestScore(t *testing.T) {
	conv := load(t, shipped("big.jsonl"))
	rec := must.Get(replay.NewRecord(conv))(t)
	must.Rows(t, `
# key | value | alarms | hit | distance
window.buffer  | 13000  | 0 | true  | [0]
window.buffer  | 12000  | 0 | false | [2]
window.buffer  | 13900  | 1 | true  | [-5]
window.buffer  | 30000  | 1 | true  | null
window.context | 400000 | 0 | false | null
`, func(key, value string, alarms int, hit bool, theDistance []int) {
		pol := named(t, "claude-code-2.1.19")
		must.Do(t, pol.Set(key, value))
		s := must.Get(backtest.Score(rec, pol, backtest.ScoreOptions{}))(t)
		if len(s.Compactions) != 1 {
			t.Fatalf("%d compactions", len(s.Compactions))
		}
		got := &s.Compactions[0]
		var distance []int
		if got.Distance != nil {
			distance = []int{*got.Distance}
		}
		if got.Hit != hit || !slices.Equal(distance, theDistance) || (len(s.Alarms) > 0) != (alarms > 0) || got.PreTokens != got.Used || s.Fit != nil {
			t.Errorf("%s %s: %+v, distance %v, %d alarms, want hit %v, distance %v", key, value, *got, distance, len(s.Alarms), hit, theDistance)
		}
		row := backtest.Sum("p", []*backtest.SessionScore{s}).Compactions[0]
		if row.Hits+row.Misses != row.Recorded || row.Exact != 1 || row.Alarms != len(s.Alarms) {
			t.Errorf("%s %s: %+v", key, value, row)
		}
	})
}

// TestMicrocompactions: the matching policy clears what the client's did; a policy without microcompaction does not.
func TestMicrocompactions(t *testing.T) {
	conv := load(t, shipped("big.jsonl"))
	for name, want := range map[string]backtest.MicroRow{
		"claude-code-2.1.19": {Clients: backtest.All, Recorded: 4, Hits: 4, Same: 4, Savings: 4, Close: 4},
		"none":               {Clients: backtest.All, Recorded: 4, Savings: 4},
	} {
		s := scored(t, conv, name, backtest.ScoreOptions{})
		must.Equal(t, backtest.Sum(name, []*backtest.SessionScore{s}).Micro[0], want, name)
	}
}

// TestFit: the window of a later client is found in the record, and only asked for.
func TestFit(t *testing.T) {
	conv := load(t, shipped("big-2.1.139.jsonl"))
	fitted := scored(t, conv, "claude-code-2.1.119", backtest.ScoreOptions{})
	if fitted.Fit == nil || !fitted.Fit.Agrees || fitted.Window != fitted.Fit.Window || len(fitted.Alarms) > 0 {
		t.Fatalf("fitted %+v, window %d, %d alarms", fitted.Fit, fitted.Window, len(fitted.Alarms))
	}
	if w := fitted.Fit.Window; w < fitted.Fit.Least || w > fitted.Fit.Most || w%1000 > 0 {
		t.Errorf("window %d of %d to %d", w, fitted.Fit.Least, fitted.Fit.Most)
	}
	for _, c := range fitted.Compactions {
		if !c.Hit {
			t.Errorf("not hit: %+v", c)
		}
	}
	for name, s := range map[string]*backtest.SessionScore{
		"asked not to":       scored(t, conv, "claude-code-2.1.119", backtest.ScoreOptions{NoFit: true}),
		"--window":           scored(t, conv, "claude-code-2.1.119", backtest.ScoreOptions{Options: replay.Options{Window: 800000}}),
		"no autocompact":     scored(t, conv, "none", backtest.ScoreOptions{}),
		"an earlier session": scored(t, load(t, shipped("big.jsonl")), "claude-code-2.1.119", backtest.ScoreOptions{}),
	} {
		if s.Fit != nil {
			t.Errorf("%s: fitted %+v", name, s.Fit)
		}
	}
}

// TestSum: fitted sessions stand in rows of their own, and nothing is lost.
func TestSum(t *testing.T) {
	plain := scored(t, load(t, shipped("big.jsonl")), "claude-code-2.1.19", backtest.ScoreOptions{})
	fitted := scored(t, load(t, shipped("big-2.1.139.jsonl")), "claude-code-2.1.119", backtest.ScoreOptions{})
	r := backtest.Sum("p", []*backtest.SessionScore{plain, fitted})
	var rows []string
	for _, row := range r.Compactions {
		name := row.Clients
		if row.Fitted {
			name += " fitted"
		}
		rows = append(rows, name)
	}
	if want := []string{"all", "2.1.12-2.1.20", "all fitted", "2.1.119+ fitted"}; !slices.Equal(rows, want) {
		t.Errorf("rows %q, want %q", rows, want)
	}
	if n := plain.Usage.Requests + fitted.Usage.Requests; r.Usage[0].Requests != n || r.Usage[1].Requests+r.Usage[2].Requests != n {
		t.Errorf("requests of %+v are not %d", r.Usage, n)
	}
	breaks, only := 0, 0
	for _, c := range r.Causes {
		breaks += c.Breaks
		only += c.Only
	}
	if u := r.Usage[0]; breaks != u.Broken || only != u.FalseAlarms || u.Kind > u.Broken-u.Unexplained || u.Amount > u.Kind {
		t.Errorf("%d breaks and %d false alarms by cause, %+v in all", breaks, only, u)
	}
	if u, every := r.Usage[0], r.Breaks(); every.Breaks != u.Broken || every.Kind != u.Kind || every.Amount != u.Amount || u.Kind == 0 {
		t.Errorf("breaks by cause %+v, in the usage %+v", every, u)
	}
	all := r.Worst(1 << 20)
	if len(all) != breaks+only || len(r.Worst(1)) != 1 || len(r.Worst(0)) != 0 || len(r.Worst(-1)) != 0 {
		t.Errorf("%d breaks are listed, %d are there", len(all), breaks+only)
	}
	for i := range all {
		if i > 0 && all[i].Off() > all[i-1].Off() {
			t.Errorf("break %d is further off than the one before", i)
		}
	}
}

// TestBars: a measure holds up to its bar, and where there is nothing to score.
func TestBars(t *testing.T) {
	empty := backtest.Sum("p", nil)
	if failed := backtest.Failed(empty.Fidelity); len(failed) > 0 || len(empty.Fidelity) != len(backtest.MeasureNames()) {
		t.Errorf("nothing was scored, and these fail: %+v", failed)
	}
	r := backtest.Sum("p", []*backtest.SessionScore{{
		Compactions: []backtest.CompactionScore{{Hit: true}, {Hit: true}, {Hit: true}, {}}, Alarms: make([]backtest.Alarm, 1),
	}})
	r.SetLeast(1)
	must.Rows(t, `
# measure | bar | holds
hits       | 75   | true
hits       | 75.1 | false
alarms     | 25   | true
alarms     | 24.9 | false
break_kind | 100  | true
`, func(measure string, bar float64, theHolds bool) {
		must.Do(t, r.SetBar(measure, bar))
		holds := !slices.ContainsFunc(backtest.Failed(r.Fidelity), func(m backtest.Bar) bool { return m.Name == measure })
		must.Equal(t, holds, theHolds, measure, bar)
	})
	if r.SetBar("nothing", 1) == nil {
		t.Error("no error for a measure that is not there")
	}
}

// TestEverySession: whatever a file holds, every recorded compaction is a hit, a miss, or said not to be scored, and
// every break has its place.
func TestEverySession(t *testing.T) {
	files := must.Glob(t, 10, shipped("*.jsonl"))
	for _, path := range files {
		conv := load(t, path)
		rec := must.Get(replay.NewRecord(conv))(t)
		for _, name := range []string{"none", "claude-code-2.1.19", "claude-code-2.1.119", "claude-code-pipeline", "opencode", "three-layer"} {
			s, err := backtest.Score(rec, named(t, name), backtest.ScoreOptions{})
			if err != nil {
				t.Errorf("%s, %s: %v", path, name, err)
				continue
			}
			r := backtest.Sum(name, []*backtest.SessionScore{s})
			row := &r.Compactions[len(r.Compactions)-1]
			if n := row.Hits + row.Misses + row.Lost + row.Manual + row.Last; n != len(conv.Boundaries) || row.Free.Exact > row.Free.One || row.Free.One > row.Free.Five || row.Free.Five > row.Recorded {
				t.Errorf("%s, %s: %d compactions are recorded: %+v", path, name, len(conv.Boundaries), row)
			}
			recorded := 0
			for _, m := range s.Micro {
				if m.Recorded {
					recorded++
				}
			}
			must.Equal(t, recorded+s.MicroUnknown, len(conv.Micro), path, name, recorded)
			for _, b := range s.Breaks {
				if b.Line < 1 || b.Cause == "" || b.Why == "" || b.Left <= 0 {
					t.Errorf("%s, %s: %+v", path, name, b)
				}
			}
		}
	}
}

// TestLeast: a rate of few is said and not judged, and one wrong among the least that are judged decides nothing
// alone.
func TestLeast(t *testing.T) {
	must.Rows(t, `
# hits | misses | alarms | measures that do not hold | that are of too few
1  | 1 | 0 | null       | 2
3  | 6 | 0 | null       | 2
3  | 7 | 0 | ["hits"]   | 1
9  | 1 | 0 | null       | 1
18 | 0 | 1 | null       | 1
19 | 0 | 1 | null       | 0
18 | 0 | 2 | ["alarms"] | 0
`, func(hits, misses, alarms int, wantFailed []string, wantFew int) {
		s := &backtest.SessionScore{Compactions: make([]backtest.CompactionScore, hits+misses), Alarms: make([]backtest.Alarm, alarms)}
		for i := range hits {
			s.Compactions[i].Hit = true
		}
		r := backtest.Sum("p", []*backtest.SessionScore{s})
		var failed []string
		for _, m := range backtest.Failed(r.Fidelity) {
			failed = append(failed, m.Name)
		}
		few, judged := r.Unjudged()
		must.Both(failed, len(few))(t, wantFailed, wantFew)
		must.Equal(t, judged, len(few) != 2)
		r.SetLeast(1)
		if few, _ := r.Unjudged(); len(few) > 0 {
			t.Errorf("from 1 on these are not judged: %+v", few)
		}
	})
	for _, m := range backtest.Sum("p", nil).Fidelity {
		if strings.HasPrefix(m.Name, "input_cost_") {
			continue // no share
		}
		if wrong := 100 / float64(m.Least); m.Least < 10 || m.Most && wrong > m.Bar || !m.Most && 100-wrong < m.Bar {
			t.Errorf("%s: one wrong of %d is beyond the bar of %v", m.Name, m.Least, m.Bar)
		}
	}
}
