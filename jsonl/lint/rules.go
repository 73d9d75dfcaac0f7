package lint

// Severity is the severity of a problem.
type Severity string

// The severities, worst first.
const (
	Error   Severity = "error"   // part of the transcript is lost or refused
	Warning Severity = "warning" // a replay has to assume something
	Note    Severity = "note"    // normal for the format
)

// LintRule is one kind of problem of a session file; policy.Rule is one of a policy's. A code never changes its
// meaning.
type LintRule struct {
	Code     string
	Severity Severity
	Means    string
	Costs    string // what a replay loses or assumes
}

// Rules lists all rules, worst severity first.
func Rules() []LintRule {
	return []LintRule{
		{"reading-stopped", Error, "the file cannot be read to its end: a truncated archive, a failing disk", "everything after that place is lost"},
		{"no-session", Error, "no line belongs to a conversation: the file is empty or not a Claude Code session", "nothing can be replayed"},
		{"malformed-line", Error, "a line, or what follows an object on it, is not a JSON object", "the line is set aside"},
		{"no-message", Error, "a user or assistant line has no message", "the line is set aside"},
		{"duplicate-uuid", Error, "an earlier line has the same uuid", "the line is set aside"},
		{"parent-circle", Error, "the parents of lines form a cycle", "the cycle is cut at the named line; lines below it can be left out"},
		{"refused-offload", Error, "an offloaded tool result names a file outside the session's folder, or not a plain file", "the file is not read; only the preview is known"},

		{"no-type", Warning, "an object has no type", "the line is set aside"},
		{"unknown-type", Warning, "a line has an unknown type", "it links its children; its content is ignored"},
		{"unknown-block", Warning, "a block has an unknown type", "it is kept; its tokens are estimated from its JSON"},
		{"too-many-blocks", Warning, "a message has more than 16,384 blocks", "the rest of the blocks are left out"},
		{"wrong-role", Warning, "the role of a message differs from its line's type", "the line's type is used"},
		{"empty-message", Warning, "a message has no content", "the API refuses such a message"},
		{"no-uuid", Warning, "a user or assistant line has no uuid", "no line can have it as its parent"},
		{"no-timestamp", Warning, "a line of the chain has no readable timestamp", "pauses before and after it are unknown"},
		{"usage-differs", Warning, "two lines of one message have different input tokens", "the first line's are used"},
		{"lost-parent", Warning, "a line names a parent that is not in the file", "it follows the line before it"},
		{"lost-logical-parent", Warning, "a compaction names a last message that is not in the file", "the content of that message is unknown; the compaction follows the line before it"},
		{"repeated-boundary", Warning, "two compactions name the same last message", "one of them replaces less than it says"},
		{"no-summary", Warning, "a compaction has no summary", "a policy cannot reuse the recorded summary"},
		{"lost-preserved", Warning, "a compaction kept messages that are not in the file", "the recorded track holds less than the client sent"},
		{"unreadable-metadata", Warning, "the metadata of a compaction, snip, collapse or attachment is missing, unreadable or contradicts it", "the readable part is used"},
		{"unreadable-usage", Warning, "a count of a response's usage is no number of tokens, or over 10,000,000", "the usage is not used; the request's tokens are estimated"},
		{"unreadable-request", Warning, "a line with a recorded request, or a part of one, is not readable", "the request, and those that need it, are rebuilt from the conversation"},
		{"repeated-request", Warning, "an earlier line has a recorded request of the same id", "the first counts"},
		{"broken-request", Warning, "a recorded request cannot be put together: its base or a message is not in the file", "it is rebuilt from the conversation"},
		{"wrong-hash", Warning, "a recorded message, or system prompt with tools, is not the one that its hash names", "requests with the message are rebuilt from the conversation; the system prompt and tools are shown as they are"},
		{"unused-record", Warning, "a recorded collapse or replacement matches nothing in the session", "the line is set aside"},
		{"lost-leaf", Warning, "last-prompt names a leaf that is not in the file", "the newest leaf is used"},
		{"other-session", Warning, "a line belongs to another session than most of the file", "it is replayed at its place"},
		{"no-call-id", Warning, "a tool call or a tool result has no id", "call and result cannot be matched"},
		{"repeated-call", Warning, "two messages call a tool with the same id", "the first call counts, with its result"},
		{"doubled-call", Warning, "one message calls tools twice with the same id", "the first call counts, with its result; the API refuses such a message"},
		{"unanswered-call", Warning, "a tool call has no result although something was answered later", "a placeholder takes its place; its size is unknown or derived from preTokens"},
		{"answer-after-answer", Warning, "a response follows another one, and what was said between them is not in the file", "the request ends in an assistant message, which models that take no prefill refuse"},
		{"orphan-result", Warning, "a tool result answers no call in the file", "the API refuses such a result"},
		{"second-result", Warning, "a tool call has more than one result", "the first result counts"},
		{"missing-offload", Warning, "the file of an offloaded tool result is missing", "only the preview is known"},

		{"abandoned-branch", Note, "a message is not on the live branch: rewound, forked, or a copy", "it is left out and counted"},
		{"api-error", Note, "the client recorded an error of the API", "the line is set aside; the model never saw it"},
		{"blank-line", Note, "a line is empty", "the line is set aside"},
		{"comment-line", Note, "a line is a comment", "the line is set aside"},
		{"earlier-history", Note, "the conversation began before the file", "a placeholder holds what the first request had in context"},
		{"fused-lines", Note, "a line has several objects", "each is read"},
		{"lone-summary", Note, "a summary has no compaction line (clients before 2.0)", "the summary marks the compaction"},
		{"no-usage", Note, "a response has no token usage", "the request's tokens are estimated"},
		{"open-call", Note, "a tool call is not answered when the file ends", "nothing: no request follows it"},
		{"result-before-call", Note, "a tool result comes before its call in the file", "nothing: it is placed after the call"},
		{"unused-message", Note, "no recorded request has a recorded message, or system prompt with tools", "nothing"},
		{"second-root", Note, "a message without a parent begins a new chain", "it follows the line before it, or is another branch"},
		{"time-backwards", Note, "a timestamp is earlier than that of the previous line", "nothing: links give the order"},
	}
}
