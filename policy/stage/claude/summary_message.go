package claude

import (
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/pattern"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy/stage/summarize"
)

// SummaryText holds the options of a summary message.
type SummaryText struct {
	Version    string // client version: chooses the wording
	Transcript string // path named for details; "" leaves the sentence out
	Auto       bool   // automatic compaction: the model is asked to go on
	Kept       bool   // messages are preserved verbatim behind it
}

// Wordings of recorded summary messages, by client version.
const (
	opening      = "This session is being continued from a previous conversation that ran out of context. "
	covers       = opening + "The summary below covers the earlier portion of the conversation."
	summarized   = opening + "The conversation is summarized below:"
	details      = "If you need specific details from before compaction (like exact code snippets, error messages, or content you generated), read the full transcript at: "
	keptVerbatim = "Recent messages are preserved verbatim."
	goOnIt       = "Please continue the conversation from where we left it off without asking the user any further questions. Continue with the last task that you were asked to work on."
	goOn         = "Please continue the conversation from where we left off without asking the user any further questions. Continue with the last task that you were asked to work on."
	resume       = "Continue the conversation from where it left off without asking the user any further questions. Resume directly — do not acknowledge the summary, do not recap what was happening, do not preface with \"I'll continue\" or similar. Pick up the last task as if the break never happened."
)

// Message wraps a summary as the client does (analysis of Claude Code 2.1.19; the wording by version as recorded:
// until 2.1.6 the first sentence ends in "summarized below:" and the summary in a full stop).
func (t SummaryText) Message(response string) string {
	text := covers + "\n\n" + t.body(response)
	if !isSince(t.Version, "2.1.7") {
		text = summarized + "\n" + t.body(response) + "."
	}
	if t.Transcript != "" {
		text += "\n\n" + details + t.Transcript
	}
	if t.Kept {
		text += "\n\n" + keptVerbatim
	}
	if t.Auto {
		text += "\n" + t.invitation()
	}
	return text
}

func (t SummaryText) invitation() string {
	switch {
	case t.Version == "" || !isSince(t.Version, "2.1.38"):
		return goOnIt
	case !isSince(t.Version, "2.1.69") && t.Version != "2.1.64": // 2.1.64 was ahead of the line
		return goOn
	}
	return resume
}

var (
	analysisTags = pattern.New(`(?s)<analysis>(.*?)</analysis>`)
	summaryTags  = pattern.New(`(?s)<summary>(.*?)</summary>`)
	blankLines   = pattern.New(`\n\n+`)
)

// body formats the response: <analysis> becomes "Analysis:", <summary> becomes "Summary:", runs of blank lines are
// squeezed. In a response that is one summary from end to end, as an outline is, tags inside are
// quotations.
func (t SummaryText) body(response string) string {
	s := response
	if inner := summarize.Bare(s); inner != s {
		return "Summary:\n" + blankLines().ReplaceAllString(inner, "\n\n")
	}
	if m := analysisTags().FindStringSubmatch(s); m != nil {
		s = strings.Replace(s, m[0], "Analysis:\n"+strings.TrimSpace(m[1]), 1)
	}
	if m := summaryTags().FindStringSubmatch(s); m != nil {
		s = strings.Replace(s, m[0], "Summary:\n"+strings.TrimSpace(m[1]), 1)
	}
	return strings.TrimSpace(blankLines().ReplaceAllString(s, "\n\n"))
}

// transcriptPath returns the path of the session that the client's summary message names: never the real path of the
// input.
func transcriptPath(conv *session.Conversation) string {
	return session.ProjectsFolder + session.FolderOf(conv.CWD) + "/" + conv.SessionID + ".jsonl"
}
