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
	Subagents int                        // of the main conversation, where they are left out
	Timelines bool                       // the result has them
	Known     func(policy int) *KeptPart // what is known of a replay, which is left out then and has no timeline; nil: nothing
}

// Run replays a conversation under each policy. It is an error where the figures of a replay contradict each other.
func Run(c *Subject, policies []*policy.Policy, opt replay.Options) (ComparedSession, error) {
	k, err := RunKept(c, policies, opt)
	if err != nil {
		return ComparedSession{}, err
	}
	return k.session(policies, k.Parts), nil
}

// RunKept is Run with what Kept.Compared makes its result of.
func RunKept(c *Subject, policies []*policy.Policy, opt replay.Options) (k Kept, err error) {
	k.Parts = make([]*KeptPart, len(policies))
	var first *replay.Timeline
	for i, pol := range policies {
		if i > 0 && c.Known != nil { // the others are compared with the first
			if k.Parts[i] = c.Known(i); k.Parts[i] != nil {
				continue
			}
		}
		tl, err := c.Record.Replay(pol, opt)
		if err != nil {
			return k, err
		}
		tl.Agent = c.Agent
		if err := tl.CheckValid(); err != nil {
			return k, fmt.Errorf("the replay contradicts itself: %w: please report it with the session", err)
		}
		if i == 0 {
			first = tl
			if err := k.begin(c, tl, opt); err != nil {
				return k, err
			}
		}
		k.Parts[i] = &KeptPart{
			Values: Of(tl), Breaks: BreaksOf(tl), Apart: Apart(first, tl), Series: Series(tl), Fit: tl.CacheFit,
		}
		if c.Timelines {
			k.Session.Timelines = append(k.Session.Timelines, tl)
		}
	}
	return k, nil
}

// begin sets the session, of the replay under the first policy.
func (k *Kept) begin(c *Subject, first *replay.Timeline, opt replay.Options) (err error) {
	if first.CacheFit == nil && opt.Cache != replay.CacheNone {
		if first.CacheFit, err = c.Record.CacheFit(opt); err != nil {
			return err
		}
	}
	k.Session = NewSession(first, projectOf(c.Record.Conv))
	k.Session.Repository = c.Record.Conv.Repository
	k.Session.Input, k.Session.Selection, k.Session.Billed = c.Input, c.Selection, BilledBy(first)
	return k.Session.Mark(c.Record, first, c.Subagents)
}

// projectOf is the project of a conversation: the folder it was recorded in, else the one its file is in.
func projectOf(conv *session.Conversation) string {
	if conv.CWD != "" {
		return conv.CWD
	}
	return filepath.Base(filepath.Dir(conv.Path))
}
