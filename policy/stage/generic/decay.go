package generic

import (
	"fmt"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// Decay are the parameters of decay.
type Decay struct {
	Keep      int     `yaml:"keep" doc:"the newest results that stay whole, in the unit of by" unit:"results or turns" min:"1"`
	By        string  `yaml:"by" doc:"what age counts: the results that are newer, or the turns of the user since" enum:"results,turns"`
	MaxTokens int     `yaml:"max_tokens" doc:"the most that stays of a result of age keep" unit:"tokens" min:"1"`
	HalfLife  int     `yaml:"half_life" doc:"the age by which that halves, and halves again" unit:"results or turns" min:"1"`
	MinTokens int     `yaml:"min_tokens" doc:"the least that it comes down to" unit:"tokens" min:"0"`
	Head      float64 `yaml:"head" doc:"the share of what stays that is the result's beginning; the rest is its end" min:"0" max:"1"`
	Step      int     `yaml:"step" doc:"act only once this much is saved, all of it at once, so that the prefix stays the same for as long" unit:"tokens" min:"0"`
	Tools
}

func defineDecay() policy.Definition {
	return policy.Definition{
		Name:    "decay",
		Summary: "Before a request, tool results are cut the shorter the older they are: the newest 5 stay whole, then at most 4,000 tokens stay, and half of that for every 10 results more, down to 200.",
		Source: "no product. The most that stays of a result of age a is max(min_tokens, max_tokens / 2^floor((a - keep) / half_life)); what is smaller stays whole. Each cut is made of the recorded text. " +
			"Results that no request has sent yet stay, and so do those with an image. Tokens are those of the report's counter, in proportion to the characters",
		Truth:   policy.TruthOwn,
		Moments: policy.Prepare,
		Params:  &Decay{Keep: 5, By: byResults, MaxTokens: 4000, HalfLife: 10, MinTokens: 200, Head: 0.5, Step: 10000, Tools: allTools()},
		Example: `before: results of 6,000 tokens each
after:  those that 0 to 4 newer ones follow have 6,000 tokens, 5 to 14: 4,000, 15 to 24: 2,000, 25 to 34: 1,000, 35 to 44: 500, 45 to 54: 250, then 200, half from the beginning and half from the end; all of that 10,000 tokens at once`,
		New: policy.Maker(func(p Decay) policy.Stage {
			s := &decay{Decay: p, limits: map[policy.Target]int{}}
			s.results.Of = s.live
			return s
		}),
	}
}

// Check is what is questionable in a policy with decay.
func (p *Decay) Check(c *policy.Check) {
	c.AtMost("min_tokens", p.MinTokens, "max_tokens", p.MaxTokens)
}

// Limits are what decides when decay acts.
func (p *Decay) Limits(l *policy.StageLimits) {
	l.Note("decay: of results older than %d %s at most %s tokens (%s), half of that every %d %s (%s)", p.Keep, p.By, policy.Thousands(p.MaxTokens),
		l.Name("decay.max_tokens"), p.HalfLife, p.By, l.Name("decay.half_life"))
	stepNote(l, "decay", "decay.step", p.Step)
}

// decay follows the results that it may still cut.
type decay struct {
	Decay
	results measure.Ageing
	turns   turns
	limits  map[policy.Target]int // what a result was cut to, tokens
}

// limit is the most that stays of a result of an age, tokens.
func (p *Decay) limit(age int) int {
	return max(p.MinTokens, p.MaxTokens>>min((age-p.Keep)/p.HalfLife, 60))
}

func (s *decay) Run(c *policy.Context) ([]policy.Edit, error) {
	v := c.View
	all := v.Results()
	live := s.results.Live(v)
	sent := measure.LastResponse(v)
	now := s.turns.now(v)
	type due struct {
		target policy.Target
		limit  int
	}
	var list []due
	saved := 0
	done := 0
	for n, i := range live {
		t := all[i].Target
		age := len(live) - 1 - n
		if s.By == byTurns {
			age = now - s.turns.of(c.Conv, t.Item)
		}
		if age < s.Keep || t.Item > sent {
			break
		}
		limit := s.limit(age)
		tokens := v.BlockTokens(t)
		was, cut := s.limits[t]
		if plain(v, t) && tokens > limit && (!cut || limit < was) {
			saved += tokens - limit
			list = append(list, due{t, limit})
		} else if n == done && (tokens <= s.MinTokens || cut && was <= s.MinTokens || limit <= s.MinTokens) {
			done++ // it never gets shorter
		}
	}
	s.results.Done(done)
	if saved == 0 || saved < s.Step {
		return nil, nil
	}
	made := saving{c: c}
	for _, d := range list {
		text, err := c.Texts.Recorded(d.target)
		if err != nil {
			return nil, fmt.Errorf("reading a tool result: %w", err)
		}
		var e ends
		whole := c.Weigh.Block(int(d.target.Item), d.target.Block)
		e.head, e.tail = split(share(jsonl.Measure(text).UTF16, d.limit, whole), s.Head)
		s.limits[d.target] = d.limit
		if short, ok := e.cut(text); ok {
			content := policy.NewContent(jsonl.KindToolResult, short)
			content.Partial = true
			made.clear(d.target, &content)
		}
	}
	return made.because("older than the newest %s %s; %s tokens saved at once, a step is %s",
		policy.Thousands(s.Keep), s.By, policy.Thousands(made.saved), policy.Thousands(s.Step)), nil
}
