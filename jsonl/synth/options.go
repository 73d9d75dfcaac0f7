// Package synth writes synthetic session files: a simulated client works on a simulated project and records it as
// Claude Code would, in the format of a chosen client version. The same options give the same bytes on every machine:
// it uses no clock, no map order and no floating-point sum.
//
// A session is coherent. Reads show the files of the project with line numbers, edits replace text that is in the
// file as it was read, greps find what is there. The token count of every text is fixed (see weight.go), so usage,
// prompt caching, microcompactions and compactions follow from what is in context, and the figures of a reader can be
// compared with the true ones.
package synth

import (
	"cmp"
	"fmt"
	"io"
	"time"
)

// SessionOptions choose the synthetic session. A size of zero is replaced by the default of its field; a rate of zero
// is off. Default returns a mix like that of real sessions.
type SessionOptions struct {
	Seed     uint64 // chooses the session; default 1
	Requests int    // fewest API calls of the main conversation: the last turn is finished; default 40, none with Bytes
	Bytes    int64  // size at which the session ends with the turn; default 0: no limit
	Version  string // simulated client, "1.0.17" to "2.1.299": format of the lines, compactions; default "2.1.19"
	Model    string // name in assistant messages; default: one that the version was used with

	// Window is the context window, in tokens: at least Overhead + 80,000. The client compacts at window-45,000 up to
	// 2.1.20 and window-33,000 after. Default 200,000.
	Window   int
	Overhead int // system prompt and tools, in tokens: sent with every request, on no line; default 18,800

	RequestsPerTurn int // mean number of API calls after a typed prompt; a fifth of turns have four times as many; default 12
	ResultChars     int // mean size of a large tool result, in characters; default 3,200
	Files           int // files in the simulated project; default 24

	Parallel       float64 // share of responses that call several tools at once
	Thinking       float64 // share of responses that begin with a thinking block
	Progress       float64 // share of tool calls with progress lines (2.1.11-2.1.81)
	Attachments    float64 // share of requests with an attachment line before them (2.1.91 on)
	Metadata       float64 // share of requests with lines outside the chain around them: titles, modes, snapshots
	Rewinds        float64 // share of turns whose prompt was first sent in another form: two prompts with one parent
	Subagents      float64 // share of requests that start a subagent, with its own file (see Open) from 2.0 on
	Offloads       float64 // share of tool calls whose output goes to a file (see Open): the session holds a preview
	CJK            float64 // share of prompts, answers and files in Chinese, Japanese or Korean, with emoji
	Interrupts     float64 // share of turns that the user stops
	Queued         float64 // share of turns in which a prompt is typed while the agent works
	Pauses         float64 // share of turns after more than an hour, so that the prompt cache is cold
	APIErrors      float64 // share of requests after retried API errors; a fourth of them end the turn (2.1.5 on)
	Commands       float64 // share of turns with a local command, its caveat and its output before them
	Failures       float64 // share of tool calls that fail
	ManualCompacts float64 // share of turns before which the user compacts
	Lost           float64 // share of automatic compactions at which the last result is never written (2.1.17-2.1.50)

	// Open creates a file next to the session: name is relative to the folder that holds <session>.jsonl, e.g.
	// "<session>/tool-results/<id>.txt" or "<session>/subagents/agent-<id>.jsonl". Nil: these files are not written.
	Open func(name string) (io.WriteCloser, error)
}

// Default returns options that use all that the version knows, at rates like real ones.
func Default() SessionOptions {
	return SessionOptions{
		Parallel: 0.22, Thinking: 0.4, Progress: 0.12, Attachments: 0.12, Metadata: 0.1,
		Rewinds: 0.04, Subagents: 0.01, Offloads: 0.004, CJK: 0.03, Interrupts: 0.05,
		Queued: 0.05, Pauses: 0.08, APIErrors: 0.006, Commands: 0.06, Failures: 0.04,
	}
}

// root is the project's folder as the session names it (cwd).
const root = "/home/dev/harbor"

// start is the time of the first line.
func start() time.Time { return time.Date(2026, 1, 15, 9, 0, 0, 0, time.UTC) }

// fill sets the defaults and checks the options.
func (o *SessionOptions) fill() (release, error) {
	o.Seed = cmp.Or(o.Seed, 1)
	o.Version = cmp.Or(o.Version, "2.1.19")
	if o.Requests == 0 && o.Bytes > 0 {
		o.Requests = 1 << 60
	}
	v, err := newRelease(o.Version)
	if err != nil {
		return v, err
	}
	o.Model = cmp.Or(o.Model, v.model())
	for _, n := range []struct {
		name          string
		v             *int
		def, min, max int
	}{
		{"requests", &o.Requests, 40, 1, 1 << 60},
		{"overhead", &o.Overhead, 18800, 0, 1_000_000},
		{"window", &o.Window, 200_000, 80000, 10_000_000},
		{"requests per turn", &o.RequestsPerTurn, 12, 1, 10000},
		{"result chars", &o.ResultChars, 3200, 200, 60000},
		{"files", &o.Files, 24, 4, 2000},
	} {
		*n.v = cmp.Or(*n.v, n.def)
		if n.v == &o.Window {
			n.min += o.Overhead
		}
		if *n.v < n.min || *n.v > n.max {
			return v, fmt.Errorf("%s %d: want %d to %d", n.name, *n.v, n.min, n.max)
		}
	}
	if o.Bytes < 0 {
		return v, fmt.Errorf("bytes %d: want 0 or more", o.Bytes)
	}
	for _, p := range []float64{o.Parallel, o.Thinking, o.Progress, o.Attachments, o.Metadata, o.Rewinds,
		o.Subagents, o.Offloads, o.CJK, o.Interrupts, o.Queued, o.Pauses, o.APIErrors, o.Commands, o.Failures, o.ManualCompacts, o.Lost} {
		if !(p >= 0 && p <= 1) {
			return v, fmt.Errorf("rate %g: want 0 to 1", p)
		}
	}
	return v, nil
}

// Stats count what was written. Tokens are the true figures, not estimates.
type Stats struct {
	SessionID     string
	Lines         int
	Bytes         int64
	Requests      int // answered API calls of the main conversation
	Abandoned     int // those of them on abandoned branches
	Prompts       int // typed prompts on the live branch that begin a turn
	ToolCalls     int
	Rewinds       int
	Microcompacts int
	Compactions   int
	RawTokens     int64 // the overhead and all texts of the live branch, summaries left out
	PeakContext   int   // largest input of one request
}
