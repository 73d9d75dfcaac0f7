package cmd

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// progress shows on standard error how far the work is: on a terminal only, and only after a second.
type progress struct {
	mu    sync.Mutex
	w     io.Writer // nil: nothing is shown
	now   func() time.Time
	begin time.Time
	last  time.Time
	verb  string
	noun  string // "sessions"
	n, of int    // of 0: it is not known how many there are
	shown bool

	remaining bool // show the time left
}

const (
	progressAfter = time.Second
	progressEvery = 200 * time.Millisecond
)

func newProgress(sys *system, quiet bool, verb string, of int) *progress {
	p := &progress{now: sys.now, begin: sys.now(), verb: verb, noun: "sessions", of: of}
	if !quiet && of != 1 && sys.watched {
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
	p.last = now
	p.shown = true
	left := ""
	if p.remaining {
		rest := now.Sub(p.begin) * time.Duration(p.of-p.n) / time.Duration(p.n)
		left = fmt.Sprintf(", %s left", rest.Round(time.Second))
	}
	of := ""
	if p.of > 0 {
		of = fmt.Sprintf(" of %d", p.of)
	}
	fmt.Fprintf(p.w, "\r\x1b[Kctxkit: %s %d%s %s%s", p.verb, p.n, of, p.noun, left)
}

// clear removes the line, to make room for a message.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}
