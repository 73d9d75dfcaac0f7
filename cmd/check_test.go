package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/replay/check"
	"github.com/ctxkit/ctxkit/report/golden"
)

// shippedCheck holds the built-in policies over the sample sessions.
var shippedCheck = "../testdata/check/ctxkit.yaml"

// TestShippedCheck holds that the built-in policies do what they did when somebody agreed to
// testdata/check/baseline.json. With -update it is written anew: look at what this test says first, and at the file's
// difference.
func TestShippedCheck(t *testing.T) {
	t.Parallel()
	run := func(args ...string) (int, string) {
		var out bytes.Buffer
		code := Main(append([]string{"check", shippedCheck}, args...), nil, &out, &out)
		return code, out.String()
	}
	if golden.Update() {
		if code, out := run("--update", "--force"); code != exitDone {
			t.Errorf("exit %d:\n%s", code, out)
		}
	}
	code, one := run("--format", "json", "--jobs", "1")
	var checked check.Report
	if err := json.Unmarshal([]byte(one), &checked); err != nil || code != exitDone || checked.Counts.OK != checked.Counts.Replays {
		_, out := run()
		t.Errorf("exit %d; rewrite the baseline with -update if that is meant:\n%s", code, out)
	}
	if !must.CI() {
		return
	}
	if _, eight := run("--format", "json", "--jobs", "8"); one != eight {
		t.Error("other bytes at 8 jobs than at 1")
	}
}

// TestCheckTool holds that what another version of ctxkit does otherwise is told from what the policy does: the
// baseline's policy is replayed by this version, and only the rest fails.
func TestCheckTool(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		writeFile(t, filepath.Join(dir, name), text)
	}
	session := must.Get(filepath.Abs("../testdata/sessions/big.jsonl"))(t)
	write("ctxkit.yaml", "version: 1\nsessions: '"+session+"'\nbaseline: baseline.json\ncases: [{name: mine, policy: ./mine.yaml}]\n")
	write("mine.yaml", "extends: opencode-1.1.36\n")
	run := func(args ...string) (int, string) {
		var out bytes.Buffer
		code := Main(append([]string{"check", filepath.Join(dir, "ctxkit.yaml")}, args...), nil, &out, &out)
		return code, out.String()
	}
	if code, out := run("--update", "--force"); code != exitDone {
		t.Fatal(out)
	}
	text := must.Get(os.ReadFile(filepath.Join(dir, "baseline.json")))(t)
	older := strings.Replace(string(text), `"tool": "`+buildVersion()+`"`, `"tool": "0.9"`, 1)
	cost := regexp.MustCompile(`"cost_usd": ([0-9.]+)`).FindStringSubmatch(older)
	if older == string(text) || cost == nil {
		t.Fatal("the baseline is not as this test expects")
	}
	usd := must.Get(strconv.ParseFloat(cost[1], 64))(t)
	other := strings.Replace(older, cost[0], fmt.Sprintf(`"cost_usd": %.6f`, usd-1), 1)
	itself, worse := fmt.Sprintf("by ctxkit itself: cost_usd %.4f -> %.4f", usd-1, usd), fmt.Sprintf("cost_usd %.4f 27.", usd)
	for _, c := range []struct {
		name, baseline, policy string
		code                   int
		want, not              []string
	}{
		{"nothing", older, "", exitDone, []string{"1 replay in 1 case: 1 ok; passed"}, []string{"itself"}},
		{"ctxkit", other, "", exitDone, []string{
			"changed by what is no part of a policy", itself, "1 ok; 1 replay changed by ctxkit itself; passed",
			"ctxkit itself changed 1 of 1 replays, which fails nothing: ", "--update",
		}, []string{"FAILED"}},
		{"the policy", older, "set: {opencode_compaction.auto: false}\n", exitCheckFailed, []string{"FAILED: worse", worse}, []string{"itself"}},
		{"both", other, "set: {opencode_compaction.auto: false}\n", exitCheckFailed, []string{"FAILED: worse", worse, itself}, nil},
		{"ctxkit, and the policy to no effect", other, "set: {opencode_prune.protect: 40001}\n", exitDone, []string{
			"changed: opencode_prune.protect 40000 -> 40001", "no session here can tell", itself,
		}, []string{"FAILED"}},
		{"another build", strings.Replace(other, `"tool": "0.9"`, `"tool": "`+buildVersion()+`"`, 1), "", exitCheckFailed, []string{"FAILED: worse", "so it was edited, or made by another build of it"}, []string{"itself"}},
	} {
		write("baseline.json", c.baseline)
		write("mine.yaml", "extends: opencode-1.1.36\n"+c.policy)
		code, out := run()
		plain := strings.Join(strings.Fields(out), " ")
		if code != c.code {
			t.Errorf("%s: exit %d:\n%s", c.name, code, out)
		}
		for _, want := range c.want {
			if !strings.Contains(plain, strings.Join(strings.Fields(want), " ")) {
				t.Errorf("%s: no %q in\n%s", c.name, want, out)
			}
		}
		for _, not := range c.not {
			if strings.Contains(plain, not) {
				t.Errorf("%s: %q in\n%s", c.name, not, out)
			}
		}
	}
}

