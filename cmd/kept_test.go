package cmd

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// said is all that a command does for its caller.
type said struct {
	code     int
	out, err string
}

// runKept runs a command line with what is kept in a folder; "off": nothing is.
func runKept(t *testing.T, cache string, args ...string) said {
	t.Helper()
	t.Setenv(cacheVariable, cache)
	return runSaid(args...)
}

func runSaid(args ...string) said {
	code, out, err := ctxkit(args...)
	return said{code, out, err}
}

// keptFiles are the rows in a cache.
func keptFiles(t *testing.T, cache string) []string {
	t.Helper()
	list := must.Get(filepath.Glob(filepath.Join(cache, rowsKind+"-*.memo")))(t)
	return list
}

// keptFolder is a folder of sessions, with subagents and offloaded results, one of another agent, one without a request
// and one that is damaged.
func keptFolder(t *testing.T) string {
	dir := t.TempDir()
	shipped := "../testdata/sessions"
	for _, sub := range []string{"subagent", "offload"} {
		must.Do(t, os.CopyFS(dir, os.DirFS(filepath.Join(shipped, sub))))
	}
	text := func(name string) string {
		data := must.Get(os.ReadFile(filepath.Join(shipped, name)))(t)
		return string(data)
	}
	compaction := text("compaction.jsonl")
	for name, content := range map[string]string{
		"a.jsonl": compaction, "damaged.jsonl": "{\"no\n" + compaction[:len(compaction)-100],
		"empty.jsonl": compaction[:strings.Index(compaction, "\n")+1], "thinking.jsonl": text("thinking.jsonl"),
	} {
		writeFile(t, filepath.Join(dir, name), content)
	}
	return dir
}

// keptPolicies are the arguments of a comparison with a policy file in the folder.
func keptPolicies(t *testing.T, dir string) []string {
	own := filepath.Join(dir, "own.yaml")
	writeFile(t, own, "version: 1\nname: own\nstages:\n  - mask: {keep: 5}\n")
	return []string{"compare", dir, "-p", "recorded", "-p", own, "-p", "opencode", "-p", "claude-code"}
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
}

// TestKeptRows: no byte of what a comparison prints depends on what is kept.
func TestKeptRows(t *testing.T) {
	dir := keptFolder(t)
	args := keptPolicies(t, dir)
	for row := range strings.Lines(`-f table
-f json
-f csv
-f markdown
-f html
-f rows
-f csv --verbose --by project
-f csv --agent all
-f csv --no-regret --strict
-f csv --model gpt-5 --tokens heuristic
-f csv --cache own --window 100k --overhead 5000
-f csv --set mask.keep=2 --max findings=1`) {
		more := strings.Fields(row)
		line := append(slices.Clone(args), more...)
		want, cache := runKept(t, cacheOff, line...), t.TempDir()
		for _, jobs := range strings.Fields("4 1 4") {
			if got := runKept(t, cache, append(slices.Clone(line), "--jobs", jobs)...); got != want {
				t.Errorf("%v, --jobs %s: exit code %d, want %d\n%s\nwant\n%s\n%.3000s\nwant\n%.3000s", more, jobs, got.code, want.code, got.err, want.err, got.out, want.out)
			}
		}
		kept := 6
		if slices.Contains(more, "html") { // a page has every request, which rows have not
			kept = 0
		}
		if n := len(keptFiles(t, cache)); n != kept {
			t.Errorf("%v: rows of %d inputs are kept, want %d", more, n, kept)
		}
	}
}

