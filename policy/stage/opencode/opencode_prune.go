package opencode

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// OpencodePrune are the parameters of opencode_prune.
type OpencodePrune struct {
	Auto           bool     `yaml:"auto" doc:"prune at all (on by default at 1.1.36, off since 1.14.20)"`
	Setting        string   `yaml:"setting" doc:"what the client makes of its setting compaction.prune: OpenCode 2 ignores it, and has no pruning" enum:"read,ignored"`
	Protect        int      `yaml:"protect" doc:"the newest tool output that is kept, beyond the protected turns" unit:"tokens" min:"0"`
	Minimum        int      `yaml:"minimum" doc:"do nothing unless more than this is saved" unit:"tokens" min:"0"`
	Turns          int      `yaml:"turns" doc:"user messages whose answers are never visited" unit:"user messages" min:"0"`
	ProtectedTools []string `yaml:"protected_tools" doc:"tools whose output is never pruned, lower case"`
	BashErrors     bool     `yaml:"bash_errors" doc:"take a failed Bash result as completed, as OpenCode's own shell reports it"`
}

const pruneStage = "opencode_prune"

func defineOpencodePrune() policy.Definition {
	return policy.Definition{
		Name:    pruneStage,
		Summary: "When the agent stops, tool outputs older than the two newest user messages and beyond the newest 40,000 tokens are cleared, if that saves more than 20,000.",
		Source:  "OpenCode 1.1.36 (commit 8c4bf225), 1.18.3 and 1.18.34: docs/internals/opencode.md section 3, oracle cases",
		Truth:   policy.TruthOracle,
		Moments: policy.TurnEnd,
		Params:  &OpencodePrune{Auto: true, Setting: "read", Protect: 40000, Minimum: 20000, Turns: 2, ProtectedTools: []string{"skill"}},
		Example: `before: turns 1-3; turn 1's outputs, oldest first: 25,000, 30,000, 15,000 tokens; turns 2 and 3 are protected
after:  walking back, 15,000 and 45,000 pass: the one that crosses 40,000 is marked whole, and so is the oldest (55,000 > 20,000 saved)`,
		New: func(p any) (policy.Stage, error) { return newPrune(p.(*OpencodePrune)), nil },
	}
}

// Lacks says by the parameter setting that the client has no such stage; "": it has.
func (p *OpencodePrune) Lacks() string {
	if p.Setting == "ignored" {
		return "OpenCode 2 has no pruning"
	}
	return ""
}

// Limits are what decides when opencode_prune acts.
func (p *OpencodePrune) Limits(l *policy.StageLimits) {
	lacks := p.Lacks()
	switch {
	case lacks != "":
		l.Note("%s", lacks)
		return
	case !p.Auto:
		l.Note("%s is false: nothing is pruned; opencode_prune.auto=true prunes, as compaction.prune does while the process lives on", l.Name("opencode_prune.auto"))
		return
	}
	l.Add(policy.Limit{Name: "prune protects", Operator: ">", Tokens: p.Protect, Of: policy.OfResults, Acts: true, From: "opencode_prune.protect: the newest tool output, estimated", Key: "opencode_prune.protect"})
	l.Add(policy.Limit{Name: "prune minimum", Operator: ">", Tokens: p.Minimum, Of: policy.OfResults, Acts: true, From: "opencode_prune.minimum: what must be saved, estimated", Key: "opencode_prune.minimum"})
}

// Check is what is questionable in a policy with opencode_prune.
func (p *OpencodePrune) Check(c *policy.Check) {
	if p.Protect+p.Minimum >= c.Window() {
		c.Add(policy.RuleNever, "opencode_prune.protect", "make protect or minimum smaller", "%d tokens protected and %d to prune fill the window of %d", p.Protect, p.Minimum, c.Window())
	}
}

// opencodePrune walks the whole session, including what a compaction has hidden: OpenCode prunes its store, not the
// filtered view.
type opencodePrune struct {
	OpencodePrune
	pruned  map[policy.Target]bool
	seen    measure.Follower
	most    int // tokens that a walk may count, at most
	largest int // of one output
}

func newPrune(p *OpencodePrune) policy.Stage {
	return &opencodePrune{OpencodePrune: *p, pruned: map[policy.Target]bool{}}
}

