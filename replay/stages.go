package replay

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// runStages runs the policy's stages of one moment, in order. Each one's edits
// are applied before the next one runs. next is the 0-based number of the
// request to come.
func (e *engine) runStages(moment policy.Moment, next int, given policy.Context) {
	if e.err != nil {
		return
	}
	set, c := false, &e.context
	window, at := 0, -1
	for i := range e.stages {
		s := &e.stages[i]
		if s.Definition.Moments&moment == 0 {
			continue
		}
		if !set {
			set, *c = true, given
			e.fill(c, moment, next)
			window, at = c.Window, min(next, len(e.conv.Requests)-1)
		}
		c.Window, c.Shared = 0, nil
		if s.Definition.Window {
			c.Window, c.Shared = window, s.Shared
		}
		edits, err := s.stage.Run(c)
		if err != nil {
			e.fail(fmt.Errorf("stage %s: %w", s.Definition.Name, err))
			return
		}
		if len(e.shadows) > 0 {
			e.agree(i, at, c, edits)
		}
		e.applyAll(s.Definition.Name, edits, next, moment == policy.TurnEnd)
		c.Last = e.last
	}
}

func (e *engine) fill(c *policy.Context, moment policy.Moment, next int) {
	at := min(next, max(len(e.conv.Requests)-1, 0))
	e.noteChanges()
	c.Moment, c.Request, c.View, c.Conv = moment, next+1, e.view, e.conv
	c.Agent, c.Last = e.conv.Agent, e.last
	if len(e.conv.Requests) > 0 {
		m := &e.conv.Messages[e.conv.Requests[at].Message]
		c.Model, c.Version = m.Model, m.Version
		c.Overhead = e.overhead(at)
		c.Window, c.MaxOutput = e.window(at), e.maxOutput(m.Model)
	}
	if e.opt.Model != "" {
		c.Model = e.opt.Model
	}
	c.Before = e.view.Tokens()
	if c.Now.IsZero() {
		c.Now = e.now
	}
	c.Texts, c.Record, c.Weigh, c.Estimate, c.Warned = e.view, e, e.report, e.estimator, e.warner
	c.Digests = e.r.digests
}

func (e *engine) warned(line int, message string) { e.warn(line, "%s", message) }

// applyAll applies the edits of one run of a stage; edits of one kind that
// stand together are one event, but for those with a summary of their own.
//
// What stands at the end of the session belongs to the request that would have
// come next; but what a turn end does there belongs to none.
func (e *engine) applyAll(stage string, edits []policy.Edit, next int, turnEnd bool) {
	if len(edits) == 0 {
		return
	}
	n := next + 1
	if turnEnd {
		n = requestNumber(e.conv, n)
	}
	for i := 0; i < len(edits); {
		j := i + 1
		for j < len(edits) && edits[j].Kind == edits[i].Kind && edits[j].Call == nil && edits[j].Kind != policy.KindSummarize && edits[j].Kind != policy.KindCollapse {
			j++
		}
		group := edits[i:j]
		i = j
		ev := Event{N: len(e.events), Stage: stage, Kind: group[0].Kind, Trigger: group[0].Trigger, Reason: group[0].Reason, Detail: group[0].Detail, Targets: []Target{}}
		if n > 0 {
			ev.Request = &n
		}
		length := e.view.Len()
		for g := range group {
			ed := group[g]
			ed.Stage, ed.Group = stage, ev.N
			ed.Request = n
			e.calls(&ed, next)
			if ed.Kind == policy.KindSummarize {
				e.rebuilding(&ed, next)
			}
			was := e.view.PayloadTokens()
			ed, err := e.view.Apply(ed)
			if err != nil {
				e.fail(err)
				return
			}
			e.cleared.weigh(&ed, was, e.view.PayloadTokens())
			ev.Before += ed.Before
			ev.After += ed.After
			e.targets(&ev, &ed)
			e.sticky(&ed, next)
		}
		if group[0].Kind == policy.KindSummarize {
			ev.Messages = max(length-e.view.Len(), 0)
		}
		ev.Saved = ev.Before - ev.After
		e.events = append(e.events, ev)
		e.pending = append(e.pending, ev.N)
	}
}

