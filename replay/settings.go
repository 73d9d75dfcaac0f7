package replay

import (
	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// settingsChanges lists by request (0-based) what the recorded client did that costs the messages' cache under every
// policy:
//
//   - an image joined: by the documentation images anywhere in a prompt touch the messages' cache, and the one
//     recorded case agrees;
//   - a tool search loaded the definitions of deferred tools (4 of 5 recorded cases of 2.1.119 to 2.1.128);
//   - a skill, or a command that is one, began, or the first prompt after it was typed: clients from 2.1.14 up to
//     2.1.37 send other settings while one runs (26 of 34 recorded cases; later clients do not, in 8 of 8).
func settingsChanges(conv *session.Conversation, drops []tokens.Drop) map[int]cache.BreakCause {
	changes := map[int]cache.BreakCause{}
	s := settings{conv: conv}
	from := 0
	for k, q := range conv.Requests {
		if kind := s.between(from, q.Message); kind != cache.None && k > 0 {
			changes[k] = kind
		}
		from = q.Message
	}
	// Where the recorded context fell and no line, model or client explains it, something was not sent again.
	for _, d := range drops {
		k := d.Request - 1
		if _, known := changes[k]; known || !d.Shared {
			continue
		}
		if d.Cause == tokens.Unexplained {
			changes[k] = cache.ContextFell
		}
	}
	return changes
}

// settings is the state from request to request.
type settings struct {
	conv  *session.Conversation
	skill bool // one is running
}

// between returns the change by the last response and the messages after it, up to message `to`.
func (s *settings) between(from, to int) cache.BreakCause {
	var image, tools, skill, prompt, ready bool // ready: a meta message now is a skill's text
	for m := from; m < to; m++ {
		msg := &s.conv.Messages[m]
		for b := range msg.Blocks {
			bl := &msg.Blocks[b]
			ready = ready || bl.Kind == jsonl.KindToolUse && bl.Name == "Skill"
			image = image || bl.Kind == jsonl.KindImage
			for _, p := range bl.Parts {
				image = image || p.Kind == jsonl.KindImage
				tools = tools || p.Kind == jsonl.KindToolReference
			}
		}
		switch msg.Class {
		case session.ClassCommand:
			ready = true
		case session.ClassMeta:
			skill, ready = skill || ready, false
		case session.ClassPrompt:
			prompt, ready = true, false
		}
	}
	was := s.skill
	s.skill = skill || was && !prompt
	switch {
	case image:
		return cache.ImageAdded
	case tools:
		return cache.ToolsChanged
	case was != s.skill && changesForSkills(s.conv.Messages[to].Version):
		return cache.SkillRan
	}
	return cache.None
}

func changesForSkills(version string) bool {
	return version != "" && session.CompareVersions(version, "2.1.14") >= 0 && session.CompareVersions(version, "2.1.38") < 0
}