func (s *opencodePrune) Run(c *policy.Context) ([]policy.Edit, error) {
	if !s.Auto || s.Lacks() != "" {
		return nil, nil
	}
	s.follow(c.View)
	// Nothing would be cleared: all is protected, or what lies behind is less than the minimum.
	if s.most <= max(s.Protect, s.Minimum, s.Protect+s.Minimum-s.largest) {
		return nil, nil
	}
	walk := &pruneWalk{rules: &s.OpencodePrune}
	marks := s.walk(c, walk)
	if walk.pruned <= s.Minimum { // all that it found, or nothing
		return nil, nil
	}
	reason := fmt.Sprintf("%d tokens of tool output beyond the newest %d, more than %d to save", walk.pruned, s.Protect, s.Minimum)
	detail := map[string]int{"total": walk.total, "pruned": walk.pruned}
	content := policy.NewContent(jsonl.KindToolResult, clearedText)
	var edits []policy.Edit
	for _, t := range marks {
		s.pruned[t] = true
		if c.View.Has(t.Item) {
			edits = append(edits, policy.Edit{Kind: policy.KindClear, Trigger: "auto", Target: t, New: &content, Reason: reason, Detail: detail})
		}
	}
	return edits, nil
}

// follow adds what joined or was changed since the last run to what a walk may count. Without it a replay of many small
// outputs grows faster than its requests (bar in docs/performance.md).
func (s *opencodePrune) follow(v policy.View) {
	edits, joined, _ := s.seen.Follow(v)
	add := func(length jsonl.Metrics) {
		n := policy.RoundQuarter(length.UTF16)
		s.most += n
		s.largest = max(s.largest, n)
	}
	for _, id := range joined {
		if m := v.Message(id); m != nil && m.Class == session.ClassToolResult {
			for b := range m.Blocks {
				add(v.Length(policy.BlockOf(id, b)))
			}
		}
	}
	for _, e := range edits {
		if e.New != nil {
			add(e.New.Length)
		}
	}
}

// walk returns the outputs beyond the protected tokens, newest first, those of a response in the order of its calls. It stops at
// a compaction summary and at an output that was pruned before.
func (s *opencodePrune) walk(c *policy.Context, w *pruneWalk) (marks []policy.Target) {
	s.most = 0
	answers := map[string]policy.Target{} // passed, and not yet their calls
	for _, id := range slices.Backward(c.View.Arrived()) {
		if startsTurn(c.View, id) {
			w.turns++
		}
		if sy := c.View.Synthetic(id); w.begun() && sy != nil && sy.Summary && sy.Role == "assistant" {
			return marks
		}
		m := c.View.Message(id)
		if m == nil {
			continue
		}
		for b, bl := range slices.Backward(m.Blocks) {
			t, answered := answers[bl.ID]
			if bl.Kind == jsonl.KindToolResult && !m.Lost {
				answers[bl.ID] = policy.BlockOf(id, b)
			}
			if bl.Kind != jsonl.KindToolUse || !answered {
				continue
			}
			delete(answers, bl.ID)
			tool := c.Conv.Alike(bl.Name)
			name := strings.ToLower(tool)
			n := c.View.Length(t).UTF16
			if c.View.Raw(t).IsError && !(s.BashErrors && tool == "Bash") {
				continue
			}
			s.most += policy.RoundQuarter(n)
			switch w.output(name, s.pruned[t], n) {
			case stop:
				return marks
			case clears:
				marks = append(marks, t)
			}
		}
		w.turns += m.Unsent
	}
	return marks
}

// verdict is what a prune walk does with one tool output.
type verdict int

const (
	keeps  verdict = iota // not counted, or protected
	clears                // cleared if the walk saves enough
	stop                  // the walk ends here
)

// pruneWalk is the state of one walk from the newest message to the oldest. It takes the user messages and the
// completed tool outputs in that order and ends at the first stop, or at a summary once it has begun. OpenCode 1.1.36
// to 1.18.34: section 3.3.
type pruneWalk struct {
	rules  *OpencodePrune
	turns  int // user messages seen, each before its parts
	total  int // estimated tokens counted
	pruned int // of these, tokens to clear
}

// begun reports whether the walk has passed the protected turns. Until then it ignores summaries and outputs.
func (w *pruneWalk) begun() bool { return w.turns >= w.rules.Turns }

// output takes a completed tool output: its tool, whether it was cleared before, and its length in UTF-16 units. The
// order of the tests counts: a protected tool's cleared output does not stop the walk.
func (w *pruneWalk) output(tool string, cleared bool, lenUTF16 int) verdict {
	switch {
	case !w.begun() || slices.Contains(w.rules.ProtectedTools, tool):
		return keeps
	case cleared:
		return stop
	}
	size := policy.RoundQuarter(lenUTF16)
	w.total += size
	if w.total <= w.rules.Protect {
		return keeps
	}
	w.pruned += size
	return clears
}