// TestThresholdBaseline keeps the baseline of docs/check.md's example, which is of another threshold than its policy
// has now.
func TestThresholdBaseline(t *testing.T) {
	dir := "../testdata/check/threshold"
	work := filepath.Join(t.TempDir(), "testdata", "check", "threshold")
	must.Do(t, os.CopyFS(work, os.DirFS(dir)))
	must.Do(t, os.CopyFS(filepath.Join(work, "..", "..", "sessions"), os.DirFS("../testdata/sessions")))
	file := filepath.Join(work, "gemini.yaml")
	text := must.Get(os.ReadFile(file))(t)
	old := strings.Replace(string(text), "threshold: 0.5", "threshold: 0.7", 1)
	if old == string(text) {
		t.Fatalf("%s has no threshold of 0.5", file)
	}
	writeFile(t, file, old)
	var out bytes.Buffer
	if code := Main([]string{"check", filepath.Join(work, "ctxkit.yaml"), "--update", "--force"}, nil, &out, &out); code != exitDone {
		t.Fatalf("exit %d: %s", code, out.String())
	}
	got := must.Get(os.ReadFile(filepath.Join(work, "baseline.json")))(t)
	golden.Check(t, filepath.Join(dir, "baseline.json"), got)
}

// TestShippedCheckNamesAll holds that the shipped check has every built-in policy but the record itself.
func TestShippedCheckNamesAll(t *testing.T) {
	text := must.Get(os.ReadFile(shippedCheck))(t)
	reg := must.Get(stage.Registry())(t)
	for _, name := range preset.Names(reg) {
		p := must.Get(preset.Load(name, reg))(t)
		if line := "\n  - policy: " + name + "\n"; !p.Recorded && !strings.Contains(string(text), strings.TrimRight(line, "\n")) {
			t.Errorf("%s has no %q: add it and run go test ./cmd -run TestShippedCheck -update", shippedCheck, strings.TrimSpace(line))
		}
	}
}

// TestBacktestBareName holds that a product's bare name is scored as the release that recorded each session.
func TestBacktestBareName(t *testing.T) {
	var scores [2][]byte
	for i, name := range []string{"claude-code", "claude-code@recorded-version"} {
		out := mustRun(t, "backtest", "-q", "-f", "json", "-p", name, "../testdata/sessions/compaction.jsonl", "../testdata/sessions/microcompact.jsonl")
		scores[i] = bytes.Replace(out, []byte(`"policy": "`+name+`"`), nil, 1)
	}
	if !bytes.Equal(scores[0], scores[1]) || len(scores[0]) == 0 {
		t.Error("the bare name has other scores")
	}
}
