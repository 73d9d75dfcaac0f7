package replay

import (
	"fmt"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// FindingKind says whose fault a finding is.
type FindingKind string

// The kinds of findings.
const (
	FindingViolation  FindingKind = "violation"          // the policy breaks a rule
	FindingTranscript FindingKind = "transcript"         // the transcript breaks it itself, whatever the policy
	FindingPreserved  FindingKind = "preserved_thinking" // allowed, but it costs a model with preserved thinking its thinking
)

// Finding is something that does not hold of what was sent. It is told once,
// at the first request where it shows.
type Finding struct {
	Kind    FindingKind    `json:"kind"`
	Rule    view.Invariant `json:"rule"`
	Request int            `json:"request"`         // n of the main request
	Stage   string         `json:"stage,omitempty"` // that edited last
	Message string         `json:"message"`         // uuid
	Line    int            `json:"line,omitempty"`  // of the message
	Text    string         `json:"text"`            // one sentence
}

// maxTold is how many findings of a kind are told as warnings one by one.
const maxTold = 20

// checks is what an engine knows of its findings.
type checks struct {
	findings []Finding
	count    map[FindingKind]int
	view     *view.Checker
	told     map[told]bool
	stage    string // that edited the model view last
	edits    int    // of the view's, looked at

	raw     *view.Checker // of the raw history, made where a violation shows
	rawView *view.View
	rawTold map[told]bool

	decided map[decision]*policy.Content

	model     string // that preserved is about
	preserved bool
}

type told struct {
	item    policy.ItemID
	message string
}

// decision is what one stage made of one block.
type decision struct {
	stage  string
	target policy.Target
}

func (e *engine) find(kind FindingKind, rule view.Invariant, request int, stage string, item policy.ItemID, text string) {
	f := Finding{Kind: kind, Rule: rule, Request: request, Stage: stage, Message: e.uuid(item), Text: text}
	if m := e.view.Message(item); m != nil {
		f.Line = int(m.Line)
	}
	c := &e.checks
	if c.count == nil {
		c.count = map[FindingKind]int{}
	}
	c.findings = append(c.findings, f)
	if c.count[kind]++; c.count[kind] > maxTold {
		return
	}
	by := ""
	if stage != "" {
		by = ", after " + stage
	}
	switch kind {
	case FindingTranscript:
		e.warn(f.Line, "request %d: the transcript itself breaks a rule of the API: %s", request, text)
	case FindingViolation:
		e.warn(f.Line, "request %d%s: the payload breaks a rule of the API: %s", request, by, text)
	default:
		e.warn(f.Line, "request %d%s: %s", request, by, text)
	}
}

// check holds the view of request k (0-based) against the rules.
func (e *engine) check(k int) {
	c := &e.checks
	if c.view == nil {
		c.view, c.told = view.NewChecker(e.view), map[told]bool{}
	}
	edits := e.view.Edits()[c.edits:]
	c.edits += len(edits)
	for i := range edits {
		if !edits[i].Kind.KeepsView() && edits[i].Kind != policy.KindInferred {
			c.stage = edits[i].Stage
		}
	}
	for _, v := range c.view.Check() {
		at := told{v.Item, v.Message}
		if c.told[at] {
			continue
		}
		c.told[at] = true
		if e.pol.Recorded || e.own(k, at) {
			e.find(FindingTranscript, v.Rule, k+1, "", v.Item, v.Message)
		} else {
			e.find(FindingViolation, v.Rule, k+1, c.stage, v.Item, v.Message)
		}
	}
	e.prefix(k, edits)
}

// own reports whether what does not hold at request k does not hold of the raw
// history either: it is the transcript's own.
func (e *engine) own(k int, at told) bool {
	c := &e.checks
	if c.raw == nil {
		c.rawView = view.New(e.conv, e.r.Cal, nil)
		c.raw, c.rawTold = view.NewChecker(c.rawView), map[told]bool{}
	}
	joinRaw(c.rawView, before(e.conv, k+1))
	for _, v := range c.raw.Check() {
		c.rawTold[told{v.Item, v.Message}] = true
	}
	return c.rawTold[at]
}

// prefix tells the client's edits before thinking blocks, for models that
// refuse or drop such thinking. What the server does itself costs none.
func (e *engine) prefix(k int, edits []policy.Edit) {
	m := &e.conv.Messages[e.conv.Requests[k].Message]
	if len(edits) == 0 || !e.preserves(m.Model) {
		return
	}
	for i := 0; i < len(edits); {
		ed := &edits[i]
		most, first := 0, policy.ItemID(0)
		for ; i < len(edits) && edits[i].Group == ed.Group; i++ {
			if edits[i].Kind.KeepsView() {
				continue
			}
			if n, at := e.view.ThinkingAfter(&edits[i]); n > most {
				most, first = n, at
			}
		}
		if most > 0 && !e.serverSide(ed.Stage) {
			what := "a thinking block: the model preserves thinking and no longer takes it"
			if most > 1 {
				what = fmt.Sprintf("%d thinking blocks: the model preserves thinking and no longer takes them", most)
			}
			e.find(FindingPreserved, view.ThinkingKeepsPrefix, k+1, ed.Stage, first, fmt.Sprintf("a client-side edit (%s) changes what comes before %s", ed.Kind, what))
		}
	}
}

// preserves reports whether thinking of a model is bound to what came before.
func (e *engine) preserves(model string) bool {
	if e.opt.Model != "" {
		model = e.opt.Model
	}
	if c := &e.checks; model != c.model {
		m, _ := e.r.models.Find(model)
		c.model, c.preserved = model, m.Preserved
	}
	return e.checks.preserved
}

// serverSide reports whether it is the server that carries a stage out.
func (e *engine) serverSide(stage string) bool {
	s := e.stageNamed(stage)
	if s == nil {
		return false
	}
	_, ok := s.Params.(policy.ServerEdit)
	return ok
}

func (e *engine) stageNamed(name string) *running {
	for i := range e.stages {
		if e.stages[i].Definition.Name == name {
			return &e.stages[i]
		}
	}
	return nil
}

// sticky holds an edit that was just made against what its stage decided of
// the same block before. next is the 0-based number of the request to come.
func (e *engine) sticky(ed *policy.Edit, next int) {
	s := e.stageNamed(ed.Stage)
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
		c := &e.checks
		if c.decided == nil {
			c.decided = map[decision]*policy.Content{}
		}
		at := decision{ed.Stage, ed.Target}
		was, twice := c.decided[at]
		c.decided[at] = ed.New
		switch {
		case twice && !was.Same(ed.New) && !e.rewritten(ed):
			say("a block that was replaced is replaced by something else")
		case !twice && s.Definition.Memory == policy.Frozen && e.sent(ed.Target.Item, next):
			say("a block that was sent and left is replaced later")
		}
	}
}

// rewritten reports whether the view was just made anew, or another stage has
// changed what comes before an edit's block: then the prefix is new anyway, and
// nothing is lost with starting again from there.
func (e *engine) rewritten(ed *policy.Edit) bool {
	edits := e.view.Edits()
	for i := len(edits) - 1; i >= 0 && edits[i].Request == ed.Request; i-- {
		switch o := &edits[i]; o.Kind {
		case policy.KindSummarize:
			return true
		case policy.KindClear, policy.KindPersist, policy.KindTruncate:
			if o.Stage != ed.Stage && o.Target.Item <= ed.Target.Item {
				return true
			}
		}
	}
	return false
}

// sent reports whether an item was part of a request before the one to come.
func (e *engine) sent(id policy.ItemID, next int) bool {
	return next > 0 && int(id) < before(e.conv, min(next, len(e.conv.Requests)))
}

// joinRaw lets the messages before message m join a view of the raw history.
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

// before is how many messages stand before main request n; where there is no
// such request, all of them do.
func before(conv *session.Conversation, n int) int {
	if n < 1 || n > len(conv.Requests) {
		return len(conv.Messages)
	}
	return conv.Requests[n-1].Message
}
