package claude

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/names"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/summarize"
)

// ContextCollapse are the parameters of context_collapse.
type ContextCollapse struct {
	Source       string                `yaml:"source" doc:"the rule: the recorded collapses, the simulated rule, or both (the simulated rule where nothing is recorded); auto: the recorded ones where there are any, else the simulated rule" enum:"auto,recorded,simulated,both"`
	StageAt      int                   `yaml:"stage_at" doc:"spans are staged once used reaches this; auto: commit_at less the window's warning_offset" unit:"tokens" min:"0" zero:"auto"`
	CommitAt     int                   `yaml:"commit_at" doc:"staged spans are committed once used reaches this; auto: the auto-compact threshold" unit:"tokens" min:"0" zero:"auto"`
	Target       int                   `yaml:"target" doc:"spans are committed until used is below this; auto: stage_at" unit:"tokens" min:"0" zero:"auto"`
	Protect      int                   `yaml:"protect" doc:"the newest tokens of the view: no turn that reaches into them is staged" unit:"tokens" min:"0"`
	Head         int                   `yaml:"head" doc:"the oldest turns of the view that are never staged" unit:"turns" min:"0"`
	Span         int                   `yaml:"span" doc:"whole turns are gathered until a span has this many tokens; less will do where spans must be committed" unit:"tokens" min:"1"`
	Selector     string                `yaml:"selector" doc:"which staged span is committed first: that of the lowest risk (the share of its blocks that something said later names a name of), or the oldest" enum:"risk,age"`
	Summary      policy.SummaryChoices `yaml:"summary" doc:"where a span's summary comes from, first that can: recorded (one of the same span), outline, typical, fixed: N tokens"`
	PromptTokens int                   `yaml:"prompt_tokens" doc:"the prompt of a request for a summary; the source gives none: that of a compaction" unit:"tokens" min:"0"`
	Prefix       string                `yaml:"prefix" doc:"what a summary's own request holds: the span alone (own) or the session's warm prefix" enum:"own,session"`
}

// Thresholds returns the limits that used is compared with, tokens.
func (p *ContextCollapse) Thresholds(t Thresholds) (stageAt, commitAt, target int) {
	commitAt = cmp.Or(p.CommitAt, t.Auto)
	stageAt = cmp.Or(p.StageAt, commitAt-(t.Base-t.Warning))
	return stageAt, commitAt, cmp.Or(p.Target, stageAt)
}

func defineContextCollapse() policy.Definition {
	return policy.Definition{
		Name:    "context_collapse",
		Summary: "Early spans of whole turns are summarised ahead of need, and once used reaches commit_at each becomes one placeholder message, lowest risk first.",
		Source:  "Claude Code, the five-level pipeline analysis and the analysis of views and caching",
		Differs: "Which spans are chosen, and when, is not in the analyses and is this project's own rule. So is that a span whose summary request exceeds the effective window is not staged, and is tried again at the next request",
		Truth:   policy.TruthDescribed,
		Moments: policy.Prepare,
		Params: &ContextCollapse{
			Source: "auto", Protect: 40000, Span: 20000, Selector: "risk",
			Summary: policy.SummaryChoices{{Kind: policy.SummaryRecorded}, {Kind: policy.SummaryOutline}}, PromptTokens: 1351, Prefix: "session",
		},
		Example: `before: U1 A1 U2 A2 U3 A3 U4 A4 U5, with U2 to A4 staged
after:  U1 A1 S1 U5, where S1 is a user message, <collapsed id="…">what U2 to A4 came to</collapsed>`,
		Window:     true,
		Shared:     sharedWindow(),
		Compaction: &policy.Compaction{},
		New:        func(p any) (policy.Stage, error) { return newContextCollapse(*p.(*ContextCollapse)), nil },
	}
}

// Limits are what decides when context_collapse acts.
func (p *ContextCollapse) Limits(l *policy.StageLimits) {
	if p.Source == "recorded" {
		return
	}
	stageAt, commitAt, target := p.Thresholds(limitsOf(l))
	add := func(name, label, operator string, tokens int, key string) {
		l.Acts(policy.Limit{Name: name, Label: label, Operator: operator, Tokens: tokens, From: key, Key: key})
	}
	add("collapse staging", "", ">=", stageAt, "context_collapse.stage_at")
	add("collapse commit", "collapse", ">=", commitAt, "context_collapse.commit_at")
	add("collapse target", "", "<", target, "context_collapse.target")
}

