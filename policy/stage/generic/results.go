package generic

import (
	"fmt"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// Tools are the parameters that say which tools a stage on results concerns.
type Tools struct {
	Tools   []string `yaml:"tools" doc:"tools whose results it concerns, by their own name or that of the Claude Code tool that does the same; a trailing * matches any rest; empty: all"`
	Exclude []string `yaml:"exclude_tools" doc:"tools whose results it leaves alone, whatever tools says"`
}

// allTools concerns the results of all tools.
func allTools() Tools { return Tools{Tools: []string{}, Exclude: []string{}} }

// concern reports whether a stage concerns a result.
func (p *Tools) concern(r *policy.Result) bool {
	return (len(p.Tools) == 0 || measure.Matches(p.Tools, r.Tool, r.Alike)) && !measure.Matches(p.Exclude, r.Tool, r.Alike)
}

// live reports whether a stage may still change a result: no other one has replaced it.
func (p *Tools) live(r *policy.Result) bool { return r.State == policy.ResultLive && p.concern(r) }

// Counts of what is kept.
const (
	byResults  = "results"
	byTurns    = "turns"
	byTokens   = "tokens"
	byMessages = "messages"
	bySpoken   = "spoken"
	byImages   = "images"
)

// turns numbers the user's turns of a conversation: a prompt that was typed while the agent worked begins none.
type turns struct {
	made    bool
	prompts []policy.ItemID // the first message of each turn, in order
}

// of is the number of turns up to a message, which is the number of its own.
func (s *turns) of(conv *session.Conversation, id policy.ItemID) int {
	if !s.made {
		s.made = true
		for m := range conv.Messages {
			if msg := &conv.Messages[m]; msg.Class == session.ClassPrompt && !msg.Is(session.Queued) && !msg.RecordOnly {
				s.prompts = append(s.prompts, policy.ItemID(m))
			}
		}
	}
	from := 0
	to := len(s.prompts)
	for from < to {
		if mid := (from + to) / 2; s.prompts[mid] <= id {
			from = mid + 1
		} else {
			to = mid
		}
	}
	return from
}

// now is the number of turns so far.
func (s *turns) now(v policy.View) int { return s.of(v.Conversation(), policy.ItemID(v.Joined()-1)) }

// saving collects edits that replace results, and what they save.
type saving struct {
	c     *policy.Context
	edits []policy.Edit
	saved int // tokens

	last   *policy.Content // what took the place of the result before
	weight int             // of last, tokens
}

// less is what a text in the place of a result saves, tokens.
func (s *saving) less(t policy.Target, content *policy.Content) int {
	if content != s.last {
		s.last, s.weight = content, s.c.Weigh.Content(content)
	}
	return s.c.View.BlockTokens(t) - s.weight
}

// clear puts a text in the place of a result, if that makes it smaller; reports whether it does.
func (s *saving) clear(t policy.Target, content *policy.Content) bool {
	less := s.less(t, content)
	if less <= 0 {
		return false
	}
	kind := policy.KindClear
	if content.Partial {
		kind = policy.KindTruncate
	}
	s.edits = append(s.edits, policy.Edit{Kind: kind, Trigger: "auto", Target: t, New: content})
	s.saved += less
	return true
}

// because gives all edits a reason.
func (s *saving) because(format string, args ...any) []policy.Edit {
	reason := fmt.Sprintf(format, args...)
	for i := range s.edits {
		s.edits[i].Reason = reason
	}
	return s.edits
}

// named is a call in a few words: the tool, and its file or command.
func named(r *policy.Result, call *measure.CallInput) string {
	const most = 80 // UTF-16 units of a command
	switch {
	case call.Path != "":
		return r.Tool + " " + call.Path
	case call.Command != "":
		line, rest, _ := strings.Cut(strings.TrimSpace(call.Command), "\n")
		if short := measure.FirstUnits(line, most); short != line || rest != "" {
			line = short + "…"
		}
		return r.Tool + " " + line
	case r.Tool == "":
		return "the same tool"
	}
	return r.Tool
}

// plain reports whether a result is text alone, as recorded or as an edit left it.
func plain(v policy.View, t policy.Target) bool {
	raw := v.Raw(t)
	return raw != nil && raw.Kind == jsonl.KindToolResult && measure.Images(v, t) == 0
}
