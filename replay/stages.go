package replay

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/diff"
	"github.com/ctxkit/ctxkit/replay/wire"
)

// runStages runs the policy's stages of one moment, in order. Each one's edits are applied before the next one runs.
// next is the 0-based number of the request to come.
func (e *engine) runStages(moment policy.Moment, next int, of occasion) {
	if e.err != nil || e.moments&moment == 0 {
		return
	}
	set, c := false, &e.context
	window, at := 0, -1
	for i := range e.stages {
		s := &e.stages[i]
		if s.Definition.Moments&moment == 0 || s.waits(moment, next) {
			continue
		}
		if !set {
			set = true
			e.fill(c, moment, next, of)
			window, at = c.Window, min(next, len(e.conv.Requests)-1)
		}
		c.Window, c.Shared = 0, nil
		if s.Definition.Window {
			c.Window, c.Shared = window, s.Shared
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
			e.agree(i, at, c, edits)
		}
		if s.when != nil && len(edits) > 0 {
			s.when.acted = next
		}
		if e.applyAll(s.Definition.Name, edits, next, moment == policy.TurnEnd, nil); e.done() {
			return
		}
		c.Last = e.last
	}
}

// occasion is why stages run: what of a Context only the caller knows.
type occasion struct {
	now        time.Time // zero: that of the last message
	used, tail int       // tokens
	joined     []policy.ItemID
	asked      *policy.ManualCompaction
	final      bool
}

func (e *engine) fill(c *policy.Context, moment policy.Moment, next int, of occasion) {
	*c = policy.Context{Now: of.now, Used: of.used, UsedTail: of.tail, Joined: of.joined, Asked: of.asked, Final: of.final}
	at := min(next, max(len(e.conv.Requests)-1, 0))
	e.noteChanges()
	c.Version = e.pol.Version
	c.Moment, c.Request, c.View, c.Conv = moment, next+1, e.view, e.conv
	c.Agent, c.Last = e.conv.Agent, e.last
	if len(e.conv.Requests) > 0 {
		m := &e.conv.Messages[e.conv.Requests[at].Message]
		c.Model = m.Model
		c.Overhead = e.overhead(at)
		limits := e.circumstances(at, e.window(at))
		c.Window, c.MaxInput, c.MaxOutput = limits.Window, limits.MaxInput, limits.MaxOutput
	}
	c.Model = cmp.Or(e.opt.Model, c.Model)
	c.Before = e.view.Tokens()
	if c.Now.IsZero() {
		c.Now = e.now
	}
	c.Texts, c.Record, c.Weigh, c.Estimate, c.Warned = e.view, e, e.report, e.estimate, e.warned
	c.Sent = e.blocks
}

// blocks returns the blocks of an item as the Messages API takes them.
func (e *engine) blocks(id policy.ItemID) ([]policy.SentBlock, error) {
	blocks, err := wire.Item(e.view, id)
	list := make([]policy.SentBlock, len(blocks))
	for i := range blocks {
		b := &blocks[i]
		list[i] = policy.SentBlock{Source: b.Source, Type: b.Type, ID: b.ToolUse, JSON: b.JSON}
	}
	return list, err
}

func (e *engine) warned(line int, message string) { e.warn(line, "%s", message) }

