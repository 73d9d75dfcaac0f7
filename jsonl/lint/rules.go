package lint

// Severity says how bad a finding is.
type Severity string

// The severities, worst first.
const (
	Error   Severity = "error"   // something of the transcript is lost, or refused
	Warning Severity = "warning" // a replay has to assume something
	Note    Severity = "note"    // normal for the format, and worth knowing
)

// Rule is one thing that is looked for. Codes are stable: they are never given
// another meaning.
type Rule struct {
	Code     string
	Severity Severity
	Means    string
	Costs    string // what it costs a replay
}

// Rules lists what is looked for, the worst first.
func Rules() []Rule {
	return []Rule{
		{"reading-stopped", Error, "the file cannot be read to its end: a cut archive, a failing disk", "what comes after that place"},
		{"no-session", Error, "no line of the file is part of a conversation: it is empty, or no Claude Code session", "there is nothing to replay"},
		{"malformed-line", Error, "a line, or what stands behind an object on it, is no JSON object", "the line is set aside"},
		{"no-message", Error, "a user or assistant line has no message", "the line is set aside"},
		{"duplicate-uuid", Error, "a uuid stands on an earlier line already", "the line is set aside"},
		{"parent-circle", Error, "the parents of lines run in a circle", "the circle is cut at the line told, and what hangs in it may be left out"},
		{"refused-offload", Error, "an offloaded tool result names a file outside the folder of its session, or no plain file", "the file is not read: the preview is what is known of the result"},

		{"no-type", Warning, "an object says no type", "the line is set aside"},
		{"unknown-type", Warning, "a line is of a type that is not known", "it links what hangs under it, its content is not looked at"},
		{"unknown-block", Warning, "a block is of a type that is not known", "it is kept, its tokens are estimated from its JSON"},
		{"too-many-blocks", Warning, "a message has more than 16,384 blocks", "the rest of them is left out"},
		{"wrong-role", Warning, "the role of a message is not that of its line", "the line's type counts"},
		{"empty-message", Warning, "a message has no content", "the API refuses such a message"},
		{"no-uuid", Warning, "a user or assistant line has no uuid", "nothing can hang under it"},
		{"no-timestamp", Warning, "a line of the chain has no timestamp that reads", "pauses before and after it are not known"},
		{"usage-differs", Warning, "two lines of one message say different input tokens", "the first one's count"},
		{"lost-parent", Warning, "a line names a parent that is not in the file", "it is taken to follow the line before it"},
		{"lost-logical-parent", Warning, "a compaction names a last message before it that is not in the file", "what that message held is not known; the compaction is taken to follow the line before it"},
		{"repeated-boundary", Warning, "two compactions name the same last message before them", "one of them stands for less than it says"},
		{"no-summary", Warning, "no summary stands under a compaction", "a policy cannot use the recorded summary"},
		{"lost-preserved", Warning, "a compaction kept messages that are not in the file", "the recorded track holds less than the client sent"},
		{"unreadable-metadata", Warning, "what the client recorded of a compaction, a snip or a collapse is missing or does not read", "what reads of it is used"},
		{"unused-record", Warning, "a recorded collapse or replacement fits nothing of the session", "the line is set aside"},
		{"lost-leaf", Warning, "last-prompt names a leaf that is not in the file", "the newest leaf is taken for the live one"},
		{"other-session", Warning, "a line belongs to another session than most of the file", "it is replayed where it hangs"},
		{"no-call-id", Warning, "a tool call or a tool result has no id", "call and result cannot be brought together"},
		{"repeated-call", Warning, "two messages call a tool by one id", "the first one counts, with its result"},
		{"doubled-call", Warning, "one message calls tools twice by one id", "the first one counts, with its result; the API refuses such a message"},
		{"unanswered-call", Warning, "a tool call has no result in the file although something was answered later", "a stand-in of unknown size, or of what preTokens leaves, takes its place"},
		{"orphan-result", Warning, "a tool result answers no call of the file", "the API refuses such a result"},
		{"second-result", Warning, "a tool call has more results than it should", "the first one counts"},
		{"missing-offload", Warning, "the file of an offloaded tool result is not there", "the preview is what is known of the result"},

		{"abandoned-branch", Note, "a message is not on the live branch: rewound, forked away, or a copy", "it is left out and counted"},
		{"api-error", Note, "the client wrote down an error of the API", "the line is set aside: the model never saw it"},
		{"blank-line", Note, "a line is empty", "the line is set aside"},
		{"comment-line", Note, "a line is a comment", "the line is set aside"},
		{"earlier-history", Note, "the conversation began before the file does", "a stand-in holds what the first request had in context"},
		{"fused-lines", Note, "several objects stand on one line", "each is read"},
		{"lone-summary", Note, "a summary stands under no compaction (clients before 2.0)", "the summary itself stands for the compaction"},
		{"no-usage", Note, "an answer has no token usage", "its request's tokens are estimated"},
		{"open-call", Note, "a tool call is not answered yet when the file ends", "nothing: no request comes after it"},
		{"result-before-call", Note, "a tool result stands before its call in the file", "nothing: it is put behind it"},
		{"second-root", Note, "a message begins anew without a parent", "it is taken to follow the line before it, or is another branch"},
		{"time-backwards", Note, "a timestamp lies before that of the line above", "nothing: the order is that of the links"},
	}
}
