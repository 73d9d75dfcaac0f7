package policy

import (
	"time"

	"github.com/ctxkit/ctxkit/jsonl/session"
)

// Recorder is the client of a product whose sessions can be read: behaviour that the session files do not show, by
// version. The version "" is unknown.
type Recorder struct {
	Product string // a value of Conversation.Product

	// Microcompaction is the client's rule for clearing old tool results. It is used for sessions that record a
	// microcompaction without the texts that it left. Nil: the client has none.
	Microcompaction MicrocompactionRule

	// Clears is the stage that clears as the client does at the end of a turn; "": the client clears only before
	// requests, or not at all.
	Clears string

	// CompactionCall returns the call with which a client of that version asks for a summary of v, of which it keeps
	// the items in kept. It is used where a session records the summary and not the call. before is the tokens of the
	// view before this request's edits, overhead those of the session's overhead. Nil: unknown.
	CompactionCall func(version string, v View, kept []ItemID, before, overhead int) *Call

	// Version returns the behaviour of a version of the client; nil: unknown for all versions.
	Version func(version string) ClientVersion

	// Limits returns the provider's limits of a model on a day, by the table that the client follows; zero: the table
	// lacks the model. Nil: the client has no such table.
	Limits func(provider, model string, day time.Time) ModelLimits

	// Elsewhere returns the built-in policy for sessions with models of a provider, whatever the client's version; "":
	// that of the release that recorded the session. Nil: the policy never depends on the provider.
	Elsewhere func(provider string) string

	Compactions Bands // versions between which the rules of compaction changed
	Lines       Bands // versions between which the recorded lines changed
}

// ModelLimits are the context window, the largest input and the largest output of a model, in tokens; 0: unknown, or no
// limit of its own.
type ModelLimits struct {
	Context, Input, Output int
	From                   string // the client's table; "": not stated
	Assumed                bool   // the table lacks the model: the limits are those of a similar model or the client's default
}

// ClientVersion is the behaviour of one version of a client that its session files do not show.
type ClientVersion struct {
	// MarkedWindows: it gives large windows only to models marked so, MODEL[1m].
	MarkedWindows bool

	// CompactsIdle is how long before a one-hour cache entry expires it compacts while the user is away; 0: never.
	// IdleLeast is the smallest context, in tokens, at which it does so.
	CompactsIdle time.Duration
	IdleLeast    int

	// Headroom is the number of tokens from its compaction threshold to the context window; 0: unknown. LeastWindow is
	// the smallest window, in tokens, that a user can set; 0: any.
	Headroom, LeastWindow int

	// Reactive: unless the user has set a window, it compacts only after the API refused a prompt.
	Reactive bool

	// KeepsThinking: its requests ask the server to keep all thinking.
	KeepsThinking bool

	// Head is the tokens of tools and system prompt up to the last cache breakpoint before the messages. Shared is the
	// part of it that is usually in the cache already because another process of the client wrote it. Both are medians
	// of recorded sessions.
	Head, Shared int

	// OneHead: Shared is usually all of Head.
	OneHead bool

	// SameSystem: a new process has the same system prompt. In other versions the prompt contains the state of the
	// repository.
	SameSystem bool

	// WholeOutput: the recorded output tokens of a response are all that the response adds to the next request.
	WholeOutput bool

	// SameOverhead: its system prompt and tools do not change within a session. A later difference from their tokens at
	// the first request is therefore an error in the weights of the messages, and it ends with the next compaction.
	SameOverhead bool

	// RecordsAttached: all that it sends after a compaction is on lines. A small difference from the usage of the next
	// request is therefore an error in the weights of the messages.
	RecordsAttached bool

	// SealedSummary is the tokens of the summary that only the provider can read and that the session file leaves out:
	// the median of recorded sessions; 0: it writes none.
	SealedSummary int

	// SilentFrom and SilentLeast describe microcompactions (session.Microcompaction) that no line records: the client
	// makes them at SilentFrom used tokens and above, and each removes at least SilentLeast tokens. Both are 0 where
	// every microcompaction has a line.
	SilentFrom, SilentLeast int
}

// SilentMicrocompaction reports whether a drop of the recorded context can be a microcompaction without a line: used is
// the tokens before the drop, fell the tokens removed.
func (v ClientVersion) SilentMicrocompaction(used, fell int) bool {
	return v.SilentFrom > 0 && used >= v.SilentFrom && fell >= v.SilentLeast
}

// At returns the behaviour of a version of the client; the zero value where it is not known.
func (r *Recorder) At(version string) ClientVersion {
	if r.Version == nil {
		return ClientVersion{}
	}
	return r.Version(version)
}

// Bands is a list of ranges of client versions, oldest first. The From of the first is "", and unknown versions belong
// to it.
type Bands []Band

// Band is a range of client versions: From, up to the From of the next band.
type Band struct{ From, Name string }

// Of returns the name of the band of a version; "" where list is empty.
func (list Bands) Of(version string) (name string) {
	for i, b := range list {
		if i == 0 || version != "" && session.CompareVersions(version, b.From) >= 0 {
			name = b.Name
		}
	}
	return name
}

// RecorderOf returns the Recorder of a product among families, or an empty one.
func RecorderOf(product string, families []Family) *Recorder {
	for i := range families {
		if r := families[i].Recorder; r != nil && r.Product == product {
			return r
		}
	}
	return &Recorder{Product: product}
}
