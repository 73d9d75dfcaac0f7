package synth

import (
	"fmt"
	"strconv"
	"strings"
)

// release is a client version as one comparable number.
type release int

func parseRelease(s string) (release, error) {
	parts := strings.Split(s, ".")
	r := release(0)
	for _, p := range parts {
		n, err := strconv.ParseUint(p, 10, 64)
		if err != nil || n > 9999 || len(parts) != 3 {
			return 0, fmt.Errorf("version %q: want MAJOR.MINOR.PATCH", s)
		}
		r = r*1e4 + release(n)
	}
	return r, nil
}

// v2 is version 2.minor.patch.
func v2(minor, patch int) release { return release(2*1e8 + minor*1e4 + patch) }

// v21 is version 2.1.patch; nearly all changes of the format are in 2.1.
func v21(patch int) release { return v2(1, patch) }

func (r release) in(from, to release) bool { return from <= r && r <= to }

// What a client of a release writes, as measured on real files.

func (r release) boundary() bool      { return r >= v2(0, 0) } // compact_boundary line; before, the summary alone
func (r release) linear() bool        { return r < v21(1) }    // results chained one after another
func (r release) sourceUUID() bool    { return r >= v21(1) }
func (r release) gitBranch() bool     { return r >= v2(0, 0) }
func (r release) slug() bool          { return r.in(v2(0, 64), v21(214)) }
func (r release) snapshots() bool     { return r >= v2(0, 64) }
func (r release) tailEnvelope() bool  { return r >= v21(70) } // envelope keys after the payload
func (r release) entrypoint() bool    { return r >= v21(78) }
func (r release) promptID() bool      { return r >= v21(73) }
func (r release) promptMode() bool    { return r >= v21(15) } // permissionMode on prompts
func (r release) promptOrigin() bool  { return r >= v21(178) }
func (r release) thinkingMeta() bool  { return r.in(v2(0, 64), v21(45)) }
func (r release) todos() bool         { return r.in(v2(0, 64), v21(56)) }
func (r release) caller() bool        { return r >= v21(17) }
func (r release) cacheSplit() bool    { return r >= v2(0, 64) } // usage.cache_creation
func (r release) longCache() bool     { return r >= v21(40) }   // cache entries of an hour
func (r release) iterations() bool    { return r >= v21(38) }
func (r release) stopDetails() bool   { return r >= v21(86) }
func (r release) diagnostics() bool   { return r >= v21(200) }
func (r release) progress() bool      { return r.in(v21(11), v21(81)) }
func (r release) attachments() bool   { return r >= v21(91) }
func (r release) queuedInline() bool  { return r >= v21(101) } // a queued prompt joins the running turn
func (r release) emptyThinking() bool { return r >= v21(70) }
func (r release) tabNumbers() bool    { return r >= v21(70) } // Read prints "12\ttext", before "    12→text"
func (r release) turnDuration() bool  { return r >= v21(1) }
func (r release) messageCount() bool  { return r >= v21(86) }
func (r release) lastPrompt() bool    { return r >= v21(70) }
func (r release) leafUUID() bool      { return r >= v21(121) }
func (r release) titles() bool        { return r >= v21(121) }
func (r release) modes() bool         { return r >= v21(91) }
func (r release) summaries() bool     { return r <= v21(29) }
func (r release) noOutput() bool      { return r >= v21(38) }
func (r release) siblings() bool      { return r >= v21(119) } // estimate counts from the first split line
func (r release) postTokens() bool    { return r >= v21(119) }
func (r release) preserved() bool     { return r >= v21(210) }
func (r release) microcompact() bool  { return r.in(v21(12), v21(22)) }
func (r release) apiErrors() bool     { return r >= v21(5) }
func (r release) agentFiles() bool    { return r >= v2(0, 0) }
func (r release) agentMeta() bool     { return r >= v21(70) }
func (r release) persistedPath() bool { return r >= v21(45) }
func (r release) requests() bool      { return r >= v21(300) } // its own requests on lines

// threshold is the usage at which the client compacts by itself.
func (r release) threshold(window int) int {
	if r <= v21(20) {
		return window - 32000 - 13000
	}
	return window - 20000 - 13000
}

// warning is the usage from which it clears old tool results.
func (r release) warning(window int) int { return r.threshold(window) - 20000 }

// outputKind is which output_tokens the split lines of a message carry.
type outputKind int

const (
	outputFirst outputKind = iota // an early count on the first lines, the final count on the last line of half the messages
	outputWrong                   // the count of message_start on all lines
	outputLast                    // growing, the final count on the last line
	outputRight                   // the final count on all lines
)

func (r release) output() outputKind {
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
func (r release) stopReason() bool { return !r.in(v21(12), v21(51)) }

// resume is the sentence that ends the summary of an automatic compaction.
func (r release) resume() string {
	switch {
	case r >= v21(119):
		return "Continue the conversation from where it left off without asking the user any further questions. Resume directly — do not acknowledge the summary, do not recap what was happening. Pick up the last task as if the break never happened."
	case r >= v21(38):
		return "Please continue the conversation from where we left off without asking the user any further questions. Continue with the last task that you were asked to work on."
	}
	return "Please continue the conversation from where we left it off without asking the user any further questions. Continue with the last task that you were asked to work on."
}

func (r release) model() string {
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
