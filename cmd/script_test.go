package cmd

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ctxkit/ctxkit/report/golden"
)

func TestMain(m *testing.M) {
	testscript.Main(tests{m}, map[string]func(){
		"ctxkit":         func() { os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
		"sample-program": func() { os.Exit(sampleProgram(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// tests are the tests as testscript.Main runs them: the programs that it stands in for keep the environment that a
// script gives them.
type tests struct{ *testing.M }

func (t tests) Run() int {
	if err := os.Unsetenv("COLUMNS"); err != nil { // outputs are compared at the default width
		panic(err)
	}
	if os.Getenv(cacheVariable) == "" { // nothing is kept in the cache of the one who tests
		if err := os.Setenv(cacheVariable, cacheOff); err != nil {
			panic(err)
		}
	}
	debug.SetGCPercent(400) // hundreds of short runs, here and in the scripts: collecting is a quarter of their time
	return t.M.Run()
}

// TestScript runs testdata/script: one topic a file. `go test ./cmd -update` rewrites the wanted output in them.
func TestScript(t *testing.T) {
	path := programPath(t)
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		UpdateScripts:       golden.Update(),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               func(env *testscript.Env) error { return setupScript(env, path) },
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":  exits,
			"broken": broken,
			"damage": damage,
			"touch":  touch,
			"same":   same,
			"alike":  alike,
			"holds":  holds,
			"closed": closed,
		},
	})
}

// programPath builds ctxkit and returns the folders to look for it, first its own. It starts in half the time of the
// tests' program, which stands in for it where it cannot be built, or where races are looked for.
func programPath(t *testing.T) string {
	t.Helper()
	path, dir := os.Getenv("PATH"), t.TempDir()
	if raced {
		return path
	}
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", dir+string(filepath.Separator), "..").CombinedOutput(); err != nil {
		t.Logf("%v\n%s", err, out)
		return path
	}
	return dir + string(filepath.ListSeparator) + path
}

// setupScript gives every script the sample sessions, the folders of programs and a home of its own.
func setupScript(env *testscript.Env, path string) error {
	env.Setenv("PATH", path)
	env.Setenv("GOGC", "400") // as in TestMain
	home := filepath.Join(env.WorkDir, "home")
	env.Setenv("HOME", home)
	env.Setenv("USERPROFILE", home)
	env.Setenv("CLAUDE_CONFIG_DIR", "")
	env.Setenv(cacheVariable, filepath.Join(env.WorkDir, "cache"))
	for _, name := range []string{"NO_COLOR", "TERM", "LANG", "LC_ALL", "COLUMNS"} {
		env.Setenv(name, "")
	}
	plugin, err := filepath.Abs(filepath.Join("..", "scripts", "plugin"))
	if err != nil {
		return err
	}
	env.Setenv("PLUGIN", plugin)
	return os.CopyFS(filepath.Join(env.WorkDir, "testdata", "sessions"), os.DirFS(filepath.Join("..", "testdata", "sessions")))
}

// exits N CMD...: the command ends with this code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits N command...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// broken FILE...: files that begin as compressed ones do, and go on as none.
func broken(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: broken file...")
	}
	for _, name := range args {
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte("\x28\xb5\x2f\xfdnot compressed"), 0o600))
	}
}

// damage DIR: one byte in the middle of every file of a folder changes.
func damage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: damage dir")
	}
	files, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	for _, f := range files {
		path := filepath.Join(ts.MkAbs(args[0]), f.Name())
		data, err := os.ReadFile(path)
		ts.Check(err)
		data[len(data)/2] ^= 0xff
		ts.Check(os.WriteFile(path, data, 0o600))
	}
}

// touch TIME FILE...: the files' time of change.
func touch(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: touch TIME file...")
	}
	at, err := time.Parse(time.RFC3339, args[0])
	ts.Check(err)
	for _, name := range args[1:] {
		ts.Check(os.Chtimes(ts.MkAbs(name), at, at))
	}
}

// same FILE FILE...: all hold the same bytes.
func same(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: same file file...")
	}
	for _, name := range args[1:] {
		if ts.ReadFile(name) != ts.ReadFile(args[0]) {
			ts.Fatalf("%s and %s differ", args[0], name)
		}
	}
}

// alike FILE FILE: two request bodies have the same messages.
func alike(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: alike file file")
	}
	var messages [2]string
	for i, name := range args {
		_, list, ok := strings.Cut(ts.ReadFile(name), `"messages":[`)
		if !ok || len(list) < 20 {
			ts.Fatalf("%s has no messages", name)
		}
		messages[i] = list
	}
	if messages[0] != messages[1] {
		ts.Fatalf("%s and %s have other messages", args[0], args[1])
	}
}

// holds DIR NAME...: the folder holds these and nothing else.
func holds(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: holds dir name...")
	}
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if !slices.Equal(names, args[1:]) {
		ts.Fatalf("%s holds %q", args[0], names)
	}
}

// closed CMD...: the command's output is a pipe that nobody reads; it ends with 0 and says nothing.
func closed(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: closed command...")
	}
	r, w, err := os.Pipe()
	ts.Check(err)
	ts.Check(r.Close())
	c := exec.Command(args[0], args[1:]...)
	if path := lookIn(ts.Getenv("PATH"), args[0]); path != "" {
		c = exec.Command(path, args[1:]...)
	}
	c.Dir = ts.MkAbs(".")
	c.Stdout = w
	stderr, err := c.StderrPipe()
	ts.Check(err)
	ts.Check(c.Start())
	ts.Check(w.Close())
	said, err := io.ReadAll(stderr)
	ts.Check(err)
	if err := c.Wait(); err != nil || len(said) > 0 {
		ts.Fatalf("%v, and said %q", err, said)
	}
}

func lookIn(path, name string) string {
	for _, dir := range filepath.SplitList(path) {
		for _, ext := range []string{"", ".exe"} {
			if st, err := os.Stat(filepath.Join(dir, name+ext)); err == nil && !st.IsDir() {
				return filepath.Join(dir, name+ext)
			}
		}
	}
	return ""
}