// TestKeptRowsAreUsed changes a file where its stamp does not look: the old rows are used, whatever policies of them are
// asked for. With --no-cache, under one more first policy, and with other options the file is read.
func TestKeptRowsAreUsed(t *testing.T) {
	dir, cache := t.TempDir(), t.TempDir()
	args := keptPolicies(t, dir)
	path := filepath.Join(dir, "a.jsonl")
	data := must.Get(os.ReadFile("../testdata/sessions/compaction.jsonl"))(t)
	writeFile(t, path, string(data))
	st := must.Get(os.Stat(path))(t)
	few := append(slices.Clone(args[:4]), "-p", "claude-code")
	lines := [][]string{args, few, append(slices.Clone(args), "--no-regret"), append([]string{"compare", dir}, slices.Concat(args[6:], args[2:6])...)}
	want := make([]said, len(lines))
	for i, line := range lines {
		want[i] = runKept(t, cacheOff, line...)
	}
	runKept(t, cache, args...)
	half := len(data) / 2
	changed := append(bytes.Clone(data[:half]), bytes.ReplaceAll(data[half:], []byte(`"model":"claude-opus-4-6"`), []byte(`"model":"claude-opus-4-5"`))...)
	if len(changed) != len(data) || bytes.Equal(changed, data) {
		t.Fatal("the session has other models")
	}
	writeFile(t, path, string(changed))
	must.Do(t, os.Chtimes(path, st.ModTime(), st.ModTime()))
	if runKept(t, cache, args...) != want[0] {
		t.Error("the session is read again")
	}
	if runKept(t, cache, append(slices.Clone(args), "--"+noCache)...) == want[0] {
		t.Error("with --no-cache the session is not read again")
	}
	if runKept(t, cache, lines[2]...) == want[2] {
		t.Error("with --no-regret the rows with regret are used")
	}
	if runKept(t, cache, lines[3]...) == want[3] {
		t.Error("against another first policy the rows are used")
	}
	if runKept(t, cache, append(slices.Clone(few), "--no-regret")...).out == runKept(t, cacheOff, append(slices.Clone(few), "--no-regret")...).out {
		return
	}
	t.Error("rows of an older state are kept")
}

// TestKeptRowsInCommon: comparisons with fewer, more and reordered policies use the rows that they have in common.
func TestKeptRowsInCommon(t *testing.T) {
	dir, cache := keptFolder(t), t.TempDir()
	args := keptPolicies(t, dir)
	own := args[5]
	for _, names := range [][]string{
		{"recorded", own}, {"recorded", own, "opencode"}, {"recorded", "opencode", own}, {"recorded"}, {"recorded", "opencode", "gemini-cli", "none"}, {"none", "recorded", own},
		{"recorded", "opencode,opencode_prune.protect=20000", "opencode"}, {"recorded", "gemini-cli"},
	} {
		for _, more := range [][]string{{"-f", "rows"}, {"-f", "json", "--no-regret"}} {
			line := append([]string{"compare", dir}, more...)
			for _, name := range names {
				line = append(line, "-p", name)
			}
			want := runKept(t, cacheOff, line...)
			for _, when := range []string{"first", "second"} {
				if got := runKept(t, cache, line...); got != want {
					t.Errorf("%s, %v: exit code %d, want %d\n%s\nwant\n%s", when, line[2:], got.code, want.code, got.err, want.err)
				}
			}
		}
	}
}

