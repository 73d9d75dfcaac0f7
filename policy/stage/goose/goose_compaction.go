package goose

import (
	"fmt"
	"math"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
	"github.com/ctxkit/ctxkit/policy/stage/summarize"
	"github.com/ctxkit/ctxkit/policy/strict"
)

// GooseCompaction are the parameters of goose_compaction.
type GooseCompaction struct {
	Threshold float64 `yaml:"threshold" doc:"compact when a turn begins and the last response's total is over this share of the window; 0 or 1: never" min:"0" max:"1"`
	Overflow  bool    `yaml:"overflow" doc:"compact in a turn as well, when a request is larger than the window"`
	Prompt    int     `yaml:"prompt_tokens" doc:"the summariser's prompt without the conversation in it, and the sentence that asks for the summary" unit:"tokens" min:"0"`
	summarize.Params
}

const compactionName = "goose_compaction"

func defineGooseCompaction() policy.Definition {
	return policy.Definition{
		Name:    compactionName,
		Summary: "When a turn begins and the last response filled more than 80 % of the window, or a request is larger than the window, the view becomes a summary, a sentence to go on, and the newest prompt.",
		Source:  "Goose, crates/goose/src/context_mgmt/mod.rs (check_if_compaction_needed, compact_messages, do_compact) and agents/agent.rs (reply, reply_internal), commit 475968db; of a prompt that stays, Goose drops what is not text. A summary request that exceeds the window without any tool result fails, and the view stays",
		Truth:   policy.TruthDocumented,
		Moments: policy.Prepare | policy.Manual,
		Params: &GooseCompaction{
			Threshold: 0.8, Overflow: true, Prompt: 314,
			Params: summarize.DefaultParams(),
		},
		Example: `before: a response of 160,001 tokens in a window of 200,000, and a prompt
after:  the summary, "Your context was compacted. …", the prompt`,
		Window:     true,
		Compaction: &policy.Compaction{},
		New:        policy.Maker(func(p GooseCompaction) policy.Stage { return &gooseCompaction{GooseCompaction: p} }),
	}
}

// limit is the largest total that is not compacted; off: none is.
func (p *GooseCompaction) limit(window int) (limit int, off bool) {
	return int(math.Floor(p.Threshold * float64(window))), p.Threshold <= 0 || p.Threshold >= 1
}

// Limits are what decides when goose_compaction acts.
func (p *GooseCompaction) Limits(l *policy.StageLimits) {
	limit, off := p.limit(l.Window)
	key := "goose_compaction.threshold"
	if !off {
		l.Acts(policy.Limit{
			Name: "compaction", Label: "compact", Operator: ">", Tokens: limit, Key: key,
			From: fmt.Sprintf("%s x the window (%s): the last response's total, when a turn begins", strict.FloatText(p.Threshold), l.Name(key)),
		})
	}
	if p.Overflow {
		l.Note("compaction: a request > the window (goose_compaction.overflow)")
	}
}

// What Goose writes after a summary.
const (
	goOnTalking = "Your context was compacted. The previous message contains a summary of the conversation so far.\nDo not mention that you read a summary or that conversation summarization occurred.\nJust continue the conversation naturally based on the summarized context."
	goOnCalling = "Your context was compacted. The previous message contains a summary of the conversation so far.\nDo not mention that you read a summary or that conversation summarization occurred.\nContinue calling tools as necessary to complete the task."
	goOnAsked   = "Your context was compacted at the user's request. The previous message contains a summary of the conversation so far.\nDo not mention that you read a summary or that conversation summarization occurred.\nJust continue the conversation naturally based on the summarized context."
)

// removals are the shares of the tool results, percent, that one try after another to summarise leaves out.
var removals = [...]int{0, 10, 20, 50, 100}

type gooseCompaction struct{ GooseCompaction }

