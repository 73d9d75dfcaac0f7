package engine

import (
	"cmp"
	"fmt"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// FindingKind says whether a finding is a violation, and whether the policy or the recorded session causes it.
type FindingKind string

// The values of FindingKind.
const (
	FindingViolation  FindingKind = "violation"          // the policy violates a rule
	FindingTranscript FindingKind = "transcript"         // the recorded session itself violates a rule, under every policy
	FindingPreserved  FindingKind = "preserved_thinking" // no violation, but an edit invalidates thinking that the model needs back unchanged (price.Model.Preserved)
)

// RequestFinding is a violation of a rule of the API, or an edit that invalidates thinking which the model needs
// (FindingPreserved). It is reported once, at the first request that has it.
type RequestFinding struct {
	Kind    FindingKind    `json:"kind"`
	Rule    view.Invariant `json:"rule"`
	Request int            `json:"request"`         // n of the main request
	Stage   string         `json:"stage,omitempty"` // that edited last
	Message string         `json:"message"`         // uuid
	Line    int            `json:"line,omitempty"`  // of the message
	Text    string         `json:"text"`            // one sentence
}

// maxWarned is the number of findings of a kind that become warnings one by one.
const maxWarned = 20

// checks is the state of an engine's checks.
type checks struct {
	findings []RequestFinding
	count    map[FindingKind]int
	view     *view.Checker
	reported map[breach]bool
	stage    string // that edited the model view last
	edits    int    // edits of the view that are checked

	raw         *view.Checker // of the raw history, made at the first violation
	rawView     *view.View
	rawBreaches map[breach]bool
}

// breach is a rule that one item violates.
type breach struct {
	item    policy.ItemID
	message string
}

// find adds a finding, and warns of it unless there are many.
func (e *Engine) find(kind FindingKind, rule view.Invariant, request int, stage string, item policy.ItemID, text string) {
	f := RequestFinding{Kind: kind, Rule: rule, Request: request, Stage: stage, Message: item.Name(e.conv), Text: text}
	if m := e.view.Message(item); m != nil {
		f.Line = m.Line
	}
	c := &e.checks
	c.findings = append(c.findings, f)
	if c.count[kind]++; c.count[kind] > maxWarned {
		return
	}
	e.warn(f.Line, "%s", f.String())
}

// String says at which request the rule is broken, by whom and how.
func (f *RequestFinding) String() string {
	text := fmt.Sprintf("request %d", f.Request)
	if f.Stage != "" {
		text += ", after " + f.Stage
	}
	switch f.Kind {
	case FindingTranscript:
		return text + ": the transcript itself violates a rule of the API: " + f.Text
	case FindingViolation:
		return text + ": the payload violates a rule of the API: " + f.Text
	}
	return text + ": " + f.Text
}

// checkRequest checks the view of a request against the rules of the API.
func (e *Engine) checkRequest(q *request) {
	c := &e.checks
	if c.view == nil {
		c.view = view.NewChecker(e.view)
		c.reported = map[breach]bool{}
	}
	var edits []policy.Edit // new ones
	if all := e.view.Edits(); len(all) > c.edits {
		edits = all[c.edits:]
		c.edits = len(all)
	}
	for i := range edits {
		if kind := edits[i].Kind; !kind.KeepsView() && kind != policy.KindInferred {
			c.stage = edits[i].Stage
		}
	}
	for _, v := range c.view.CheckRequest() {
		broken := breach{v.Item, v.Message}
		if c.reported[broken] {
			continue
		}
		c.reported[broken] = true
		if e.policy.Recorded || e.own(q.k, broken) {
			e.find(FindingTranscript, v.Rule, q.k+1, "", v.Item, v.Message)
		} else {
			e.find(FindingViolation, v.Rule, q.k+1, c.stage, v.Item, v.Message)
		}
	}
	e.checkPrefix(q, edits)
}

// own reports whether the raw history violates the rule too at request k (0-based): then it is the transcript's.
func (e *Engine) own(k int, broken breach) bool {
	c := &e.checks
	if c.raw == nil {
		c.rawView = view.New(e.conv, e.record.Cal, nil)
		c.raw = view.NewChecker(c.rawView)
		c.rawBreaches = map[breach]bool{}
	}
	joinRaw(c.rawView, before(e.conv, k+1))
	for _, v := range c.raw.CheckRequest() {
		c.rawBreaches[breach{v.Item, v.Message}] = true
	}
	return c.rawBreaches[broken]
}

// checkPrefix reports the client's edits before thinking blocks, for models that refuse or drop such thinking. What the
// server does itself costs no thinking.
func (e *Engine) checkPrefix(q *request, edits []policy.Edit) {
	if len(edits) == 0 || !e.preserves(q.msg.Model) {
		return
	}
	for i := 0; i < len(edits); {
		ed := edits[i]
		most := 0
		first := policy.ItemID(0)
		for ; i < len(edits); i++ {
			o := edits[i]
			if o.Group != ed.Group {
				break
			}
			if o.Kind.KeepsView() || o.Trigger == policy.TriggerRestart {
				continue
			}
			if n, item := e.view.ThinkingAfter(&o); n > most {
				most = n
				first = item
			}
		}
		if most > 0 && !e.serverSide(ed.Stage) {
			what := "a thinking block: the model preserves thinking and no longer takes it"
			if most > 1 {
				what = fmt.Sprintf("%d thinking blocks: the model preserves thinking and no longer takes them", most)
			}
			text := fmt.Sprintf("a client-side edit (%s) changes what comes before %s", ed.Kind, what)
			e.find(FindingPreserved, view.ThinkingKeepsPrefix, q.k+1, ed.Stage, first, text)
		}
	}
}

// preserves reports whether a model takes thinking only after an unchanged prefix.
func (e *Engine) preserves(model string) bool {
	m, _, _ := e.record.Table(e.options.Prices).FindLike(cmp.Or(e.options.Model, model))
	return m.Preserved
}

// serverSide reports whether the server carries out a stage.
func (e *Engine) serverSide(stage string) bool {
	s := e.stages.named(stage)
	if s == nil {
		return false
	}
	_, ok := s.Params.(policy.ServerEdit)
	return ok
}

// checkSticky compares an edit that was just made with the stage's earlier one of the same block. next is the 0-based
// number of the request to come.
func (e *Engine) checkSticky(ed *policy.Edit, next int) {
	s := e.stages.named(ed.Stage)
	if s == nil || s.Definition.Memory == policy.Stateless {
		return
	}
	say := func(text string) {
		e.find(FindingViolation, view.DecisionsSticky, next+1, ed.Stage, ed.Target.Item, text)
	}
	switch ed.Kind {
	case policy.KindServerKeep:
		if !e.rewritten(ed) {
			say("a block that was cleared is sent again")
		}
	case policy.KindClear, policy.KindPersist, policy.KindTruncate:
		var was *policy.Content
		n := s.decided[ed.Target]
		if n > 0 {
			was = e.view.Edits()[n-1].New
		}
		s.decided[ed.Target] = len(e.view.Edits())
		switch {
		case n > 0 && !was.Same(ed.New) && !shorter(was, ed.New) && !e.rewritten(ed):
			say("a block that was replaced is replaced by something else")
		case n == 0 && s.Definition.Memory == policy.Frozen && e.sent(ed.Target.Item, next):
			say("a block that was sent and left is replaced later")
		}
	}
}

// shorter reports whether a content is what was left of a block, cut once more.
func shorter(was, now *policy.Content) bool {
	return was.Partial && now.Partial && now.Length.UTF16 < was.Length.UTF16
}

// rewritten reports whether the view was rebuilt at the edit's request, or another stage changed what comes before
// the edit's block: then the prefix is new anyway.
func (e *Engine) rewritten(ed *policy.Edit) bool {
	edits := e.view.Edits()
	for i := len(edits) - 1; i >= 0 && edits[i].Request == ed.Request; i-- {
		switch edits[i].Kind {
		case policy.KindSummarize:
			return true
		case policy.KindClear, policy.KindPersist, policy.KindTruncate:
			if edits[i].Stage != ed.Stage && edits[i].Target.Item <= ed.Target.Item {
				return true
			}
		}
	}
	return false
}

// sent reports whether an item was part of a request before the one to come.
func (e *Engine) sent(id policy.ItemID, next int) bool {
	return next > 0 && int(id) < before(e.conv, min(next, len(e.conv.Requests)))
}

// joinRaw adds the messages before message m to a view of the raw history.
func joinRaw(v *view.View, m int) {
	conv := v.Conversation()
	for i := v.Joined(); i < m; i++ {
		if conv.Messages[i].RecordOnly {
			v.Skip(i)
		} else {
			v.Join(i)
		}
	}
}

// before is the number of messages before main request n; all of them where there is no such request.
func before(conv *session.Conversation, n int) int {
	if n < 1 || n > len(conv.Requests) {
		return len(conv.Messages)
	}
	return conv.Requests[n-1].Message
}
