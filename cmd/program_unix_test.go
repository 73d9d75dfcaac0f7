//go:build !windows

package cmd

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// stopped reports whether a file is not written to any more.
func stopped(t *testing.T, file string) bool {
	t.Helper()
	for range 3 { // a child that is being killed may write once more
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(150 * time.Millisecond)
		if after, _ := os.ReadFile(file); string(after) == string(before) {
			return true
		}
	}
	return false
}

// TestProgramEnds holds that a program ends with what it has started: at its time limit, and where ctxkit is
// interrupted.
func TestProgramEnds(t *testing.T) {
	path, err := exec.LookPath("ctxkit") // put there by testscript.Main
	if err != nil {
		t.Skip(err)
	}
	session, err := filepath.Abs(filepath.Join("..", "testdata", "sessions", "cjk.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, interrupt := range []bool{false, true} {
		dir := t.TempDir()
		text, limit := "name: mine\nstages: [program: {command: [sample-program, hang-with-child, '0', alive], timeout: LIMIT}]\n", "1s"
		if interrupt {
			limit = "1h"
		}
		if err := os.WriteFile(filepath.Join(dir, "mine.yaml"), []byte(strings.Replace(text, "LIMIT", limit, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		c := exec.Command(path, "replay", session, "-p", "mine.yaml", "--allow-programs")
		c.Dir = dir
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		alive := filepath.Join(dir, "alive")
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			if _, err := os.Stat(alive); err == nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("the program has started no child")
			}
		}
		want := exitNotDone
		if interrupt {
			want = exitInterrupted
			if err := c.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		}
		var exit *exec.ExitError
		if err := c.Wait(); !errors.As(err, &exit) || exit.ExitCode() != want {
			t.Errorf("ended with %v, want exit code %d", err, want)
		}
		if !stopped(t, alive) {
			t.Errorf("interrupt %v: the child of the program lives", interrupt)
		}
	}
}
