package check

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/compare"
)

// Result is one session replayed for one case.
type Result struct {
	Case    int    // index into Config.Cases
	Session string // file, relative to the configuration, with slashes
	Agent   string // "" for the main conversation
	File    string // as a command of this run takes it
	Command string // the policy, as a command of this run takes it: NAME[,STAGE.PARAM=VALUE …]
	Input   string // content hash
	Policy  *policy.Policy
	Values  compare.Values
	Events  []string // each as Event.String
}

// NewResult takes from a replay what is judged.
func NewResult(tl *replay.Timeline) Result {
	r := Result{Values: compare.Of(tl), Events: make([]string, len(tl.Events))}
	for i, f := range compare.Figures() {
		if f.Unit == "USD" {
			r.Values[i] = math.Round(r.Values[i]*1e6) / 1e6
		}
	}
	for i := range tl.Events {
		r.Events[i] = newEvent(&tl.Events[i]).String()
	}
	return r
}

// Event is what a baseline keeps of an event: enough to tell that another one
// happened. What it says in words is left out.
type Event struct {
	Request int    `json:"request"` // 0: after the last request
	Stage   string `json:"stage"`
	Kind    string `json:"kind"`
	Before  int    `json:"tokens_before"`
	After   int    `json:"tokens_after"`
	Results int    `json:"results"` // tool_results changed
	Mark    string `json:"mark"`    // of its trigger, its targets, and the figures it records
}

func newEvent(e *replay.Event) Event {
	out := Event{Stage: e.Stage, Kind: string(e.Kind), Before: e.Before, After: e.After, Results: e.Results}
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

// String is the event as a baseline holds it, one line.
func (e Event) String() string {
	at := atEnd
	if e.Request > 0 {
		at = strconv.Itoa(e.Request)
	}
	return fmt.Sprintf("%s %s %s %d %d %d %s", at, e.Stage, e.Kind, e.Before, e.After, e.Results, e.Mark)
}

// ParseEvent reads what String writes.
func ParseEvent(s string) (Event, error) {
	f := strings.Fields(s)
	if len(f) != 7 {
		return Event{}, fmt.Errorf("%q is no event: want seven words", s)
	}
	e := Event{Stage: f[1], Kind: f[2], Mark: f[6]}
	for i, to := range map[int]*int{0: &e.Request, 3: &e.Before, 4: &e.After, 5: &e.Results} {
		if i == 0 && f[0] == atEnd {
			continue
		}
		n, err := strconv.Atoi(f[i])
		if err != nil {
			return Event{}, fmt.Errorf("%q is no event: %q is no number", s, f[i])
		}
		*to = n
	}
	return e, nil
}
