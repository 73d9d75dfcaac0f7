package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/replay/compare"
)

// long reports whether tests take all of their samples, not a part.
func long() bool { return os.Getenv("CTXKIT_LONG") == "1" }

func TestExitCode(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
		says string
	}{
		{nil, 0, ""},
		{fmt.Errorf("writing: %w", syscall.EPIPE), 0, ""},
		{io.ErrClosedPipe, 0, ""},
		{errors.New("FILE:3: wrong: mend it"), 2, "ctxkit: FILE:3: wrong: mend it\n"},
		{errors.New("two\nlines\x1b[31m"), 2, "ctxkit: two lines\\x1b[31m\n"},
		{fmt.Errorf("%w: 3 rules", errCheckFailed), 1, "ctxkit: a check did not hold: 3 rules\n"},
		{&partError{failed: 1}, 2, ""},
	} {
		var b bytes.Buffer
		if code := exitCode(&b, c.err); code != c.code || b.String() != c.says {
			t.Errorf("%v: exit %d, said %q; want %d, %q", c.err, code, b.String(), c.code, c.says)
		}
	}
}

// TestRun holds that a command line ends with its caller's context: at once where it waits, and else after the session
// it is working on.
func TestRun(t *testing.T) {
	var out, errs bytes.Buffer
	if code := Run(t.Context(), []string{"version"}, nil, &out, &errs); code != exitDone || out.String() != versionLine() {
		t.Errorf("exit %d, %q, %q", code, out.String(), errs.String())
	}
	if code := Run(t.Context(), []string{"stats", "nowhere.jsonl"}, nil, &out, &errs); code != exitNotDone || !strings.Contains(errs.String(), "nowhere.jsonl") {
		t.Errorf("exit %d, %q", code, errs.String())
	}

	ctx, cancel := context.WithCancel(t.Context())
	waits, _ := io.Pipe()
	time.AfterFunc(10*time.Millisecond, cancel)
	out.Reset()
	if code := Run(ctx, strings.Fields("replay - -p none"), waits, &out, io.Discard); code != exitInterrupted || out.Len() > 0 {
		t.Errorf("exit %d, %q", code, out.String())
	}

	for _, args := range [][]string{{"stats"}, {"compare", "-p", "none"}, {"sessions"}} {
		r := begin(append(args, "../testdata/sessions", "--no-cache", "--jobs", "1"), nil, io.Discard, io.Discard)
		close(r.sys.stop)
		if <-r.done; !errors.Is(r.err, errInterrupted) {
			t.Errorf("%s went on: %v", args[0], r.err)
		}
	}
}

func TestInOrder(t *testing.T) {
	for _, jobs := range []int{1, 2, 7, 100} {
		var running, most atomic.Int32
		var got []int
		err := inOrder(50, jobs, func(i int) (int, error) {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			if i%10 == 3 {
				return 0, errors.New("three")
			}
			return i * i, nil
		}, func(i, v int, err error) error {
			if (err != nil) != (i%10 == 3) || err == nil && v != i*i {
				t.Errorf("result %d: %d, %v", i, v, err)
			}
			got = append(got, i)
			return nil
		})
		if err != nil || len(got) != 50 {
			t.Errorf("%d jobs: %d results, %v", jobs, len(got), err)
		}
		for i := range got {
			if got[i] != i {
				t.Fatalf("%d jobs: result %d came at place %d", jobs, got[i], i)
			}
		}
		if int(most.Load()) > jobs {
			t.Errorf("%d ran at once, want at most %d", most.Load(), jobs)
		}
	}
	stop := errors.New("stop")
	if err := inOrder(50, 4, func(i int) (int, error) { return i, nil }, func(i, _ int, _ error) error {
		if i == 3 {
			return stop
		}
		return nil
	}); !errors.Is(err, stop) {
		t.Errorf("got %v, want %v", err, stop)
	}
	if err := inOrder(0, 4, func(i int) (int, error) { return i, nil }, func(int, int, error) error { return nil }); err != nil {
		t.Error(err)
	}
}

func TestLineWriterWholeLines(t *testing.T) {
	var b bytes.Buffer
	w := &lineWriter{w: &b}
	for range 3000 {
		fmt.Fprintf(w, "a line of some length\n")
	}
	fmt.Fprint(w, "half a li")
	if b.Len() == 0 {
		t.Error("nothing was handed on before the end")
	}
	must.Do(t, w.close())
	if strings.Contains(b.String(), "half") || strings.Count(b.String(), "\n") != 3000 {
		t.Errorf("%d lines, the end is %q", strings.Count(b.String(), "\n"), b.String()[b.Len()-20:])
	}
	if _, err := fmt.Fprint(w, "more"); err == nil {
		t.Error("it takes more after its end")
	}
}

