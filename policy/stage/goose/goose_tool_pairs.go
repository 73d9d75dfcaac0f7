package goose

import (
	"fmt"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/summarize"
)

// GooseToolPairs are the parameters of goose_tool_pairs.
type GooseToolPairs struct {
	Cutoff    int     `yaml:"cutoff" doc:"calls of earlier turns that are left alone; auto: 3 for each 20,000 tokens of threshold x the window, 10 to 500" unit:"calls" min:"0" zero:"auto"`
	Threshold float64 `yaml:"threshold" doc:"the share of the window that goose_compaction fills, for cutoff" min:"0" max:"1"`
	Batch     int     `yaml:"batch" doc:"the calls that are summarised at a time, once there are as many more than cutoff" unit:"calls" min:"1"`
	Prompt    int     `yaml:"prompt_tokens" doc:"the prompt of each summary" unit:"tokens" min:"0"`
	Tokens    int     `yaml:"summary_tokens" doc:"a summary; the source names no size" unit:"tokens" min:"1"`
}

const toolPairsName = "goose_tool_pairs"

func defineGooseToolPairs() policy.Definition {
	return policy.Definition{
		Name:    toolPairsName,
		Summary: "Together with a response, once earlier turns have more than 10 calls over a number that grows with the window (24 of 200,000 tokens), the oldest 10 calls and their results are summarised one by one, and the summaries follow as messages of the user's.",
		Source:  "Goose, crates/goose/src/context_mgmt/mod.rs (compute_tool_call_cutoff, tool_ids_to_summarize, summarize_tool_call) and agents/agent.rs (reply_internal), commit 475968db; a response with several calls goes as a whole, its texts stay, and a cheaper model would write the summaries where one is set",
		Truth:   policy.TruthDocumented,
		Moments: policy.Prepare | policy.Respond,
		Params:  &GooseToolPairs{Threshold: 0.8, Batch: 10, Prompt: 130, Tokens: 40},
		Example: `before: 35 calls of earlier turns in a window of 200,000
after:  25 calls, the response with which they were summarised, and 10 messages such as "A call to github was made to get the project status"`,
		Window: true,
		New:    policy.Maker(func(p GooseToolPairs) policy.Stage { return &gooseToolPairs{GooseToolPairs: p} }),
	}
}

// cutoff is how many calls of earlier turns are left alone in a window.
func (p *GooseToolPairs) cutoff(window int) int {
	if p.Cutoff > 0 {
		return p.Cutoff
	}
	threshold := p.Threshold
	if threshold <= 0 {
		threshold = 0.8
	}
	return min(max(3*int(float64(window)*threshold)/20000, 10), 500)
}

// Limits are what decides when goose_tool_pairs acts.
func (p *GooseToolPairs) Limits(l *policy.StageLimits) {
	l.Note("summaries of tool calls: > %d calls of earlier turns (%s)", p.cutoff(l.Window)+p.Batch, l.Name("goose_tool_pairs.cutoff"))
}

// gooseToolPairs decides before a request and acts when its response and the results have joined.
type gooseToolPairs struct {
	GooseToolPairs
	pairs    []pair // to be summarised
	eligible int
}

// response is a response in view and the number of its calls.
type response struct {
	id    policy.ItemID
	calls int
}

// pair is a response with its calls and the messages that answer them.
type pair struct {
	call  policy.ItemID
	calls []policy.Target
	items []policy.ItemID // the response and the answers
	texts []policy.Content
}

func (s *gooseToolPairs) Run(c *policy.Context) ([]policy.Edit, error) {
	if c.Moment == policy.Prepare {
		s.pairs = s.oldest(c)
		return nil, nil
	}
	pairs := s.pairs
	s.pairs = nil
	return s.summarize(c, pairs), nil
}

// oldest lists the responses that are summarised next to the request, none where there are too few.
func (s *gooseToolPairs) oldest(c *policy.Context) []pair {
	calls := 0
	list := earlier(c.View)
	for _, r := range list {
		calls += r.calls
	}
	s.eligible = calls
	if calls <= s.cutoff(c.Window)+s.Batch {
		return nil
	}
	var pairs []pair
	taken := 0
	for _, r := range list {
		if taken >= s.Batch {
			break
		}
		pairs = append(pairs, newPair(c.View, r.id))
		taken += r.calls
	}
	return pairs
}

