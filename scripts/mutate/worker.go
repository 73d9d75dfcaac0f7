package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"sync/atomic"
	"time"
)

// switched is the switch of the mutants that are built into the stages'
// package, by a file that the overlay adds to this one.
type switched interface {
	set(mutant int)
	reached() map[int]bool
}

// workerFile is that file.
const workerFile = `package main

import "github.com/ctxkit/ctxkit/policy/stage"

type builtIn struct{}

func (builtIn) set(mutant int)        { stage.Mutant = mutant }
func (builtIn) reached() map[int]bool { return stage.Reached }

func init() { mutants = builtIn{} }
`

// mutants is nil in a program without mutants.
var mutants switched

// line is what a worker prints: first which places were come upon, then one
// for each mutant.
type line struct {
	Reached map[int]bool `json:",omitempty"`
	Mutant  int
	Stopped string `json:",omitempty"` // why there is no verdict
	Verdict verdict
}

const (
	maxTime = 20 * time.Second // for one mutant; without one it is under a second
	maxHeap = 2 << 30          // bytes
)

// work tries the mutants whose numbers come in, one a line. A mutant that does
// not end, or takes all memory, ends the process.
func work(root string, in io.Reader, out io.Writer) error {
	if mutants == nil {
		return fmt.Errorf("no mutants are built in: run it without -work")
	}
	debug.SetMaxStack(64 << 20)
	print := json.NewEncoder(out)
	w, err := load(root)
	if err != nil {
		return err
	}
	before, err := w.all(w.policies)
	if err != nil {
		return err
	}
	if err := print.Encode(line{Reached: mutants.reached()}); err != nil {
		return err
	}
	var begun atomic.Int64
	go watch(&begun)
	for s := bufio.NewScanner(in); s.Scan(); {
		k, err := strconv.Atoi(s.Text())
		if err != nil {
			return err
		}
		begun.Store(time.Now().UnixNano())
		l := w.try(k, before)
		begun.Store(0)
		if err := print.Encode(l); err != nil {
			return err
		}
	}
	return nil
}

// watch ends the process where a mutant takes too long or too much.
func watch(begun *atomic.Int64) {
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	for range time.Tick(50 * time.Millisecond) {
		metrics.Read(heap)
		if at := begun.Load(); at > 0 && time.Since(time.Unix(0, at)) > maxTime || heap[0].Value.Uint64() > maxHeap {
			os.Exit(3)
		}
	}
}

// try replays everything with one mutant switched on.
func (w *world) try(k int, before [][]outcome) (l line) {
	l.Mutant = k
	defer func() {
		mutants.set(0)
		if p := recover(); p != nil {
			l.Stopped = fmt.Sprint("panic: ", p)
		}
	}()
	mutants.set(k)
	err := w.record()
	if err != nil {
		l.Stopped = err.Error()
		return l
	}
	policies, err := w.read()
	if err != nil {
		l.Stopped = err.Error()
		return l
	}
	after, err := w.all(policies)
	if err != nil {
		l.Stopped = err.Error()
		return l
	}
	l.Verdict = verdict{ByEvents: true}
	for i := range before {
		if before[i] == nil {
			continue
		}
		for n := range after[i] {
			after[i][n].Policy = before[i][n].Policy // the check shall go by what came of it
		}
		l.Verdict.add(w.judge(before[i], after[i]))
	}
	return l
}
