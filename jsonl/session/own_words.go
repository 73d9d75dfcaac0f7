package session

import (
	"fmt"
	"strings"
)

// OwnWords are words that a client writes around what a session records, the same in every session of some releases. They
// are on no line; what is known of them is here, so that they have their place and their weight. From 2.1.268 on lines have
// the words of attachments (Sent), and then they are used.
type OwnWords struct {
	Of      string // kind of attachment, or what else they are around
	From    string // first release that is known to write them; "": the first that was read, 2.0.30, of attachments on lines 2.1.100
	Before  int    // characters before what is recorded, with the line ends between them, tags left out
	Behind  int    // and behind it
	Counted int    // characters that compactions counted for them with tags and names; 0: not known
	Digest  string // first 16 hex digits of SHA-256 of the words, the date in them as 0000-00-00; "": they differ, or are not known
}

// What OwnWords are around beside attachments.
const (
	WordsOfContext      = "context"           // the block with CLAUDE.md, the git state and the date, which is on no line at all
	WordsOfNotification = "task_notification" // of a task in the background
	WordsOfSkills       = "skills"            // the list of the client's own skills, which is on no line at all
)

// withdrawn ends the name of a list of what is no longer there.
const withdrawn = " withdrawn"

// sparse ends the name of a reminder of what an earlier one says in full.
const sparse = " sparse"

// ownWords are by requests of the releases that they name; what compactions counted is of 2.1.119 to 2.1.139: for an empty
// task_reminder 129 tokens, for an edited_text_file about 101 more than for its snippet. Where nothing else is known, what
// was counted stands before the text. The last row that fits a version holds.
var ownWords = []OwnWords{
	{WordsOfContext, "", 295, 173, 0, ""}, // without CLAUDE.md and its path
	{WordsOfContext, "2.1.76", 295, 215, 0, ""},
	{WordsOfContext, "2.1.268", 0, 0, 0, ""}, // lines have it: instructions, session_context, date
	{WordsOfNotification, "2.1.210", 494, 0, 0, "d42387c6b893160c"},
	{WordsOfSkills, "2.1.76", 790, 0, 0, ""},
	{typeQueued, "", 37, 59, 0, ""},
	{typeQueued, "2.1.20", 52, 109, 0, "77122edfe2aeb74c"},
	{typeQueued, "2.1.210", 52, 230, 0, "fa17b60fe6755910"},
	{"skill_listing", "", 65, 0, 0, "8842885dab9976b6"},
	{"file", "", 0, 300, 200, "9e8ade1a83777a06"}, // what Read writes behind every file
	{"file", "2.1.150", 0, 0, 200, ""},
	{"nested_memory", "", 0, 0, 200, ""},
	{"agent_listing_delta" + withdrawn, "", 51, 0, 0, ""},
	{"agent_listing_delta" + withdrawn, "2.1.150", 51, 118, 0, ""},
	{"mcp_instructions_delta" + withdrawn, "", 87, 0, 0, "9d790ba5303879eb"},
	{"mcp_instructions_delta" + withdrawn, "2.1.150", 87, 118, 0, "7db1b0559bfa049b"},
	{"deferred_tools_delta" + withdrawn, "", 144, 0, 0, ""},
	{"deferred_tools_delta" + withdrawn, "2.1.150", 144, 118, 0, ""},
	{"agent_listing_delta", "", 42, 135, 0, "7492e649dc057985"},
	{"mcp_instructions_delta", "", 123, 0, 0, "3a6869ddbc3e1939"},
	{"deferred_tools_delta", "", 150, 0, 0, ""},
	{"compact_file_reference", "", 0, 137, 160, "6e752184f0c0e298"},
	{"plan_mode_exit", "", 165, 0, 240, ""},
	{"invoked_skills", "", 86, 0, 0, ""},
	{"task_reminder", "", 421, 0, 516, "d7b1e03511115287"},
	{"todo_reminder", "", 444, 0, 516, "35591643baef0161"},
	{"edited_text_file", "", 305, 0, 404, ""},
	{"opened_file_in_ide", "", 160, 0, 160, ""},
	{"auto_mode", "", 240, 0, 240, ""},
	{"auto_mode_exit", "", 240, 0, 240, ""},
	{"plan_mode", "", 4600, 0, 240, ""}, // about: with what it says of a plan's file
	{"plan_mode", "2.1.150", 4750, 0, 240, ""},
	{"plan_mode" + sparse, "", 240, 0, 240, ""},
	{"date_change", "", 240, 0, 240, ""},
	{"ultra_effort_enter", "", 240, 0, 240, ""},
	{"bash_output_audience_note", "", 240, 0, 240, ""},
}

