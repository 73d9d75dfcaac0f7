package replay

import (
	"cmp"
	"fmt"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay/tokens"
	"github.com/ctxkit/ctxkit/replay/trace"
)

// engine is one replay: the track of a policy.
type engine struct {
	r       *Record
	pol     *policy.Policy
	opt     Options
	conv    *session.Conversation
	view    *view.View
	report  policy.Weigher
	stages  []running
	shadows []*shadow     // policies that have done the same so far
	moments policy.Moment // at which some stage runs
	err     error
	each    func(n int, v *view.View) bool // if set: called with each view, false ends the replay
	tracer  *trace.Tracer                  // with Options.Trace
	asking  *OwnRequest                    // the request to stop at, nil for none
	ended   bool                           // by each

	counter   string
	fixed     int    // overhead that does not follow the record; -1: it does
	raw       int    // report weight of the raw history so far
	weight    []int  // client weight of the payload at each request
	taken     []bool // boundaries whose summary a compaction has used
	last      policy.Response
	context   policy.Context // of the stage that runs
	now       time.Time      // of the last message
	compacted bool           // a compaction was made since the last main request
	before    int            // used as it was before that compaction
	asked     map[int]bool
	trimmed   int // client's tokens that edits have taken off the payload since the last main request
	turns     int // prompts typed so far
	compactAt int // 0-based request before which the last compaction was made

	requests []Request
	events   []Event
	pending  []int // events since the last main request
	warnings []session.Warning
	windows  map[windowKey]int // context windows, tokens
	limits   map[windowKey]policy.ModelLimits
	above    int      // requests above the assumed window
	ceilings ceilings // what a request may reach
	unfit    excess   // requests whose recorded usage is below the weight of their content
	cache    *caching
	thinking *leftOut // nil: the policy says what the server leaves out
	checks   checks
	cleared  clearing
	restarts restarting
	notRead  notReadBack
}

// running is one stage of the policy at work.
type running struct {
	policy.StageConfig
	stage         policy.Stage
	countsHistory bool // it compares the whole prompt with a limit, and part of the history is before the file
	when          *conditional
	decided       map[policy.Target]int // edits of the view, from 1: the last by which it replaced a block; 0: none
}

func (e *engine) run() error {
	track := track(e)
	if e.pol.Recorded {
		track = e.ownTrack()
	}
	if walk(e.conv, track); e.err != nil {
		return &jsonl.FileError{Path: e.conv.Path, Err: fmt.Errorf("policy %s: %w", e.pol.Name, e.err)}
	}
	return nil
}

// close ends the programs of the policy.
func (e *engine) close() {
	for i := range e.stages {
		if p, ok := e.stages[i].stage.(policy.ProgramStage); ok {
			p.Close()
		}
	}
}

func (e *engine) done() bool { return e.ended || e.err != nil }

// prepare makes an engine at the start of the conversation.
func (r *Record) prepare(pol *policy.Policy, opt Options) (*engine, error) {
	r, err := r.under(opt)
	if err != nil {
		return nil, err
	}
	e := &engine{
		r: r, pol: pol, opt: opt, conv: r.Conv, fixed: -1, weight: make([]int, 0, len(r.Conv.Requests)), taken: make([]bool, len(r.Conv.Boundaries)),
		asked: map[int]bool{}, windows: map[windowKey]int{}, limits: map[windowKey]policy.ModelLimits{},
		requests: make([]Request, 0, len(r.Conv.Requests)), events: []Event{}, pending: []int{},
		cleared: clearing{view: map[policy.Target]bool{}, payload: map[clearedBy]bool{}},
		checks:  checks{findings: []RequestFinding{}, count: map[FindingKind]int{}},
	}
	e.ceilings.pol, e.thinking = pol, r.newLeftOut(pol, opt.Model)
	e.cache = newCaching(opt.Cache.caching(pol), r.table(opt), r.kind, r.hour)
	e.cache.product = r.Conv.Product
	client, err := e.weighBy(opt.Counter)
	if err != nil {
		return nil, err
	}
	if over := cmp.Or(opt.Overhead, pol.Window.Overhead); over.Given {
		e.fixed = over.Tokens
	} else if e.counter != tokens.NameUsage {
		e.fixed = e.r.unreported()
		if len(r.overhead) > 0 && r.Cal.Recorded {
			e.fixed = max(r.overhead[0], 0)
		}
	}
	for _, n := range opt.CompactAt {
		if n < 1 || n > len(r.Conv.Requests)+1 {
			return nil, fmt.Errorf("there is no request %d to compact at: the session has %d", n, len(r.Conv.Requests))
		}
		e.asked[n-1] = true
	}
	for _, sc := range pol.Stages {
		st, err := newStage(r.Conv, sc)
		if err != nil {
			return nil, fmt.Errorf("policy %s: stage %s: %w", pol.Name, sc.Definition.Name, err)
		}
		if p, ok := st.(policy.ProgramStage); ok {
			if r.programs == nil {
				return nil, fmt.Errorf("policy %s: stage %s starts a program, which this replay may not: give RecordOptions.Programs", pol.Name, sc.Definition.Name)
			}
			p.Open(r.programs, pol.Folder(sc.Definition.Name+"."+sc.Definition.Program))
		}
		e.stages = append(e.stages, running{StageConfig: sc, stage: st, when: newConditional(&sc), decided: map[policy.Target]int{}})
		e.moments |= sc.Definition.Moments
	}
	e.view = view.New(r.Conv, e.report, client)
	e.view.Limit(r.mostEdits)
	e.countHistory()
	if opt.Trace != nil {
		e.tracer = trace.New(r.Conv, *opt.Trace)
	}
	return e, nil
}

