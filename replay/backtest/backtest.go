// Package backtest scores the simulation against recordings: whether policies compact where the client did (Score),
// whether the simulated prompt cache reads what the API reported (ScoreUsage), and how far token counters are from
// the reported usage (Calibrate).
package backtest

import (
	"slices"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
)

// Schema is the version of the JSON form of a Result.
const Schema = "ctxkit.backtest/v1"

// SessionScore is one conversation under the policy, scored against its record.
type SessionScore struct {
	Session string `json:"session"`
	Agent   string `json:"agent,omitempty"`
	File    string `json:"file"`
	Author  string `json:"author"` // who recorded it: see authorOf
	Model   string `json:"model"`
	Version string `json:"client_version,omitempty"` // of the first request
	Clients string `json:"clients"`                  // its band of versions
	Policy  string `json:"policy"`

	Requests     int                           `json:"requests"`
	Window       int                           `json:"window"`                // the largest of the policy's decisions, tokens
	Fit          *replay.Fit                   `json:"fit"`                   // nil: the window is not fitted
	Manual       int                           `json:"manual"`                // recorded manual compactions: not scored
	Last         int                           `json:"at_end"`                // automatic ones after the last request: not scored
	Other        int                           `json:"other"`                 // those of another cause than the size of the context: not scored
	OtherKinds   map[replay.CompactionKind]int `json:"other_kinds,omitempty"` // of Other
	Compactions  []CompactionScore             `json:"compactions"`           // the recorded automatic ones, in order
	Alarms       []Alarm                       `json:"alarms"`                // decisions to compact where nothing is recorded
	FreeAlarms   int                           `json:"free_alarms"`           // the same, in a free replay
	Micro        []Microcompacted              `json:"microcompactions"`
	MicroAlarms  []MicroAlarm                  `json:"microcompaction_alarms"` // those of the policy alone
	Prunes       bool                          `json:"-"`                      // its microcompactions are what the client clears where a turn ends
	MicroUnknown int                           `json:"microcompactions_unscored"`

	Usage  UsageScore `json:"usage"`
	Breaks []Break    `json:"breaks"`

	bands policy.Bands // of which Clients is one
}

// CompactionScore is a recorded automatic compaction and the policy's decision.
type CompactionScore struct {
	Line      int                   `json:"line"`
	Request   int                   `json:"request"` // n of the first request after it
	Version   string                `json:"client_version"`
	Kind      replay.CompactionKind `json:"kind"`
	PreTokens int                   `json:"pre_tokens,omitempty"` // 0: not recorded
	Used      int                   `json:"used"`                 // by the policy's estimate, tokens
	Threshold int                   `json:"threshold"`            // at which the policy compacts, tokens; 0: it has none
	Count     []policy.Counted      `json:"count,omitempty"`      // what it compares with the threshold, in parts; nil: used
	Hit       bool                  `json:"hit"`                  // the policy compacts at the request, on the recorded view
	Lost      bool                  `json:"lost"`                 // the message before it is lost: its weight comes from pre_tokens, which proves little

	// Requests to the policy's own compaction in a free replay; over 0: it is late; nil: none within Near.
	Distance *int `json:"distance"`
}

// Short is the recorded figure less the policy's estimate, tokens; not known where none is recorded, or where the client
// compares another figure.
func (c *CompactionScore) Short() (tokens int, known bool) {
	if c.PreTokens == 0 || c.Count != nil {
		return 0, false
	}
	return c.PreTokens - c.Used, true
}

// Near is the largest distance, in requests, at which a compaction of the policy counts as the recorded one.
const Near = 5

// Alarm is a decision to compact where nothing is recorded.
type Alarm struct {
	Request   int              `json:"request"`
	Line      int              `json:"line"` // of the response
	Used      int              `json:"used"`
	Threshold int              `json:"threshold"`
	Count     []policy.Counted `json:"count,omitempty"` // as CompactionScore.Count
	Early     int              `json:"early,omitempty"` // requests to the next recorded compaction; 0: there is none
}

// ScoreOptions are those of a replay, and whether windows may be fitted.
type ScoreOptions struct {
	replay.Options
	NoFit bool
}

// Score scores a policy against one record.
func Score(r *replay.Record, pol *policy.Policy, opt ScoreOptions) (*SessionScore, error) {
	conv := r.Conv
	s := &SessionScore{
		Session: conv.SessionID, Agent: conv.Agent, File: conv.Path, Author: authorOf(conv), Model: conv.Model, Version: conv.Version,
		bands: r.Counted.Client.Compactions, Clients: r.Counted.Client.Compactions.Of(conv.Version), Policy: pol.Name, Requests: len(conv.Requests),
		Compactions: []CompactionScore{}, Alarms: []Alarm{}, Micro: []Microcompacted{}, MicroAlarms: []MicroAlarm{}, Breaks: []Break{},
	}
	decisions, err := s.decide(r, pol, &opt)
	if err != nil {
		return nil, err
	}
	recorded := *pol
	recorded.Recorded = true
	recorded.Stages = nil
	var timelines [2]*replay.Timeline
	for i, p := range []*policy.Policy{pol, &recorded} {
		t, err := r.Replay(p, opt.Options)
		if err == nil {
			err = t.CheckValid()
		}
		if err != nil {
			return nil, err
		}
		timelines[i] = t
	}
	own := timelines[0]
	track := timelines[1]
	s.compactions(conv, r.CompactionKind, decisions)
	s.alarms(r, decisions)
	s.free(conv, own)
	s.microcompactions(r, own, track)
	s.usage(r, track)
	return s, nil
}

// decide returns the policy's decisions, in the window that is fitted to the recorded session where that is possible.
func (s *SessionScore) decide(r *replay.Record, pol *policy.Policy, opt *ScoreOptions) ([]replay.Decision, error) {
	if !opt.NoFit && opt.Window == 0 {
		fit, err := r.FitWindow(pol, opt.Options)
		if err != nil {
			return nil, err
		}
		if s.Fit = fit; fit != nil {
			opt.Window = fit.Window
			opt.WindowSet = true
		}
	}
	decisions, err := r.Decide(pol, opt.Options)
	if err != nil {
		return nil, err
	}
	for i := range decisions {
		s.Window = max(s.Window, decisions[i].Window)
	}
	return decisions, nil
}

// All is the row of all client versions, or of all models.
const All = "all"

// withBands adds the bands of a client's versions to the names of rows, oldest first, and the one that is used.
func withBands(rows []string, list policy.Bands, used string) []string {
	for _, b := range append(slices.Clone(list), policy.Band{Name: used}) {
		if b.Name != "" && !slices.Contains(rows, b.Name) {
			rows = append(rows, b.Name)
		}
	}
	return rows
}
