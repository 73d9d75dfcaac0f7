package cmd

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// job is a command at work on its inputs.
type job struct {
	sys   *system
	msgs  *messages
	in    inputs
	out   *output
	input inputOptions
	given int // inputs, those of other shards left out

	encoders *tokens.Encoders // of all sessions
}

// start finds the inputs and opens the output. The caller closes it.
func start(sys *system, args []string, input inputOptions, o *outputOptions) (*job, error) {
	return startSaying(sys, o.messages(sys), args, input, o)
}

// startSaying is start with the messages of the caller's.
func startSaying(sys *system, msgs *messages, args []string, input inputOptions, o *outputOptions) (*job, error) {
	j := &job{sys: sys, msgs: msgs, input: input}
	var err error
	if j.in, err = resolve(sys, args, j.msgs.warn); err != nil {
		return nil, err
	}
	if j.in.take(input.Shard); len(j.in.list) == 0 && !o.rows() {
		return nil, fmt.Errorf("flag --%s: none of the %d inputs is in shard %s: take another", shardFlag, j.in.all, &input.Shard)
	}
	j.given = len(j.in.list)
	if input.Shard.Of > 1 && !o.rows() {
		j.msgs.warn(session.Warning{Message: fmt.Sprintf("shard %s has %d of the %d inputs: the figures cover these alone", &input.Shard, j.given, j.in.all)})
	}
	j.encoders = &tokens.Encoders{Jobs: j.perInput()}
	j.out, err = o.create(sys)
	return j, err
}

// perInput is how many goroutines read one input.
func (j *job) perInput() int { return max(1, j.input.Jobs/max(1, len(j.in.list))) }

// finish writes the results, unless err ended the work or there are none because inputs failed, and closes the
// output.
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

// conversationLoop goes through the conversations of all inputs: several at once, the results in the order of the
// inputs.
type conversationLoop struct {
	*job
	verb      string // of the progress: "replayed"
	skipEmpty bool   // leave out all conversations without requests, not those of other agents alone; none left is an error
	unfitted  bool   // leave the windows as they are by model and client
	billed    bool   // the bill of a main conversation includes its subagents
	unread    bool   // warn of clients that are newer than those that were read: the result does not say it

	assumed *replay.Options // warn of the windows that replays with these options assume: no result says it

	progress *progress
	empty    []compare.Origin // left out
}

func (j *job) loop(verb string) *conversationLoop { return &conversationLoop{job: j, verb: verb} }

// leaveOut reports a conversation without requests, which is left out.
func (l *conversationLoop) leaveOut(s compare.Origin) {
	l.empty = append(l.empty, s)
	what := "no request"
	if s.Malformed > 0 {
		what += fmt.Sprintf(", malformed lines: %d", s.Malformed)
	}
	l.warn(session.Warning{File: s.File, Message: what + ": the session is left out"})
}

// inputs counts the inputs, those that failed and those left out.
func (l *conversationLoop) inputs(failed error) compare.Inputs {
	in := compare.Inputs{Given: l.given, Empty: l.empty}
	var part *partError
	if errors.As(failed, &part) {
		in.Failed = part.failed
	}
	return in
}

// errNoRequest is the error of a session without requests.
var errNoRequest = errors.New("no request in the session: nothing to report: name a session with at least one answer")

// nothing is the error of a loop that was left with no conversation.
func (l *conversationLoop) nothing(failed error) error {
	switch n := len(l.empty); {
	case failed != nil || n == 0:
		return failed
	case n == 1:
		return errNoRequest
	default:
		return fmt.Errorf("no request in any of the %d sessions: nothing to report: name a session with at least one answer", n)
	}
}

// warn and fail write to standard error while the progress is shown.
func (l *conversationLoop) warn(list ...session.Warning) { l.progress.clear(); l.msgs.warn(list...) }
func (l *conversationLoop) fail(err error)               { l.progress.clear(); l.msgs.fail(err) }

// partError is the error of inputs that failed. What was wrong with each was reported at once.
type partError struct {
	failed int
	usable bool // the others gave a result that is worth keeping
}

func (e *partError) Error() string { return fmt.Sprintf("%d inputs failed", e.failed) }