// Check is what is questionable in a policy with context_collapse.
func (p *ContextCollapse) Check(c *policy.Check) {
	if p.CommitAt > 0 {
		c.Less("target", p.Target, "commit_at", p.CommitAt)
		c.Less("protect", p.Protect, "commit_at", p.CommitAt)
		c.AtMost("stage_at", p.StageAt, "commit_at", p.CommitAt)
	}
	if limit, what := c.Ceiling(c.LargestWindow()); p.Protect >= limit {
		c.Add(policy.RuleNever, "context_collapse.protect", "make it smaller", "%d is not below %d, %s", p.Protect, limit, what)
	}
	for _, name := range []string{"stage_at", "commit_at", "target", "protect"} {
		c.Unused("context_collapse."+name, p.Source == "recorded", "context_collapse.source: recorded follows the recorded session alone")
	}
}

// contextCollapse replays the collapses a client recorded, or makes its own:
//
//   - a turn can be staged when another one has followed it, every call in it has
//     its answer in it and the reverse, and it is older than the newest protect
//     tokens;
//   - once used reaches stage_at, the oldest such turns in a row that have span
//     tokens are staged, once a request: their summary is requested;
//   - once used reaches commit_at, staged spans become placeholders, in the
//     selector's order, until used is below target. When none is left, what
//     there is is staged and committed at once; when that is used up too,
//     neighbouring placeholders are folded into one.
//
// Used is that before this request's edits, less what each commit takes out.
//
// A span is committed for any gain above zero: the sources name no least gain. With microcompact_cached that can be a
// loss. Its deletions keep the cached prefix, so little may be left of a span whose results the server has dropped,
// and the placeholder rewrites the prefix from its place on.
type contextCollapse struct {
	ContextCollapse
	risks       riskReader
	view        segments
	staged      []*span
	taken       itemSet // items of staged spans, and of those committed at this request
	left        itemSet // first items of segments whose summary would save nothing
	adopted     bool    // spans the client staged are among those staged
	passed      int     // segments at the start that no span takes, until the view is divided anew or spans are adopted
	passedTurns int     // of these
	edits       int     // of the view, looked at
	record      recordedCollapses
}

// span is a stretch of a view with a summary that can take its place.
type span struct {
	id       string
	items    []policy.ItemID
	content  policy.Content // the placeholder
	from     string         // where the summary is from
	risk     float64
	age      int  // the first message it covers
	request  int  // staged before this request
	recorded bool // whole rounds, as the client staged it
}

// collapsedLabel is the label of a placeholder.
const collapsedLabel = "collapsed"

func newContextCollapse(p ContextCollapse) *contextCollapse {
	return &contextCollapse{
		ContextCollapse: p, risks: riskReader{order: map[policy.ItemID]int{}, last: map[uint64]int{}}, taken: itemSet{}, left: itemSet{},
		view: segments{extents: map[policy.ItemID]extent{}}, record: recordedCollapses{paid: map[extent]bool{}},
	}
}

func (s *contextCollapse) Run(c *policy.Context) ([]policy.Edit, error) {
	if isCompactor(c.Agent) {
		return nil, nil
	}
	s.follow(c.View)
	source := s.Source
	if source == "auto" {
		if source = "simulated"; len(c.Conv.Collapses)+len(c.Conv.Snapshots) > 0 {
			source = "recorded"
		}
	}
	if source != "simulated" {
		if edits := s.recordedHere(c, source == "both"); len(edits) > 0 {
			return edits, nil
		}
	}
	if source != "recorded" {
		return s.simulate(c)
	}
	return nil, nil
}

// follow updates the state by what was done since the last request. A staged span that has left the view in part is
// kept only if the rest is whole turns.
func (s *contextCollapse) follow(v policy.View) {
	edits := v.Edits()
	for _, e := range edits[s.edits:] {
		if e.Kind == policy.KindCollapse {
			s.view.extents[e.Insert[0].ID] = s.extent(e.Items)
		}
	}
	s.edits = len(edits)
	if !s.view.follow(v) {
		return
	}
	clear(s.left)
	s.staged = slices.DeleteFunc(s.staged, func(sp *span) bool {
		sp.items = slices.DeleteFunc(slices.Clone(sp.items), func(id policy.ItemID) bool { return !v.Has(id) })
		return !s.view.covers(v, sp.items, !sp.recorded)
	})
	s.retake()
}

