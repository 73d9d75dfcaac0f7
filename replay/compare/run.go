package compare

import (
	"fmt"
	"path/filepath"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
)

// Subject is a conversation to compare policies over.
type Subject struct {
	Record    *replay.Record
	Agent     string // its id; "": the main conversation
	Input     string // the path it was read from; "-": standard input
	Selection Selection
	Subagents int                      // of the main conversation, where they are left out
	Each      func(t *replay.Timeline) // gets the replay under each policy; nil: nobody does
}

// Run replays a conversation under each policy. It is an error where the figures of a replay contradict each other.
func Run(c *Subject, policies []*policy.Policy, opt replay.Options) (s ComparedSession, err error) {
	if len(policies) > 1 {
		c.Record.Share()
	}
	timelines := make([]*replay.Timeline, len(policies))
	for i, pol := range policies {
		tl, err := c.Record.Replay(pol, opt)
		if err != nil {
			return s, err
		}
		tl.Agent = c.Agent
		if err := tl.CheckValid(); err != nil {
			return s, fmt.Errorf("the replay contradicts itself: %w: please report it with the session", err)
		}
		timelines[i] = tl
	}
	if err := c.Record.ShareBound(opt, timelines); err != nil {
		return s, err
	}
	conv, first := c.Record.Conv, timelines[0]
	s = NewSession(first, projectOf(conv))
	s.Repository = conv.Repository
	s.Input, s.Selection, s.Policies = c.Input, c.Selection, policies
	if err := s.Mark(c.Record, first, c.Subagents); err != nil {
		return s, err
	}
	for _, tl := range timelines {
		s.Add(first, tl)
		s.Series = append(s.Series, Series(tl))
		if c.Each != nil {
			c.Each(tl)
		}
	}
	return s, nil
}

// projectOf is the project of a conversation: the folder it was recorded in, else the one its file is in.
func projectOf(conv *session.Conversation) string {
	if conv.CWD != "" {
		return conv.CWD
	}
	return filepath.Base(filepath.Dir(conv.Path))
}
