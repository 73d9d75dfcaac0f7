//go:build !windows

package cmd

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestInterrupt holds that an interrupted run leaves no half file behind.
func TestInterrupt(t *testing.T) {
	path, err := exec.LookPath("ctxkit") // put there by testscript.Main
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	c := exec.Command(path, "replay", "-", "-p", "none", "-o", "out.txt")
	c.Dir = dir
	stdin, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	// The output file is there, under another name, while the input is awaited.
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if found, _ := filepath.Glob(filepath.Join(dir, ".out.txt.*.part")); len(found) == 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no output file was begun")
		}
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := c.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted {
		t.Errorf("ended with %v, want exit code %d", err, exitInterrupted)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
