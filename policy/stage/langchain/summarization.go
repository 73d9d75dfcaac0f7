package langchain

import (
	"fmt"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
	"github.com/ctxkit/ctxkit/policy/stage/summarize"
	"github.com/ctxkit/ctxkit/policy/strict"
)

// Summarization are the parameters of langchain_summarization.
type Summarization struct {
	TriggerTokens   int                   `yaml:"trigger_tokens" doc:"summarize at this estimate of the messages; with other triggers, all have to hold; 0: not looked at" unit:"tokens" min:"0"`
	TriggerFraction float64               `yaml:"trigger_fraction" doc:"summarize at this share of the window; 0: not looked at" min:"0" max:"1"`
	TriggerMessages int                   `yaml:"trigger_messages" doc:"summarize at this number of messages, a tool result being one; 0: not looked at" unit:"messages" min:"0"`
	KeepTokens      int                   `yaml:"keep_tokens" doc:"the newest messages that stay; 0: keep_messages or keep_fraction holds" unit:"tokens" min:"0"`
	KeepFraction    float64               `yaml:"keep_fraction" doc:"the newest share of the window that stays; 0: keep_messages or keep_tokens holds" min:"0" max:"1"`
	KeepMessages    int                   `yaml:"keep_messages" doc:"the newest messages that stay, where both others are 0" unit:"messages" min:"0"`
	TrimTokens      int                   `yaml:"trim_tokens" doc:"the newest of what goes is shown to the summarizer, up to this" unit:"tokens" min:"0"`
	Prompt          int                   `yaml:"prompt_tokens" doc:"the prompt that asks for the summary" unit:"tokens" min:"0"`
	Summary         policy.SummaryChoices `yaml:"summary" doc:"where the summary comes from, first that can: recorded, outline, typical, fixed: N tokens"`
}

func defineSummarization() policy.Definition {
	return policy.Definition{
		Name:    "langchain_summarization",
		Summary: "Before a request whose messages reach the trigger, all but the newest become a summary; a call stays with its results.",
		Source:  "LangChain, summarizationMiddleware: npm langchain 1.5.14, dist/agents/middleware/summarization.js and utils.js, run in agents of createAgent; a tool_result is treated as a ToolMessage. A result without its call is not cut off from what is before it; what goes is taken to be trimmed to the token. Where the summary request exceeds the window, the error's text takes the summary's place, as there; its words are the provider's, and here stand for them. Python's library counts otherwise and is not reproduced",
		Truth:   policy.TruthOracle,
		Moments: policy.Prepare,
		Params: &Summarization{
			KeepMessages: 20, TrimTokens: 4000, Prompt: 428, TriggerFraction: 0.85,
			Summary: policy.DefaultSummary(),
		},
		Example: `before: 170,000 tokens of messages in a window of 200,000; of the newest 20 messages the first is a tool result
after:  "Here is a summary of the conversation to date:" and the summary, the call of that result, and the 20 messages`,
		Window:     true,
		Compaction: &policy.Compaction{},
		New: policy.Maker(func(p Summarization) policy.Stage {
			s := &summarization{Summarization: p}
			s.sums.Of = func(v policy.View, id policy.ItemID) int { return agentChars(v, id, lengthOf) }
			return s
		}),
	}
}

// limit is the estimate of the messages at which a window is summarized, 0 where only their number counts.
func (p *Summarization) limit(window int) int {
	return max(p.TriggerTokens, int(p.TriggerFraction*float64(window)))
}

// Limits are what decides when langchain_summarization acts.
func (p *Summarization) Limits(l *policy.StageLimits) {
	if p.TriggerMessages > 0 {
		l.Note("langchain_summarization acts from %d messages on", p.TriggerMessages)
	}
	at := p.limit(l.Window)
	if at == 0 {
		return
	}
	key := "langchain_summarization.trigger_tokens"
	from := l.Name("langchain_summarization.trigger_tokens")
	if at != p.TriggerTokens {
		key = "langchain_summarization.trigger_fraction"
		from = strict.FloatText(p.TriggerFraction) + " x the window (" + l.Name(key) + ")"
	}
	l.Add(policy.Limit{Name: "summarization", Label: "summarize", Operator: ">=", Tokens: at, Of: policy.OfMessages, Acts: true,
		From: from + ": the messages, characters / 4", Key: key})
}

// Check is what is questionable in a policy with langchain_summarization.
func (p *Summarization) Check(c *policy.Check) {
	if p.limit(c.Window()) == 0 && p.TriggerMessages == 0 {
		c.Add(policy.RuleNever, "langchain_summarization.trigger_fraction", "give a trigger", "no trigger is given: nothing is ever summarized")
	}
	const messages = "langchain_summarization.keep_messages"
	c.Unused(messages, p.KeepTokens > 0 && p.KeepFraction == 0, "langchain_summarization.keep_tokens holds")
	c.Unused(messages, p.KeepFraction > 0, "langchain_summarization.keep_fraction holds")
	c.Unused("langchain_summarization.keep_tokens", p.KeepTokens > 0 && p.KeepFraction > 0, "langchain_summarization.keep_fraction holds")
}

type summarization struct {
	Summarization
	sums measure.ItemSums
}

