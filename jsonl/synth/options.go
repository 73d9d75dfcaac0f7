// Package synth writes session files that never were: a simulated client works
// on a simulated project and records it as Claude Code would, in the shape of
// a chosen client version. The same options give the same bytes on every
// machine; no clock, no map order and no floating-point sum is involved.
//
// A session is coherent. Reads show the files of the project with line
// numbers, edits replace text that stands in the file as it was read, greps
// find what is there. What the API would have counted is settled beforehand
// (see Options.ToolCharsPerToken), so usage, prompt caching, microcompactions
// and compactions follow from what is really in context, and a reader's
// figures can be held against a truth.
//
// Generate writes a whole session; Client is the simulated client below it,
// for sessions told step by step.
package synth

import (
	"fmt"
	"io"
	"time"
)

// Options say what session to write. Sizes left at zero take the default
// named with the field; rates left at zero are off. Default gives a lively mix.
type Options struct {
	// Seed chooses the session. Default 1.
	Seed uint64
	// Requests is how many API calls of the main conversation to write, at
	// least; the last turn is finished. Default 40, or no limit where Bytes is set.
	Requests int
	// Bytes stops the session at the end of the turn in which the file
	// reaches this size. Default 0: no limit.
	Bytes int64
	// Version is the client that writes, "1.0.17" to "2.1.239". It decides
	// the lines' shape and at what usage the client compacts. Default "2.1.19".
	Version string
	// Model is the model's name in assistant messages. Default: one that the
	// version was used with.
	Model string
	// SessionID is the session's uuid. Default: made from the seed.
	SessionID string
	// Project is the project's folder as the session names it (cwd).
	// Default "/home/dev/harbor".
	Project string
	// StartTime is the first line's time. Default 2026-01-15T09:00:00Z.
	StartTime time.Time

	// Window is the context window, in tokens. The client compacts at
	// window-45,000 up to 2.1.20 and window-33,000 after. At least
	// Overhead + 80,000. Default 200,000.
	Window int
	// Overhead is the system prompt and the tools, in tokens: sent with every
	// request, on no line. Default 18,800.
	Overhead int
	// ToolCharsPerToken is the truth about tool output, in ASCII characters a
	// token; other characters cost 0.7 (two bytes), 1.1 (CJK) or 2.6 (emoji)
	// tokens each. Default 2.9.
	ToolCharsPerToken float64
	// ProseCharsPerToken is the same for prompts, answers, thinking and
	// summaries. Default 3.6. (Tool inputs: always 3.0.)
	ProseCharsPerToken float64

	// RequestsPerTurn is the mean number of API calls a typed prompt leads
	// to; every fifth turn or so is four times as long. Default 12.
	RequestsPerTurn int
	// ResultChars is the mean size of a large tool result, in characters.
	// Default 3,200.
	ResultChars int
	// Files is the number of files in the simulated project. Default 24.
	Files int

	// Parallel is the share of responses that call several tools at once.
	Parallel float64
	// Thinking is the share of responses that begin with a thinking block.
	Thinking float64
	// Progress is the share of tool calls with progress lines (2.1.11-2.1.81).
	Progress float64
	// Attachments is the share of requests with an attachment line before
	// them (2.1.91 on).
	Attachments float64
	// Metadata is the share of requests with lines outside the chain around
	// them: titles, modes, snapshots, summaries of other sessions.
	Metadata float64
	// Rewinds is the share of turns whose prompt was first sent in another
	// form and abandoned: two prompts with one parent.
	Rewinds float64
	// Subagents is the share of requests that start a subagent. Its lines go
	// to a file of its own (see Open), in clients before 2.0 into the session.
	Subagents float64
	// Offloads is the share of tool calls whose output is too large for the
	// context and is left in a file (see Open), a stub in its place.
	Offloads float64
	// CJK is the share of prompts, answers and files in Chinese, Japanese or
	// Korean, with emoji.
	CJK float64
	// Interrupts is the share of turns that the user stops.
	Interrupts float64
	// Queued is the share of turns in which a prompt is typed while the
	// agent works.
	Queued float64
	// Pauses is the share of turns before which the user is away for more
	// than an hour, so that the prompt cache is cold.
	Pauses float64
	// APIErrors is the share of requests with retried API errors before them;
	// every fourth of these ends the turn with a synthetic message (2.1.5 on).
	APIErrors float64
	// Commands is the share of turns before which a local command stands,
	// with its caveat and output.
	Commands float64
	// Failures is the share of tool calls that fail.
	Failures float64
	// ManualCompacts is the share of turns before which the user compacts.
	ManualCompacts float64
	// Lost is the share of automatic compactions at which the tool result in
	// flight is counted but never written (2.1.17-2.1.50).
	Lost float64
	// NoMicrocompact turns size microcompaction off. Clients 2.1.12-2.1.22 do it.
	NoMicrocompact bool
	// NoAutocompact turns automatic compaction off.
	NoAutocompact bool

	// Open creates a file beside the session: name is relative to the folder
	// that holds <session>.jsonl, e.g. "<session>/tool-results/<id>.txt" or
	// "<session>/subagents/agent-<id>.jsonl". Nil: these files are not written.
	Open func(name string) (io.WriteCloser, error)
}

