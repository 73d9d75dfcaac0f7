//go:build !windows

package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	ossignal "os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// TestInterrupt holds that an interrupted run leaves no half file behind.
func TestInterrupt(t *testing.T) {
	for _, c := range []struct {
		signal os.Signal
		code   int
	}{{os.Interrupt, exitInterrupted}, {syscall.SIGTERM, exitInterrupted}, {syscall.SIGHUP, exitHungUp}} {
		t.Run(c.signal.String(), func(t *testing.T) { interrupt(t, c.signal, c.code) })
	}
}

func interrupt(t *testing.T, signal os.Signal, code int) {
	t.Helper()
	if s, ok := signal.(syscall.Signal); ok && ossignal.Ignored(s) {
		t.Skip("the tests run with it ignored, as under nohup: so does what they start")
	}
	path, err := exec.LookPath("ctxkit") // put there by testscript.Main
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	c := exec.Command(path, "replay", "-", "-p", "none", "-o", "out.txt")
	c.Dir = dir
	stdin := must.Get(c.StdinPipe())(t)
	defer stdin.Close()
	must.Do(t, c.Start())
	// The output file is there, under another name, while the input is awaited.
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if found, _ := filepath.Glob(filepath.Join(dir, ".out.txt.*.part")); len(found) == 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no output file was begun")
		}
	}
	must.Do(t, c.Process.Signal(signal))
	var exit *exec.ExitError
	if err := c.Wait(); !errors.As(err, &exit) || exit.ExitCode() != code {
		t.Errorf("ended with %v, want exit code %d", err, code)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestInterruptSweep holds that an interrupted sweep prints the points that are finished.
func TestInterruptSweep(t *testing.T) {
	must.BeCI(t)
	path, err := exec.LookPath("ctxkit")
	if err != nil {
		t.Skip(err)
	}
	session := must.Get(filepath.Abs("../testdata/sessions/big.jsonl"))(t)
	// On a busy machine the first point may take its time.
	for _, wait := range []time.Duration{time.Second, 5 * time.Second, 20 * time.Second} {
		if n := interruptSweep(t, path, session, wait); n > 0 {
			if n >= sweepPoints {
				t.Errorf("%d points: it was not interrupted", n)
			}
			return
		}
	}
	t.Error("no point was finished")
}

const sweepPoints = 10000 // more than there is time for

// interruptSweep interrupts a sweep after a while and counts the points that it has printed.
func interruptSweep(t *testing.T, path, session string, wait time.Duration) int {
	t.Helper()
	dir := t.TempDir()
	c := exec.Command(path, "sweep", session, "-p", "opencode", "--vary", fmt.Sprintf("opencode_prune.protect=1..%d:1", sweepPoints), "--jobs", "1", "-f", "json", "-o", "out.json")
	c.Dir = dir
	must.Do(t, c.Start())
	time.Sleep(wait)
	must.Do(t, c.Process.Signal(os.Interrupt))
	var exit *exec.ExitError
	if err := c.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted {
		t.Errorf("ended with %v, want exit code %d", err, exitInterrupted)
	}
	data, err := os.ReadFile(filepath.Join(dir, "out.json"))
	if err != nil {
		left, _ := os.ReadDir(dir)
		t.Fatalf("%v; there is %v", err, left)
	}
	var swept struct {
		Wanted int               `json:"points_wanted"`
		Points []json.RawMessage `json:"points"`
	}
	must.Do(t, json.Unmarshal(data, &swept))
	if swept.Wanted != sweepPoints {
		t.Errorf("%d points were wanted", swept.Wanted)
	}
	return len(swept.Points)
}
