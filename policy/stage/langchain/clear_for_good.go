package langchain

import (
	"fmt"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// clearForGood is apply of the JavaScript library: all results but the newest are cleared, and of these, from the
// newest on, as many as clear_at_least still asks for.
func (s *clearToolResults) clearForGood(c *policy.Context) []policy.Edit {
	v := c.View
	s.sums.Follow(v)
	total := quarter(s.sums.Sum)
	if total < s.Trigger {
		return nil
	}
	results, live := v.Results(), s.results.Live(v)
	old := max(len(live)-s.Keep, 0)
	reason := fmt.Sprintf("%d tokens >= %d: all but the newest %d", total, s.Trigger, s.Keep)
	s.taking = map[policy.Target]bool{}
	sum := s.sums.Sum
	var clears, inputs []policy.Edit
	take := func(t policy.Target) {
		sum -= s.chars(v, t.Item)
		s.taking[t] = true
		sum += s.chars(v, t.Item)
	}
	clear := func(r *policy.Result, reason string) {
		m, b, ok := c.Conv.ToolUse(r.ID)
		if r.State == policy.ResultChanged || !ok || !v.Has(policy.ItemID(m)) || measure.Matches(s.ExcludeTools, r.Tool, r.Alike) {
			return
		}
		take(r.Target)
		clears = append(clears, policy.Replace(policy.KindClear, r.Target, &s.placeholder, reason))
		if call := (policy.BlockOf(m, b)); s.ClearToolInputs && !s.taking[call] {
			take(call)
			inputs = append(inputs, policy.Replace(policy.KindTruncate, call, &s.input, reason))
		}
	}
	for _, i := range live[:old] {
		clear(&results[i], reason)
	}
	if s.ClearAtLeast > 0 && s.Keep > 0 && moreThan(results, s.Keep) {
		for i := len(live) - 1; i >= old && s.freed(total, sum, clears) < s.ClearAtLeast; i-- {
			clear(&results[live[i]], reason+fmt.Sprintf(", and more for at least %d tokens", s.ClearAtLeast))
		}
	}
	s.results.Done(old)
	s.taking = nil
	return append(clears, inputs...)
}

// moreThan reports whether more than n of the results have not left the view.
func moreThan(results []policy.Result, n int) bool {
	for i := range results {
		if results[i].State != policy.ResultGone {
			n--
		}
		if n < 0 {
			return true
		}
	}
	return false
}

// freed is how many tokens the clearing of a request has taken off so far.
func (s *clearToolResults) freed(total, sum int, clears []policy.Edit) int {
	if len(clears) == 0 {
		return 0
	}
	return max(0, total-quarter(sum))
}

func quarter(chars int) int { return (chars + 3) / 4 }

// chars is the estimate of an item with what is about to be replaced, in characters.
func (s *clearToolResults) chars(v policy.View, id policy.ItemID) int {
	return agentChars(v, id, s.length)
}

// agentChars is what countTokensApproximately of the JavaScript library counts of an item, in characters: texts, calls
// as JSON, and the ids of results. length is that of a block's text.
func agentChars(v policy.View, id policy.ItemID, length func(policy.View, policy.Target) int) int {
	n := 0
	calls := 0
	for t := range policy.Targets(v, id) {
		switch raw := v.Raw(t); v.Kind(t) {
		case jsonl.KindToolUse:
			calls++
			n += len(`{"name":"","args":,"id":"","type":"tool_call"}`) + len(raw.Name) + len(raw.ID) + length(v, t)
		case jsonl.KindToolResult:
			n += len(raw.ID) + length(v, t)
		case jsonl.KindThinking, jsonl.KindRedactedThinking, jsonl.KindImage:
		default:
			n += length(v, t)
		}
	}
	if calls > 0 {
		n += len("[]") + calls - 1
	}
	return n
}

// lengthOf is the length of a block's text, in characters.
func lengthOf(v policy.View, t policy.Target) int {
	c := v.Replacement(t)
	raw := v.Raw(t)
	switch {
	case c != nil && c.Tokens > 0:
		return 4 * c.Tokens
	case c == nil && v.Kind(t) == jsonl.KindToolUse:
		return raw.JSON.UTF16
	}
	return v.Length(t).UTF16
}
