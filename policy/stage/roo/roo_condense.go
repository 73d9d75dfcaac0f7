package roo

import (
	"fmt"
	"math"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
	"github.com/ctxkit/ctxkit/policy/stage/summarize"
)

// RooCondense are the parameters of roo_condense.
type RooCondense struct {
	Condense bool    `yaml:"condense" doc:"condense with a model (autoCondenseContext); false: only cut the oldest messages off"`
	Percent  float64 `yaml:"percent" doc:"condense once the context fills this share of the window (autoCondenseContextPercent); 100 never comes before the buffer" unit:"percent" min:"5" max:"100"`
	Buffer   float64 `yaml:"buffer" doc:"the share of the window that stays free next to the reserve; below that it is condensed, or cut, in any case" min:"0" max:"0.9"`
	Reserve  int     `yaml:"reserve" doc:"what the response may take: 8,192 for Anthropic's models without reasoning and where the model names none" unit:"tokens" min:"0"`
	Keep     int     `yaml:"keep" doc:"the newest messages that stay next to the summary and the first one; 0: only the summary stays" unit:"messages" min:"0"`
	Cut      float64 `yaml:"cut" doc:"the share of the messages after the first that is cut off where condensing is off or fails" min:"0.1" max:"1"`
	Prompt   int     `yaml:"prompt_tokens" doc:"the summariser's system prompt and request" unit:"tokens" min:"0"`
	summarize.Params
}

const condenseName = "roo_condense"

func defineRooCondense() policy.Definition {
	return policy.Definition{
		Name:    condenseName,
		Summary: "Once no more than a tenth of the window and the reserve are left, the messages become a summary; where that fails, half of those after the first are cut off.",
		Source:  "Roo Code, manageContext and truncateConversation of src/core/context-management/index.ts (commit 0cc04f43), summarizeConversation of src/core/condense/index.ts (commit 04fc2a02); the new model is Kilo Code's commit 0fc86cec. Adjacent messages of one role are one",
		Differs: "Of the response whose results stay first, the source adds the calls to the summary: here it stays. Folded outlines of files (3.45) and details of the environment are not added. Not reproduced: after the API refuses a request as too large, the source cuts the context to 75 % and tries again, up to three times (pull request RooCodeInc/Roo-Code#6967, 2025-08-12; issue #10017)",
		Truth:   policy.TruthDocumented,
		Moments: policy.Prepare | policy.Manual,
		Params: &RooCondense{
			Condense: true, Percent: 100, Buffer: 0.1, Reserve: 8192, Cut: 0.5, Prompt: 700,
			Params: summarize.DefaultParams(),
		},
		Example: `before: 171,809 tokens in a window of 200,000; 40 messages
after:  the summary`,
		Window:     true,
		Compaction: &policy.Compaction{On: func(s *policy.StageConfig) bool { return s.Params.(*RooCondense).Condense }, Off: "set roo_condense.condense to false"},
		New:        policy.Maker(func(p RooCondense) policy.Stage { return &rooCondense{RooCondense: p} }),
	}
}

// Check is what is questionable in a policy with roo_condense.
func (p *RooCondense) Check(c *policy.Check) {
	off := !p.Condense
	c.Unused("roo_condense.percent", off, "roo_condense.condense is off")
}

// allowed is the largest context that is left alone, tokens.
func (p *RooCondense) allowed(window int) int {
	return max(int(math.Floor(float64(window)*(1-p.Buffer)))-p.Reserve, 0)
}

// percentOf is the context from which on it is condensed by percent, tokens.
func (p *RooCondense) percentOf(window int) int {
	return int(math.Ceil(float64(window) * p.Percent / 100))
}

// Limits are what decides when roo_condense acts.
func (p *RooCondense) Limits(l *policy.StageLimits) {
	name := "condensing"
	if !p.Condense {
		name = "cutting"
	}
	if n := p.percentOf(l.Window); p.Condense && n <= p.allowed(l.Window) {
		l.Acts(policy.Limit{Name: name, Label: "condense", Tokens: n,
			From: fmt.Sprintf("%g %% of the window (%s)", p.Percent, l.Name("roo_condense.percent")), Key: "roo_condense.percent"})
		name = "condensing without room"
	}
	l.Acts(policy.Limit{Name: name, Label: "full", Operator: ">", Tokens: p.allowed(l.Window),
		From: fmt.Sprintf("the window less %g %% of it (%s) and %s (%s)", 100*p.Buffer, l.Name("roo_condense.buffer"), policy.Thousands(p.Reserve), l.Name("roo_condense.reserve")),
		Key:  "roo_condense.reserve", Lower: "make roo_condense.reserve larger", Raise: "make roo_condense.reserve smaller"})
}

type rooCondense struct{ RooCondense }

// message is a message as the source has it: adjacent items of one role.
type message struct {
	items   []policy.ItemID
	role    session.Role
	summary bool
	results bool
}