func TestUseColor(t *testing.T) {
	must.Rows(t, `
# --color | a terminal | environment | --output | coloured
auto   | true  | {} | "" | true
auto   | false | {} | "" | false
auto   | true  | {"NO_COLOR": "1"} | "" | false
auto   | false | {"FORCE_COLOR": "1"} | "" | true
auto   | false | {"FORCE_COLOR": "0"} | "" | false
auto   | false | {"FORCE_COLOR": "1"} | out.txt | false
auto   | true  | {"FORCE_COLOR": "1", "NO_COLOR": "1"} | "" | false
auto   | true  | {"TERM": "dumb"} | "" | false
auto   | true  | {} | out.txt | false
always | false | {"NO_COLOR": "1"} | "" | true
never  | true  | {} | "" | false
`, func(when string, terminal bool, env map[string]string, file string, want bool) {
		sys := &system{terminal: terminal, env: func(name string) string { return env[name] }}
		must.Equal(t, (&outputOptions{Color: when, File: file}).useColor(sys), want)
	})
}

// TestPageToTerminal: a page is refused where it would go to a terminal.
func TestPageToTerminal(t *testing.T) {
	for terminal, refused := range map[bool]bool{true: true, false: false} {
		o := &outputOptions{Format: "html"}
		if _, err := o.create(&system{terminal: terminal}); (err != nil) != refused {
			t.Errorf("terminal %v: %v", terminal, err)
		}
	}
}

func TestTokensAndSizes(t *testing.T) {
	must.Rows(t, `
# a number of tokens; -1: refused
auto   | 0
200000 | 200000
200k   | 200000
1M     | 1000000
1.5M   | 1500000
""     | -1
0      | -1
"-1"   | -1
k      | -1
1.5    | -1
9999999999 | -1
wide   | -1
99999999999999999999G | -1
`, func(in string, want int) {
		n := tokenCount(-1)
		if err := n.Set(in); (err != nil) != (want < 0) || err == nil && int(n) != want {
			t.Errorf("%d, %v", n, err)
		}
	})
	for in, want := range map[string]int64{"500": 500, "500k": 500_000, "200MB": 200_000_000, "2GB": 2_000_000_000} {
		must.Both(parseSize(in))(t, want, nil, in)
	}
}

func TestApplyEnvironment(t *testing.T) {
	reg := must.Get(stage.Registry())(t)
	env := map[string]string{
		"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "80", "CLAUDE_CODE_BLOCKING_LIMIT_OVERRIDE": "190000",
		"CLAUDE_CODE_MAX_OUTPUT_TOKENS": "16000", "DISABLE_COMPACT": "1", "DISABLE_MICROCOMPACT": "yes",
	}
	for _, name := range preset.Names(reg) {
		read := must.Get(preset.Load(name, reg))(t)
		p := &loadedPolicy{Policy: read, from: map[string]string{}}
		before := string(policy.Marshal(read))
		p.environment(&system{families: reg.Families(), env: func(string) string { return "" }})
		if after := string(policy.Marshal(read)); after != before || len(p.from) > 0 {
			t.Errorf("%s changed although nothing is set: %v\n%s", name, p.from, after)
		}
		reads := strings.Contains(before, "pct_override")
		p.environment(&system{families: reg.Families(), env: func(n string) string { return env[n] }})
		for key, want := range map[string]string{
			"window.pct_override": `'80'`, "window.blocking_limit": "190000", "window.max_output": "16000", "window.auto_compact": "false",
		} {
			if got, err := p.Get(key); reads && got != want || !reads && err == nil || len(p.warnings) > 0 {
				t.Errorf("%s: %s is %s, %v, warnings %v", name, key, got, err, p.warnings)
			}
		}
		for _, s := range p.Stages {
			if strings.HasPrefix(s.Definition.Name, "microcompact") {
				t.Errorf("%s still has %s", name, s.Definition.Name)
			}
		}
	}
}

