package cmd

import (
	"errors"
	"fmt"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/compare"
)

// job is a command at work on its inputs.
type job struct {
	sys   *system
	msgs  *messages
	in    inputs
	out   *output
	input InputOptions
}

// start finds the inputs and opens the output. The caller closes it.
func start(sys *system, args []string, input InputOptions, o *OutputOptions) (*job, error) {
	j := &job{sys: sys, msgs: o.messages(sys), input: input}
	var err error
	if j.in, err = resolve(sys, args, j.msgs.warn); err != nil {
		return nil, err
	}
	j.out, err = o.create(sys, j.in.list)
	return j, err
}

// perInput is how many goroutines read one input.
func (j *job) perInput() int { return max(1, j.input.Jobs/len(j.in.list)) }

// finish writes the results, unless err ended the work or there are none
// because inputs failed, and closes the output.
func (j *job) finish(failed, err error, results int, write func() error) error {
	if err == nil && results == 0 {
		err = failed
	}
	if err == nil {
		err = write()
	}
	if err == nil {
		err = failed
	}
	return j.out.close(err)
}

// conversationLoop goes through the conversations of all inputs: several at
// once, the results in the order of the inputs.
type conversationLoop struct {
	*job
	verb string               // of the progress: "replayed"
	keep func(*conversations) // takes over what was read; nil: it is closed after the work

	progress *progress
	empty    []compare.Source // left out
}

func (j *job) loop(verb string) *conversationLoop { return &conversationLoop{job: j, verb: verb} }

// leaveOut reports a conversation without requests, which is left out.
func (l *conversationLoop) leaveOut(s compare.Source) {
	l.empty = append(l.empty, s)
	what := "no request"
	if s.Malformed > 0 {
		what += fmt.Sprintf(", malformed lines: %d", s.Malformed)
	}
	l.warn(session.Warning{File: s.File, Message: what + ": the session is left out"})
}

// inputs counts the inputs, those that failed and those left out.
func (l *conversationLoop) inputs(failed error) compare.Inputs {
	in := compare.Inputs{Given: len(l.in.list), Empty: l.empty}
	var part *partError
	if errors.As(failed, &part) {
		in.Failed = part.failed
	}
	return in
}

// nothing is the error of a loop that was left with no conversation.
func (l *conversationLoop) nothing(failed error) error {
	switch n := len(l.empty); {
	case failed != nil || n == 0:
		return failed
	case n == 1:
		return errors.New("no request in the session: name a session with at least one answer")
	default:
		return fmt.Errorf("no request in any of the %d sessions: name a session with at least one answer", n)
	}
}

// warn and fail write to standard error while the progress is shown.
func (l *conversationLoop) warn(w session.Warning) { l.progress.clear(); l.msgs.warn(w) }
func (l *conversationLoop) fail(err error)         { l.progress.clear(); l.msgs.fail(err) }

// partError is the error of inputs that failed. What was wrong with each was
// reported at once.
type partError struct {
	failed int
	usable bool // the others gave a result that is worth keeping
}

func (e *partError) Error() string { return fmt.Sprintf("%d inputs failed", e.failed) }

// eachInput does work on each input and hands its results to use, in the order
// of the inputs. An input that fails is reported, and what it gave before is
// used all the same: failed counts those. err ended the loop.
func eachInput[T any](l *conversationLoop, work func(in input) ([]T, error), use func(v T) error) (failed, err error) {
	n := len(l.in.list)
	l.progress = newProgress(l.sys, l.msgs.quiet, l.verb, n)
	defer l.progress.end()
	broken := 0
	err = inOrder(n, l.input.Jobs, func(i int) ([]T, error) {
		return work(l.in.list[i])
	}, func(_ int, vs []T, err error) error {
		l.progress.step()
		if err != nil {
			broken++
			l.fail(err)
		}
		for _, v := range vs {
			if err := use(v); err != nil {
				return err
			}
		}
		return nil
	})
	if broken > 0 {
		failed = &partError{failed: broken, usable: broken < n}
	}
	return failed, err
}

// eachConversation does work on each conversation that --agent names and hands
// its result to use: see eachInput.
func eachConversation[T any](l *conversationLoop, work func(c agentConversation) (T, error), use func(v T) error) (failed, err error) {
	return eachInput(l, func(in input) ([]T, error) {
		convs, err := in.load(l.sys.in, l.input, l.perInput(), l.msgs.warn)
		if err != nil {
			return nil, err
		}
		if l.keep != nil {
			l.keep(convs)
		} else {
			defer convs.close()
		}
		var vs []T
		for _, c := range convs.list {
			v, err := work(c)
			if err != nil {
				return nil, pathError(in.path, err)
			}
			vs = append(vs, v)
		}
		return vs, convs.stopped()
	}, use)
}