// retake sets taken and adopted from the staged spans.
func (s *contextCollapse) retake() {
	clear(s.taken)
	s.adopted = false
	s.passed = 0
	s.passedTurns = 0
	for _, sp := range s.staged {
		s.adopted = s.adopted || sp.recorded
		s.taken.add(sp.items)
	}
}

// extentOf returns the recorded messages that one item of a view covers, from -1 if there are none.
func (s *contextCollapse) extentOf(id policy.ItemID) extent {
	if id >= 0 {
		return extent{int(id), int(id)}
	}
	if x, ok := s.view.extents[id]; ok {
		return x
	}
	return extent{-1, -1}
}

// extent returns the recorded messages that items of a view cover.
func (s *contextCollapse) extent(items []policy.ItemID) extent {
	x := extent{-1, -1}
	for _, id := range items {
		of := s.extentOf(id)
		if of.from >= 0 && (x.from < 0 || of.from < x.from) {
			x.from = of.from
		}
		x.to = max(x.to, of.to)
	}
	return x
}

func (s *contextCollapse) simulate(c *policy.Context) (edits []policy.Edit, err error) {
	stageAt, commitAt, target := s.Thresholds(thresholds(c))
	used := c.Used
	if used < stageAt {
		return nil, nil
	}
	free := s.view.before(c.View, s.Protect)
	failed := false // a summary: no other one is asked for at this request
	stage := func(group []int, why string) error {
		staged, err := s.stage(c, group, why)
		edits = append(edits, staged...)
		failed = len(staged) > 0 && staged[0].Kind == policy.KindFail
		return err
	}
	if group := s.stretch(c.View, free, false); group != nil {
		if err := stage(group, fmt.Sprintf("used %d >= stage_at %d", used, stageAt)); err != nil {
			return nil, err
		}
	}
	for c.Used >= commitAt && used >= target {
		if sp := s.first(); sp != nil {
			edits = append(edits, s.commit(sp, fmt.Sprintf("used %d >= commit_at %d, and %d is not yet below %d", c.Used, commitAt, used, target)))
			used -= gain(c.View, sp)
			continue
		}
		group := s.stretch(c.View, free, true)
		if group == nil {
			group = s.fold(free)
		}
		if group == nil || failed {
			break
		}
		if err := stage(group, fmt.Sprintf("used %d >= commit_at %d and nothing is staged", c.Used, commitAt)); err != nil {
			return nil, err
		}
	}
	return edits, nil
}

// stage requests the summary of some segments. Segments whose summary would save nothing are left alone.
func (s *contextCollapse) stage(c *policy.Context, group []int, why string) ([]policy.Edit, error) {
	sp := &span{request: c.Request}
	tokens := 0
	turns := 0
	for _, i := range group {
		sp.items = append(sp.items, s.view.list[i].items...)
		tokens += s.view.weight(c.View, i)
		if s.view.list[i].kind == segmentTurn {
			turns++
		}
	}
	x := s.extent(sp.items)
	sp.id = collapseID(c, sp.items)
	sp.age = x.from
	var err error
	if sp.content, sp.from, err = s.summarise(c, sp, x); err != nil {
		return nil, err
	}
	if gain(c.View, sp) <= 0 {
		for _, i := range group {
			s.left[s.view.list[i].items[0]] = true
		}
		return nil, nil
	}
	if s.Selector != "age" {
		if sp.risk, err = s.risks.risk(c, sp.items); err != nil {
			return nil, fmt.Errorf("computing the risk of a span: %w", err)
		}
	}
	what := fmt.Sprintf("%d turns", turns)
	switch turns {
	case 0:
		what = "placeholders"
	case 1:
		what = "1 turn"
	}
	try := summarize.Plan{
		Trigger: "auto", Reason: fmt.Sprintf("%s: %s of %d tokens", why, what, tokens), Items: sp.items,
		Call: s.call(c, sp.items, sp.content), Limit: thresholds(c).Effective,
	}
	if failure := try.Failure(c); failure != nil {
		return failure, nil
	}
	s.staged = append(s.staged, sp)
	s.taken.add(sp.items)
	reason := fmt.Sprintf("%s staged, risk %.2f; summary: %s", try.Reason, sp.risk, sp.from)
	return []policy.Edit{{
		Kind: policy.KindCall, Trigger: "auto", Items: sp.items, Call: try.Call, Reason: reason,
		Detail: map[string]int{"span_tokens": tokens, "span_turns": turns, "risk_percent": int(sp.risk*100 + 0.5)},
	}}, nil
}

