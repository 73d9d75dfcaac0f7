package backtest_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/backtest"
)

// byVersion is the policy that matches the client of each session.
const byVersion = "claude-code@" + preset.RecordedVersion

// corpusFiles are the files of the folder of real sessions that match the patterns; without such a folder the test is
// skipped.
func corpusFiles(t testing.TB, patterns ...string) []string {
	dir := os.Getenv("CTXKIT_CORPUS")
	if dir == "" {
		t.Skip("CTXKIT_CORPUS names no folder of real sessions")
	}
	var files []string
	for _, pattern := range patterns {
		found := must.Get(filepath.Glob(filepath.Join(dir, pattern)))(t)
		files = append(files, found...)
	}
	if len(files) == 0 {
		t.Fatalf("no session files under %s", dir)
	}
	return files
}

// mainFiles match the main sessions of the corpus.
func mainFiles(t testing.TB) []string {
	return corpusFiles(t, "*.jsonl", "*.jsonl.gz", "*.jsonl.zst", "*/*.jsonl")
}

func loadFile(t testing.TB, path string) *session.File {
	f := must.Get(session.Load(path, session.LoadOptions{Jobs: 2}))(t)
	t.Cleanup(func() { f.Close() })
	return f
}

func load(t testing.TB, path string) *session.Conversation { return loadFile(t, path).Main }

// registry holds all stages, for all tests: to make one tries every default.
var registry = sync.OnceValues(stage.Registry)

func named(t testing.TB, name string) *policy.Policy {
	reg := must.Get(registry())(t)
	p := must.Get(preset.Load(name, reg))(t)
	return p
}

func scored(t testing.TB, conv *session.Conversation, name string, opt backtest.ScoreOptions) *backtest.SessionScore {
	rec := must.Get(replay.NewRecord(conv))(t)
	s := must.Get(backtest.Score(rec, named(t, name), opt))(t)
	return s
}

// TestCorpus holds the policy of each client against what it recorded.
func TestCorpus(t *testing.T) {
	var sessions []*backtest.SessionScore
	for _, path := range mainFiles(t) {
		conv := load(t, path)
		if len(conv.Requests) == 0 || conv.Version == "" {
			continue
		}
		s := scored(t, conv, strings.Replace(byVersion, preset.RecordedVersion, conv.Version, 1), backtest.ScoreOptions{})
		sessions = append(sessions, s)
		tell(t, s)
	}
	r := backtest.Sum(byVersion, sessions)
	plain, micro := r.Compactions[0], r.Micro[0]
	t.Logf("compactions: %+v", plain)
	t.Logf("microcompactions: %+v", micro)
	for _, m := range r.Fidelity {
		t.Logf("%s: %v of %d (bar %v)", m.Name, m.Value, m.Of, m.Bar)
	}
	if plain.Recorded != 42 || plain.Hits < 39 || plain.Alarms > 1 || plain.Lost != 9 || plain.LostHits != 9 {
		t.Errorf("want 39 of 42 automatic compactions at the recorded request, one false alarm, and 9 of 9 whose last message is lost")
	}
	if plain.Free.Exact < 38 || plain.Free.Alarms > 1 {
		t.Errorf("replayed freely: %+v, want 38 and one false alarm", plain.Free)
	}
	for _, row := range r.Compactions {
		t.Logf("%+v", row)
		switch {
		case row.Clients == "2.1.12-2.1.20" && (row.Recorded != 12 || row.Exact != 12):
			t.Errorf("used is pre_tokens to the token in %d of %d compactions of 2.1.12-2.1.20, want 12 of 12", row.Exact, row.Recorded)
		case row.Fitted && row.Clients == "2.1.119+" && (row.Sessions != 6 || row.Recorded != 6 || row.Hits != 6 || row.Alarms > 0 || row.Exact < 5):
			t.Errorf("in fitted windows: %+v, want 6 of 6 and 5 to the token", row)
		case row.Fitted && row.Clients != "2.1.119+" && row.Clients != backtest.All:
			t.Errorf("%s: %d sessions are fitted", row.Clients, row.Sessions)
		}
	}
	if micro.Recorded != 6 || micro.Same != 6 || micro.Close < 5 || micro.Unrecorded != 5 || micro.Confirmed != 5 || micro.Alarms > 1 {
		t.Errorf("want the same ids on all 6 recorded microcompactions, 5 within 1 %%, all 5 unrecorded ones, and one false alarm")
	}
	if failed := backtest.Failed(r.Fidelity); len(failed) > 0 {
		t.Errorf("these do not hold: %+v", failed)
	}
}

// tell says where a session's policy and record differ, and what was fitted.
func tell(t *testing.T, s *backtest.SessionScore) {
	name := filepath.Base(s.File)
	if s.Fit != nil {
		t.Logf("%s (client %s): fitted %+v", name, s.Version, *s.Fit)
		if w := s.Fit.Window; w != 400000 && w != 600000 || !s.Fit.Agrees {
			t.Errorf("%s: fitted %+v, want a window of 400,000 or 600,000 that explains the record", name, *s.Fit)
		}
	}
	for _, c := range s.Compactions {
		if !c.Hit {
			t.Logf("miss: %s line %d request %d (client %s): pre_tokens %d, used %d", name, c.Line, c.Request, c.Version, c.PreTokens, c.Used)
		}
	}
	for _, a := range s.Alarms {
		t.Logf("false alarm: %s request %d: used %d, threshold %d", name, a.Request, a.Used, a.Threshold)
	}
	for _, a := range s.MicroAlarms {
		t.Logf("another microcompaction: %s request %d", name, a.Request)
	}
}

// TestCorpusTail: from 2.1.119 on used is counted from the first line of the last response, and by no version before.
func TestCorpusTail(t *testing.T) {
	exact, of := 0, 0
	for _, path := range corpusFiles(t, "claude-2.1.1[1-9]*-auto*.jsonl.gz") {
		conv := load(t, path)
		if session.CompareVersions(conv.Version, "2.1.119") < 0 {
			continue
		}
		for _, c := range scored(t, conv, "claude-code-2.1.37", backtest.ScoreOptions{}).Compactions {
			of++
			if c.Used == c.PreTokens {
				exact++
			}
		}
	}
	if of != 6 || exact > 0 {
		t.Errorf("counted from the last line used is pre_tokens to the token in %d of %d, want 0 of 6", exact, of)
	}
}
