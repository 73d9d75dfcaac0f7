package cmd

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// progress tells how far a long work is: on standard error, only on a
// terminal, only for work over a second.
type progress struct {
	mu    sync.Mutex
	w     io.Writer // nil: nothing is told
	now   func() time.Time
	begin time.Time
	last  time.Time
	verb  string
	noun  string // "sessions"
	n, of int
	shown bool

	remaining bool // tell how long it will take still
}

const (
	progressAfter = time.Second
	progressEvery = 200 * time.Millisecond
)

func newProgress(sys *system, quiet bool, verb string, of int) *progress {
	p := &progress{now: sys.now, begin: sys.now(), verb: verb, noun: "sessions", of: of}
	if !quiet && of > 1 && isTerminal(sys.err) {
		p.w = sys.err
	}
	return p
}

func (p *progress) step() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
	now := p.now()
	if p.w == nil || now.Sub(p.begin) < progressAfter || now.Sub(p.last) < progressEvery {
		return
	}
	p.last, p.shown = now, true
	left := ""
	if p.remaining {
		rest := now.Sub(p.begin) * time.Duration(p.of-p.n) / time.Duration(p.n)
		left = fmt.Sprintf(", %s left", rest.Round(time.Second))
	}
	fmt.Fprintf(p.w, "\r\x1b[Kctxkit: %s %d of %d %s%s", p.verb, p.n, p.of, p.noun, left)
}

// clear takes the line away, for a message to stand there.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}

func (p *progress) end() { p.clear() }
