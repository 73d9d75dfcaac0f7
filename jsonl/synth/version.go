package synth

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// release is a client version, and what a client of it does.
type release struct {
	number
	habits
}

// number is a client version as one comparable number.
type number int

// habits are what clients write, as measured on real files. Tags are the first release, and the last one.
type habits struct {
	Boundary      bool `in:"2.0.0"`       // compact_boundary line; before, the summary alone
	Linear        bool `in:"0.0.0-2.1.0"` // results chained one after another
	SourceUUID    bool `in:"2.1.1"`
	GitBranch     bool `in:"2.0.0"`
	Slug          bool `in:"2.0.64-2.1.214"`
	Snapshots     bool `in:"2.0.64"`
	TailEnvelope  bool `in:"2.1.70"` // envelope keys after the payload
	Entrypoint    bool `in:"2.1.78"`
	PromptID      bool `in:"2.1.73"`
	PromptMode    bool `in:"2.1.15"` // permissionMode on prompts
	PromptOrigin  bool `in:"2.1.178"`
	ThinkingMeta  bool `in:"2.0.64-2.1.45"`
	Todos         bool `in:"2.0.64-2.1.56"`
	Caller        bool `in:"2.1.17"`
	CacheSplit    bool `in:"2.0.64"` // usage.cache_creation
	LongCache     bool `in:"2.1.40"` // cache entries of an hour
	Iterations    bool `in:"2.1.38"`
	StopDetails   bool `in:"2.1.86"`
	Diagnostics   bool `in:"2.1.200"`
	Progress      bool `in:"2.1.11-2.1.81"`
	Attachments   bool `in:"2.1.91"`
	QueuedInline  bool `in:"2.1.101"` // a queued prompt joins the running turn
	EmptyThinking bool `in:"2.1.70"`
	TabNumbers    bool `in:"2.1.70"` // Read prints "12\ttext", before "    12→text"
	TurnDuration  bool `in:"2.1.1"`
	MessageCount  bool `in:"2.1.86"`
	LastPrompt    bool `in:"2.1.70"`
	LeafUUID      bool `in:"2.1.121"`
	Titles        bool `in:"2.1.121"`
	Modes         bool `in:"2.1.91"`
	Summaries     bool `in:"0.0.0-2.1.29"`
	NoOutput      bool `in:"2.1.38"`
	Siblings      bool `in:"2.1.119"` // estimate counts from the first split line
	PostTokens    bool `in:"2.1.119"`
	Preserved     bool `in:"2.1.210"`
	Microcompact  bool `in:"2.1.12-2.1.22"`
	APIErrors     bool `in:"2.1.5"`
	AgentFiles    bool `in:"2.0.0"`
	AgentMeta     bool `in:"2.1.70"`
	PersistedPath bool `in:"2.1.45"`
}

// newRelease is the release with a version of the client.
func newRelease(version string) (r release, err error) {
	if r.number, err = parseNumber(version); err != nil {
		return r, err
	}
	list := reflect.ValueOf(&r.habits).Elem()
	for i := range list.NumField() {
		first, last, ended := strings.Cut(list.Type().Field(i).Tag.Get("in"), "-")
		from, _ := parseNumber(first)
		to, _ := parseNumber(last)
		list.Field(i).SetBool(r.number >= from && (!ended || r.number <= to))
	}
	return r, nil
}

func parseNumber(s string) (number, error) {
	parts := strings.Split(s, ".")
	r := number(0)
	for _, p := range parts {
		n, err := strconv.ParseUint(p, 10, 64)
		if err != nil || n > 9999 || len(parts) != 3 {
			return 0, fmt.Errorf("version %q: want MAJOR.MINOR.PATCH", s)
		}
		r = r*1e4 + number(n)
	}
	return r, nil
}

// v2 is version 2.minor.patch.
func v2(minor, patch int) number { return number(2*1e8 + minor*1e4 + patch) }

// v21 is version 2.1.patch; nearly all changes of the format are in 2.1.
func v21(patch int) number { return v2(1, patch) }

func (r number) in(from, to number) bool { return from <= r && r <= to }

// threshold is the usage at which the client compacts by itself.
func (r number) threshold(window int) int {
	if r <= v21(20) {
		return window - 32000 - 13000
	}
	return window - 20000 - 13000
}

// warning is the usage from which it clears old tool results.
func (r number) warning(window int) int { return r.threshold(window) - 20000 }

// outputKind is which output_tokens the split lines of a message carry.
type outputKind int

const (
	outputFirst outputKind = iota // an early count on the first lines, the final count on the last line of half the messages
	outputWrong                   // the count of message_start on all lines
	outputLast                    // growing, the final count on the last line
	outputRight                   // the final count on all lines
)

func (r number) output() outputKind {
	switch {
	case r < v21(12):
		return outputFirst
	case r < v21(52):
		return outputWrong
	case r < v21(91):
		return outputLast
	}
	return outputRight
}

// stopReason reports whether stop_reason is ever written.
func (r number) stopReason() bool { return !r.in(v21(12), v21(51)) }

// resume is the sentence that ends the summary of an automatic compaction.
func (r number) resume() string {
	switch {
	case r >= v21(119):
		return "Continue the conversation from where it left off without asking the user any further questions. Resume directly — do not acknowledge the summary, do not recap what was happening. Pick up the last task as if the break never happened."
	case r >= v21(38):
		return "Please continue the conversation from where we left off without asking the user any further questions. Continue with the last task that you were asked to work on."
	}
	return "Please continue the conversation from where we left it off without asking the user any further questions. Continue with the last task that you were asked to work on."
}

func (r number) model() string {
	switch {
	case r >= v21(203):
		return "claude-opus-5"
	case r >= v21(119):
		return "claude-opus-4-7"
	case r >= v21(32):
		return "claude-opus-4-6"
	case r >= v2(0, 0):
		return "claude-opus-4-5-20251101"
	}
	return "claude-opus-4-20250514"
}
