package check

import (
	"slices"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/exact"
)

// Schema is the version of the JSON form of a Report.
const Schema = "ctxkit.check/v1"

// Verdict is the result for something that a check judges.
type Verdict string

// The statuses, from good to bad.
const (
	OK      Verdict = "ok"      // as in the baseline, or within what is allowed
	Better  Verdict = "better"  // better than in the baseline, and nothing worse
	Changed Verdict = "changed" // neither better nor worse than in the baseline
	Stale   Verdict = "stale"   // the baseline has other inputs
	Worse   Verdict = "worse"   // worse than in the baseline
	Broken  Verdict = "broken"  // outside of a limit of the configuration
)

func (s Verdict) rank() int {
	return slices.Index([]Verdict{OK, Better, Changed, Stale, Worse, Broken}, s)
}

// Compare is above 0 where s is what to look at first: broken, worse, better, then changed.
func (s Verdict) Compare(o Verdict) int {
	order := []Verdict{OK, Stale, Changed, Better, Worse, Broken}
	return slices.Index(order, s) - slices.Index(order, o)
}

func worst(a, b Verdict) Verdict {
	if b.rank() > a.rank() {
		return b
	}
	return a
}

// Report is the result of a check.
type Report struct {
	Schema       string       `json:"schema"`
	File         string       `json:"file"`
	Baseline     string       `json:"baseline,omitempty"`
	Tool         string       `json:"tool"`
	BaselineTool string       `json:"baseline_tool,omitempty"`
	Passed       bool         `json:"passed"`
	Updated      bool         `json:"updated"` // the baseline was rewritten with these results
	Counts       Counts       `json:"counts"`
	Cases        []CaseReport `json:"cases"`
	Stale        []string     `json:"stale"` // what the baseline has and this run has not
	Notes        []string     `json:"notes"`

	Update string `json:"-"` // the command that writes the baseline
}

// Counts are replays by what became of them.
type Counts struct {
	Replays int `json:"replays"`
	Failed  int `json:"failed"` // by themselves: a fault, a limit, a peak near the window, a baseline of something else
	OK      int `json:"ok"`
	Better  int `json:"better"`
	Changed int `json:"changed"`
	Stale   int `json:"stale"`
	Worse   int `json:"worse"`
	Broken  int `json:"broken"`
	ByTool  int `json:"by_tool"` // also of those above: ctxkit itself changed them
	Assumed int `json:"assumed"` // also of those above: an assumption changed them

	FailedCases int `json:"failed_cases"` // for which the check fails
}

func (c *Counts) add(s *SessionReport) {
	c.Replays++
	if s.Failed {
		c.Failed++
	}
	switch {
	case s.ByTool == nil:
	case len(s.ByTool.Assumed) > 0:
		c.Assumed++
	default:
		c.ByTool++
	}
	*map[Verdict]*int{OK: &c.OK, Better: &c.Better, Changed: &c.Changed, Stale: &c.Stale, Worse: &c.Worse, Broken: &c.Broken}[s.Status]++
}

// Effect is what a change of a policy since the baseline does.
type Effect string

// The effects; "" belongs to a policy that was not changed.
const (
	EffectNone   Effect = "none"   // other words, the same settings
	EffectUnseen Effect = "unseen" // other settings, and no session has another figure or event
	EffectSeen   Effect = "seen"
)