func (s *gooseCompaction) Run(c *policy.Context) ([]policy.Edit, error) {
	if c.Moment == policy.Manual {
		if s.Manual != "replay" {
			return nil, nil
		}
		return s.compact(c, nil, goOnAsked, "manual", "the user asked for it")
	}
	if c.Window == 0 {
		return nil, nil
	}
	begins := turnBegins(c.View)
	total := c.Before // without a usage Goose counts the messages
	if c.Last.Known && !c.Last.Summary {
		total = c.Last.Usage.Total()
	}
	if limit, off := s.limit(c.Window); begins && !off && total > limit {
		return s.compact(c, prompt(c.View), goOnTalking, "auto", fmt.Sprintf("the last response's total of %d > %d", total, limit))
	}
	if size := measure.PromptTokens(c); s.Overflow && size > c.Window {
		text := goOnCalling
		newest := prompt(c.View)
		if begins {
			text = goOnTalking
		} else if len(newest) > 1 {
			newest = newest[:1]
		}
		return s.compact(c, newest, text, "overflow", fmt.Sprintf("a request of %d tokens > the window of %d", size, c.Window))
	}
	return nil, nil
}

// turnBegins reports whether a turn begins: nothing of the agent's follows the newest prompt in view.
func turnBegins(v policy.View) bool {
	for id := range v.Backward {
		m := v.Message(id)
		switch {
		case m != nil && m.Class == session.ClassPrompt:
			return !m.Is(session.Queued)
		case v.Role(id) == session.Assistant || m != nil && m.Class == session.ClassToolResult:
			return false
		}
	}
	return false
}

// prompt is the newest prompt and what follows it. Where no prompt is in view it is the newest message of the user's
// without a tool result.
func prompt(v policy.View) (items []policy.ItemID) {
	var other []policy.ItemID
	for id := range v.Backward {
		m := v.Message(id)
		items = append(items, id)
		switch {
		case m != nil && m.Class == session.ClassPrompt:
			slices.Reverse(items)
			return items
		case v.Role(id) == session.Assistant || m != nil && m.Class == session.ClassToolResult:
		case len(other) == 0 && (m == nil || measure.Sent(v, id)):
			other = []policy.ItemID{id}
		}
	}
	return other
}

// compact replaces the view. It fails where the summary request does not fit the window without any tool result.
func (s *gooseCompaction) compact(c *policy.Context, keep []policy.ItemID, text, trigger, reason string) ([]policy.Edit, error) {
	if c.View.Len() <= len(keep) || trigger != "manual" && len(keep) == 0 {
		return nil, nil
	}
	call := s.call(c)
	plan := summarize.Plan{Trigger: trigger, Reason: reason, Call: call, Limit: c.Window, Summary: s.Summary, Keep: keep}
	if call.Retries > 0 {
		plan.Note = fmt.Sprintf("; too long, %d %% of the tool results left out", removals[call.Retries])
	}
	goOn := policy.Text(text)
	plan.Insert = func(summary policy.Content) []policy.Synthetic {
		return append(summarize.Message(summary), policy.Synthetic{Role: "assistant", Label: "continue", Contents: []policy.Content{goOn}})
	}
	return plan.Compact(c)
}

// call is the summary request: the conversation as a text in a system prompt, without thinking. While it exceeds the
// window, more tool results are left out, from the middle outwards.
func (s *gooseCompaction) call(c *policy.Context) *policy.Call {
	rest := s.Prompt
	var results []int // tokens, in order
	for id := range c.View.Items {
		for t := range policy.Targets(c.View, id) {
			switch c.View.Kind(t) {
			case jsonl.KindToolResult:
				results = append(results, c.View.BlockTokens(t))
			case jsonl.KindThinking, jsonl.KindRedactedThinking:
			default:
				rest += c.View.BlockTokens(t)
			}
		}
	}
	call := &policy.Call{Kind: "compaction", Prompt: s.Prompt, Prefix: "own"}
	for try, percent := range removals {
		input := rest
		for i, left := range leftOut(len(results), percent) {
			if !left {
				input += results[i]
			}
		}
		if call.Input, call.Retries = input, try; c.Window == 0 || input <= c.Window {
			break
		}
	}
	return call
}

// leftOut reports for each of n tool results whether it is left out when a share of them is.
func leftOut(n, percent int) []bool {
	out := make([]bool, n)
	if percent == 0 || n == 0 {
		return out
	}
	middle := n / 2
	for i := range max(n*percent/100, 1) {
		if offset := i / 2; i%2 == 0 && middle > offset {
			out[middle-offset-1] = true
		} else if i%2 == 1 && middle+offset < n {
			out[middle+offset] = true
		}
	}
	return out
}