func (s *rooCondense) Run(c *policy.Context) ([]policy.Edit, error) {
	used := s.used(c)
	if c.Moment == policy.Manual {
		if s.Manual != "replay" {
			return nil, nil
		}
		return s.condense(c, messages(c.View), used, "manual", "the user asked for it")
	}
	if used == 0 {
		return nil, nil
	}
	full := used > s.allowed(c.Window)
	reason := fmt.Sprintf("%d tokens > %d", used, s.allowed(c.Window))
	if n := s.percentOf(c.Window); s.Condense && used >= n && n <= s.allowed(c.Window) {
		reason = fmt.Sprintf("%d tokens >= %d", used, n)
	} else if !full {
		return nil, nil
	}
	list := messages(c.View)
	var edits []policy.Edit
	if s.Condense {
		made, err := s.condense(c, list, used, "auto", reason)
		if err != nil || len(made) > 0 && made[0].Kind == policy.KindSummarize {
			return made, err
		}
		edits = made
	}
	if !full {
		return edits, nil
	}
	return append(edits, s.truncate(list, reason)...), nil
}

// used is the total of the last response and what joined after it; 0 where there was none since a compaction.
func (s *rooCondense) used(c *policy.Context) int {
	if !c.Last.Known || c.Last.Summary {
		return 0
	}
	n := c.Last.Usage.Total()
	for id := range c.View.Backward {
		if id == c.Last.Message || c.View.Role(id) == session.Assistant {
			break
		}
		n += c.View.Weight(id)
	}
	return n
}

// messages lists the view as the source has it. An item that is not sent belongs to the message before it.
func messages(v policy.View) (list []message) {
	for id := range v.Items {
		sy := v.Synthetic(id)
		summary := sy != nil && sy.Summary
		if n := len(list); n == 0 || summary || measure.Sent(v, id) && list[n-1].role != v.Role(id) {
			list = append(list, message{role: v.Role(id)})
		}
		last := &list[len(list)-1]
		last.items = append(last.items, id)
		last.summary = last.summary || summary
		last.results = last.results || measure.Has(v, id, jsonl.KindToolResult)
	}
	return list
}

// items lists those of several messages.
func items(list []message) (ids []policy.ItemID) {
	for _, m := range list {
		ids = append(ids, m.items...)
	}
	return ids
}

// condense replaces the messages by a summary. With keep, the first one and the newest stay, and nothing is done where
// one of these is a summary, or where the context would grow.
func (s *rooCondense) condense(c *policy.Context, list []message, used int, trigger, reason string) ([]policy.Edit, error) {
	from := len(list)
	if s.Keep > 0 {
		if from = max(len(list)-s.Keep, 0); from > 0 && from < len(list) && list[from].results {
			from-- // the response with the calls
		}
	}
	since := 0
	fresh := 0
	for i, m := range list {
		switch {
		case m.summary && i >= from:
			return nil, nil // condensed recently
		case m.summary:
			since = i
		}
	}
	if fresh = from - since; fresh <= 1 {
		return nil, nil
	}
	role := "user"
	lead := []message(nil)
	if s.Keep > 0 {
		role = "assistant"
		lead = list[:1]
	}
	if len(lead) > 0 && (lead[0].role != session.User || lead[0].summary || lead[0].results) {
		role, lead = "user", nil // there is no first message to begin with
	}
	plan := summarize.Plan{
		Trigger: trigger, Reason: reason, Call: s.call(c, list[since:from]), Limit: c.Window, Summary: s.Summary, Wrap: s.wrap, Lead: items(lead), Keep: items(list[from:]),
	}
	edits, err := plan.Compact(c)
	if err != nil || edits[0].Kind == policy.KindFail {
		return edits, err
	}
	e := &edits[0]
	e.Insert[0].Role = role
	if s.Keep > 0 && used > 0 {
		summary := c.Weigh.Content(&e.Insert[0].Contents[0])
		after := c.Overhead + summary
		for _, id := range e.Keep {
			after += c.View.Weight(id)
		}
		if after >= used {
			e.Call.Output = summary
			return []policy.Edit{{Kind: policy.KindFail, Trigger: trigger, Call: e.Call,
				Reason: fmt.Sprintf("%s; with the summary the context would have %d tokens, no fewer than %d: it fails", reason, after, used)}}, nil
		}
	}
	return edits, nil
}

// wrap is a summary in the source's words.
func (s *rooCondense) wrap(text string) string {
	text = summarize.Bare(text)
	if s.Keep > 0 {
		return text
	}
	return "## Conversation Summary\n" + text
}

// call is the request for the summary: the messages since the last one.
func (s *rooCondense) call(c *policy.Context, list []message) *policy.Call {
	n := s.Prompt
	for _, id := range items(list) {
		n += c.View.Weight(id)
	}
	return &policy.Call{Kind: "compaction", Prompt: s.Prompt, Prefix: "own", Input: max(n, 1)}
}

// truncate cuts an even number of the oldest messages after the first off, so that the next one is a response.
func (s *rooCondense) truncate(list []message, reason string) []policy.Edit {
	n := int(math.Floor(float64(len(list)-1) * s.Cut))
	n -= n % 2
	for n > 0 && n+1 < len(list) && list[n+1].results {
		n++ // the calls would be gone
	}
	if n <= 0 || n >= len(list) {
		return nil
	}
	text := fmt.Sprintf("[Sliding window truncation: %d messages hidden to reduce context]", n)
	return []policy.Edit{{
		Kind: policy.KindCollapse, Trigger: "auto", Items: items(list[1 : n+1]), Reason: reason + "; the oldest messages are cut off",
		Insert: []policy.Synthetic{{Role: "user", Label: "truncation", Contents: []policy.Content{policy.Text(text)}}},
	}}
}
