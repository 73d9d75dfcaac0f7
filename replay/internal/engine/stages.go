package engine

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/internal/record"
)

// stageList is the stages of the policy.
type stageList struct {
	list    []stageRun
	moments policy.Moment // at which some stage runs
}

// stageRun is one stage of the policy at work.
type stageRun struct {
	policy.StageConfig
	stage         policy.Stage
	countsHistory bool // it compares the whole prompt with a limit, and part of the history is before the file
	when          *stageCondition
	decided       map[policy.Target]int // edits of the view, from 1: the last by which it replaced a block; 0: none
}

// newStages makes the stages of a policy at the start of a conversation.
func newStages(r *record.Record, pol *policy.Policy) (l stageList, err error) {
	for _, sc := range pol.Stages {
		s := stageRun{StageConfig: sc, when: newStageCondition(&sc), decided: map[policy.Target]int{}}
		if s.stage, err = newStage(r, sc); err != nil {
			return l, fmt.Errorf("policy %s: stage %s: %w", pol.Name, sc.Definition.Name, err)
		}
		if p, ok := s.stage.(policy.ProgramStage); ok {
			if r.Programs == nil {
				return l, fmt.Errorf("policy %s: stage %s starts a program, which this replay may not: give RecordOptions.Programs", pol.Name, sc.Definition.Name)
			}
			p.Open(r.Programs, pol.Folder(sc.Definition.Name+"."+sc.Definition.Program))
		}
		l.list = append(l.list, s)
		l.moments |= sc.Definition.Moments
	}
	return l, nil
}

// newStage makes a stage at the start of a conversation.
func newStage(r *record.Record, sc policy.StageConfig) (policy.Stage, error) {
	st, err := sc.Definition.New(sc.Params)
	if err != nil {
		return nil, err
	}
	if starter, ok := st.(policy.Starter); ok {
		err = starter.Start(r.Conv)
	}
	return st, err
}

// named is the stage of a name; nil where there is none.
func (l *stageList) named(name string) *stageRun {
	i := slices.IndexFunc(l.list, func(s stageRun) bool { return s.Definition.Name == name })
	if i < 0 {
		return nil
	}
	return &l.list[i]
}

// countHistory finds the stages that compare the whole prompt with a limit. At the first request of a file that begins
// mid-conversation they do not run: what the client counted there is not known, and the request was made. Stages that
// count or judge single results, calls or turns do as elsewhere, by what is in the file.
func (e *Engine) countHistory() {
	if !e.conv.BeginsMidway() || len(e.conv.Requests) == 0 {
		return
	}
	c := e.circumstances(0, e.window(0))
	for i := range e.stages.list {
		s := &e.stages.list[i]
		s.countsHistory = slices.ContainsFunc(s.Limits(c).List, func(l policy.Limit) bool {
			return l.Acts && (l.Of == policy.OfContext || l.Of == policy.OfRequest || l.Of == policy.OfMessages)
		})
	}
}

// waits reports whether a stage does not run before request k (0-based).
func (s *stageRun) waits(moment policy.Moment, k int) bool {
	return s.countsHistory && k == 0 && moment&(policy.Prepare|policy.Project) != 0
}

// manualStages runs the stages for the compaction that the options ask for before a request.
func (e *Engine) manualStages(q *request) {
	if slices.Contains(e.options.CompactAt, q.k+1) {
		e.TurnEnd(q.k, false)
		e.Manual(-1, q.k)
	}
}

// requestStages runs the stages that change what a request sends. The client decides before the call: by the time of the
// last message, not of the response.
func (e *Engine) requestStages(q *request) {
	args := runArgs{now: cmp.Or(e.progress.now, q.msg.Time), used: q.used, tail: q.tail}
	if e.observers.decide != nil {
		e.observers.decide(q.k, args)
	}
	e.runStages(policy.Prepare, q.k, args)
	e.runStages(policy.Project, q.k, args)
}

// Responds reports whether a stage runs after responses.
func (e *Engine) Responds() bool { return e.stages.moments&policy.Respond != 0 }