// newStage makes a stage at the start of a conversation.
func newStage(conv *session.Conversation, sc policy.StageConfig) (policy.Stage, error) {
	st, err := sc.Definition.New(sc.Params)
	if err != nil {
		return nil, err
	}
	if starter, ok := st.(policy.Starter); ok {
		err = starter.Start(conv)
	}
	return st, err
}

// warn adds a warning at a line of the session, 0 for none. The caller may set its code before the next warning.
func (e *engine) warn(line int, format string, args ...any) *session.Warning {
	e.warnings = append(e.warnings, session.Warning{File: e.conv.Path, Line: line, Message: fmt.Sprintf(format, args...)})
	return &e.warnings[len(e.warnings)-1]
}

func (e *engine) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

// overhead is the tokens of request k (0-based) that are not messages: system prompt, tools, unrecorded reminders.
func (e *engine) overhead(k int) int {
	if e.fixed >= 0 {
		return e.fixed
	}
	return e.r.overhead[k]
}

// recorded applies a recorded microcompaction of results that are not in the file, because every view holds the same
// message for the earlier history, and a restart. A simulated policy ignores all other recorded acts.
func (e *engine) recorded(act recordedAct) {
	if act.kind == actRestart {
		e.restart(act)
		return
	}
	if act.kind != actMicro || !e.r.hidden(act.at) {
		return
	}
	ed := e.r.hiddenMicro(act.at, e.view)
	if ed.Delta == 0 {
		return
	}
	ed.Stage = recordStage
	if _, err := e.view.Apply(ed); err != nil {
		e.fail(err)
	}
	e.raw += ed.Delta
}

// notReadBack is what restarted clients did not read back, in tokens.
type notReadBack struct {
	now int // since the last compaction, which would have taken it, too
	sum int // over main requests
}

// restart applies a restart of the client. What the policy did before stays: a client writes that to the file.
func (e *engine) restart(act recordedAct) {
	s := &e.conv.Restarts[act.at]
	e.noteChanges()
	e.applyAll(recordStage, e.restarts.edits(s, e.view), s.Request-1, false, e.r.event(act))
	e.cache.again = true
}

// said adds message m to the raw history.
func (e *engine) said(m int) *session.Message {
	msg := &e.conv.Messages[m]
	if msg.Class != session.ClassAttachment && !msg.Time.IsZero() {
		e.now = msg.Time
	}
	if msg.Class == session.ClassPrompt && !msg.Is(session.Queued) && !msg.RecordOnly {
		e.turns++
	}
	if !msg.RecordOnly {
		e.raw += e.report.Message(m)
		if b, _, ok := msg.Compaction(); ok {
			e.raw -= e.report.Block(m, b)
		}
	}
	return msg
}

func (e *engine) join(m int) {
	msg := e.said(m)
	if msg.RecordOnly {
		e.view.Skip(m)
		return
	}
	e.view.Join(m)
	if b, _, ok := msg.Compaction(); ok {
		if err := withoutCompaction(e.view, m, b, len(e.weight)); err != nil {
			e.fail(err)
		}
	}
	if msg.Class == session.ClassToolResult {
		e.runStages(policy.Ingest, len(e.weight), occasion{joined: []policy.ItemID{policy.ItemID(m)}, now: msg.Time})
	}
}

func (e *engine) request(k int) {
	msg := &e.conv.Messages[e.conv.Requests[k].Message]
	if len(e.asked) > 0 && e.asked[k] {
		e.turnEnd(k, false)
		e.manual(-1, k)
	}
	e.leaveOut(k)
	used, tail := e.used(k)
	// The client decides before the call: by the time of the last message, not of the response.
	of := occasion{now: e.start(msg), used: used, tail: tail}
	e.runStages(policy.Prepare, k, of)
	e.runStages(policy.Project, k, of)
	e.account(k, used)
}

func (e *engine) responds() bool { return e.moments&policy.Respond != 0 }