// targets notes what an edit changed on its event.
func (e *engine) targets(ev *Event, ed *policy.Edit) {
	switch ed.Kind {
	case policy.KindClear, policy.KindPersist, policy.KindTruncate, policy.KindCacheEdit, policy.KindServerClear, policy.KindServerKeep, policy.KindTag:
		t := Target{Message: e.uuid(ed.Target.Item)}
		result := false
		if ed.Target.Block != policy.WholeItem {
			if raw := e.view.Raw(ed.Target); raw != nil {
				t.ToolUse, result = raw.ID, raw.Kind == jsonl.KindToolResult
			}
		}
		if result && !(ed.New != nil && ed.New.Ref != nil && !ed.New.Stub) { // else it is named and stays
			ev.Results++
			e.cleared.note(ed)
		}
		ev.Targets = append(ev.Targets, t)
	case policy.KindRemove, policy.KindCollapse, policy.KindCall:
		if ed.Kind != policy.KindCall {
			ev.Messages += len(ed.Items)
		}
		for _, id := range ed.Items {
			ev.Targets = append(ev.Targets, Target{Message: e.uuid(id)})
		}
	}
}

// uuid names an item in output: the recorded uuid, or a name for a message
// the policy made.
func (e *engine) uuid(id policy.ItemID) string {
	if id >= 0 {
		return e.conv.Messages[id].UUID
	}
	return "synthetic-" + strconv.Itoa(int(-id))
}

// calls makes the requests that an edit's own model calls are.
func (e *engine) calls(ed *policy.Edit, next int) {
	for c := ed.Call; c != nil; c = c.Then {
		e.call(c, ed.Insert, next)
	}
}

func (e *engine) call(c *policy.Call, inserted []policy.Synthetic, next int) {
	k := min(next, len(e.conv.Requests)-1)
	if c.Input == 0 {
		c.Input = e.view.Tokens() + c.Prompt
		if c.Prefix == "session" && k >= 0 {
			c.Input += e.overhead(k)
		}
	}
	if c.Output == 0 {
		for i := range inserted {
			if inserted[i].Summary {
				for b := range inserted[i].Contents {
					c.Output += e.report.Content(&inserted[i].Contents[b])
				}
			}
		}
	}
	c.Input = max(c.Input, c.Prompt, 0) // the overhead may be below zero: see account
	sent := c.Input
	if c.Prefix == "session" {
		// It goes out as the session's own requests do: what the server drops
		// from those it drops from this one.
		sent = max(sent-(e.view.Tokens()-e.view.PayloadTokens()), min(sent, c.Prompt))
	}
	row := Request{N: next + 1, Kind: c.Kind, Raw: 0, Tokens: c.Input, Payload: sent, Output: c.Output, Messages: e.view.Len(), Events: []int{len(e.events)}}
	if k >= 0 {
		m := &e.conv.Messages[e.conv.Requests[k].Message]
		row.Model = m.Model
		if c.Prefix == "session" {
			row.Overhead = max(e.overhead(k), 0)
		}
	}
	row.Cache = e.cacheCall(c, sent, k)
	row.CostUSD = e.cache.cost(label(e.opt.Model, row.Model), row.Cache.Split, row.Output)
	e.requests = append(e.requests, row)
}

// rebuilding notes that a compaction is about to be made: used as it was, and
// the recorded summary it takes.
func (e *engine) rebuilding(ed *policy.Edit, next int) {
	if !e.compacted {
		e.before, _ = e.used(min(next, len(e.conv.Requests)))
	}
	e.compacted = true
	e.last.Summary = true
	for i := range ed.Insert {
		for b := range ed.Insert[i].Contents {
			ref := ed.Insert[i].Contents[b].Ref
			if ref == nil || !ed.Insert[i].Summary {
				continue
			}
			for k := range e.conv.Boundaries {
				if e.conv.Boundaries[k].Summary == int(ref.Item) {
					e.taken[k] = true
				}
			}
		}
	}
}

