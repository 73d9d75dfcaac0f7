package check

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/compare"
)

// CaseResult is one session replayed for one case.
type CaseResult struct {
	Case    int    // index into Config.Cases
	Session string // file, relative to the configuration, with slashes
	Agent   string // "" for the main conversation
	File    string // as a command of this run takes it
	Command string // the policy, as a command of this run takes it: NAME[,STAGE.PARAM=VALUE …]
	Input   string // content hash
	Policy  *policy.Policy
	Files   map[string]string // content hashes of the files that the policy was read from
	Now     string            // what the case's bare name means now, where the baseline's release ran instead
	Old     *OldResult        // what the baseline's policy does here; nil where it is the same one, or not in a baseline
	Outcome
}

// Outcome is what is judged of a replay.
type Outcome struct {
	Values compare.Values
	Events []string // each as Event.String
	Acted  []string // stages with an event
	Window int      // tokens

	Assumed []string // warnings of windows that nothing states
}

// OldResult is the replay of a baseline's policy by this version.
type OldResult struct {
	Outcome
	Settings []policy.Setting // of the policy, as this version lists them
	Err      error            // why it cannot be replayed
}

// NewOutcome takes from a replay what is judged.
func NewOutcome(tl *replay.Timeline) Outcome {
	o := Outcome{Values: compare.Of(tl), Events: make([]string, len(tl.Events)), Window: tl.Window}
	for i, e := range tl.Events {
		o.Events[i] = newEvent(&e).String()
		if !slices.Contains(o.Acted, e.Stage) {
			o.Acted = append(o.Acted, e.Stage)
		}
	}
	for _, w := range tl.Warnings {
		if w.Code == replay.CodeWindowAssumed {
			o.Assumed = append(o.Assumed, w.Message)
		}
	}
	return o
}

// EventDigest is what a baseline keeps of an event: enough to see that it differs from another one, without its text.
type EventDigest struct {
	Request int    `json:"request"` // 0: after the last request
	Stage   string `json:"stage"`
	Kind    string `json:"kind"`
	Before  int    `json:"tokens_before"`
	After   int    `json:"tokens_after"`
	Results int    `json:"results"` // tool_results changed
	Mark    string `json:"mark"`    // of its trigger, its targets, and the figures it records
}

func newEvent(e *replay.Event) EventDigest {
	out := EventDigest{Stage: e.Stage, Kind: string(e.Kind), Before: e.Before, After: e.After, Results: e.Results}
	if e.Request != nil {
		out.Request = *e.Request
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q %d\n", e.Trigger, e.Messages)
	for _, key := range slices.Sorted(maps.Keys(e.Detail)) {
		fmt.Fprintf(h, "%q %d\n", key, e.Detail[key])
	}
	for _, t := range e.Targets {
		fmt.Fprintf(h, "%q %q\n", t.Message, t.ToolUse)
	}
	out.Mark = hex.EncodeToString(h.Sum(nil)[:4])
	return out
}

const atEnd = "end"

// String is the event as a line of a baseline.
func (e EventDigest) String() string {
	at := atEnd
	if e.Request > 0 {
		at = strconv.Itoa(e.Request)
	}
	return fmt.Sprintf("%s %s %s %d %d %d %s", at, e.Stage, e.Kind, e.Before, e.After, e.Results, e.Mark)
}

// ParseEvent reads what String writes; ok is false for anything else.
func ParseEvent(s string) (e EventDigest, ok bool) {
	var at string
	_, err := fmt.Sscanf(s, "%s %s %s %d %d %d %s", &at, &e.Stage, &e.Kind, &e.Before, &e.After, &e.Results, &e.Mark)
	e.Request, _ = strconv.Atoi(at) // 0 at the end
	return e, err == nil && e.String() == s
}
