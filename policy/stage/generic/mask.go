package generic

import (
	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// Mask are the parameters of mask.
type Mask struct {
	Keep        int    `yaml:"keep" doc:"the newest results that stay, in the unit of by" unit:"results, turns or tokens" min:"1"`
	By          string `yaml:"by" doc:"what keep and step count: results; turns of the user, the current one among them; or tokens of results" enum:"results,turns,tokens"`
	Step        int    `yaml:"step" doc:"mask only once this much is older than keep, all of it at once, so that the prefix stays the same for as long; in the unit of by" unit:"results, turns or tokens" min:"1"`
	Placeholder string `yaml:"placeholder" doc:"the text that replaces a result"`
	Tools
}

func defineMask() policy.Definition {
	return policy.Definition{
		Name:    "mask",
		Summary: "Before a request, tool results older than the newest 10 become a placeholder, as soon as 1 or more are.",
		Source:  "no product: observation masking as research and several agents describe it. Results that no request has sent yet stay, and so do those that are not longer than the placeholder; a result that another stage has replaced is not counted",
		Truth:   policy.TruthOwn,
		Moments: policy.Prepare,
		Params:  &Mask{Keep: 10, By: byResults, Step: 1, Placeholder: "[Old tool result content cleared]", Tools: allTools()},
		Example: `before: 25 results, keep 10, step 5: nothing is masked before the 15th; then the oldest 5 are, at the 20th and the 25th the next 5
after:  the oldest 15 are "[Old tool result content cleared]", the newest 10 as they were; 10 requests before them changed nothing in the prefix`,
		New: policy.Maker(func(p Mask) policy.Stage {
			s := &mask{Mask: p}
			s.placeholder = policy.NewContent(jsonl.KindToolResult, s.Placeholder)
			s.results.Of = s.live
			return s
		}),
	}
}

// Limits are what decides when mask acts.
func (p *Mask) Limits(l *policy.StageLimits) {
	l.Note("masking: all but the newest %s %s (%s), in steps of %s (%s)",
		policy.Thousands(p.Keep), p.By, l.Name("mask.keep"), policy.Thousands(p.Step), l.Name("mask.step"))
}

// Check is what is questionable in a policy with mask.
func (p *Mask) Check(c *policy.Check) {
	if at, what := c.Ceiling(c.LargestWindow()); p.By == byTokens && p.Keep+p.Step+c.Overhead() >= at {
		c.Add(policy.RuleNever, "mask.keep", "make keep or step smaller", "%d tokens kept and a step of %d, with %d of system prompt and tools, are not below %d, %s", p.Keep, p.Step, c.Overhead(), at, what)
	}
}

// mask looks at the results that it has not passed yet. What it has passed it never looks at again.
type mask struct {
	Mask
	placeholder policy.Content
	results     measure.Ageing
	turns       turns
}

func (s *mask) Run(c *policy.Context) ([]policy.Edit, error) {
	v := c.View
	all := v.Results()
	live := s.results.Live(v)
	old, step := s.old(v, all, live)
	for sent := measure.LastResponse(v); old > 0 && all[live[old-1]].Target.Item > sent; {
		old--
	}
	if old == 0 || step < s.Step {
		return nil, nil
	}
	made := saving{c: c, edits: make([]policy.Edit, 0, old)}
	for _, i := range live[:old] {
		made.clear(all[i].Target, &s.placeholder)
	}
	s.results.Done(old)
	return made.because("older than the newest %s %s; %s at once, a step is %s",
		policy.Thousands(s.Keep), s.By, policy.Thousands(step), policy.Thousands(s.Step)), nil
}

// old is how many of the live results are older than those that are kept, and how much that is in the unit of step.
func (s *mask) old(v policy.View, all []policy.Result, live []int) (old, step int) {
	switch s.By {
	case byTokens:
		kept := 0
		for old = len(live); old > 0; old-- {
			if kept += v.BlockTokens(all[live[old-1]].Target); kept > s.Keep {
				break
			}
		}
		for _, i := range live[:old] {
			step += v.BlockTokens(all[i].Target)
		}
	case byTurns:
		now := s.turns.now(v)
		last := -1
		for _, i := range live {
			turn := s.turns.of(v.Conversation(), all[i].Target.Item)
			if now-turn < s.Keep {
				break
			}
			if old++; turn != last {
				step += 1
				last = turn
			}
		}
	default:
		old = max(len(live)-s.Keep, 0)
		step = old
	}
	return old, step
}