// counted is what compactions counted around an attachment of a kind, characters; 0: not known.
func counted(kind string) (n int) {
	for _, w := range ownWords {
		if w.Of == kind {
			n = max(n, w.Counted)
		}
	}
	return n
}

// OwnWordsOf is what a client of a version writes around something; zero: nothing that is known.
func OwnWordsOf(of, version string) (found OwnWords) {
	for _, w := range ownWords {
		if w.Of == of && version != "" && CompareVersions(version, w.From) >= 0 {
			found = w
		}
	}
	return found
}

// Placeholder stands for n characters of a client's own words.
func Placeholder(of string, n int) string {
	return fmt.Sprintf("%s%s: %d characters of the client's own, on no line of the session]", placeholderHead, of, n)
}

const placeholderHead = "[placeholder for "

// Wrap writes a text as a reminder, with placeholders for the words around it.
func (w OwnWords) Wrap(text string) string {
	parts := []string{text}
	if w.Before > 0 {
		parts = []string{Placeholder(w.Of, w.Before), text}
	}
	if text == "" {
		parts = parts[:len(parts)-1]
	}
	if w.Behind > 0 {
		parts = append(parts, Placeholder(w.Of, w.Behind))
	}
	return reminderHead + strings.Join(parts, "\n") + reminderTail
}

// Frame is how a client of some version makes messages of what it sends.
type Frame struct {
	OneMark     bool // it marks the last message alone for the cache, and not the last two
	Notices     bool // notices and what hooks said are reminders
	Whole       bool // results of several parts take reminders, and those behind a response that is not sent
	ByCall      bool // parallel results of one moment are in the order of their calls once they are read back
	OwnThinking bool // signed thinking of a model other than the one that is asked is not sent
	NoPlan      bool // a plan goes back without the members that the client itself wrote into the call
	HooksApart  bool // what hooks around a tool said is a text of its own until it is read back
	Nudges      bool // reminders of the list of tasks are on no line: they come with the tenth message of the model
	Lists       bool // the list of skills is on no line: it comes once a process, and again after a compaction
	StopsLater  bool // what is attached of hooks at the end of an agent's run is sent from the next prompt on
	SystemTurns bool // newer models have messages of the system role
	LineEnds    bool // a text that another message follows in one message ends its line
	MarksSystem bool // such a message may be marked, and not only the last one of the user
	ToolLoaded  bool // a text stands behind results that name tools
	FilesApart  bool // files and memories are no part of the results before them, for models that take messages of the system role
}

// FrameOf is how a client of a version does it. Each release is the first of those that were examined to do so (HooksApart
// and StopsLater: of all, 2.0.30 and 2.1.100 on), and these are the last that did not: 2.0.30, 2.1.68, 2.1.77, 2.1.150, 2.1.225, 2.1.240, 2.1.266, 2.1.270, 2.1.300 and 2.1.310.
func FrameOf(version string) Frame {
	since := func(release string) bool { return version != "" && CompareVersions(version, release) >= 0 }
	return Frame{
		OneMark: since("2.1.69"), Notices: since("2.1.240"), Whole: since("2.1.268"), ByCall: since(recoversSince) && !since("2.1.280"),
		OwnThinking: since("2.1.160"), NoPlan: since("2.0.76") && !since("2.1.305"), HooksApart: version != "" && !since("2.1.240"),
		SystemTurns: since("2.1.160"), LineEnds: since("2.1.80"), MarksSystem: since("2.1.260"), ToolLoaded: since("2.1.76"),
		Nudges: since("2.1.19") && !since("2.1.91"), Lists: since("2.1.76") && !since("2.1.91"), StopsLater: version != "" && !since("2.1.260"), FilesApart: since("2.1.332"),
	}
}