// eachInput does work on each input, by its place in the list, and hands its results to use, in the order of the inputs. An input that fails is
// reported, and what it gave before is used all the same: failed counts those. err ended the loop.
func eachInput[T any](l *conversationLoop, work func(i int) ([]T, error), use func(v T) error) (failed, err error) {
	n := len(l.in.list)
	l.progress = newProgress(l.sys, l.msgs.quiet, l.verb, n)
	defer l.progress.clear()
	broken := 0
	err = inOrder(n, l.input.Jobs, work, func(_ int, vs []T, err error) error {
		if l.sys.interrupted() && !l.sys.finishes.Load() {
			return errInterrupted
		}
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

// load reads the conversations of an input.
func (l *conversationLoop) load(path string, warn func(...session.Warning)) (*conversations, error) {
	if err := l.in.broken[path]; err != nil {
		return nil, err
	}
	return load(l.sys, path, l.input, l.perInput(), warn)
}

// found is what comes of an input: warnings of reading it, a conversation without requests, or the result of work on one.
type found[T any] struct {
	warnings []session.Warning
	empty    *compare.Origin
	result   *T
}

// eachConversation does work on the recorded session of each conversation that --agent names and hands its result to
// use: see eachInput.
func eachConversation[T any](l *conversationLoop, work func(c agentConversation) (T, error), use func(v T) error) (failed, err error) {
	used := 0
	failed, err = eachInput(l, func(i int) ([]found[T], error) { return workOn(l, l.in.list[i], work) }, func(f found[T]) error {
		l.warn(f.warnings...)
		switch {
		case f.empty != nil:
			l.leaveOut(*f.empty)
		case f.result != nil:
			used++
			return use(*f.result)
		}
		return nil
	})
	if err == nil && used == 0 && (l.skipEmpty || len(l.empty) > 0) {
		err = l.nothing(failed)
	}
	return failed, err
}

// joins reports whether the result of a session includes its subagents.
func (l *conversationLoop) joins() bool { return l.billed && l.skipEmpty && l.input.Agent == "all" }

// workOn does work on the recorded session of each conversation of an input that --agent names.
func workOn[T any](l *conversationLoop, path string, work func(c agentConversation) (T, error)) ([]found[T], error) {
	list := []found[T]{{}}
	warn := func(w ...session.Warning) { list[0].warnings = append(list[0].warnings, w...) }
	convs, err := l.load(path, warn)
	if err != nil {
		return list, err
	}
	defer convs.close()
	for _, c := range convs.list {
		if len(c.conv.Requests) == 0 && (l.skipEmpty || foreignConversation(c.conv)) {
			if foreignConversation(c.conv) && convs.stopped() != nil || !c.main && l.joins() {
				continue // what stopped it is the reason, or its session counts without it
			}
			list = append(list, found[T]{empty: c.source()})
			continue
		}
		var v T
		if l.unread {
			warn(l.sys.unread(preset.ClientOf(c.conv))...)
		}
		if c.rec, err = l.record(c.conv); err == nil {
			if l.assumed != nil {
				warn(assumed(c.rec, *l.assumed)...)
			}
			switch {
			case c.main && l.joins():
				c.rec.Session = bill.OfSession(c.conv, conversationsOf(convs.list[1:]), l.sys.table)
			case l.billed && c.main && l.input.Agent == "main":
				c.rec.Session = c.bill(l.sys.table, warn)
			}
			v, err = work(c)
		}
		if err != nil {
			return list[:1], pathError(path, err)
		}
		list = append(list, found[T]{result: &v})
	}
	return list, convs.stopped()
}

// foreignConversation reports whether another agent than Claude Code recorded a conversation. One of these without
// requests is a file that was cut, or never began, and gives no report.
func foreignConversation(conv *session.Conversation) bool {
	return cmp.Or(conv.Product, session.Product) != session.Product
}

func (l *conversationLoop) record(conv *session.Conversation) (*replay.Record, error) {
	if l.unfitted {
		return replay.NewRecordWith(conv, l.sys.recordOptions(l.encoders))
	}
	return newRecord(l.sys, conv, l.encoders)
}

func (s *system) recordOptions(encoders *tokens.Encoders) replay.RecordOptions {
	return replay.RecordOptions{Prices: s.table, Encoders: encoders, Families: s.families, Programs: &s.programs, MostEdits: s.limits.Edits}
}

// newRecord is the recorded session of a conversation, with the release that recorded it and in the window that its user
// set, where the compactions show it.
func newRecord(sys *system, conv *session.Conversation, encoders *tokens.Encoders) (*replay.Record, error) {
	r, err := replay.NewRecordWith(conv, sys.recordOptions(encoders))
	if err != nil {
		return nil, err
	}
	return r, r.UseRelease(sys.presets)
}

// collect is eachConversation with the results in a list.
func collect[T any](l *conversationLoop, work func(c agentConversation) (T, error)) (list []T, failed, err error) {
	failed, err = eachConversation(l, work, func(v T) error { list = append(list, v); return nil })
	return list, failed, err
}

// inOrder calls work for 0..n-1, at most jobs at once, and passes the results to use in that order, on the calling
// goroutine. It runs at most jobs results ahead, so that memory does not grow with n. An error of use ends it.
func inOrder[T any](n, jobs int, work func(i int) (T, error), use func(i int, v T, err error) error) error {
	type result struct {
		v   T
		err error
	}
	jobs = max(1, min(jobs, n))
	slots := make([]chan result, jobs)
	for i := range slots {
		slots[i] = make(chan result, 1)
	}
	start := func(i int) {
		go func() {
			v, err := work(i)
			slots[i%jobs] <- result{v, err}
		}()
	}
	for i := range min(jobs, n) {
		start(i)
	}
	for i := range n {
		r := <-slots[i%jobs]
		if i+jobs < n {
			start(i + jobs)
		}
		if err := use(i, r.v, r.err); err != nil {
			return err
		}
	}
	return nil
}
