package regret_test

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/interval"
	"github.com/ctxkit/ctxkit/replay/regret"
)

// label is a miss that was drawn at random and read in its transcript.
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
	f := must.Get(os.Open("testdata/labels.jsonl"))(t)
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var l label
		must.Do(t, json.Unmarshal(s.Bytes(), &l))
		list = append(list, l)
	}
	return list
}

// finding is a block and its use. Several policies may remove the same block.
type finding struct {
	Session, Agent       string
	Kind                 regret.Evidence
	Line, UsedBy, Offset int
}

// verdicts are the findings of labels, true where all verdicts on one are. An undecided one counts as false.
type verdicts map[finding]bool

func (v verdicts) add(l *label) {
	f := finding{l.Session, l.Agent, l.Kind, l.Line, l.UsedBy, l.Offset}
	before, ok := v[f]
	v[f] = (before || !ok) && l.Verdict == "true"
}

// precision is the share of true findings, with the bounds of a 90 % interval over sessions.
func (v verdicts) precision() (yes, sessions int, share interval.Interval) {
	by := map[string]interval.Ratio{}
	for f, ok := range v {
		r := by[f.Session]
		r.Den++
		if ok {
			r.Num++
			yes++
		}
		by[f.Session] = r
	}
	return yes, len(by), interval.Of(slices.Collect(maps.Values(by))) // in any order
}

// judge logs a precision and tests it where least is above 0.
func (v verdicts) judge(t *testing.T, name string, least int) {
	yes, sessions, share := v.precision()
	t.Logf("%s: %d of %d findings in %d sessions are true: %s (%s to %s)", name, yes, len(v), sessions, share.Value.Text(2), share.Lower.Text(2), share.Upper.Text(2))
	if yes*100 < least*len(v) {
		t.Errorf("%s: precision %s, want %d %%", name, share.Value.Text(2), least)
	}
}

// wantPrecision is the least share of findings that has to be true, percent.
const wantPrecision = 80

// TestLabels states the precision of what is printed as a miss, by verdicts of readers.
func TestLabels(t *testing.T) {
	all, by := verdicts{}, map[string]verdicts{}
	list := labels(t)
	for i := range list {
		l := &list[i]
		all.add(l)
		for _, key := range []string{"kind " + string(l.Kind), "policy " + l.Policy} {
			if by[key] == nil {
				by[key] = verdicts{}
			}
			by[key].add(l)
		}
		if !slices.Contains([]string{"true", "false", "undecided"}, l.Verdict) || l.Why == "" && l.Verdict != "true" || len(l.Why) > 120 {
			t.Errorf("%+v: give a verdict, and say why in a few words", l)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(by)) {
		by[key].judge(t, key, 0)
	}
	all.judge(t, "all", wantPrecision)
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
	now := verdicts{}
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
				now.add(&list[i])
			} else {
				gone++
			}
		}
	}
	if len(now) == 0 {
		t.Skip("no labelled session is in this corpus")
	}
	now.judge(t, "still printed", wantPrecision)
	t.Logf("%d labels are no longer printed", gone)
}

// misses are the misses of a session under the policies of its labels.
func misses(t *testing.T, path string, list []label) map[label]bool {
	reg := must.Get(stage.Registry())(t)
	presets := preset.New(reg)
	f := must.Get(session.Load(path, session.LoadOptions{}))(t)
	defer f.Close()
	printed, done := map[label]bool{}, map[string]bool{}
	for _, conv := range f.Conversations() {
		rec := must.Get(replay.NewRecord(conv))(t)
		client := preset.ClientOf(conv)
		if err := rec.UseRelease(presets); err != nil { // in the window that the user had set
			t.Fatal(err)
		}
		for _, l := range list {
			if l.Agent != conv.Agent || done[l.Agent+l.Policy] {
				continue
			}
			done[l.Agent+l.Policy] = true
			pol := must.Get(presets.LoadFor(l.Policy, client))(t)
			tl := must.Get(rec.Replay(pol, replay.Options{Regret: true}))(t)
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