// TestKeptRowsOfChanges: what a session's rows depend on is noticed, one thing after the other.
func TestKeptRowsOfChanges(t *testing.T) {
	dir, cache := keptFolder(t), t.TempDir()
	args := append(keptPolicies(t, dir), "-f", "rows", "--agent", "all")
	const offload, subagent = "646fd4d4-80f3-4332-8cf7-54ef688b3f8f", "b32e519c-43e7-4331-9b9b-59720f862fab"
	one := func(pattern string) string {
		t.Helper()
		list := must.Glob(t, 1, dir, pattern)
		return list[0]
	}
	read := func(path string) string {
		data := must.Get(os.ReadFile(path))(t)
		return string(data)
	}
	result, agent := one(offload+"/tool-results/*"), one(subagent+"/subagents/*.jsonl")
	ahead := time.Now().Add(time.Hour)
	before := runKept(t, cache, args...)
	for _, tt := range []struct {
		name   string
		change func() error
		same   bool // the output does not change
	}{
		{"a session is touched", func() error { return os.Chtimes(filepath.Join(dir, "a.jsonl"), ahead, ahead) }, true},
		{"a session grows", func() error {
			text := read(filepath.Join(dir, "thinking.jsonl"))
			lines := strings.SplitAfter(text, "\n")
			writeFile(t, filepath.Join(dir, "a.jsonl"), strings.Join(lines[:len(lines)/2], ""))
			return nil
		}, false},
		{"a subagent changes", func() error {
			text := read(agent)
			writeFile(t, agent, text[:strings.LastIndex(strings.TrimSpace(text), "\n")+1])
			return nil
		}, false},
		{"a subagent comes", func() error {
			writeFile(t, filepath.Join(filepath.Dir(agent), "agent-new.jsonl"), read(agent))
			return nil
		}, false},
		{"an offloaded result changes", func() error { writeFile(t, result, "short\n"); return nil }, false},
		{"an offloaded result has other words of the same length", func() error {
			writeFile(t, result, "shore\n")
			return os.Chtimes(result, ahead, ahead)
		}, true},
		{"an offloaded result goes", func() error { return os.Remove(result) }, false},
		{"an offloaded result is a folder", func() error { return os.Mkdir(result, 0o755) }, true},
		{"a policy changes", func() error {
			writeFile(t, filepath.Join(dir, "own.yaml"), "version: 1\nname: own\nstages:\n  - mask: {keep: 1}\n")
			return nil
		}, false},
		{"a policy is written in another way", func() error {
			writeFile(t, filepath.Join(dir, "own.yaml"), "# keep\nversion: 1\nname: own\nstages: [{mask: {keep: 1}}]\n")
			return nil
		}, true},
		{"a session goes", func() error { return os.Remove(filepath.Join(dir, "thinking.jsonl")) }, false},
		{"a session comes under another name", func() error {
			return os.Rename(filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "z.jsonl"))
		}, false},
		{"a session is no session any more", func() error { writeFile(t, filepath.Join(dir, "z.jsonl"), "{}\n{}\n"); return nil }, false},
	} {
		must.Do(t, tt.change())
		want := runKept(t, cacheOff, args...)
		if (want == before) != tt.same {
			t.Errorf("%s: the output is the same: %v, want %v", tt.name, want == before, tt.same)
		}
		for _, when := range []string{"first", "second"} {
			if got := runKept(t, cache, args...); got != want {
				t.Errorf("%s, %s: exit code %d, want %d\n%s\nwant\n%s", tt.name, when, got.code, want.code, got.err, want.err)
			}
		}
		before = want
	}
}

// TestKeptRowsDamaged: damaged rows are made again in silence, and what an ended program left is no hindrance.
func TestKeptRowsDamaged(t *testing.T) {
	dir, cache := keptFolder(t), t.TempDir()
	args := append(keptPolicies(t, dir), "-f", "json")
	want := runKept(t, cacheOff, args...)
	runKept(t, cache, args...)
	for name, damage := range map[string]func(data []byte) []byte{
		"flipped": func(data []byte) []byte { data[len(data)/2] ^= 1; return data },
		"cut":     func(data []byte) []byte { return data[:len(data)-7] },
		"longer":  func(data []byte) []byte { return append(data, "more"...) },
		"garbage": func(data []byte) []byte { return bytes.Repeat([]byte{0xff}, len(data)) },
		"empty":   func([]byte) []byte { return nil },
	} {
		files := keptFiles(t, cache)
		if len(files) != 6 {
			t.Fatalf("%s: rows of %d inputs, want 6", name, len(files))
		}
		whole := map[string]string{}
		for i, file := range files {
			data := must.Get(os.ReadFile(file))(t)
			whole[file] = string(data)
			if i == 0 {
				writeFile(t, file+".1.part", string(data[:len(data)/2]))
			}
			writeFile(t, file, string(damage(data)))
		}
		if got := runKept(t, cache, args...); got != want {
			t.Errorf("%s: exit code %d, want %d: %s", name, got.code, want.code, got.err)
		}
		for file, text := range whole {
			if data, err := os.ReadFile(file); err != nil || string(data) != text {
				t.Errorf("%s: %s is not as it was: %v", name, filepath.Base(file), err)
			}
		}
	}
	for _, file := range keptFiles(t, cache)[:3] { // as after an interrupt
		must.Do(t, os.Remove(file))
	}
	if got := runKept(t, cache, args...); got != want {
		t.Errorf("half of them: exit code %d, want %d: %s", got.code, want.code, got.err)
	}
	// A file in the place of the folder.
	if got := runKept(t, filepath.Join(dir, "own.yaml"), args...); got != want {
		t.Errorf("no folder: exit code %d, want %d: %s", got.code, want.code, got.err)
	}
}

