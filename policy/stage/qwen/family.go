// Package qwen has the stages and policies of Qwen Code.
package qwen

import (
	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
	"github.com/ctxkit/ctxkit/policy/stage/summarize"
)

// Family is Qwen Code.
func Family() policy.Family {
	return policy.Family{
		Name: "qwen", Title: "Qwen Code", Stages: []policy.Definition{defineQwenCompaction(), defineQwenCompression(), defineQwenMicrocompaction()},
		Orders: [][]string{{"qwen_microcompaction", "qwen_compaction"}},
	}
}

// Texts that take the place of the history.
const (
	understood = "Got it. Thanks for the additional context!"
	bridge     = "Continue with the prior task using the context above."
	resume     = "\n\nResume the prior task using the summary above. Continue from the last in-flight step; do not acknowledge the summary, do not re-introduce, do not greet the user again."
)

// promptSurplus is how many tokens of a summary request Qwen Code takes for no part of the history.
const promptSurplus = 1000

// contents measures a view. A shell's failure is output.
func contents(v policy.View) measure.GenAI {
	return measure.GenAI{View: v, Plain: []string{"Bash", "run_shell_command"}}
}

// attempt is one compaction: the summary of some items.
type attempt struct {
	trigger, reason string
	items           []policy.ItemID // that become a summary
	prompt          int             // tokens of the summary's own prompt
	choices         policy.SummaryChoices
	session         bool   // the request begins as the session's do
	trailer         string // behind the summary
}

// summary is what came of the calls of an attempt.
type summary struct {
	policy.Content
	boundary int
	from     string
	tokens   int // by the report's counter
	call     *policy.Call
}

// take makes the summary; failure is the edit where its request does not fit the window.
func (a *attempt) take(c *policy.Context) (s *summary, failure []policy.Edit, err error) {
	s = &summary{}
	s.Content, s.boundary, s.from, err = summarize.Take(c, a.choices, summarize.Bare)
	if err != nil {
		return nil, nil, err
	}
	s.tokens = c.Weigh.Content(&s.Content)
	s.call = &policy.Call{Kind: "compaction", Prompt: a.prompt, Prefix: "own", Input: a.prompt}
	if a.session {
		s.call.Prefix = "session"
		s.call.Input += c.Overhead
	}
	for _, id := range a.items {
		for t := range policy.Targets(c.View, id) {
			if a.session || c.View.Kind(t) != jsonl.KindThinking {
				s.call.Input += c.View.BlockTokens(t)
			}
		}
	}
	try := summarize.Plan{Trigger: a.trigger, Reason: a.reason, Call: s.call, Items: a.items, Limit: c.Window}
	return s, try.Failure(c), nil
}

// fail throws a summary away: the history stays, and the call is billed.
func (a *attempt) fail(s *summary, why string) []policy.Edit {
	s.call.Output = s.tokens
	return []policy.Edit{{
		Kind: policy.KindFail, Trigger: a.trigger, Items: a.items, Call: s.call,
		Reason: a.reason + "; summary: " + s.from + "; " + why + ", and the history stays",
	}}
}

// replace puts the summary and its acknowledgement in the place of the items.
func (a *attempt) replace(c *policy.Context, s *summary, keep []policy.ItemID, more ...policy.Synthetic) []policy.Edit {
	said := []policy.Content{s.Content}
	if a.trailer != "" {
		said = append(said, policy.Text(a.trailer))
	}
	insert := []policy.Synthetic{
		{Role: "user", Label: "summary", Summary: true, Turn: true, Contents: said},
		{Role: "assistant", Label: "acknowledgement", Contents: []policy.Content{policy.Text(understood)}},
	}
	return []policy.Edit{{
		Kind: policy.KindSummarize, Trigger: a.trigger, Reason: a.reason + "; summary: " + s.from,
		Insert: append(insert, more...), Keep: summarize.Kept(c, s.boundary, keep), Call: s.call,
	}}
}