// applyAll applies the edits of one run of a stage; adjacent edits of one kind are one event, except those with a
// summary of their own. at is where the client recorded them, if it did.
//
// An edit at the end of the session belongs to the request that would have come next, but that of a turn end or a restart to none.
func (e *engine) applyAll(stage string, edits []policy.Edit, next int, turnEnd bool, at *RecordedEvent) {
	if len(edits) == 0 {
		return
	}
	n := next + 1
	if (turnEnd || edits[0].Trigger == policy.TriggerRestart) && n > len(e.conv.Requests) {
		n = 0
	}
	for len(edits) > 0 {
		first := &edits[0]
		j := 1
		for j < len(edits) && edits[j].Kind == first.Kind && edits[j].Call == nil &&
			first.Kind != policy.KindSummarize && first.Kind != policy.KindCollapse && first.Kind != policy.KindFail {
			j++
		}
		group := edits[:j]
		edits = edits[j:]
		ev := Event{
			N: len(e.events), Stage: stage, Kind: first.Kind, Trigger: first.Trigger, Reason: first.Reason, Detail: first.Detail,
			Recorded: at, Targets: []EventTarget{},
		}
		if n > 0 {
			ev.Request = &n
		}
		length := e.view.Len()
		for i := range group {
			ed := group[i]
			ed.Stage, ed.Group, ed.Request = stage, ev.N, n
			if e.asking != nil && e.asking.Event == ev.N {
				e.ask(stage, &ed)
				return
			}
			for c := ed.Call; c != nil; c = c.Then {
				e.call(c, ed.Insert, next)
			}
			if ed.Kind == policy.KindSummarize {
				e.notRead.now = 0
				e.rebuilding(&ed, next)
			}
			restart := ed.Trigger == policy.TriggerRestart
			was, client := e.view.PayloadTokens(), e.view.ClientPayloadTokens()
			for _, id := range ed.Items {
				if restart && id < 0 { // what is on no line is not in the raw history
					was -= e.view.PayloadWeight(id)
				}
			}
			var err error
			if ed, err = e.view.Apply(ed); err != nil {
				if over := (*jsonl.LimitError)(nil); errors.As(err, &over) {
					err = fmt.Errorf("at request %d of %d %w", cmp.Or(n, len(e.conv.Requests)+1), len(e.conv.Requests), err)
				}
				e.fail(err)
				return
			}
			e.trimmed += client - e.view.ClientPayloadTokens()
			switch {
			case restart:
				e.notRead.now += was - e.view.PayloadTokens()
			case stage != policy.StageServer:
				e.cleared.weigh(&ed, was-e.view.PayloadTokens())
			}
			ev.Before += ed.Before
			ev.After += ed.After
			e.targets(&ev, &ed)
			e.sticky(&ed, next)
		}
		if ev.Kind == policy.KindSummarize {
			ev.Messages = max(length-e.view.Len(), 0)
			ev.Kept = e.segment()
		}
		ev.Saved = ev.Before - ev.After
		e.events = append(e.events, ev)
		e.pending = append(e.pending, ev.N)
	}
}

// segment is what the last edit, a compaction, left behind its summary; nil where that is nothing.
func (e *engine) segment() *Segment {
	last := e.view.Edits()[len(e.view.Edits())-1]
	head, anchor, tail, ok := diff.Segment(e.view, &last)
	if !ok {
		return nil
	}
	return &Segment{Head: e.uuid(head), Anchor: e.uuid(anchor), Tail: e.uuid(tail)}
}

// targets adds what an edit changed to its event.
func (e *engine) targets(ev *Event, ed *policy.Edit) {
	switch ed.Kind {
	case policy.KindClear, policy.KindPersist, policy.KindTruncate, policy.KindCacheEdit, policy.KindServerClear,
		policy.KindServerKeep, policy.KindTag, policy.KindWrap:
		var raw *session.Block
		if ed.Target.Block != policy.WholeItem {
			raw = e.view.Raw(ed.Target)
		}
		unchanged := ed.New != nil && ed.New.Ref != nil && !ed.New.Stub // the edit names it only
		if raw != nil && raw.Kind == jsonl.KindToolResult && !unchanged {
			ev.Results++
			e.cleared.note(ed)
		}
		t := EventTarget{Message: e.uuid(ed.Target.Item)}
		if raw != nil {
			t.ToolUse = raw.ID
		}
		ev.Targets = append(ev.Targets, t)
	case policy.KindRemove, policy.KindCollapse, policy.KindCall, policy.KindFail:
		if !ed.Kind.KeepsView() {
			ev.Messages += len(ed.Items)
		}
		for _, id := range ed.Items {
			ev.Targets = append(ev.Targets, EventTarget{Message: e.uuid(id)})
		}
	}
}

// uuid is an item's name in output: the recorded uuid, or a name for a message that the policy made.
func (e *engine) uuid(id policy.ItemID) string {
	if id >= 0 {
		return e.conv.Messages[id].UUID
	}
	return "synthetic-" + strconv.Itoa(int(-id))
}

