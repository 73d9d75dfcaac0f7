package policy

import (
	"time"

	"github.com/ctxkit/ctxkit/jsonl/session"
)

// Recorder is the client of a product whose sessions are read: what it does that its lines do not say, by version. The
// version "" is unknown.
type Recorder struct {
	Product string // a Conversation's Product

	// Microcompaction is the client's rule for clearing old tool results. It is used for sessions that record a
	// microcompaction without the texts that it left. Nil: the client has none.
	Microcompaction MicrocompactionRule

	// Clears is the stage that clears as the client does where a turn ends; "": it clears before requests, if at all.
	Clears string

	// CompactionCall is the request in which a client of a version asks for a summary of a view of which it keeps some
	// items, for sessions that record the summary and not the request. before is what the view weighed before this
	// request's edits, overhead the session's, in tokens. Nil: it is not known.
	CompactionCall func(version string, v View, kept []ItemID, before, overhead int) *Call

	// Version is what a client of a version does; nil: nothing of what ClientVersion lists.
	Version func(version string) ClientVersion

	// Limits are a provider's limits of a model on a day, by the table that the client follows. Zero: it has none. Nil:
	// it follows what is known of the model alone.
	Limits func(provider, model string, day time.Time) ModelLimits

	// Elsewhere is the built-in policy of the product's sessions with models of a provider, whatever their version: "": the
	// release that recorded them. Nil: the provider decides nothing.
	Elsewhere func(provider string) string

	Compactions Bands // the versions between which the rules of compaction changed
	Lines       Bands // the versions between which what is recorded changed
}

// ModelLimits are what a model takes and writes at most, in tokens; 0: not known, or no limit of its own.
type ModelLimits struct {
	Context, Input, Output int
	From                   string // the client's table; "": not said
	Assumed                bool   // the table lacks the model: they are those of another, or what the client falls back to
}

// ClientVersion is what a client of one version does.
type ClientVersion struct {
	// MarkedWindows: it gives large windows to marked models only (MODEL[1m]).
	MarkedWindows bool

	// CompactsIdle is how long before the end of an hour's cache it compacts while the user is away, IdleLeast the least context
	// for that; 0: it never does.
	CompactsIdle time.Duration
	IdleLeast    int

	// Headroom is what its threshold is below the window that it follows, tokens; 0: not known. LeastWindow is the
	// smallest such window that a user can set, tokens; 0: there is no limit.
	Headroom, LeastWindow int

	// Reactive: without a window of the user it compacts only after the API has refused a prompt.
	Reactive bool

	// KeepsThinking: its requests ask the server to keep all thinking.
	KeepsThinking bool

	// Head is the tools and the system prompt up to the last breakpoint before the messages, Shared the part of it that
	// other processes of the client read, as is usual: medians of recorded sessions, in tokens.
	Head, Shared int

	// OneHead: the shared part is usually all of it.
	OneHead bool

	// SameSystem: a new process has the same system prompt. That of other versions holds the state of the repository.
	SameSystem bool

	// WholeOutput: the output tokens that it records are all that a response adds to the next request.
	WholeOutput bool

	// SameOverhead: its system prompt and tools stay the same. A difference from what they took at the first request is
	// an error of the messages' weights, and ends with a compaction.
	SameOverhead bool

	// RecordsAttached: what it sends after a compaction is on lines. A small rest of the next request beyond them is an error of
	// the messages' weights.
	RecordsAttached bool

	// SealedSummary is what a summary takes that only the provider can read and the recording leaves out: the median of
	// recorded sessions, tokens; 0: it writes none.
	SealedSummary int

	// SilentFrom and SilentLeast describe microcompactions that no line records: the client makes them from SilentFrom
	// used tokens on, and each removes at least SilentLeast tokens. Both are 0 where each microcompaction has a line.
	SilentFrom, SilentLeast int
}

// SilentMicrocompaction reports whether a fall of the recorded context is that of a microcompaction without a line:
// used is the tokens before it, fell what was removed.
func (v ClientVersion) SilentMicrocompaction(used, fell int) bool {
	return v.SilentFrom > 0 && used >= v.SilentFrom && fell >= v.SilentLeast
}

// At is what a client of a version does.
func (r *Recorder) At(version string) ClientVersion {
	if r.Version == nil {
		return ClientVersion{}
	}
	return r.Version(version)
}

// Bands are ranges of client versions, oldest first. The first begins at no version and holds the unknown ones.
type Bands []Band

// Band is a range of client versions: from one up to that of the next band.
type Band struct{ From, Name string }

// Of is the name of the band of a version, "" where there are no bands.
func (list Bands) Of(version string) (name string) {
	for i, b := range list {
		if i == 0 || version != "" && session.CompareVersions(version, b.From) >= 0 {
			name = b.Name
		}
	}
	return name
}

// RecorderOf is the recorder of a product among families; one that knows nothing where there is none.
func RecorderOf(product string, families []Family) *Recorder {
	for i := range families {
		if r := families[i].Recorder; r != nil && r.Product == product {
			return r
		}
	}
	return &Recorder{Product: product}
}