func (e *engine) respond(k int) {
	of := occasion{now: e.conv.Messages[e.conv.Requests[k].Message].Time}
	of.used, of.tail = e.used(k + 1)
	e.runStages(policy.Respond, k+1, of)
}

func (e *engine) turnEnd(next int, final bool) {
	e.runStages(policy.TurnEnd, next, occasion{final: final})
}

// manual runs the stages for the user's own compaction: of a recorded boundary, or -1. It is a separate turn.
func (e *engine) manual(boundary, next int) {
	of := occasion{asked: &policy.ManualCompaction{Recorded: boundary}}
	of.used, of.tail = e.used(min(next, len(e.conv.Requests)))
	e.runStages(policy.Manual, next, of)
	e.turnEnd(next, false)
}

// used is the client's own estimate before request k (0-based), tokens: the total of the last response, less what the
// policy's edits had removed from its payload, plus the estimate of what came after it, which is tail
// (docs/internals/decisions.md, decision 2). Right after a compaction there is no response to count from: then it is
// the estimate of the whole list times 4/3, rounded up.
func (e *engine) used(k int) (used, tail int) {
	if e.compacted {
		n := 0
		for id := range e.view.Items {
			n += e.estimate(id)
		}
		return policy.WholeList(n), n
	}
	for j := min(k, len(e.weight)) - 1; j >= 0; j-- {
		q := &e.conv.Messages[e.conv.Requests[j].Message]
		if !q.HasUsage {
			continue
		}
		tail = e.tail(e.conv.Requests[j].Message)
		return max(e.r.usage(q).Total()+e.weight[j]-e.r.weight[j], 0) + tail, tail
	}
	over := e.r.unreported()
	if e.fixed >= 0 || k < len(e.r.overhead) {
		over = e.overhead(k)
	}
	return max(over+e.view.ClientPayloadTokens(), 0), 0
}

// start is when the request was sent that a message answers, as far as the lines show it.
func (e *engine) start(msg *session.Message) time.Time {
	if e.now.IsZero() {
		return msg.Time
	}
	return e.now
}

// send calls Options.Send with a request.
func (e *engine) send(q *SentRequest) {
	if e.opt.Send == nil {
		return
	}
	q.View, q.Model = e.view, cmp.Or(e.opt.Model, q.Request.Model)
	q.Head = SentHead{Shared: e.cache.head.Shared, SharedChanges: e.cache.heads[sharedPlace], Changes: e.cache.heads[systemPlace]}
	e.opt.Send(q)
}

// account closes request k (0-based): its row, and the response that stages know of.
func (e *engine) account(k, used int) {
	q := e.conv.Requests[k]
	msg := &e.conv.Messages[q.Message]
	over := e.overhead(k)
	if e.before > 0 {
		used = e.before
	}
	row := &Request{
		N: k + 1, UUID: msg.UUID, Time: msg.Time, Kind: "main", Model: msg.Model,
		Raw: max(e.raw+over, 0), Tokens: max(e.view.Tokens()+over, 0), Payload: max(e.view.PayloadTokens()+over, 0),
		Overhead: max(over, 0), Used: used, Messages: e.view.Len(), Events: e.pending,
	}
	e.notRead.sum += e.notRead.now
	row.Output, row.Estimated = e.output(q.Message)
	e.cacheRequest(k, row)
	if msg.HasUsage {
		recorded := msg.Usage // not converted: see Record.usage
		row.Recorded = recordedUsage(&recorded)
	}
	if (!e.pol.Recorded || e.opt.Model != "" && e.opt.Model != msg.Model) && !(k == 0 && e.conv.BeginsMidway()) {
		e.unanswered(k, used, row)
	}
	if e.opt.Observe != nil {
		e.opt.Observe(k+1, e.view)
	}
	if e.opt.Send != nil {
		e.send(&SentRequest{Request: row, Start: e.start(msg), End: msg.End, Stop: msg.StopReason})
	}
	if e.tracer != nil {
		e.tracer.See(k+1, e.view)
	}
	if e.each != nil && !e.each(k+1, e.view) {
		e.ended = true
		return
	}
	e.check(k)
	e.pending = []int{}
	e.requests = append(e.requests, *row)
	e.weight = append(e.weight, e.view.ClientPayloadTokens())
	if over < 0 {
		e.unfit.add(k+1, -over)
	}
	e.last = policy.Response{Message: policy.ItemID(q.Message), Time: msg.End, StopReason: msg.StopReason}
	if msg.HasUsage {
		e.last.Known = true
		// The total is counterfactual; how it is split is simulated.
		u := e.r.usage(msg)
		if u.Context() > e.window(k) {
			e.above++
		}
		in := scaled(row.Cache.Split, max(u.Context()+e.weight[k]-e.r.weight[k], 0))
		in.Output, in.Thinking = u.Output, u.Thinking
		e.last.Usage = in
	}
	e.compacted, e.before, e.trimmed = false, 0, 0
}