func (s *contextCollapse) commit(sp *span, why string) policy.Edit {
	return policy.Edit{
		Kind: policy.KindCollapse, Trigger: "auto", Items: sp.items, Insert: []policy.Synthetic{placeholder(sp.content)},
		Reason: fmt.Sprintf("%s: the span staged at request %d, risk %.2f; summary: %s", why, sp.request, sp.risk, sp.from),
		Detail: map[string]int{"risk_percent": int(sp.risk*100 + 0.5)},
	}
}

// summarise returns the placeholder of a span, and where its summary is from.
func (s *contextCollapse) summarise(c *policy.Context, sp *span, x extent) (content policy.Content, from string, err error) {
	return summarize.SummarySource{
		Of: "span", Typical: policy.Content{Kind: jsonl.KindText, Tokens: policy.DefaultSummaryTokens},
		Recorded: func() (content policy.Content, line int, ok bool) {
			text, line, ok := recordedSpan(c.Conv, x)
			return policy.Text(collapsed(sp.id, text)), line, ok
		},
		Outline: func() (string, error) { return summarize.OutlineSpan(c, slices.Values(sp.items)) },
		Wrap:    func(text string) string { return collapsed(sp.id, text) },
	}.Take(s.Summary)
}

// call is the request for a span's summary.
func (s *contextCollapse) call(c *policy.Context, items []policy.ItemID, summary policy.Content) *policy.Call {
	call := &policy.Call{Kind: "collapse", Prompt: s.PromptTokens, Prefix: s.Prefix, Output: c.Weigh.Content(&summary)}
	if s.Prefix == "own" {
		call.Input = s.PromptTokens
		for _, id := range items {
			call.Input += c.View.Weight(id) - leftOut(c.View, id)
		}
	}
	return call
}

// placeholder is the message that takes a span's place.
func placeholder(content policy.Content) policy.Synthetic {
	return policy.Synthetic{Role: "user", Label: collapsedLabel, Summary: true, Contents: []policy.Content{content}}
}

func collapsed(id, summary string) string {
	return fmt.Sprintf("<collapsed id=%q>%s</collapsed>", id, summary)
}

// collapseID is a hash of the session and the first and last item of a span.
func collapseID(c *policy.Context, items []policy.ItemID) string {
	name := func(id policy.ItemID) string {
		if m := c.View.Message(id); m != nil {
			return m.UUID
		}
		return fmt.Sprint(id)
	}
	return fmt.Sprintf("%016x", names.Hash(c.Conv.SessionID+"/"+c.Conv.Agent+"/"+name(items[0])+"/"+name(items[len(items)-1])))
}

// gain returns the tokens that a commit takes off used. What the server has already dropped of the span is not
// counted.
func gain(v policy.View, sp *span) int {
	n := -contentEstimate(&sp.content)
	for _, id := range sp.items {
		n += v.ClientPayloadWeight(id)
	}
	return n
}

// Request is what the call for a span's summary is sent: the span, or with the session's prefix the whole view, and the prompt,
// which no source prints.
func (s *contextCollapse) Request(c *policy.Context, e *policy.Edit) (policy.CallRequest, error) {
	var other []policy.ItemID
	media := policy.CallRequest{}
	if s.Prefix == "own" {
		span := map[policy.ItemID]bool{}
		for _, id := range e.Items {
			span[id] = true
		}
		for id := range c.View.Items {
			if !span[id] {
				other = append(other, id)
			} else if c.View.Synthetic(id) == nil {
				if err := withoutMedia(c, id, &media); err != nil {
					return media, err
				}
			}
		}
	}
	r := onlyWithout(other, "it is no part of the span", s.PromptTokens)
	r.Edits = slices.Concat(media.Edits, r.Edits)
	r.Without = media.Without
	return r, nil
}