// Summary answers what recorded summary a compaction at request n may reuse.
func (e *engine) Summary(n int) (policy.Content, int, bool) {
	next := -1
	for i := range e.conv.Boundaries {
		b := &e.conv.Boundaries[i]
		if b.Summary < 0 || len(e.conv.Messages[b.Summary].Blocks) == 0 {
			continue
		}
		// A boundary the record has passed a moment ago and this policy has
		// not used is the same stretch: the policy is just a little late.
		if b.Request < n && n-b.Request <= lateBy && !e.taken[i] || b.Request >= n {
			next = i
			break
		}
	}
	if next < 0 || e.taken[next] {
		return policy.Content{}, -1, false
	}
	at := e.conv.Boundaries[next].Summary
	bl := &e.conv.Messages[at].Blocks[0]
	return policy.Content{Kind: bl.Kind, Length: bl.Text, Ref: &policy.Target{Item: policy.ItemID(at)}}, next, true
}

// SessionMemory is the session's own summary file.
func (e *engine) SessionMemory() (text string, ok bool, err error) {
	if e.conv.Memory == nil {
		return "", false, nil
	}
	text, err = e.conv.MemoryText()
	return text, err == nil, err
}

// lateBy is how many requests after a recorded boundary a policy's compaction
// still takes its summary.
const lateBy = 10

// Reinjected is what the client sent after recorded boundary i beside the
// summary: attachments on record and what no line holds.
func (e *engine) Reinjected(i int) []policy.Synthetic {
	var out []policy.Synthetic
	for _, a := range e.conv.Boundaries[i].Attached {
		m := &e.conv.Messages[a]
		s := policy.Synthetic{Role: m.Role.String(), Label: "recorded " + label(m.Attachment, m.Class.String()), Attached: true}
		for b := range m.Blocks {
			ref := policy.Target{Item: policy.ItemID(a), Block: b}
			s.Contents = append(s.Contents, policy.Content{Kind: m.Blocks[b].Kind, Length: m.Blocks[b].Text, Ref: &ref})
		}
		out = append(out, s)
	}
	if n := e.r.reinject[i]; n > 0 {
		out = append(out, reinjection(n))
	}
	return out
}

func label(names ...string) string {
	for _, n := range names {
		if n != "" {
			return n
		}
	}
	return ""
}

// window is the context window of request k under the policy.
func (e *engine) window(k int) int { return e.windowUnder(e.pol.Window, k) }

// windowUnder is the context window of request k under a policy's own.
func (e *engine) windowUnder(w policy.Window, k int) int {
	if w.Context > 0 && e.opt.Window == 0 {
		return w.Context
	}
	m := &e.conv.Messages[e.conv.Requests[k].Message]
	key := clientKey{m.Model, m.Version}
	if key == e.lastClient && e.lastWindow > 0 {
		return e.lastWindow
	}
	n, ok := e.windows[key]
	if !ok {
		n = e.r.window(m.Model, m.Version, e.opt)
		e.windows[key] = n
	}
	e.lastClient, e.lastWindow = key, n
	return n
}

// clientKey is what the context window of a request depends on.
type clientKey struct{ model, version string }

func (e *engine) maxOutput(model string) int {
	if e.opt.Model != "" {
		model = e.opt.Model
	}
	n, ok := e.outputs[model]
	if !ok {
		m, _ := e.r.table(e.opt).Find(model)
		n = m.MaxOutput
		e.outputs[model] = n
	}
	return n
}

// DefaultWindow is the context window assumed where nothing says otherwise.
const DefaultWindow = 200000

// window is the context window of a request: 200,000 for clients before
// 2.1.78, else the model table's (docs/internals/decisions.md, decision 14).
func (r *Record) window(model, version string, opt Options) int {
	if opt.Window > 0 {
		return opt.Window
	}
	if opt.Model != "" {
		model = opt.Model
	}
	if strings.Contains(model, "[1m]") {
		return 1000000
	}
	if version != "" && session.CompareVersions(version, "2.1.78") < 0 && opt.Model == "" {
		return DefaultWindow
	}
	if m, ok := r.table(opt).Find(model); ok && m.Context > 0 {
		return m.Context
	}
	return DefaultWindow
}
