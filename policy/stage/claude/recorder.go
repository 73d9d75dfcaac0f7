package claude

import (
	"time"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// recorder is Claude Code as its sessions show it (docs/internals/transcripts.md).
func recorder() *policy.Recorder {
	return &policy.Recorder{
		Product: product, Microcompaction: microcompaction{}, CompactionCall: recordedCall, Version: clientVersion,
		Compactions: policy.Bands{
			{From: "", Name: "to 2.1.11"},            // at 155,000, with reminders that are on no line
			{From: "2.1.12", Name: "2.1.12-2.1.20"},  // at 155,000, preTokens to the token
			{From: "2.1.21", Name: "2.1.21-2.1.51"},  // at 167,000
			{From: "2.1.52", Name: "2.1.52-2.1.118"}, // no automatic compaction is recorded
			{From: "2.1.119", Name: "2.1.119+"},      // used is counted from the response's first line; windows of 400,000 and 600,000
		},
		Lines: policy.Bands{
			{From: "", Name: "to 2.1.11"},
			{From: "2.1.12", Name: "2.1.12-2.1.51"},  // output tokens wrong
			{From: "2.1.52", Name: "2.1.52-2.1.90"},  // output tokens right again
			{From: "2.1.91", Name: "2.1.91-2.1.227"}, // attachments
			{From: "2.1.228", Name: "2.1.228+"},      // thinking tokens
		},
	}
}

// product is Claude Code's name, a bare policy name and that of its sessions.
const product = "claude-code"

// clientVersion is what sessions of a version show.
func clientVersion(version string) policy.ClientVersion {
	before := func(release string) bool { return session.CompareVersions(version, release) < 0 }
	var v policy.ClientVersion
	if before("2.1.25") { // its own figures: a warning at 135,000, at least 20,000 saved by its estimate
		v.SilentFrom = 135000
		v.SilentLeast = 16000
	}
	if v.Head, v.Shared = 14000, 14000; version == "" {
		return v
	}
	for _, h := range usualHeads {
		if !before(h.from) {
			v.Head = h.all
			v.Shared = h.shared
		}
	}
	v.KeepsThinking = !before("2.1.84")
	v.RecordsAttached = !before("2.1.91")
	v.SameSystem = !before("2.1.280") // the state of the repository is in an attachment
	v.OneHead = !before("2.1.29")
	v.MarkedWindows = before("2.1.76")
	v.Headroom, v.Reactive = 33000, !before("2.1.153")
	if !before(clampSince) {
		v.LeastWindow = smallestWindow
	}
	if !before("2.1.283") { // at 90 % of an hour
		v.CompactsIdle = 6 * time.Minute
		v.IdleLeast = 100000
	}
	return v
}

// usualHeads are what requests read of tools and system prompt where their messages were no longer in the cache, for sessions
// that do not show it themselves: medians of recorded ones, tokens.
var usualHeads = []struct {
	from        string
	all, shared int
}{
	{"2.0.70", 33500, 33500}, {"2.1.10", 28000, 28000}, {"2.1.17", 18600, 16100}, {"2.1.19", 28000, 10950},
	{"2.1.29", 17000, 17000}, {"2.1.200", 17000, 0},
}