// CaseReport is one case.
type CaseReport struct {
	Name     string          `json:"name"`
	Policy   string          `json:"policy"`
	Truth    policy.Truth    `json:"truth,omitempty"` // of the policy
	Place    Place           `json:"place"`
	Status   Verdict         `json:"status"`            // by the sums over its sessions, and by those that fail
	Failed   int             `json:"failed"`            // sessions that fail by themselves
	Fails    bool            `json:"fails"`             // the check fails for the case
	Sums     *CaseSums       `json:"sums,omitempty"`    // nil: the baseline has none of its sessions
	ByTool   []FigureReport  `json:"by_tool,omitempty"` // what ctxkit itself or an assumption changed, over the sessions that it changed
	Reasons  []string        `json:"reasons,omitempty"` // in words, without the sums
	Effect   Effect          `json:"effect,omitempty"`
	Changes  []KeyChange     `json:"policy_changes,omitempty"` // of all sessions
	Hint     string          `json:"hint,omitempty"`           // EffectUnseen: why no session can tell, where that is known
	Reworded string          `json:"reworded,omitempty"`       // EffectNone: what is other than in the baseline
	Idle     []string        `json:"idle_stages,omitempty"`    // stages without an event in any session
	Sessions []SessionReport `json:"sessions"`

	Use policy.Use `json:"-"` // what the policy's name meant

	compared, moved bool // a session is in the baseline; a figure or an event of one differs
}

// SessionReport is one session of a case.
type SessionReport struct {
	Session string         `json:"session"`
	Agent   string         `json:"agent,omitempty"`
	Policy  string         `json:"policy"` // its resolved name
	Status  Verdict        `json:"status"`
	Failed  bool           `json:"failed"`
	Place   Place          `json:"place"`   // what to look at: the changed parameter, the limit, the case
	Figures []FigureReport `json:"figures"` // that changed, or have a limit
	Events  EventsReport   `json:"events"`
	Changes []KeyChange    `json:"policy_changes"`    // of the policy since the baseline
	ByTool  *ToolReport    `json:"by_tool,omitempty"` // what this version of ctxkit does otherwise than the baseline's
	Reasons []string       `json:"reasons"`           // in words, without the figures
	Command []string       `json:"command,omitempty"` // a command line that shows the evidence, filled in by the caller

	Evidence *compare.Pointer `json:"-"` // where it shows; nil: nowhere

	absolute bool  // it fails whatever the sums of its case are: a fault, a limit
	was      *past // what it is compared with; nil: nothing
	now      *Outcome
}

// ToolReport compares the baseline with the same policy under this version of ctxkit, and with the assumptions of the
// present one: how long a summary is taken to be is no part of what a policy does. Nothing of it fails.
type ToolReport struct {
	Assumed []KeyChange    `json:"assumptions,omitempty"` // that changed
	Figures []FigureReport `json:"figures"`               // that differ
	Events  EventsReport   `json:"events"`

	base *past
	now  *Outcome
}

// FigureReport is one figure of one session.
type FigureReport struct {
	Figure string        `json:"figure"`
	Unit   string        `json:"unit,omitempty"`
	Before exact.Decimal `json:"before,omitzero"` // in the baseline
	After  exact.Decimal `json:"after,omitzero"`
	Limit  string        `json:"limit,omitempty"`
	Status Verdict       `json:"status"`

	Decides bool `json:"decides,omitempty"` // it can be better or worse: by itself, or as the configuration names it
}

// EventsReport compares the lists of events.
type EventsReport struct {
	Before *int        `json:"before,omitempty"` // how many in the baseline
	After  int         `json:"after"`
	First  *Difference `json:"first_difference,omitempty"`
}

// Difference is the first event that is not as it was. One side is nil where there is no such event; both are where a
// baseline holds only a digest of it and of all that follow.
type Difference struct {
	N        int          `json:"n"` // index into both lists
	Expected *EventDigest `json:"expected,omitempty"`
	Got      *EventDigest `json:"got,omitempty"`
}

// KeyChange is a key of the policy that has another value than in the baseline. A value is "" where the policy has no
// such key.
type KeyChange struct {
	Key   string `json:"key"`
	From  string `json:"from"`
	To    string `json:"to"`
	Place Place  `json:"place"`
}

// Place is a place in a file, 1-based.
type Place struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

func placeOf(p policy.Position) Place { return Place{p.File, max(p.Line, 1), max(p.Column, 1)} }