// Default returns options that use everything the version knows, at rates like
// those of real sessions.
func Default() Options {
	return Options{
		Parallel: 0.22, Thinking: 0.4, Progress: 0.12, Attachments: 0.12, Metadata: 0.1,
		Rewinds: 0.04, Subagents: 0.01, Offloads: 0.004, CJK: 0.03, Interrupts: 0.05,
		Queued: 0.05, Pauses: 0.08, APIErrors: 0.006, Commands: 0.06, Failures: 0.04,
	}
}

func (o *Options) fill() (release, error) {
	if o.Seed == 0 {
		o.Seed = 1
	}
	if o.Requests == 0 {
		o.Requests = 40
		if o.Bytes > 0 {
			o.Requests = 1 << 60
		}
	}
	if o.Version == "" {
		o.Version = "2.1.19"
	}
	v, err := parseRelease(o.Version)
	if err != nil {
		return 0, err
	}
	if o.Model == "" {
		o.Model = v.model()
	}
	if o.Project == "" {
		o.Project = "/home/dev/harbor"
	}
	if o.StartTime.IsZero() {
		o.StartTime = time.Date(2026, 1, 15, 9, 0, 0, 0, time.UTC)
	}
	set := func(p *int, def int) {
		if *p == 0 {
			*p = def
		}
	}
	set(&o.Window, 200000)
	set(&o.Overhead, 18800)
	set(&o.RequestsPerTurn, 12)
	set(&o.ResultChars, 3200)
	set(&o.Files, 24)
	if o.ToolCharsPerToken == 0 {
		o.ToolCharsPerToken = 2.9
	}
	if o.ProseCharsPerToken == 0 {
		o.ProseCharsPerToken = 3.6
	}
	return v, o.check(v)
}

func (o *Options) check(v release) error {
	for _, n := range []struct {
		name     string
		v        int
		min, max int
	}{
		{"requests", o.Requests, 1, 1 << 60},
		{"window", o.Window, o.Overhead + 80000, 10_000_000},
		{"overhead", o.Overhead, 0, 1_000_000},
		{"requests per turn", o.RequestsPerTurn, 1, 10000},
		{"result chars", o.ResultChars, 200, 60000},
		{"files", o.Files, 4, 2000},
	} {
		if n.v < n.min || n.v > n.max {
			return fmt.Errorf("%s %d: want %d to %d", n.name, n.v, n.min, n.max)
		}
	}
	if o.Bytes < 0 {
		return fmt.Errorf("bytes %d: want 0 or more", o.Bytes)
	}
	if !(o.ToolCharsPerToken >= 0.5 && o.ToolCharsPerToken <= 20) || !(o.ProseCharsPerToken >= 0.5 && o.ProseCharsPerToken <= 20) {
		return fmt.Errorf("characters per token %g and %g: want 0.5 to 20", o.ToolCharsPerToken, o.ProseCharsPerToken)
	}
	for _, p := range []float64{o.Parallel, o.Thinking, o.Progress, o.Attachments, o.Metadata, o.Rewinds,
		o.Subagents, o.Offloads, o.CJK, o.Interrupts, o.Queued, o.Pauses, o.APIErrors, o.Commands, o.Failures, o.ManualCompacts, o.Lost} {
		if !(p >= 0 && p <= 1) {
			return fmt.Errorf("rate %g: want 0 to 1", p)
		}
	}
	return nil
}

// Stats count what was written. Tokens are the truth, not an estimate.
type Stats struct {
	SessionID     string
	Lines         int
	Bytes         int64
	Requests      int // API calls of the main conversation that were answered
	Abandoned     int // those of them on branches that were taken back
	Prompts       int // typed prompts on the live branch that begin a turn (not those handed to a running one)
	ToolCalls     int
	Rewinds       int
	Subagents     int
	Offloads      int
	Microcompacts int
	Compactions   int
	RawTokens     int64 // overhead and everything ever said on the live branch, summaries left out
	InputTokens   int64 // over all requests: what was sent
	OutputTokens  int64 // over all requests: the truth, also where the record is wrong
	PeakContext   int   // largest input of one request
}
