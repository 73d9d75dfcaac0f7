package policy

import (
	"time"

	"github.com/ctxkit/ctxkit/jsonl/session"
)

// Recorder describes the client of a product whose sessions can be read: behaviour that the session files do not show,
// for each version. The version "" stands for an unknown version.
type Recorder struct {
	Product string // bare name of the product, as in Conversation.Product

	// Microcompaction is the client's rule for clearing old tool results. It is used for sessions that record a
	// microcompaction but not the texts that it left. Nil: the client has no such rule.
	Microcompaction MicrocompactionRule

	// Clears is the name of the stage that clears results as the client does at the end of a turn. "": the client
	// clears only before requests, or never.
	Clears string

	// CompactionCall returns the call with which a version of the client asks for a summary of the view v; the items in
	// kept are not summarized. It is used if a session records the summary but not the call. before is the tokens of
	// the view before the edits of the request, and overhead is the overhead of the session in tokens. Nil: the call is
	// unknown.
	CompactionCall func(version string, v View, kept []ItemID, before, overhead int) *Call

	// Version returns the behaviour of a version of the client. Nil: the behaviour is unknown for all versions.
	Version func(version string) ClientVersion

	// Limits returns the limits that a model of a provider had on a day, from the table that the client uses. A zero
	// result means that the table lacks the model. Nil: the client has no such table.
	Limits func(provider, model string, day time.Time) ModelLimits

	// Elsewhere returns the built-in policy for sessions with models of a provider, for all versions of the client. If
	// it returns "", the policy is that of the release that recorded the session. Nil: the policy never depends on the
	// provider.
	Elsewhere func(provider string) string

	Compactions Bands // ranges of versions with the same rules of compaction
	Lines       Bands // ranges of versions whose recorded lines have the same form
}

// ModelLimits are the context window, the largest input and the largest output of a model, in tokens. 0 means that the
// limit is unknown, or that the model has no separate limit.
type ModelLimits struct {
	Context, Input, Output int
	From                   string // the table that the limits are from; "": not stated
	Assumed                bool   // the table lacks the model: the limits are those of a similar model or the client's default
}

// ClientVersion is the behaviour of one version of a client, as far as the session files do not show it.
type ClientVersion struct {
	// MarkedWindows: the client gives a large window only to models whose names are marked with [1m] at the end.
	MarkedWindows bool

	// CompactsIdle: while the user is away, the client compacts when this much time is left until a one-hour cache
	// entry expires. 0: it never does. IdleLeast is the smallest context, in tokens, at which it does so.
	CompactsIdle time.Duration
	IdleLeast    int

	// Headroom is the number of tokens between the client's compaction threshold and the context window; 0: unknown.
	// LeastWindow is the smallest window, in tokens, that a user can set; 0: any.
	Headroom, LeastWindow int

	// Reactive: the client compacts only after the API has refused a prompt, unless the user has set a window.
	Reactive bool

	// KeepsThinking: the client's requests ask the server to keep all thinking.
	KeepsThinking bool

	// Head is the number of tokens of the tools and the system prompt up to the last cache breakpoint before the
	// messages. Shared is the part of Head that is usually in the cache already, written by another process of the
	// client. Both are medians of recorded sessions.
	Head, Shared int

	// OneHead: Shared is usually equal to Head.
	OneHead bool

	// SameSystem: a new process has the same system prompt as the one before. In other versions the system prompt
	// contains the state of the repository.
	SameSystem bool

	// WholeOutput: the recorded output tokens of a response are all the tokens that the response adds to the next
	// request.
	WholeOutput bool

	// SameOverhead: the client's system prompt and tools do not change within a session. If the number of their tokens
	// seems to change after the first request, this is therefore an error in the weights of the messages. The error
	// ends with the next compaction.
	SameOverhead bool

	// RecordsAttached: the file has lines for all content that the client sends after a compaction. A small difference
	// from the usage of the next request is therefore an error in the weights of the messages.
	RecordsAttached bool

	// SealedSummary is the number of tokens of the encrypted summary, which only the provider can read and which the
	// session file leaves out. It is the median of recorded sessions. 0: the client has no such summaries.
	SealedSummary int

	// SilentFrom and SilentLeast describe microcompactions (session.Microcompaction) that no line of the file records.
	// The client makes one only if at least SilentFrom tokens are used, and each removes at least SilentLeast tokens.
	// Both are 0 if every microcompaction has a line.
	SilentFrom, SilentLeast int
}

// SilentMicrocompaction reports whether a microcompaction without a line can explain why the recorded context shrank.
// used is the number of tokens before that, and fell is the number of tokens by which the context shrank.
func (v ClientVersion) SilentMicrocompaction(used, fell int) bool {
	return v.SilentFrom > 0 && used >= v.SilentFrom && fell >= v.SilentLeast
}

// At returns the behaviour of a version of the client, or the zero value if it is not known.
func (r *Recorder) At(version string) ClientVersion {
	if r.Version == nil {
		return ClientVersion{}
	}
	return r.Version(version)
}

// Bands is a list of ranges of client versions, oldest first. The first range has no lower end and includes unknown
// versions: its From is "".
type Bands []Band

// Band is a named range of client versions. It begins with the version From and ends before the From of the next Band.
type Band struct{ From, Name string }

// Of returns the name of the range that contains a version, or "" if there are no ranges.
func (list Bands) Of(version string) (name string) {
	for i, b := range list {
		if i == 0 || version != "" && session.CompareVersions(version, b.From) >= 0 {
			name = b.Name
		}
	}
	return name
}

// RecorderOf returns the Recorder of a product from the families, or an empty Recorder if there is none.
func RecorderOf(product string, families []Family) *Recorder {
	for i := range families {
		if r := families[i].Recorder; r != nil && r.Product == product {
			return r
		}
	}
	return &Recorder{Product: product}
}