// earlier lists the responses of earlier turns in view that call tools.
func earlier(v policy.View) (list []response) {
	var turn []response
	for id := range v.Items {
		m := v.Message(id)
		switch {
		case m == nil:
		case beginsTurn(m):
			list = append(list, turn...)
			turn = nil
		case m.Role == session.Assistant:
			if n := len(callsOf(id, m)); n > 0 {
				turn = append(turn, response{id, n})
			}
		}
	}
	return list
}

// beginsTurn reports whether a message is a prompt that was not queued.
func beginsTurn(m *session.Message) bool {
	return m.Class == session.ClassPrompt && !m.Is(session.Queued)
}

// callsOf are the calls of a response.
func callsOf(id policy.ItemID, m *session.Message) (calls []policy.Target) {
	for b := range m.Blocks {
		if m.Blocks[b].Kind == jsonl.KindToolUse {
			calls = append(calls, policy.BlockOf(id, b))
		}
	}
	return calls
}

// newPair is a response with its calls and texts; its answers are missing.
func newPair(v policy.View, id policy.ItemID) pair {
	m := v.Message(id)
	p := pair{call: id, calls: callsOf(id, m), items: []policy.ItemID{id}}
	for b := range m.Blocks {
		if t := (policy.BlockOf(id, b)); m.Blocks[b].Kind == jsonl.KindText {
			p.texts = append(p.texts, policy.Content{Kind: jsonl.KindText, Length: v.Length(t), Ref: &t})
		}
	}
	return p
}

// summarize takes the responses with their answers out and adds the summaries at the end.
func (s *gooseToolPairs) summarize(c *policy.Context, pairs []pair) []policy.Edit {
	if len(pairs) == 0 {
		return nil
	}
	answers := map[policy.ItemID][]policy.ItemID{}
	for _, r := range c.View.Results() {
		if r.State == policy.ResultGone {
			continue
		}
		if m, _, ok := c.Conv.ToolUse(r.ID); ok {
			if of := answers[policy.ItemID(m)]; len(of) == 0 || of[len(of)-1] != r.Target.Item {
				answers[policy.ItemID(m)] = append(of, r.Target.Item)
			}
		}
	}
	var edits []policy.Edit
	var call *policy.Call
	var summaries []policy.Synthetic
	var about []policy.ItemID
	reason := fmt.Sprintf("%d calls of earlier turns > %d", s.eligible, s.cutoff(c.Window)+s.Batch)
	for _, p := range pairs {
		if !c.View.Has(p.call) {
			continue // a compaction took it
		}
		p.items = append(p.items, answers[p.call]...)
		e := policy.Edit{Kind: policy.KindRemove, Trigger: "auto", Items: p.items, Reason: reason}
		if len(p.texts) > 0 {
			e.Kind = policy.KindCollapse
			e.Insert = []policy.Synthetic{{Role: "assistant", Label: "text next to calls", Contents: p.texts}}
		}
		edits = append(edits, e)
		about = append(about, p.call)
		size := 0
		for _, id := range p.items {
			size += c.View.Weight(id)
		}
		for range p.calls {
			summary := policy.Content{Kind: jsonl.KindText, Tokens: s.Tokens}
			summaries = append(summaries, policy.Synthetic{Role: "user", Label: "summary of a call", Contents: []policy.Content{summary}})
			call = &policy.Call{Kind: "tool_pair", Prompt: s.Prompt, Prefix: "own", Input: s.Prompt + size/len(p.calls), Output: s.Tokens, Then: call}
		}
	}
	if len(edits) == 0 {
		return nil
	}
	try := summarize.Plan{Trigger: "auto", Reason: reason, Items: about, Call: call, Limit: c.Window}
	if failure := try.Failure(c); failure != nil {
		return failure
	}
	return append(
		append([]policy.Edit{{Kind: policy.KindCall, Trigger: "auto", Items: about, Reason: reason, Call: call}}, edits...),
		policy.Edit{Kind: policy.KindAttach, Trigger: "auto", Insert: summaries, Reason: reason},
	)
}