func TestSuggestion(t *testing.T) {
	names := strings.Fields("replay sessions policy version")
	for word, want := range map[string]string{"repaly": "did you mean replay?", "xyzzy": "look", "": "look"} {
		if got := suggestion(word, names, "look"); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

func TestStrictError(t *testing.T) {
	must.Rows(t, `
# faults | allowed | what is said; "": nothing
[] | [] | ""
[{"Figure": "violations", "N": 1}] | [] | 1 broken rule of the API (violations)
[{"Figure": "violations", "N": 1}, {"Figure": "refused", "N": 2}, {"Figure": "violations", "N": 3}] | [] | 2 requests over the window, or blocked (refused); 4 broken rules of the API (violations)
[{"Figure": "violations", "N": 1}, {"Figure": "thrash", "N": 2}] | ["violations"] | 2 compactions that freed less than a tenth (thrash)
[{"Figure": "thrash", "N": 2}] | ["violations", "thrash"] | ""
`, func(faults []compare.FaultCount, allowed []string, want string) {
		err := strictError(faults, allowed)
		if want == "" {
			must.Equal(t, err, nil)
			return
		}
		must.Say(t, "a check did not hold: "+want+": see the warnings and events, allow one with --allow, or leave out --strict true", err, errors.Is(err, errCheckFailed))
	})
}

// TestLongLineWritten: a long line written in parts is not searched for its end again with each, which would be to look
// at 80 GB.
func TestLongLineWritten(t *testing.T) {
	part := make([]byte, 100)
	took := func(make func() io.Writer) time.Duration {
		least := time.Hour
		for range 3 {
			w, start := make(), time.Now()
			for range 40_000 {
				must.Get(w.Write(part))(t)
			}
			least = min(least, time.Since(start))
		}
		return least
	}
	var plain, lines time.Duration
	for range 5 { // on a busy machine a measurement can be off
		plain = took(func() io.Writer { return &bytes.Buffer{} })
		if lines = took(func() io.Writer { return &lineWriter{w: io.Discard} }); lines <= 20*plain {
			return
		}
	}
	t.Errorf("%s to keep 40,000 parts, %s to find lines in them", plain, lines)
}

// fullDisk takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// TestLostOutput: where a check failed and nobody could read of it, the command could not do its work.
func TestLostOutput(t *testing.T) {
	var said bytes.Buffer
	code := Main([]string{"lint", "../testdata/sessions/fused.jsonl"}, strings.NewReader(""), fullDisk{}, &said)
	if code != exitNotDone || !strings.Contains(said.String(), "no space left") {
		t.Errorf("exit code %d, want %d: %s", code, exitNotDone, said.String())
	}
}

// TestPipesDoNotHang: a file that is named where a policy, a price table or a configuration is read, or by a client's
// status, is refused where it is a pipe, which nobody may write to.
func TestPipesDoNotHang(t *testing.T) {
	dir := t.TempDir()
	pipe, mine := filepath.Join(dir, "pipe"), filepath.Join(dir, "mine.yaml")
	if err := makeFIFO(pipe); err != nil {
		t.Skip(err)
	}
	writeFile(t, mine, "extends: ./pipe\n")
	session := "../testdata/sessions/cjk.jsonl"
	for _, args := range [][]string{
		{"policy", "lint", mine}, {"replay", session, "-p", pipe}, {"replay", session, "-p", "none", "--prices", pipe}, {"check", pipe},
	} {
		var said bytes.Buffer
		if code := Main(args, strings.NewReader(""), io.Discard, &said); code != exitNotDone || !strings.Contains(said.String(), "is no plain file") {
			t.Errorf("%q: exit code %d: %s", args, code, said.String())
		}
	}
	status := fmt.Sprintf(`{"transcript_path": %q, "context_window": {"context_window_size": 200000}}`, pipe)
	if code := Main([]string{"statusline"}, strings.NewReader(status), io.Discard, io.Discard); code != exitDone {
		t.Errorf("statusline: exit code %d", code)
	}
}

// TestNotices holds that the licenses in the program are of the modules and versions in go.mod. scripts/release/notices
// --check compares their texts, and finds one that is missing.
func TestNotices(t *testing.T) {
	text := must.Get(os.ReadFile("../go.mod"))(t)
	versions := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require ")); len(f) > 1 {
			versions[f[0]] = f[1]
		}
	}
	have := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(\S+/\S+) (v\S+), (LICEN|COPYING|NOTICE)`).FindAllStringSubmatch(notices, -1) {
		if have[m[1]] = true; versions[m[1]] != m[2] {
			t.Errorf("the license of %s is of %s, and go.mod has %q", m[1], m[2], versions[m[1]])
		}
	}
	for _, name := range strings.Fields("github.com/spf13/cobra github.com/ncruces/go-sqlite3 go.yaml.in/yaml/v4") {
		if !have[name] {
			t.Errorf("%s is in the program without a license: run scripts/release/notices", name)
		}
	}
	if out := mustRun(t, "version", "--licenses"); string(out) != notices {
		t.Errorf("version --licenses prints %d bytes, want %d", len(out), len(notices))
	}
}
