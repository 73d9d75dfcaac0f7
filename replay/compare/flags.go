package compare

import (
	"slices"

	"github.com/ctxkit/ctxkit/replay"
)

// Flag is a reason to doubt the figures of a session, under every policy.
type Flag string

// The flags.
const (
	FlagMidway    Flag = "begins_mid_conversation"
	FlagEstimated Flag = "usage_estimated"   // none is recorded
	FlagOutputs   Flag = "outputs_estimated" // of some requests
	FlagCompacted Flag = "compacted_when_recorded"
	FlagWindow    Flag = "window_fitted" // the user's own, by the recorded compactions
	FlagSubagents Flag = "subagents_left_out"
	FlagUnpriced  Flag = "model_without_price"

	FlagContradicted Flag = "usage_contradicts_content"
	FlagRebuilt      Flag = "recorded_requests_not_used" // that the client wrote into the file
)

// Flags lists the flags in their order.
func Flags() []Flag {
	return []Flag{FlagMidway, FlagEstimated, FlagOutputs, FlagCompacted, FlagWindow, FlagSubagents, FlagUnpriced, FlagContradicted, FlagRebuilt}
}

// Mark sets the recorder and the flags of a session by its record and by a replay of it. subagents is how many are left out.
func (s *ComparedSession) Mark(rec *replay.Record, t *replay.Timeline, subagents int) (err error) {
	is := map[Flag]bool{
		FlagMidway:    rec.Conv.BeginsMidway(),
		FlagEstimated: !rec.Cal.Recorded,
		FlagOutputs:   rec.Cal.Recorded && t.Estimated(),
		FlagCompacted: len(rec.Conv.Boundaries) > 0,
		FlagWindow:    t.Fit != nil,
		FlagSubagents: subagents > 0,
		FlagUnpriced:  t.Totals.Unpriced > 0,

		FlagContradicted: rec.Contradicted(),
		FlagRebuilt:      rec.Conv.Lines.Recorded.Of > 0,
	}
	for _, f := range Flags() {
		if is[f] {
			s.Flags = append(s.Flags, f)
		}
	}
	s.Recorder = rec.Conv.Product
	if s.Rereads, err = rec.Rereads(); err != nil {
		return err
	}
	s.Aftermath, err = rec.Aftermath()
	return err
}

// Flagged counts the sessions with a flag.
func (c *Comparison) Flagged(f Flag) (n int) {
	for i := range c.Sessions {
		if slices.Contains(c.Sessions[i].Flags, f) {
			n++
		}
	}
	return n
}

// OwnRelease reports whether policy i is in all sessions the release that recorded them, and the first policy is the
// recorded session.
func (c *Comparison) OwnRelease(i int) bool {
	return len(c.Sessions) > 0 && c.Policies[0].Name == replay.RecordedTrack().Name && !slices.ContainsFunc(c.Sessions, func(s ComparedSession) bool {
		return i >= len(s.Policies) || s.Policies[i].Chosen == "" || s.Policies[i].Older || s.Policies[i].Product != s.Recorder
	})
}

// Rereads are those of all sessions.
func (c *Comparison) Rereads() (all replay.Rereads) {
	for i := range c.Sessions {
		all.Add(c.Sessions[i].Rereads)
	}
	return all
}
