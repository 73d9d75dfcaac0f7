package qwen

import (
	"fmt"
	"math"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
	"github.com/ctxkit/ctxkit/policy/stage/summarize"
	"github.com/ctxkit/ctxkit/policy/strict"
)

// QwenCompression are the parameters of qwen_compression.
type QwenCompression struct {
	Threshold float64 `yaml:"threshold" doc:"compress once the last prompt reached this share of the window" min:"0" max:"1"`
	Preserve  float64 `yaml:"preserve" doc:"the newest share of the history, by characters of its JSON, that stays" min:"0.01" max:"0.99"`
	Rules     string  `yaml:"rules" doc:"how the history is divided: 0.0.14 at the next user message behind the content that reaches the share; 0.12 at the last before it where there is none; 0.15 then behind all but the newest rounds, and only where 5 % of the history becomes a summary" enum:"0.0.14,0.12,0.15"`
	Rounds    int     `yaml:"rounds" doc:"rules 0.15: the newest rounds of calls and results that stay where the last user message is too old" unit:"rounds" min:"0"`
	Prompt    int     `yaml:"prompt_tokens" doc:"the system prompt of the compression and the sentence that asks for the summary" unit:"tokens" min:"0"`
	summarize.Params
}

// minShare is the least share of the history that rules 0.15 summarise (MIN_COMPRESSION_FRACTION).
const minShare = 0.05

func defineQwenCompression() policy.Definition {
	return policy.Definition{
		Name:    "qwen_compression",
		Summary: "Once the last prompt filled 70 % of the window, about the older 70 % of the history becomes a summary and its acknowledgement; after a compression that made the history larger there is no further automatic one until one by hand succeeds.",
		Source:  "Qwen Code: @qwen-code/qwen-code-core 0.0.14, dist/src/core/client.js (tryCompressChat); chatCompressionService.ts as bundled in the npm releases 0.12.0, 0.15.6 and 0.15.10; oracle cases of 0.0.14, 0.12.0 and 0.15.10. 0.0.14 counts the history by a request of its own, which is taken for the report's count; from 0.12 on the new size is computed from the usage of the summary request, of which 1,000 tokens are taken for its prompt. Where 0.0.14 summarises a call whose result is about to be sent, the call stays",
		Truth:   policy.TruthOracle,
		Moments: policy.Prepare | policy.Manual,
		Params: &QwenCompression{
			Threshold: 0.7, Preserve: 0.3, Rules: "0.15", Rounds: 2, Prompt: 768,
			Params: summarize.DefaultParams(),
		},
		Example: `before: a prompt of 140,000 tokens in a window of 200,000; user messages at 0, 40 and 72 % of the characters
after:  the summary, "Got it. Thanks for the additional context!", and what begins at 72 %`,
		Window:     true,
		Compaction: &policy.Compaction{},
		New: policy.Maker(func(p QwenCompression) policy.Stage {
			return &qwenCompression{QwenCompression: p, breaker: summarize.Breaker{Most: 1}}
		}),
	}
}

// Check is what is questionable in a policy with qwen_compression.
func (p *QwenCompression) Check(c *policy.Check) {
	c.Unused("qwen_compression.rounds", p.Rules != "0.15", "qwen_compression.rules is "+p.Rules)
}

// limit is the size of a prompt at which a window is compressed. The product compares with threshold x window, which
// need not be whole.
func (p *QwenCompression) limit(window int) int { return int(math.Ceil(p.Threshold * float64(window))) }

// Limits are what decides when qwen_compression acts.
func (p *QwenCompression) Limits(l *policy.StageLimits) {
	l.Acts(policy.Limit{Name: "compression", Label: "compress", Tokens: p.limit(l.Window),
		From: fmt.Sprintf("%s x the window (%s): the last prompt", strict.FloatText(p.Threshold), l.Name("qwen_compression.threshold")), Key: "qwen_compression.threshold"})
}

type qwenCompression struct {
	QwenCompression
	breaker summarize.Breaker
	unsplit measure.Unsplit  // 0.12
	weights measure.ItemSums // 0.0.14: tokens
}

