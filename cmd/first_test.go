package cmd

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/report/golden"
)

// onTerminal runs a command line as on a terminal of this width.
func onTerminal(t *testing.T, columns int, args ...string) (out, said string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	sys := newSystem(strings.NewReader(""), &stdout, &stderr)
	sys.terminal, sys.columns = true, columns
	if err := execute(sys, append([]string{}, args...)); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	must.Do(t, sys.out.close())
	return stdout.String(), stderr.String()
}

// offered are the commands that a screen offers, by their words after ctxkit.
func offered(t *testing.T, screen string) (list [][]string) {
	t.Helper()
	for line := range strings.Lines(screen) {
		if rest, ok := strings.CutPrefix(line, "  ctxkit "); ok {
			command, _, _ := strings.Cut(rest, "  ")
			list = append(list, strings.Fields(command))
		}
	}
	if len(list) < 3 {
		t.Errorf("only %d commands are offered:\n%s", len(list), screen)
	}
	return list
}

// runs holds that the commands work, one after another.
func runs(t *testing.T, commands [][]string) {
	t.Helper()
	for _, args := range commands {
		if args[0] == "explore" {
			continue // TestExploreTerminal runs it
		}
		if code, _, said := ctxkit(args...); code != exitDone || strings.Contains(said, "warning") {
			t.Errorf("%q: exit %d, said %s", args, code, said)
		}
	}
}

func policyNamesKnown(t *testing.T) []string {
	t.Helper()
	reg := must.Get(stage.Registry())(t)
	return preset.New(reg).Known()
}

func TestFirstScreen(t *testing.T) {
	const home = "home" // its length is that of a line's beginning
	t.Setenv("CLAUDE_CONFIG_DIR", home)
	for _, name := range []string{"HOME", "USERPROFILE"} {
		t.Setenv(name, t.TempDir())
	}
	for _, form := range session.Forms() {
		if form.Store.Env != "" {
			t.Setenv(form.Store.Env, "")
		}
	}
	t.Setenv(nowVariable, "2026-01-20T12:00:00Z")
	t.Setenv("NO_COLOR", "1")
	sessions := must.Get(filepath.Abs("../testdata/sessions"))(t)
	t.Chdir(t.TempDir())
	names := brokenNames(policyNamesKnown(t))
	shown := func(name string, widths ...int) (screen string) {
		for _, w := range widths {
			out, said := onTerminal(t, w, []string{}...)
			if said != "" {
				t.Errorf("%s: it said %s", name, said)
			}
			checkLines(t, name, out, w, names)
			golden.Check(t, filepath.Join(filepath.Dir(sessions), "..", "cmd", "testdata", "first", name+"-"+strconv.Itoa(w)+".txt"), []byte(out))
			screen = out
		}
		return screen
	}

	// Without sessions, and without a folder of them.
	runs(t, offered(t, shown("none", 80))[:1])

	project := filepath.Join(home, "projects", "-home-dev-harbor")
	must.Do(t, os.MkdirAll(project, 0o755))
	for i, name := range []string{
		"compaction", "cjk", "microcompact", "thinking", "rewind", "snip", "lost", "collapse", "fused", "preserved",
	} {
		data := must.Get(os.ReadFile(filepath.Join(sessions, name+".jsonl")))(t)
		id := strings.Repeat(strconv.Itoa(i), 8) + "-0000-4000-8000-000000000000"
		writeFile(t, filepath.Join(project, id+".jsonl"), string(data))
	}
	runs(t, offered(t, shown("some", 60, 80, 160)))

	// The newest has no request: last is not offered.
	empty := `{"type":"user","uuid":"00000000-0000-4000-8000-00000000000a","parentUuid":null,"sessionId":"a","timestamp":"2026-01-20T11:59:00.000Z","cwd":"/home/dev/depot","version":"2.1.29","message":{"role":"user","content":"one"}}`
	writeFile(t, filepath.Join(project, "aaaaaaaa-0000-4000-8000-000000000000.jsonl"), empty)
	commands := offered(t, shown("empty", 80))
	for _, words := range commands {
		if words[len(words)-1] == "last" {
			t.Errorf("%q is offered", words)
		}
	}
	runs(t, commands)

	// Elsewhere than on a terminal it is the help.
	if code, out, said := ctxkit([]string{}...); code != exitDone || !strings.Contains(out, "Usage:") || said != "" {
		t.Errorf("exit %d, said %q, printed %s", code, said, out)
	}
}

func TestDemo(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("CLAUDE_CONFIG_DIR", t.TempDir())
	t.Setenv("NO_COLOR", "1")
	var out string
	for _, w := range []int{60, 160, 80} {
		var said string
		if out, said = onTerminal(t, w, "demo"); said != "" {
			t.Errorf("it said %s", said)
		}
		checkLines(t, "demo", out, w, brokenNames(policyNamesKnown(t)))
	}
	if answer, _, _ := strings.Cut(out, "\n\n"); !strings.Contains(answer, "\nUnder opencode") {
		t.Errorf("it does not begin with the answer:\n%s", answer)
	}
	commands := offered(t, out)
	runs(t, commands[:len(commands)-1]) // the last one needs sessions
	page, err := os.ReadFile("demo.html")
	if err != nil || !bytes.Contains(page, []byte("</html>")) {
		t.Errorf("no page: %v", err)
	}
	// What it replays is what it writes.
	var replayed, again bytes.Buffer
	data := must.Get(os.ReadFile("demo.jsonl"))(t)
	Main([]string{"replay", "-", "--policy", examplePolicy}, bytes.NewReader(data), &replayed, io.Discard)
	Main([]string{"demo"}, strings.NewReader(""), &again, io.Discard)
	if !bytes.HasPrefix(again.Bytes(), replayed.Bytes()) {
		t.Error("demo does not begin as the replay of what it writes")
	}
}
