package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// sweptFiles are sessions for sweeps: those of CTXKIT_CORPUS, else shipped ones.
func sweptFiles(t *testing.T) []string {
	dir, pattern := "../testdata/sessions", "*.jsonl"
	if corpus := os.Getenv("CTXKIT_CORPUS"); corpus != "" {
		dir, pattern = corpus, "claude-2.1.[57]*auto*.jsonl.gz"
	}
	files := must.Glob(t, 10, dir, pattern)
	return files[:10]
}

// sweptPoint is a point as a sweep prints it.
type sweptPoint struct {
	Set    map[string]string
	Totals map[string]float64
}

// A sweep's points are those of replays of their own, however many do the same and whatever the order they are worked
// on in.
func TestSweepPoints(t *testing.T) {
	t.Parallel()
	files := sweptFiles(t)[:6]
	if !long() {
		files = files[1:3]
	}
	for i, c := range []struct{ policy, vary string }{
		{"claude-code-pipeline", "microcompact_cached.keep=1,2,3,40,41,90"},
		{"claude-code-pipeline", "microcompact_cached.trigger=5..50:15"},
		{"claude-code-pipeline", "session_memory.min_tokens=1000,1001,1002,30000"},
		{"claude-code-2.1.19", "window.buffer=1000,1001,1002,60000,150000"},
		{"claude-code-collapse", "window.context=30000,30001,90000"},
		{"claude-code-pipeline", "window.overhead=1000,2000"},
		{"claude-code-pipeline", "cache.ttl=5m,1h"},
		{"opencode", "opencode_prune.protect=1000,1001,40000"},
		{"gemini-cli", "gemini_compression.threshold=0.05,0.051,0.4"},
	} {
		if (testing.Short() || !must.CI()) && i%3 != 0 {
			continue
		}
		key, _, _ := strings.Cut(c.vary, "=")
		t.Run(c.policy+" "+key, func(t *testing.T) {
			var want []byte
			for _, jobs := range []string{"1", "4"} {
				out := mustRun(t, append([]string{"sweep", "-q", "--cache", "own", "-p", c.policy, "--vary", c.vary, "-f", "json", "--jobs", jobs}, files...)...)
				if want != nil && string(want) != string(out) {
					t.Errorf("%s jobs give other bytes than one", jobs)
				}
				want = out
			}
			var sweep struct{ Points []sweptPoint }
			must.Do(t, json.Unmarshal(want, &sweep))
			args := append(strings.Fields("compare -q --cache own -f json"), files...)
			for _, p := range sweep.Points {
				args = append(args, "-p", fmt.Sprintf("%s,%s=%s", c.policy, key, p.Set[key]))
			}
			var compared struct {
				Groups []struct{ Policies []sweptPoint }
			}
			must.Do(t, json.Unmarshal(mustRun(t, args...), &compared))
			for i, p := range sweep.Points {
				if d := cmp.Diff(compared.Groups[0].Policies[i].Totals, p.Totals); d != "" {
					t.Errorf("%s=%s is not its own replay (-replay +sweep):\n%s", key, p.Set[key], d)
				}
			}
		})
	}
}

// TestSweepFewFiles: a sweep has no more sessions open than it works on.
func TestSweepFewFiles(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	path, err := exec.LookPath("ctxkit")
	if err != nil {
		t.Skip(err)
	}
	text := must.Get(os.ReadFile("../testdata/sessions/snip.jsonl"))(t)
	dir := t.TempDir()
	for i := range 40 {
		writeFile(t, filepath.Join(dir, fmt.Sprintf("s%d.jsonl", i)), string(text))
	}
	out, err := exec.Command(shell, "-c", `ulimit -n 24; exec "$0" sweep "$1" -p opencode --vary opencode_prune.protect=1,2 -f json -q --jobs 2`, path, dir).CombinedOutput()
	var sweep struct {
		Sessions int
		Failed   int `json:"failed_inputs"`
	}
	if err != nil || json.Unmarshal(out, &sweep) != nil || sweep.Sessions != 40 || sweep.Failed > 0 {
		t.Errorf("%v, %+v:\n%.2000s", err, sweep, out)
	}
}
