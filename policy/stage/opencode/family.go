// Package opencode reproduces how OpenCode manages the context of a session: which tool outputs it clears (prune),
// when it compacts (overflow) and what is visible after a compaction.
//
// Three versions are reproduced: 1.1.36 (commit 8c4bf225), 1.18.3 and 1.18.34. What differs between them is data in a
// version. "Section" in a comment is a section of docs/internals/opencode.md.
//
// The files reference_*_test.go reproduce OpenCode on its own message store: the prompt loop, the visible messages
// and what the model is sent, with the stages' own arithmetic where they have it. testdata/cases holds inputs with
// the answers of OpenCode's own code in each version; the tests compare the reference with those answers, and the
// stages with the reference.
package opencode

import (
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
)

// Family is OpenCode.
func Family() policy.Family {
	return policy.Family{
		Name: "opencode", Title: "OpenCode",
		Stages: []policy.Definition{
			defineOpencodeCheckpoint(),
			defineOpencodeCompaction(),
			defineOpencodePrune(),
			defineOpencodeQueued(),
			defineOpencodeTruncate(),
		},
		Environment: environment,
		Recorder:    &policy.Recorder{Product: product, Microcompaction: pruned{}, Clears: pruneStage, Limits: limits(), Version: clientVersion},
		Variables:   []string{envDisablePrune, envDisableAutocompact, envOutputTokenMax},
		Orders:      [][]string{{"opencode_truncate", "opencode_prune"}, {"opencode_truncate", "opencode_compaction"}},
	}
}

// product is OpenCode's name, a bare policy name and that of its sessions.
const product = "opencode"

// pruned is what a recorded prune leaves of results: OpenCode records which, and keeps their outputs.
type pruned struct{}

// Leaves reports whether a result is pruned already.
func (pruned) Leaves(v policy.View, _ policy.TextSource, t policy.Target) (bool, error) {
	r := v.Replacement(t)
	return r != nil && r.Text == clearedText, nil
}

// Stub makes the text in the place of a pruned result.
func (pruned) Stub(policy.View, policy.Result) policy.Content {
	return policy.NewContent(jsonl.KindToolResult, clearedText)
}

// Stage prunes by the default parameters, however little that saves.
func (pruned) Stage() policy.Stage {
	return newPrune(&OpencodePrune{Auto: true, Protect: 40000, Turns: 2, ProtectedTools: []string{"skill"}})
}

// Names of the environment variables the rules read.
const (
	envDisablePrune       = "OPENCODE_DISABLE_PRUNE"
	envDisableAutocompact = "OPENCODE_DISABLE_AUTOCOMPACT"
	envOutputTokenMax     = "OPENCODE_EXPERIMENTAL_OUTPUT_TOKEN_MAX"
)

// environment changes a policy as OpenCode's environment variables would.
func environment(e *policy.Environment) {
	if isOn(e.Get(envDisablePrune)) {
		e.Change("opencode_prune.auto", "false", envDisablePrune)
	}
	if isOn(e.Get(envDisableAutocompact)) {
		e.Change("opencode_compaction.auto", "false", envDisableAutocompact)
	}
	if n := outputTokenMax(e.Get(envOutputTokenMax)); n != defaultOutputTokenMax && e.Has("opencode_compaction.output_token_max") {
		if !e.Change("opencode_compaction.output_token_max", strconv.Itoa(n), envOutputTokenMax) {
			e.Warn(envOutputTokenMax, "%d is more than a parameter takes", n)
		}
	}
}

// isOn reports whether the value of a switch is "true" or "1", in any case. OpenCode 1.1.36 to 1.18.34: sections 3.2
// and 4.
func isOn(value string) bool { return value == "1" || strings.EqualFold(value, "true") }

// outputTokenMax is the variable's value, read as JavaScript's Number does, if that is a positive integer, else
// defaultOutputTokenMax. OpenCode 1.1.36 to 1.18.34: section 4.
func outputTokenMax(value string) int {
	s := jsTrim(value)
	n, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(n, 0) {
		whole, _ := strconv.ParseUint(s, 0, 64) // 0x, 0o and 0b
		n = float64(whole)
	}
	if strings.ContainsAny(s, "_pP") || n <= 0 || math.IsInf(n, 0) || n != math.Trunc(n) { // Go's own forms are none of JavaScript's
		return defaultOutputTokenMax
	}
	const largest = 1 << 53 // above any limit, and exact
	return int(min(n, largest))
}

// jsTrim is JavaScript's trim: white space, line ends and the byte order mark.
func jsTrim(s string) string {
	return strings.TrimFunc(s, func(r rune) bool {
		return r == '\uFEFF' || r != '\u0085' && unicode.IsSpace(r)
	})
}

// clientVersion is what sessions show of every version: each part that is sent is in the database.
func clientVersion(string) policy.ClientVersion { return policy.ClientVersion{RecordsAttached: true} }
