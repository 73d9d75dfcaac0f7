package cmd

import (
	"errors"
	"fmt"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/compare"
)

// conversationLoop goes through the conversations of all inputs: several at
// once, the results in the order of the inputs.
type conversationLoop struct {
	sys  *system
	in   inputs
	opt  InputOptions
	verb string // of the progress: "replayed"
	msgs *messages
	keep func(*conversations) // takes over what was read, where set; else it is closed

	progress *progress
	empty    []compare.Source // left out
}

// leaveOut says that a conversation is left out because nothing is asked in it.
func (l *conversationLoop) leaveOut(s compare.Source) {
	l.empty = append(l.empty, s)
	l.tell(func(m *messages) {
		what := "there is no request in it"
		if s.Malformed > 0 {
			what += fmt.Sprintf(", and lines that are malformed (%d)", s.Malformed)
		}
		m.warn(session.Warning{File: s.File, Message: what + ", so nothing to compare: it is left out"})
	})
}

// inputs counts what the loop was over, and what of it failed.
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
	if failed != nil || len(l.empty) == 0 {
		return failed
	}
	if len(l.empty) == 1 {
		return errors.New("there is no request in the session: name one in which an answer was asked for")
	}
	return fmt.Errorf("there is no request in any of the %d sessions: name one in which an answer was asked for", len(l.empty))
}

// tell says something on standard error while the loop is under way.
func (l *conversationLoop) tell(say func(*messages)) {
	l.progress.clear()
	say(l.msgs)
}

// eachConversation has work done on each conversation that --agent asks for,
// and hands what it comes to to use, in order. An input that fails costs
// itself: what was read before it broke off is worked on all the same. failed
// says that some did; err ended the loop.
func eachConversation[T any](l *conversationLoop, work func(c agentConversation) (T, error), use func(v T) error) (failed, err error) {
	l.progress = newProgress(l.sys, l.msgs.quiet, l.verb, len(l.in.list))
	defer l.progress.end()
	perFile := max(1, l.opt.Jobs/len(l.in.list))
	broken := 0
	err = inOrder(len(l.in.list), l.opt.Jobs, func(i int) ([]T, error) {
		return workOn(l, l.in.list[i], perFile, work)
	}, func(_ int, vs []T, err error) error {
		l.progress.step()
		if err != nil {
			broken++
			l.tell(func(m *messages) { m.fail(err) })
		}
		for _, v := range vs {
			if err := use(v); err != nil {
				return err
			}
		}
		return nil
	})
	if broken > 0 {
		failed = &partError{failed: broken, of: len(l.in.list)}
	}
	return failed, err
}

// workOn reads one input and works on what --agent asks for of it.
func workOn[T any](l *conversationLoop, in input, jobs int, work func(c agentConversation) (T, error)) ([]T, error) {
	convs, err := in.load(l.sys.in, l.opt, jobs, l.msgs.warn)
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
		c.input = in.path
		v, err := work(c)
		if err != nil {
			return nil, pathError(in.path, err)
		}
		vs = append(vs, v)
	}
	for _, f := range convs.files {
		if f.Stopped != nil {
			return vs, pathError(f.Path, f.Stopped)
		}
	}
	return vs, nil
}
