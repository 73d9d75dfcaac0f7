package record

import (
	"cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// settingsChanges lists by request (0-based) what the recorded client did that costs the messages' cache under every
// policy:
//
//   - the first image joined, at the start or since a compaction: recorded requests of some clients then read no messages;
//   - the user set another level of reasoning effort: by the documentation of the API that always touches the messages'
//     cache. Setting the level that the session has set before changes nothing;
//   - the first tool search of the conversation loaded the definitions of deferred tools: some clients then send other
//     tools;
//   - a skill, or a command that is one, began, or the first prompt after it that is not queued was typed: some clients
//     send another limit of thinking tokens while one runs.
func settingsChanges(conv *session.Conversation, drops []tokens.Drop, kinds *cache.KindTable) map[int]cache.BreakCause {
	changes := map[int]cache.BreakCause{}
	s := settings{conv: conv, kinds: kinds}
	from := 0
	compactions := conv.Boundaries
	for k, q := range conv.Requests {
		for len(compactions) > 0 && compactions[0].Request <= k+1 {
			s.image = false
			compactions = compactions[1:]
		}
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

// warmings lists by request (0-based) the calls before it that renewed the cache.
func warmings(conv *session.Conversation) map[int][]*session.Charge {
	list := map[int][]*session.Charge{}
	k := 0
	for i := range conv.Charges {
		c := &conv.Charges[i]
		for k < len(conv.Requests) && conv.Response(k).Line < c.Line {
			k++
		}
		if c.Kind == session.ChargeWarming {
			list[k] = append(list[k], c)
		}
	}
	return list
}

// settings is the state from request to request.
type settings struct {
	conv   *session.Conversation
	kinds  *cache.KindTable
	skill  bool   // one is running
	image  bool   // the payload has one
	loaded bool   // a tool search has loaded definitions
	effort string // the level that a command set last, "" where none did
}

// between returns the change by the last response and the messages after it, up to message `to`.
func (s *settings) between(from, to int) cache.BreakCause {
	var image, tools, skill, prompt, ready bool // ready: a meta message now is a skill's text
	effort := s.effort
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
			effort = cmp.Or(msg.Effort, effort)
		case session.ClassMeta:
			skill = skill || ready
			ready = false
		case session.ClassPrompt:
			prompt, ready = prompt || !msg.Is(session.Queued), false // a queued one ends no turn
		}
	}
	was := s.skill
	s.skill = skill || was && !prompt
	first := image && !s.image
	s.image = s.image || image
	again := s.loaded
	s.loaded = s.loaded || tools
	set := effort != s.effort
	s.effort = effort
	switch {
	case first && s.misses(cache.ImageAdded, to):
		return cache.ImageAdded
	case set && s.misses(cache.EffortSet, to):
		return cache.EffortSet
	case tools && !again && s.misses(cache.ToolsChanged, to):
		return cache.ToolsChanged
	case was != s.skill && s.misses(cache.SkillRan, to):
		return cache.SkillRan
	}
	return cache.None
}

// misses reports whether a cache miss follows the marker of a cause for the client of a response.
func (s *settings) misses(cause cache.BreakCause, response int) bool {
	m := s.kinds.Marker(s.conv.Product, cause)
	version := s.conv.Messages[response].Version
	return m != nil && (m.From == "" || version != "" && session.CompareVersions(version, m.From) >= 0) && (m.Before == "" || session.CompareVersions(version, m.Before) < 0)
}
