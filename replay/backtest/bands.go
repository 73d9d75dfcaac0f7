package backtest

import (
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/session"
)

// All is the row of all client versions, or of all models.
const All = "all"

// bands are ranges of client versions, newest first; each begins at its version.
type bands []struct{ from, name string }

// compactionBands are the client versions between which the rules of compaction changed, as recorded.
var compactionBands = bands{
	{"2.1.119", "2.1.119+"},      // used is counted from the response's first line; windows of 400,000 and 600,000
	{"2.1.52", "2.1.52-2.1.118"}, // no automatic compaction is recorded
	{"2.1.21", "2.1.21-2.1.51"},  // at 167,000
	{"2.1.12", "2.1.12-2.1.20"},  // at 155,000, preTokens to the token
	{"", "to 2.1.11"},            // at 155,000, with reminders that are on no line
}

// recordingBands are the client versions between which what is recorded changed (docs/internals/transcripts.md).
var recordingBands = bands{
	{"2.1.228", "2.1.228+"},      // thinking tokens
	{"2.1.91", "2.1.91-2.1.227"}, // attachments
	{"2.1.52", "2.1.52-2.1.90"},  // output tokens right again
	{"2.1.12", "2.1.12-2.1.51"},  // output tokens wrong
	{"", "to 2.1.11"},
}

// of returns the name of the band of a version.
func (list bands) of(version string) string {
	for _, b := range list {
		if version != "" && session.CompareVersions(version, b.from) >= 0 {
			return b.name
		}
	}
	return list[len(list)-1].name
}

// names returns All and the names of the bands, oldest first.
func (list bands) names() []string {
	names := []string{All}
	for _, b := range slices.Backward(list) {
		names = append(names, b.name)
	}
	return names
}
