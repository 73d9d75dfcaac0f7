package explore

import (
	"context"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/report"
)

// work is what a screen has done in the background: one job at a time.
type work struct {
	m      *Browser
	job    *job
	failed string // why the last one gave nothing; shown where the screen has nothing else
}

type job struct {
	ctx         context.Context
	stop        context.CancelFunc
	what        string        // "": it is not shown
	send        func(tea.Msg) // nil: progress is not shown
	sent        int           // steps
	done, total int           // as shown
	asked       bool          // by a key: that it is stopped is shown
}

// then is called on the goroutine that draws once a job is done.
type then func() tea.Cmd

type (
	progress struct {
		job         *job
		done, total int
	}
	partly struct {
		job  *job
		then then
	}
	finished struct {
		work *work
		job  *job
		then then
		err  error
	}
)

func (w *work) background() *work { return w }

func (w *work) typing() bool { return false }

func (w *work) words() []string { return nil }

func (w *work) start() tea.Cmd { return nil }

// halt ends the job. What it finds is not used any more.
func (w *work) halt() {
	if w.job != nil {
		w.job.stop()
		w.job = nil
	}
}

// run does work in the background, in place of what the screen has done so far. opened is the session that do works on, or nil.
func (w *work) run(what string, opened *Opened, do func(j *job) (then, error)) tea.Cmd {
	for _, s := range w.m.stack {
		if other := s.background(); other != w {
			w.m.leave(other)
		}
	}
	w.halt()
	w.failed = ""
	j := &job{what: what, send: w.m.src.Send}
	j.ctx, j.stop = context.WithCancel(w.m.src.Context)
	w.job = j
	if opened != nil {
		opened.users.Add(1)
	}
	return func() tea.Msg {
		if opened != nil {
			defer opened.users.Done()
		}
		then, err := do(j)
		return finished{w, j, then, err}
	}
}

// watch is a look at files now and then, for as long as their screen is in the stack.
type watch struct {
	screen screen
	every  time.Duration // less often for many files
	files  func() []report.SessionItem
	state  func([]report.SessionItem) string // of files now; called on another goroutine
	seen   *string                           // what it was when they were read
	again  func() tea.Cmd
}

// tick is what a watch found.
type tick struct {
	watch
	before, now string // seen when the look began, and the state that it found
}

// start waits for the next look.
func (w watch) start() tea.Cmd {
	if w.every == 0 {
		return nil
	}
	const many = 2000
	list := w.files()
	before := *w.seen
	return tea.Tick(w.every*time.Duration(1+len(list)/many), func(time.Time) tea.Msg { return tick{w, before, w.state(list)} })
}

// look has the files read again where they have changed and their screen is shown.
func (t tick) look(m *Browser) tea.Cmd {
	switch {
	case !slices.Contains(m.stack, t.screen):
		return nil
	case m.top() == t.screen && t.screen.background().job == nil && m.prompt == nil && t.before == *t.seen && t.now != t.before:
		return tea.Batch(t.again(), t.start())
	}
	return t.start()
}

// step is the job's ProgressFunc.
func (j *job) step(done, total int) {
	const parts, many = 50, 500
	now := done / many
	if total > 0 {
		now = done * parts / total
	}
	if now != j.sent && j.send != nil {
		j.sent = now
		j.send(progress{j, done, total})
	}
}

// show has something done on the goroutine that draws while the job goes on.
func (j *job) show(do then) {
	if j.send != nil {
		j.send(partly{j, do})
	}
}

func (j *job) text() string {
	switch {
	case j.done == 0 && j.total == 0:
		return j.what + " …"
	case j.total == 0:
		return j.what + ": " + policy.Thousands(j.done)
	}
	return j.what + ": " + policy.Thousands(j.done*100/j.total) + " %"
}
