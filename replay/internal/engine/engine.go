// Package engine replays a recorded conversation under a policy: it runs the policy's stages before each request, applies
// their edits to the view, and closes a row a request.
package engine

import (
	"cmp"
	"fmt"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay/internal/account"
	"github.com/ctxkit/ctxkit/replay/internal/record"
	"github.com/ctxkit/ctxkit/replay/tokens"
	"github.com/ctxkit/ctxkit/replay/trace"
)

// Engine is one replay: the track of a policy.
type Engine struct {
	record    *record.Record
	conv      *session.Conversation
	policy    *policy.Policy
	options   Options
	counter   record.ReplayCounter
	overhead  int // of each request, tokens; -1: as recorded
	view      *view.View
	account   *account.Account
	windows   windows
	stages    stageList
	shadows   []*shadow             // policies that have done the same so far
	thinking  *record.ThinkingEdits // nil: the policy says what the server leaves out
	restarts  restarts
	nextEdit  int // of the recorded session's, on its own track
	progress  progress
	weights   []int // client weight of the payload at each request
	changes   requestChanges
	trailing  trailing
	summaries []bool // by boundary: a compaction has reused its summary
	clearance clearance
	checks    checks
	rows      rows
	observers observers
	err       error
}

// progress is how far the conversation is.
type progress struct {
	now       time.Time // of the last message
	turns     int       // prompts typed
	raw       int       // report weight of the raw history
	compactAt int       // 0-based request before which the last compaction was made
	last      policy.Response
	reported  int // number of the last request whose response has a usage; 0: none
}

// requestChanges are what edits have done since the last main request.
type requestChanges struct {
	events    []int // indexes into rows.events
	compacted bool  // a compaction was made
	used      int   // the client's own estimate before it, tokens
	trimmed   int   // tokens that edits have taken off the payload, by the client's count
}

// rows are the result so far.
type rows struct {
	requests []account.Request
	events   []Event
	warnings []session.Warning
	misfits  excess // requests whose recorded usage is below the weight of their content
}

// New makes an engine at the start of the conversation.
func New(r *record.Record, pol *policy.Policy, opt Options) (*Engine, error) {
	table := r.Table(opt.Prices)
	r, err := r.Under(opt.Model, table)
	if err != nil {
		return nil, err
	}
	n := len(r.Conv.Requests)
	e := &Engine{
		record: r, conv: r.Conv, policy: pol, options: opt, overhead: -1,
		summaries: make([]bool, len(r.Conv.Boundaries)), windows: newWindows(pol),
		weights: make([]int, 0, n), changes: requestChanges{events: []int{}},
		rows:      rows{requests: make([]account.Request, 0, n), events: []Event{}},
		clearance: clearance{view: map[policy.Target]bool{}, payload: map[clearedBy]bool{}},
		checks:    checks{findings: []RequestFinding{}, count: map[FindingKind]int{}},
	}
	if !clearsThinking(pol) {
		e.thinking = r.NewThinkingEdits(opt.Model)
	}
	if e.counter, err = r.Counter(opt.Counter); err != nil {
		return nil, err
	}
	if e.counter.Warning != "" {
		e.warn(0, "%s", e.counter.Warning)
	}
	if over := cmp.Or(opt.Overhead, pol.Window.Overhead); over.Given {
		e.overhead = over.Tokens
	} else if e.counter.Name != tokens.NameUsage {
		e.overhead = r.Unreported()
		if n > 0 && r.Cal.Recorded {
			e.overhead = max(r.Overhead[0], 0)
		}
	}
	for _, request := range opt.CompactAt {
		if request < 1 || request > n+1 {
			return nil, fmt.Errorf("there is no request %d to compact at: the session has %d", request, n)
		}
	}
	e.account = account.New(account.AccountSettings{
		Caching: account.CachingIn(opt.Cache, pol), Prices: table, Model: opt.Model, Kind: r.Kind, Product: r.Conv.Product, MostHead: e.overhead,
	})
	if e.stages, err = newStages(r, pol); err != nil {
		return nil, err
	}
	e.view = view.New(r.Conv, e.counter.Report, e.counter.Client)
	e.view.Limit(r.MostEdits)
	e.countHistory()
	if opt.Trace != nil {
		e.observers.tracer = trace.New(r.Conv, *opt.Trace)
	}
	return e, nil
}

// Run replays the conversation.
func (e *Engine) Run() error {
	if record.Walk(e.conv, e); e.err != nil {
		return &jsonl.FileError{Path: e.conv.Path, Err: fmt.Errorf("policy %s: %w", e.policy.Name, e.err)}
	}
	return nil
}

// Close ends the programs of the policy.
func (e *Engine) Close() {
	for i := range e.stages.list {
		if p, ok := e.stages.list[i].stage.(policy.ProgramStage); ok {
			p.Close()
		}
	}
}

// Done reports whether the replay ends early.
func (e *Engine) Done() bool { return e.observers.ended || e.err != nil }

// fail ends the replay with an error, the first one.
func (e *Engine) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

// OverheadAt is the tokens of request k (0-based) that are not messages: system prompt, tools, unrecorded reminders.
func (e *Engine) OverheadAt(k int) int {
	if e.overhead >= 0 {
		return e.overhead
	}
	return e.record.OverheadOf(k, e.policy.Recorded)
}

// wholeOverhead is OverheadAt with what the API left out of request k and no block weighs: it is in the client's history.
func (e *Engine) wholeOverhead(k int) int {
	if e.overhead >= 0 {
		return e.overhead
	}
	return e.record.OverheadOf(k, false)
}

// rawAt is the raw history of request k (0-based), with its overhead.
func (e *Engine) rawAt(k int) int { return e.progress.raw + e.wholeOverhead(k) }

// Join adds message m.
func (e *Engine) Join(m int) {
	msg := e.addRaw(m)
	summary, alone, compacted := msg.Compaction()
	if e.policy.Recorded {
		e.view.Join(m)
		if compacted && !alone {
			e.fail(record.WithoutCompaction(e.view, m, summary, len(e.weights)))
		}
		e.replayAct(record.Act{Kind: record.ActJoin, Index: m}, false)
		return
	}
	if msg.RecordOnly {
		e.view.Skip(m)
		return
	}
	e.view.Join(m)
	if compacted {
		e.fail(record.WithoutCompaction(e.view, m, summary, len(e.weights)))
	}
	if msg.Class == session.ClassToolResult {
		e.runStages(policy.Ingest, len(e.weights), runArgs{joined: []policy.ItemID{policy.ItemID(m)}, now: msg.Time})
	}
}

// addRaw adds message m to the raw history.
func (e *Engine) addRaw(m int) *session.Message {
	msg := &e.conv.Messages[m]
	p := &e.progress
	if msg.Class != session.ClassAttachment && !msg.Time.IsZero() {
		p.now = msg.Time
	}
	if msg.Class == session.ClassPrompt && !msg.Is(session.Queued) && !msg.RecordOnly {
		p.turns++
	}
	if !msg.RecordOnly {
		p.raw += e.counter.Report.Message(m)
		if b, _, ok := msg.Compaction(); ok {
			p.raw -= e.counter.Report.Block(m, b)
		}
	}
	return msg
}