func (s *qwenCompression) Run(c *policy.Context) ([]policy.Edit, error) {
	manual := c.Moment == policy.Manual
	if manual && s.Manual != "replay" || !manual && (s.breaker.Open() || s.Threshold <= 0) {
		return nil, nil
	}
	a := &attempt{trigger: "manual", reason: "the user asked for it", prompt: s.Prompt, choices: s.Summary}
	if !manual {
		size := s.size(c)
		limit := s.limit(c.Window)
		if size < limit || s.unsplit.Still(contents(c.View)) {
			return nil, nil
		}
		a.trigger = "auto"
		a.reason = fmt.Sprintf("the last prompt's %d tokens >= %d", size, limit)
	}
	history, pending := measure.History(c.View, manual)
	if len(history) == 0 {
		return nil, nil
	}
	split := s.split(c.View, history)
	if s.unsplit = (measure.Unsplit{}); split == 0 && s.Rules == "0.12" {
		s.unsplit.Note(c.View, pending)
	}
	if split == 0 && s.Rules != "0.0.14" || s.Rules == "0.15" && s.share(c.View, history, split) < minShare {
		return nil, nil
	}
	a.items = history[:split]
	sum, failure, err := a.take(c)
	if err != nil || failure != nil {
		return failure, err
	}
	if s.inflated(c, sum, a.items) {
		failure = a.fail(sum, "the history would have been larger")
		if !manual {
			s.breaker.Note(failure)
		}
		return failure, nil
	}
	s.breaker.Note(nil) // startChat
	var more []policy.Synthetic
	if keep := history[split:]; len(keep) > 0 && c.View.Role(keep[0]) == session.Assistant && s.Rules == "0.15" {
		more = []policy.Synthetic{{Role: "user", Label: "continue", Contents: []policy.Content{policy.Text(bridge)}}}
	}
	return a.replace(c, sum, slices.Concat(history[split:], pending), more...), nil
}

// size is what the product takes for the size of the last prompt, in tokens: its usage, or the count of the history,
// which ends with the last response.
func (s *qwenCompression) size(c *policy.Context) int {
	if s.Rules != "0.0.14" {
		if !c.Last.Known || c.Last.Summary {
			return 0
		}
		return c.Last.Usage.Context()
	}
	s.weights.Of = policy.View.ClientWeight
	s.weights.Follow(c.View)
	tokens := s.weights.Sum
	for id := range c.View.Backward {
		if c.View.Role(id) == session.Assistant {
			break
		}
		tokens -= s.weights.Items[id]
	}
	return tokens
}

func weigh(v policy.View, items []policy.ItemID) (tokens int) {
	for _, id := range items {
		tokens += v.ClientWeight(id)
	}
	return tokens
}

// inflated reports whether the product finds the history larger with the summary than it was.
func (s *qwenCompression) inflated(c *policy.Context, sum *summary, items []policy.ItemID) bool {
	if s.Rules == "0.0.14" {
		return sum.tokens+len(understood)/4 > weigh(c.View, items)
	}
	return sum.tokens > sum.call.Input-promptSurplus
}

// split is the index of the oldest item that stays.
func (s *qwenCompression) split(v policy.View, history []policy.ItemID) int {
	g := contents(v)
	end := history[len(history)-1]
	if s.Rules == "0.0.14" {
		at := splitBehind(g, history, 1-s.Preserve)
		if at == len(history) && g.CallsTool(end) {
			at--
		}
		return at
	}
	at, found := g.Split(history, s.Preserve)
	switch {
	case found:
	case v.Role(end) == session.Assistant && !g.CallsTool(end):
		return len(history)
	case s.Rules == "0.15" && g.CallsTool(end):
		return splitRounds(g, history, s.Rounds)
	case s.Rules == "0.15" && g.AnswersCall(end):
		return len(history)
	}
	return at
}

// splitBehind is findIndexAfterFraction, and the next user message of its own from there on.
func splitBehind(g measure.GenAI, history []policy.ItemID, share float64) int {
	lengths, sum := g.Lengths(history)
	starts := g.Starts(history)
	before := 0
	for i := range history {
		before += lengths[i]
		if float64(before) < float64(sum)*share {
			continue
		}
		for ; i < len(history) && !starts[i]; i++ {
		}
		return i
	}
	return len(history)
}

// splitRounds keeps the last response, whose calls are open, and a number of rounds before it.
func splitRounds(g measure.GenAI, history []policy.ItemID, rounds int) int {
	at := len(history) - 1
	for range rounds {
		i := at
		for i > 0 && g.AnswersCall(history[i-1]) {
			i--
		}
		if i == at || i == 0 || !g.CallsTool(history[i-1]) {
			break
		}
		at = i - 1
	}
	return at
}

// share is the share of the history's characters before an item.
func (s *qwenCompression) share(v policy.View, history []policy.ItemID, at int) float64 {
	lengths, sum := contents(v).Lengths(history)
	before := 0
	for _, n := range lengths[:at] {
		before += n
	}
	return float64(before) / float64(max(sum, 1))
}