// Respond runs the stages after response k (0-based) and the results of its calls.
func (e *Engine) Respond(k int) {
	args := runArgs{now: e.conv.Response(k).Time}
	args.used, args.tail = e.used()
	e.runStages(policy.Respond, k+1, args)
}

// TurnEnd runs the stages at the end of a turn; next is the 0-based number of the request to come.
func (e *Engine) TurnEnd(next int, final bool) {
	e.runStages(policy.TurnEnd, next, runArgs{final: final})
}

// Manual runs the stages for the user's own compaction: of a recorded boundary, or -1. It is a separate turn.
func (e *Engine) Manual(boundary, next int) {
	if boundary >= 0 && e.record.CompactionKind(boundary) == record.CompactionIdle {
		return // the client's own, whatever it calls it
	}
	args := runArgs{asked: &policy.ManualCompaction{Recorded: boundary}}
	args.used, args.tail = e.used()
	e.runStages(policy.Manual, next, args)
	e.TurnEnd(next, false)
}

// runArgs are the fields of a Context that only the caller of runStages can fill in.
type runArgs struct {
	now        time.Time // zero: that of the last message
	used, tail int       // tokens
	joined     []policy.ItemID
	asked      *policy.ManualCompaction
	final      bool
}

// runStages runs the policy's stages of one moment, in order. Each one's edits are applied before the next one runs.
// next is the 0-based number of the request to come.
func (e *Engine) runStages(moment policy.Moment, next int, args runArgs) {
	if e.err != nil || e.stages.moments&moment == 0 {
		return
	}
	var c *policy.Context // nil: not filled yet
	window := 0
	k := -1
	for i := range e.stages.list {
		s := &e.stages.list[i]
		if s.Definition.Moments&moment == 0 || s.waits(moment, next) {
			continue
		}
		if c == nil {
			c = e.newContext(moment, next, args)
			window = c.Window
			k = min(next, len(e.conv.Requests)-1)
		}
		c.Window = 0
		c.Shared = nil
		if s.Definition.Window {
			c.Window = window
			c.Shared = s.Shared
		}
		if !e.may(s, c) {
			continue
		}
		edits, err := e.propose(s, c)
		if err != nil {
			e.fail(fmt.Errorf("stage %s: %w", s.Definition.Name, err))
			return
		}
		if len(e.shadows) > 0 {
			e.agree(i, k, c, edits)
		}
		if s.when != nil && len(edits) > 0 {
			s.when.acted = next
		}
		if e.applyAll(edits, editSource{stage: s.Definition.Name, next: next, turnEnd: moment == policy.TurnEnd, context: c}); e.Done() {
			return
		}
		c.Last = e.progress.last
	}
}

// newContext makes the context of the stages that run at a moment.
func (e *Engine) newContext(moment policy.Moment, next int, args runArgs) *policy.Context {
	e.account.NoteChanges(e.view)
	c := &policy.Context{
		Now: cmp.Or(args.now, e.progress.now), Used: args.used, UsedTail: args.tail, Joined: args.joined, Asked: args.asked, Final: args.final,
		Version: e.policy.Version, Moment: moment, Request: next + 1, View: e.view, Conv: e.conv,
		Agent: e.conv.Agent, Last: e.progress.last, Model: e.options.Model, Before: e.view.Tokens(),
		Texts: e.view, Record: e, Weigh: e.counter.Report, Estimate: e.estimate,
		Warned: func(line int, message string) { e.warn(line, "%s", message) },
		Sent:   e.blocks,
	}
	if n := len(e.conv.Requests); n > 0 {
		k := min(next, n-1)
		c.Model = cmp.Or(e.options.Model, e.conv.Response(k).Model)
		c.Overhead = e.OverheadAt(k)
		limits := e.circumstances(k, e.window(k))
		c.Window = limits.Window
		c.WindowSet = limits.Set
		c.MaxInput = limits.MaxInput
		c.MaxOutput = limits.MaxOutput
	}
	return c
}
