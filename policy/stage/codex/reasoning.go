package codex

import (
	"slices"
	"sort"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// reasonings sums up the encrypted reasoning of a view as items join it.
type reasonings struct {
	seen measure.Follower
	read int             // messages that a client that was started again has read back
	rest []policy.ItemID // in view, and not summed up yet

	before, since         float64 // tokens, before the last user message and after it
	guessed, sinceGuessed bool    // some of it is not in the recording
}

// add sums up an item.
func (s *reasonings) add(m *session.Message, id policy.ItemID) {
	if m == nil {
		return
	}
	if m.Class == session.ClassPrompt {
		s.before += s.since
		s.since = 0
		s.guessed = s.guessed || s.sinceGuessed
		s.sinceGuessed = false
	}
	recorded, estimated := reasoningOf(m)
	if int(id) < s.read {
		estimated = 0
	}
	s.since = s.since + recorded + estimated
	s.sinceGuessed = s.sinceGuessed || estimated != 0
}

// follow sums up a view without its newest pending items.
func (s *reasonings) follow(v policy.View, pending, read int) {
	joined, anew := s.seen.Arrived(v, func(e policy.Edit) bool { return e.Moves() })
	if s.rest = append(s.rest, joined...); anew || read != s.read || len(s.rest) < pending {
		*s = reasonings{seen: s.seen, read: read, rest: v.IDs()}
	}
	n := len(s.rest) - pending
	for _, id := range s.rest[:n] {
		s.add(v.Message(id), id)
	}
	s.rest = slices.Delete(s.rest, 0, n)
}

// reasoning is Codex' estimate of the encrypted reasoning before the last user message in its history, which does not
// end with the newest pending items: three quarters of its length less 650 bytes, at four bytes a token. estimated says
// that some of it is not in the recording.
func (s *codexCompaction) reasoning(c *policy.Context, pending int) (tokens int, estimated bool) {
	if s.Reasoning == "none" || strings.Contains(c.Model, "claude") {
		return 0, false
	}
	read := 0 // what a client that was started again has read back: its file is all that it has of the reasoning
	list := c.Conv.Restarts
	if n := sort.Search(len(list), func(i int) bool { return list[i].Before > c.View.Joined() }); n > 0 {
		read = list[n-1].Before
	}
	s.sums.follow(c.View, pending, read)
	return int(s.sums.before), s.sums.guessed
}

// reasoningOf is Codex' count of a response's encrypted reasoning, tokens: of what is recorded, and of what was taken out
// of the recording, estimated by the reasoning tokens that the response used.
func reasoningOf(m *session.Message) (recorded, estimated float64) {
	unknown := 0
	for b := range m.Blocks {
		switch bl := &m.Blocks[b]; {
		case bl.Kind != jsonl.KindThinking:
		case bl.Signature > 0:
			recorded += float64((max(bl.Signature*3/4-650, 0) + 3) / 4)
		default:
			unknown++
		}
	}
	if slope, each, ok := encryptedSize(m.Model); ok && unknown > 0 {
		estimated = slope*float64(m.Usage.Thinking) + each*float64(unknown)
	}
	return recorded, estimated
}

// encryptedSize is how Codex' estimate of encrypted reasoning follows from the usage of a response: a factor per
// reasoning token, and a constant per item. It is fitted to 38 recorded compactions (docs/internals/codex.md). ok is
// false for a model whose reasoning is not encrypted.
func encryptedSize(model string) (slope, each float64, ok bool) {
	switch {
	case !strings.HasPrefix(model, "gpt-"):
		return 0, 0, false
	case strings.HasPrefix(model, "gpt-5.6"):
		return 1.47, 0, true
	}
	return 1.235, 3, true
}