func (s *summarization) Run(c *policy.Context) ([]policy.Edit, error) {
	v := c.View
	s.sums.Follow(v)
	tokens := quarter(s.sums.Sum)
	if at := s.limit(c.Window); tokens < at || at == 0 && s.TriggerMessages == 0 {
		return nil, nil
	}
	ids := v.IDs()
	if s.TriggerMessages > 0 && s.count(v, ids) < s.TriggerMessages {
		return nil, nil
	}
	cut := s.cut(c, ids, tokens)
	if cut <= 0 {
		return nil, nil
	}
	summary, boundary, from, err := summarize.Take(c, s.Summary, summarize.Bare)
	if err != nil {
		return nil, err
	}
	head := 0
	for _, id := range ids[:cut] {
		head += s.sums.Items[id]
	}
	reason := fmt.Sprintf("%d tokens of messages", tokens)
	if at := s.limit(c.Window); at > 0 {
		reason += fmt.Sprintf(" >= %d", at)
	}
	try := summarize.Plan{
		Trigger: "auto", Reason: reason, Limit: c.Window,
		Call: &policy.Call{Kind: "compaction", Prompt: s.Prompt, Prefix: "own", Input: s.Prompt + min(quarter(head), s.TrimTokens)},
	}
	failure := try.Failure(c)
	if failure != nil { // the error's text takes the summary's place
		summary = policy.Text(errorSummary)
		from = "the error"
		boundary = -1
		try.Call = nil
	}
	return append(failure, policy.Edit{
		Kind: policy.KindSummarize, Trigger: "auto", Reason: try.Reason + "; summary: " + from,
		Insert: []policy.Synthetic{{Role: "user", Label: "summary", Summary: true, Turn: true, Contents: prefixed(summary)}},
		Keep:   summarize.Kept(c, boundary, ids[cut:]),
		Call:   try.Call,
	}), nil
}

// summaryPrefix precedes a summary.
const summaryPrefix = "Here is a summary of the conversation to date:\n\n"

// errorSummary is the summary where its request is refused.
const errorSummary = "Error generating summary: Error: prompt is too long"

// prefixed is a summary after the prefix, joined where the summary has its own text here.
func prefixed(summary policy.Content) []policy.Content {
	if summary.Ref == nil && summary.Tokens == 0 {
		return []policy.Content{policy.Text(summaryPrefix + summary.Text)}
	}
	return []policy.Content{policy.Text(summaryPrefix), summary}
}

// cut is determineCutoffIndex: the first item that stays, as an index; 0 where nothing goes.
func (s *summarization) cut(c *policy.Context, ids []policy.ItemID, tokens int) int {
	v := c.View
	at := len(ids)
	if s.KeepTokens > 0 || s.KeepFraction > 0 {
		target := s.KeepTokens
		if s.KeepFraction > 0 {
			target = int(s.KeepFraction * float64(c.Window))
		}
		target = max(target, 1)
		if tokens <= target {
			return 0
		}
		for sum := 0; at > 0; at-- {
			id := ids[at-1]
			if quarter(sum+s.sums.Items[id]) <= target {
				sum += s.sums.Items[id]
				continue
			}
			if s.messages(v, id) > 1 && quarter(sum+lastChars(v, id)) <= target { // the cut is between its results
				at--
			}
			break
		}
		if at == len(ids) {
			at--
		}
	} else {
		left := s.KeepMessages
		for ; at > 0 && left > 0; at-- {
			left -= s.messages(v, ids[at-1])
		}
		if left >= 0 && at == 0 {
			return 0
		}
	}
	return s.safe(c, ids, at)
}

// safe is findSafeCutoffPoint: where results would be the first to stay, it is their call.
func (s *summarization) safe(c *policy.Context, ids []policy.ItemID, at int) int {
	if at >= len(ids) || !leadsWithResult(c.View, ids[at]) {
		return at
	}
	calls := map[policy.ItemID]bool{}
	for i := at; i < len(ids) && leadsWithResult(c.View, ids[i]); i++ {
		for t := range policy.Targets(c.View, ids[i]) {
			if raw := c.View.Raw(t); raw != nil && raw.Kind == jsonl.KindToolResult {
				if m, _, ok := c.Conv.ToolUse(raw.ID); ok {
					calls[policy.ItemID(m)] = true
				}
			}
		}
	}
	for i := at - 1; i >= 0; i-- {
		if calls[ids[i]] {
			return i
		}
	}
	return 0
}

func leadsWithResult(v policy.View, id policy.ItemID) bool {
	return v.Blocks(id) > 0 && v.Kind(policy.Target{Item: id}) == jsonl.KindToolResult
}

// lastChars is the estimate of the last of an item's messages, in characters.
func lastChars(v policy.View, id policy.ItemID) int {
	rest := 0
	last := policy.Target{Item: id}
	for t := range policy.Targets(v, id) {
		if v.Kind(t) == jsonl.KindToolResult {
			last = t
		} else {
			rest += lengthOf(v, t)
		}
	}
	if rest > 0 {
		return rest
	}
	return len(v.Raw(last).ID) + lengthOf(v, last)
}

// messages is how many messages an item is: each result is one, and all that is next to them.
func (s *summarization) messages(v policy.View, id policy.ItemID) int {
	n := 0
	rest := 0
	for t := range policy.Targets(v, id) {
		if v.Kind(t) == jsonl.KindToolResult {
			n++
		} else {
			rest = 1
		}
	}
	return n + rest
}

func (s *summarization) count(v policy.View, ids []policy.ItemID) int {
	n := 0
	for _, id := range ids {
		n += s.messages(v, id)
	}
	return n
}