// call adds the request of an edit's own model call, and sets the call's tokens where they are 0.
func (e *engine) call(c *policy.Call, inserted []policy.Synthetic, next int) {
	k := min(next, len(e.conv.Requests)-1)
	over := 0 // may be below zero: see account
	if c.Prefix == "session" && k >= 0 {
		over = e.overhead(k)
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
	input, sent := c.Size(e.view, over)
	c.Input = input
	row := &Request{
		N: next + 1, Kind: c.Kind, Tokens: c.Input, Payload: sent, Overhead: max(over, 0), Output: c.Output,
		Cache: e.cacheCall(c, sent, k), Messages: e.view.Len(), Events: []int{len(e.events)},
	}
	if k >= 0 {
		row.Model = e.conv.Messages[e.conv.Requests[k].Message].Model
	}
	row.CostUSD = e.cache.cost(cmp.Or(e.opt.Model, row.Model), row.Cache.Split, row.Output)
	if row.CostUSD.Known {
		row.CostParts = callParts(row.CostUSD)
	}
	if e.opt.Send != nil {
		e.send(&SentRequest{Request: row, Call: c, Start: e.now})
	}
	e.requests = append(e.requests, *row)
}

// rebuilding notes the estimate before a compaction, and which recorded summary it reuses.
func (e *engine) rebuilding(ed *policy.Edit, next int) {
	if !e.compacted {
		e.before, _ = e.used(min(next, len(e.conv.Requests)))
	}
	e.compacted, e.last.Summary, e.compactAt = true, true, next
	for i := range ed.Insert {
		for _, c := range ed.Insert[i].Contents {
			for k := range e.conv.Boundaries {
				if ed.Insert[i].Summary && c.Ref != nil && e.conv.Boundaries[k].Summary == int(c.Ref.Item) {
					e.taken[k] = true
				}
			}
		}
	}
}

// Summary returns the recorded summary that a compaction at request n may reuse, and its boundary.
func (e *engine) Summary(n int) (policy.Content, int, bool) {
	for i := range e.conv.Boundaries {
		b := &e.conv.Boundaries[i]
		if b.Summary < 0 || !readable(&e.conv.Messages[b.Summary]) || b.Request < n-lateBy || b.Request < n && e.taken[i] {
			continue // a boundary shortly before, with a summary that is not reused yet: the policy is a little late
		}
		if e.taken[i] {
			break
		}
		bl := &e.conv.Messages[b.Summary].Blocks[0]
		return policy.Content{Kind: bl.Kind, Length: bl.Text, Ref: &policy.Target{Item: policy.ItemID(b.Summary)}}, i, true
	}
	return policy.Content{}, -1, false
}

// readable reports whether a recorded summary is a text that any model could be sent, and is not encrypted.
func readable(m *session.Message) bool {
	return len(m.Blocks) > 0 && m.Blocks[0].Kind == jsonl.KindText
}

// sealed reports whether a recorded summary is encrypted, and its encrypted form was taken out of the recording: only
// the type of its block is left.
func sealed(m *session.Message) bool {
	if len(m.Blocks) == 0 {
		return false
	}
	bl := &m.Blocks[0]
	return bl.Kind == jsonl.KindUnknown && bl.JSON.Bytes <= len(`{"type":""}`)+len(bl.Type)
}

// SessionMemory returns the session's own summary file.
func (e *engine) SessionMemory() (text string, ok bool, err error) {
	if e.conv.Memory == nil {
		return "", false, nil
	}
	text, err = e.conv.MemoryText()
	return text, err == nil, err
}

// lateBy is the number of requests after a recorded boundary in which a policy's compaction still reuses its summary.
const lateBy = 10

// Reinjected returns what the client sent after recorded boundary i beside the summary: recorded attachments, and an
// item for what is on no line.
func (e *engine) Reinjected(i int) []policy.Synthetic {
	var out []policy.Synthetic
	for _, a := range e.conv.Boundaries[i].Attached {
		m := &e.conv.Messages[a]
		if m.Class == session.ClassMeta && a == e.conv.Boundaries[i].Summary-1 && e.conv.Messages[a+1].Role == session.Assistant {
			continue // the question that the summary, which is an answer, follows
		}
		s := policy.Synthetic{Role: m.Role.String(), Label: "recorded " + cmp.Or(m.Attachment, m.Class.String()), Attached: true}
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

// clearing is what edits of single blocks have cleared so far.
type clearing struct {
	view    map[policy.Target]bool // tool_results, in the model view
	payload map[clearedBy]bool     // and in the payload only
	tokens  int                    // removed from the payload
}

// clearedBy is a result and the stage whose payload-only edit cleared it: only that stage can undo it.
type clearedBy struct {
	result policy.Target
	stage  string
}

// note counts an edit of a tool_result.
func (c *clearing) note(ed *policy.Edit) {
	switch by := (clearedBy{ed.Target, ed.Stage}); ed.Kind {
	case policy.KindClear, policy.KindPersist:
		c.view[ed.Target] = true
	case policy.KindServerClear, policy.KindCacheEdit:
		c.payload[by] = true
	case policy.KindServerKeep:
		delete(c.payload, by)
	}
}

// results is the number of tool_results that stay cleared.
func (c *clearing) results() int {
	more := map[policy.Target]bool{}
	for by := range c.payload {
		if !c.view[by.result] {
			more[by.result] = true
		}
	}
	return len(c.view) + len(more)
}

// weigh counts the tokens that an edit removed from the payload.
func (c *clearing) weigh(ed *policy.Edit, removed int) {
	switch ed.Kind {
	case policy.KindClear, policy.KindPersist, policy.KindTruncate, policy.KindServerClear, policy.KindCacheEdit,
		policy.KindServerKeep:
		c.tokens += removed
	}
}