// TestKeptRowsAtOnce has several comparisons fill and use one cache.
func TestKeptRowsAtOnce(t *testing.T) {
	dir, cache := keptFolder(t), t.TempDir()
	args := append(keptPolicies(t, dir), "-f", "json")
	few := slices.Concat(args[:4], args[8:])
	wants := map[bool]said{false: runKept(t, cacheOff, args...), true: runKept(t, cacheOff, few...)}
	t.Setenv(cacheVariable, cache)
	var running sync.WaitGroup
	for i := range 6 {
		running.Go(func() {
			for n := range 3 {
				less := (i+n)%2 == 0
				line := args
				if less {
					line = few
				}
				if got := runSaid(line...); got != wants[less] {
					t.Errorf("%v: exit code %d, want %d: %s", line, got.code, wants[less].code, got.err)
				}
			}
		})
	}
	running.Wait()
	if left, err := filepath.Glob(filepath.Join(cache, "*.part")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestRowsNotKept: of standard input, of a session with a link beside it, of one that fails, and under a policy that
// starts a program nothing is kept; nor is by merge and check.
func TestRowsNotKept(t *testing.T) {
	dir, cache := t.TempDir(), t.TempDir()
	data := must.Get(os.ReadFile("../testdata/sessions/compaction.jsonl"))(t)
	path := filepath.Join(dir, "a.jsonl")
	writeFile(t, path, string(data))
	writeFile(t, filepath.Join(dir, "bad.jsonl"), "no session\n")
	program := filepath.Join(dir, "program.yaml")
	writeFile(t, program, "version: 1\nname: program\nstages:\n  - program: {command: [nothing-of-that-name]}\n")
	for _, line := range [][]string{
		{"compare", "-", "-p", "none"}, {"compare", filepath.Join(dir, "bad.jsonl"), "-p", "none"},
		{"compare", path, "-p", "none", "-p", program, "--" + allowPrograms}, {"replay", path, "-p", "none"}, {"export", path, "-p", "none", "-o", filepath.Join(dir, "out")},
	} {
		t.Setenv(cacheVariable, cache)
		var out, err bytes.Buffer
		Main(line, bytes.NewReader(data), &out, &err)
		if list := keptFiles(t, cache); len(list) > 0 {
			t.Errorf("%v: kept: %v", line, list)
		}
	}
	if err := os.Symlink(dir, filepath.Join(dir, "a")); err != nil {
		t.Skipf("no links here: %v", err)
	}
	if got := runKept(t, cache, "compare", path, "-p", "none"); got.code != exitDone || len(keptFiles(t, cache)) > 0 {
		t.Errorf("a link beside it: exit code %d: %s; kept: %v", got.code, got.err, keptFiles(t, cache))
	}
	must.Do(t, os.Remove(filepath.Join(dir, "a")))
	if got := runKept(t, cache, "compare", path, "-p", "none"); got.code != exitDone || len(keptFiles(t, cache)) != 1 {
		t.Errorf("without the link: exit code %d: %s; kept: %v", got.code, got.err, keptFiles(t, cache))
	}
	if got := fmt.Sprint(runKept(t, cache, "cache", "info").out); !strings.Contains(got, ": 1 files, ") {
		t.Errorf("cache info: %s", got)
	}
}
