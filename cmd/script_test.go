package cmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ctxkit/ctxkit/jsonl/must"
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
	version = develBuild    // as set, it needs no digest: one of this program, in every key of the cache, is a tenth of the time
	debug.SetGCPercent(400) // hundreds of short runs, here and in the scripts: collecting is a quarter of their time
	return t.M.Run()
}

// TestScript runs testdata/script: one topic a file. `go test ./cmd -update` rewrites the wanted output in them. The
// command run runs a command line in this process, since starting one takes longer than most command lines.
func TestScript(t *testing.T) {
	names := map[string]bool{}
	for _, path := range must.Glob(t, 1, "testdata", "script", "*.txtar") {
		for _, m := range regexp.MustCompile(`(?m)^(?:\[.*?\] )?env (.*)$`).FindAllStringSubmatch(string(must.Get(os.ReadFile(path))(t)), -1) {
			for variable := range strings.FieldsSeq(m[1]) {
				name, _, _ := strings.Cut(variable, "=")
				names[name] = true
			}
		}
	}
	testscript.RunT(inTurn{t}, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       golden.Update(),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			for _, variable := range env.Vars {
				name, _, _ := strings.Cut(variable, "=")
				names[name] = true
			}
			return setupScript(env)
		},
		Condition: func(name string) (bool, error) { // what takes long
			if name != "ci" {
				return false, fmt.Errorf("unknown condition %s", name)
			}
			return must.CI(), nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"run": func(ts *testscript.TestScript, neg bool, args []string) {
				if len(args) < 1 || args[0] != "ctxkit" {
					ts.Fatalf("usage: run ctxkit argument...")
				}
				if code := runHere(t, ts, names, args[1:]); (code != exitDone) != neg {
					ts.Fatalf("exit code %d", code)
				}
			},
			"exits": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) < 2 || args[1] != "ctxkit" && (args[1] != "exec" || len(args) < 3) {
					ts.Fatalf("usage: exits N [exec] ctxkit...")
				}
				exits(t, ts, names, args)
			},
			"broken": broken,
			"damage": damage,
			"database": func(ts *testscript.TestScript, _ bool, args []string) { // FILE SQL
				conn, err := sqlite3.Open(ts.MkAbs(args[0]))
				ts.Check(err)
				ts.Check(conn.Exec(args[1]))
				ts.Check(conn.Close())
			},
			"touch":  touch,
			"same":   same,
			"alike":  alike,
			"holds":  holds,
			"closed": closed,
		},
	})
}

// inTurn runs scripts one after the other.
type inTurn struct{ *testing.T }

func (inTurn) Parallel()     {}
func (inTurn) Verbose() bool { return testing.Verbose() }
func (t inTurn) Run(name string, f func(testscript.T)) {
	t.T.Run(name, func(t *testing.T) { f(inTurn{t}) })
}

// runHere runs a command line in this process, with the working directory and the variables of the script alone.
func runHere(t *testing.T, ts *testscript.TestScript, names map[string]bool, args []string) int {
	back, err := os.Getwd()
	ts.Check(err)
	variables := os.Environ()
	defer func() {
		ts.Check(os.Chdir(back))
		os.Clearenv()
		for _, variable := range variables {
			name, value, _ := strings.Cut(variable, "=")
			ts.Check(os.Setenv(name, value))
		}
	}()
	ts.Check(os.Chdir(ts.MkAbs(".")))
	os.Clearenv()
	for name := range names {
		ts.Check(os.Setenv(name, ts.Getenv(name)))
	}
	return Run(t.Context(), args, strings.NewReader(""), ts.Stdout(), ts.Stderr())
}

// setupScript gives every script the sample sessions, the folders of programs and a home of its own.
func setupScript(env *testscript.Env) error {
	env.Setenv("GOGC", "400") // as in TestMain
	home := filepath.Join(env.WorkDir, "home")
	env.Setenv("HOME", home)
	env.Setenv("USERPROFILE", home)
	env.Setenv("CLAUDE_CONFIG_DIR", "")
	env.Setenv(cacheVariable, filepath.Join(env.WorkDir, "cache"))
	for _, name := range strings.Fields("NO_COLOR TERM LANG LC_ALL COLUMNS") {
		env.Setenv(name, "")
	}
	env.Setenv("PLUGIN", filepath.Join(repository, "scripts", "plugin"))
	env.Setenv("READERS", filepath.Join(repository, "jsonl", "internal"))
	return os.CopyFS(filepath.Join(env.WorkDir, "testdata", "sessions"), os.DirFS("../testdata/sessions"))
}

// exits N [exec] ctxkit ARGUMENT...: the command line ends with this code.
func exits(t *testing.T, ts *testscript.TestScript, names map[string]bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if args[1] == "ctxkit" {
		got = runHere(t, ts, names, args[2:])
	} else if err := ts.Exec(args[2], args[3:]...); err != nil {
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
