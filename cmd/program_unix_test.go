//go:build !windows

package cmd

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// stopped reports whether a file is not written to any more.
func stopped(t *testing.T, file string) bool {
	t.Helper()
	for range 3 { // a child that is being killed may write once more
		before := must.Get(os.ReadFile(file))(t)
		time.Sleep(150 * time.Millisecond)
		if after, _ := os.ReadFile(file); string(after) == string(before) {
			return true
		}
	}
	return false
}

// TestProgramEnds holds that a program ends with what it has started: at its time limit, at the end of the session, and
// where ctxkit is interrupted. On Linux what left its group ends as well, and the program itself where ctxkit is killed.
func TestProgramEnds(t *testing.T) {
	path, err := exec.LookPath("ctxkit") // put there by testscript.Main
	if err != nil {
		t.Skip(err)
	}
	session := must.Get(filepath.Abs("../testdata/sessions/cjk.jsonl"))(t)
	for _, c := range []struct {
		words, limit string
		signal       os.Signal // that ctxkit gets; nil: none
		want         int
		linux        bool
	}{
		{"hang-with-child, '0', alive", "3s", nil, exitNotDone, false},
		{"hang-with-child, '0', alive", "1h", os.Interrupt, exitInterrupted, false},
		{"hang-with-session, '0', alive", "3s", nil, exitNotDone, true},
		{"hang-with-session, '0', alive", "1h", os.Interrupt, exitInterrupted, true},
		{"answer-with-session, '0', alive", "1h", nil, exitDone, true},
		{"child, alive", "1h", os.Kill, -1, true},
	} {
		if c.linux && runtime.GOOS != "linux" {
			continue
		}
		t.Run(fmt.Sprint(c.words, c.signal), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			text := fmt.Sprintf("name: mine\nstages: [program: {command: [sample-program, %s], timeout: %s}]\n", c.words, c.limit)
			writeFile(t, filepath.Join(dir, "mine.yaml"), text)
			run := exec.Command(path, "replay", session, "-p", "mine.yaml", "--allow-programs")
			run.Dir = dir
			must.Do(t, run.Start())
			alive := filepath.Join(dir, "alive")
			for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
				if _, err := os.Stat(alive); err == nil {
					break
				}
				if time.Now().After(deadline) {
					t.Fatal("the program has started no child")
				}
			}
			if c.signal != nil {
				must.Do(t, run.Process.Signal(c.signal))
			}
			var exit *exec.ExitError
			if err := run.Wait(); err != nil && !errors.As(err, &exit) || run.ProcessState.ExitCode() != c.want {
				t.Errorf("%s, %v: ended with %v, want exit code %d", c.words, c.signal, err, c.want)
			}
			if !stopped(t, alive) {
				t.Errorf("%s, %v: the child of the program lives", c.words, c.signal)
			}
		})
	}
}
