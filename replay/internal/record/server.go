package record

import (
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// contextEditing is what the API leaves out of requests, as their responses say. They say how many results, or turns with
// thinking, and how many tokens: those are the oldest.
type contextEditing struct {
	results, thinking omission
	turns             [][]policy.Target // the thinking of each turn that has some
	open              bool              // the last of them goes on
	last              session.Applied   // to the last request
	epoch             int               // of the view, at that request
}

// withheld is what requests lack for that and no block weighs.
func (c *contextEditing) withheld() int { return c.results.withheld + c.thinking.withheld }

// omission is what it left out of the last request.
type omission struct {
	blocks   []policy.Target
	tokens   int
	withheld int // of what the context fell, tokens that the blocks do not weigh
}

// join sorts the thinking of a message into turns.
func (c *contextEditing) join(m int, msg *session.Message) {
	if msg.RecordOnly {
		return
	}
	c.open = c.open && (msg.Class != session.ClassPrompt || msg.Is(session.Queued))
	for b := range msg.Blocks {
		if k := msg.Blocks[b].Kind; k != jsonl.KindThinking && k != jsonl.KindRedactedThinking {
			continue
		}
		if !c.open || len(c.turns) == 0 {
			c.open = true
			c.turns = append(c.turns, nil)
		}
		last := &c.turns[len(c.turns)-1]
		*last = append(*last, policy.BlockOf(m, b))
	}
}

// edited makes the edits of what the API left out of request k (0-based), of a recorded context, with the overhead of the
// request before.
func (t *recordTrack) edited(k int, a session.Applied, ctx, over int) {
	c := &t.editing
	rebuilt := t.Epoch() != c.epoch
	last := c.last
	if a == last && !rebuilt {
		return
	}
	c.last, c.epoch = a, t.Epoch()
	var results, thinking []policy.Target
	for _, r := range t.Results() {
		if len(results) == a.ToolUses {
			break
		}
		if r.State != policy.ResultGone {
			results = append(results, r.Target)
		}
	}
	c.turns = slices.DeleteFunc(c.turns, func(turn []policy.Target) bool { return !t.Has(turn[0].Item) })
	for _, turn := range c.turns[:min(a.Turns, len(c.turns))] {
		thinking = append(thinking, turn...)
	}
	said := a.ToolTokens + a.ThinkingTokens - last.ToolTokens - last.ThinkingTokens
	lacks := func() int { return t.PayloadTokens() + over - ctx }
	if t.known < 0 || t.pending >= 0 || t.r.Weight[k-1]+t.r.Overhead[k-1]-ctx-said > tokens.DropThreshold {
		lacks = nil // for other reasons, too
	}
	uses := rebuilt || a.ToolUses != last.ToolUses || a.ToolTokens != last.ToolTokens
	if rebuilt || a.Turns != last.Turns || a.ThinkingTokens != last.ThinkingTokens {
		own := lacks
		if uses {
			own = nil
		}
		t.leave(k, &c.thinking, thinking, a.ThinkingTokens, own, known(map[string]int{"cleared_thinking_turns": a.Turns, "cleared_input_tokens": a.ThinkingTokens}))
	}
	if uses {
		t.leave(k, &c.results, results, a.ToolTokens, lacks, known(map[string]int{"cleared_tool_uses": a.ToolUses, "cleared_input_tokens": a.ToolTokens}))
	}
}

// leave makes the edits by which blocks, by the stated number of tokens, are left out of request k (0-based). What else
// was left out of the one before comes back. lacks is what the context lacks, nil if not all of it is for these blocks:
// where it is not less than the response says, it is that, so that the overhead stays.
func (t *recordTrack) leave(k int, l *omission, blocks []policy.Target, said int, lacks func() int, detail map[string]int) {
	same := 0
	stays := 0
	all := 0
	for i, target := range l.blocks {
		if i == same && i < len(blocks) && blocks[i] == target {
			same = i + 1
			stays += t.BlockTokens(target)
		}
		all += t.BlockTokens(target)
	}
	e := policy.Edit{
		Request: k + 1, Trigger: TriggerAuto, Detail: detail, Kind: policy.KindServerKeep,
		Reason: "the API sent it again, as the response says",
	}
	for _, e.Target = range l.blocks[same:] {
		if _, out := t.PayloadReplacement(e.Target); out && t.Has(e.Target.Item) {
			t.apply(e, Act{ActServer, k})
		}
	}
	remains := func(n int) int {
		switch {
		case all > 0:
			return int(int64(n) * int64(stays) / int64(all))
		case same > 0:
			return n
		}
		return 0
	}
	weight := 0
	take := said - remains(l.tokens)
	explained := lacks != nil && max(lacks()-take, take-lacks()) <= tokens.DropThreshold // further off, an estimate's error is in it
	if explained {
		take = lacks()
	}
	fresh := slices.DeleteFunc(slices.Clone(blocks[same:]), func(target policy.Target) bool {
		_, out := t.PayloadReplacement(target)
		return out
	})
	for _, target := range fresh {
		weight += t.BlockTokens(target)
	}
	e.Kind = policy.KindServerClear
	e.Reason = "the API left it out, as the response says"
	for _, e.Target = range fresh {
		n := t.BlockTokens(e.Target)
		less := n
		if weight > 0 {
			less = min(max(int(int64(take)*int64(n)/int64(weight)), 0), n)
		}
		take -= less
		weight -= n
		e.New = &policy.Content{Kind: t.Kind(e.Target), Tokens: n - less}
		t.apply(e, Act{ActServer, k})
	}
	l.blocks, l.tokens, l.withheld = blocks, said, remains(l.withheld)
	if explained {
		l.withheld += max(take, 0)
	}
}
