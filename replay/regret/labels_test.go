package regret_test

import (
	"bufio"
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/regret"
)

// label is a miss that a person has read in its transcript. scripts/drawregret drew it.
type label struct {
	Session string          `json:"session"`
	Agent   string          `json:"agent"`
	Policy  string          `json:"policy"`
	Kind    regret.Evidence `json:"kind"`
	Line    int             `json:"line"`
	UsedBy  int             `json:"used_line"`
	Offset  int             `json:"offset"`
	Removed int             `json:"removed_request"`
	Needed  int             `json:"needed_request"`
	Verdict string          `json:"verdict"`
	Why     string          `json:"why"`
}

func labels(t *testing.T) (list []label) {
	f, err := os.Open("testdata/labels.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var l label
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		list = append(list, l)
	}
	return list
}

// verdicts counts labels. One that could not be decided counts as false.
type verdicts struct{ yes, no, undecided int }

func (v *verdicts) add(t *testing.T, l *label) {
	switch l.Verdict {
	case "true":
		v.yes++
	case "false":
		v.no++
	case "undecided":
		v.undecided++
	default:
		t.Errorf("%+v: no verdict", l)
	}
}

// precision is the share of true ones, with the bounds of Wilson's 95 % interval.
func (v *verdicts) precision() (p, low, high float64) {
	n := float64(v.yes + v.no + v.undecided)
	p = float64(v.yes) / n
	const z = 1.959964
	mid, half := (p+z*z/(2*n))/(1+z*z/n), z/(1+z*z/n)*math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return p, mid - half, mid + half
}

// wantPrecision is the least share of misses that a person has to find true.
const wantPrecision = 0.8

// TestLabels states the precision of what is printed as a miss, by verdicts of people.
func TestLabels(t *testing.T) {
	var all verdicts
	by := map[string]*verdicts{}
	list := labels(t)
	for i := range list {
		l := &list[i]
		all.add(t, l)
		for _, key := range []string{"kind " + string(l.Kind), "policy " + l.Policy} {
			if by[key] == nil {
				by[key] = &verdicts{}
			}
			by[key].add(t, l)
		}
		if l.Why == "" && l.Verdict != "true" || len(l.Why) > 120 {
			t.Errorf("%+v: say why, in a few words", l)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(by)) {
		v := by[key]
		p, low, high := v.precision()
		t.Logf("%s: %+v, precision %.3f (%.3f to %.3f)", key, *v, p, low, high)
	}
	p, low, high := all.precision()
	t.Logf("all: %+v, precision %.3f (95 %%: %.3f to %.3f)", all, p, low, high)
	if p < wantPrecision {
		t.Errorf("precision %.3f, want %.2f", p, wantPrecision)
	}
}

// TestLabelsNow finds the labelled misses again: their precision is that of what is printed now.
func TestLabelsNow(t *testing.T) {
	dir := os.Getenv("CTXKIT_CORPUS")
	if dir == "" {
		t.Skip("CTXKIT_CORPUS is not set")
	}
	bySession := map[string][]label{}
	for _, l := range labels(t) {
		bySession[l.Session] = append(bySession[l.Session], l)
	}
	var now verdicts
	gone := 0
	for name, list := range bySession {
		files, _ := filepath.Glob(filepath.Join(dir, name+".jsonl*"))
		if len(files) != 1 {
			continue // of another corpus
		}
		printed := misses(t, files[0], list)
		for i := range list {
			l := list[i]
			l.Verdict, l.Why = "", ""
			if printed[l] {
				now.add(t, &list[i])
			} else {
				gone++
			}
		}
	}
	if now == (verdicts{}) {
		t.Skip("no labelled session is in this corpus")
	}
	p, low, high := now.precision()
	t.Logf("still printed: %+v, precision %.3f (95 %%: %.3f to %.3f); %d are no longer", now, p, low, high, gone)
	if p < wantPrecision {
		t.Errorf("precision %.3f, want %.2f", p, wantPrecision)
	}
}

// misses are the misses of a session under the policies of its labels.
func misses(t *testing.T, path string, list []label) map[label]bool {
	reg, err := stage.Registry()
	if err != nil {
		t.Fatal(err)
	}
	f, err := session.Load(path, session.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	printed, done := map[label]bool{}, map[string]bool{}
	for _, conv := range f.Conversations() {
		rec, err := replay.NewRecord(conv)
		if err != nil {
			t.Fatal(err)
		}
		client := preset.Client{Product: conv.Product, Version: conv.Version}
		for i := 0; i < len(conv.Messages) && client.Time.IsZero(); i++ {
			client.Time = conv.Messages[i].Time
		}
		if conv.Product != "" { // in the window that the user had set
			own, err := preset.LoadFor(conv.Product, client, reg)
			if err != nil {
				t.Fatal(err)
			}
			fit, err := rec.FitWindow(own, replay.Options{})
			if err != nil {
				t.Fatal(err)
			}
			rec.UseWindow(fit)
		}
		for _, l := range list {
			if l.Agent != conv.Agent || done[l.Agent+l.Policy] {
				continue
			}
			done[l.Agent+l.Policy] = true
			pol, err := preset.LoadFor(l.Policy, client, reg)
			if err != nil {
				t.Fatal(err)
			}
			tl, err := rec.Replay(pol, replay.Options{Regret: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range tl.Regret.Misses {
				printed[label{
					Session: l.Session, Agent: l.Agent, Policy: l.Policy, Kind: m.Evidence, Line: m.Line, UsedBy: m.UsedLine,
					Offset: m.Offset, Removed: m.Removed, Needed: m.Needed,
				}] = true
			}
		}
	}
	return printed
}
