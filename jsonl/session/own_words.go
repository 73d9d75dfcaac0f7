package session

import (
	"cmp"
	"fmt"
	"strings"
)

// OwnWords are words that a client writes around what a session records, the same in every session of some releases. They
// are on no line; what is known of them is here, so that they have their place and their weight.
type OwnWords struct {
	Of     string // kind of attachment, or what else they are around
	From   string // first release that is known to write them
	Before int    // characters before what is recorded, tags left out
	Behind int    // and behind it
	Digest string // first 16 hex digits of SHA-256 of the words, the date in them as 0000-00-00; "": they differ
}

// What OwnWords are around beside attachments.
const (
	WordsOfContext      = "context"           // the block with CLAUDE.md, the git state and the date, which is on no line at all
	WordsOfNotification = "task_notification" // of a task in the background
	WordsOfStopHook     = "stop_hook"         // what a hook said that keeps the agent from stopping
)

// withdrawn ends the name of a list of what is no longer there.
const withdrawn = " withdrawn"

// ownWords are by requests of the releases that they name. The last that fits a version holds.
var ownWords = []OwnWords{
	{WordsOfContext, "", 295, 173, "c15a66e21cc1c1f7"},
	{WordsOfContext, "2.1.76", 295, 215, "8c2f3613b14760c7"},
	{WordsOfContext, "2.1.268", 0, 0, ""}, // lines have it: instructions, session_context, date
	{WordsOfNotification, "2.1.210", 494, 0, "d42387c6b893160c"},
	{WordsOfStopHook, "2.1.332", 402, 0, "c1340922c13b9892"},
	{typeQueued, "", 36, 57, "7c52a63454e52487"},
	{typeQueued, "2.1.20", 51, 107, "233d74aff671c373"},
	{typeQueued, "2.1.210", 51, 228, "fe9879328b340c83"},
	{"skill_listing", "", 65, 0, "8842885dab9976b6"},
	{"file", "", 0, 300, "9e8ade1a83777a06"}, // what Read writes behind every file
	{"file", "2.1.150", 0, 0, ""},
	{"agent_listing_delta" + withdrawn, "", 50, 0, "387bc13ea7ff80be"},
	{"agent_listing_delta" + withdrawn, "2.1.150", 50, 116, ""},
	{"mcp_instructions_delta" + withdrawn, "", 86, 0, "894aafe9021b2fac"},
	{"mcp_instructions_delta" + withdrawn, "2.1.150", 86, 116, ""},
	{"deferred_tools_delta" + withdrawn, "", 143, 0, "6f2827be5f6fba5b"},
	{"deferred_tools_delta" + withdrawn, "2.1.150", 143, 116, ""},
	{"agent_listing_delta", "", 42, 135, "7492e649dc057985"},
	{"mcp_instructions_delta", "", 101, 0, ""},
	{"deferred_tools_delta", "", 150, 0, ""},
	{"compact_file_reference", "", 0, 136, "3b25bd959bec00b0"},
	{"plan_mode_exit", "", 130, 0, ""},
	{"invoked_skills", "", 86, 0, ""},
}

// OwnWordsOf is what a client of a version writes around something; zero: nothing that is known.
func OwnWordsOf(of, version string) (found OwnWords) {
	for _, w := range ownWords {
		if w.Of == of && version != "" && CompareVersions(version, cmp.Or(w.From, version)) >= 0 {
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
	SystemTurns bool // newer models have messages of the system role
	LineEnds    bool // a text that another message follows in one message ends its line
	MarksSystem bool // such a message may be marked, and not only the last one of the user
	ToolLoaded  bool // a text stands behind results that name tools
}

// FrameOf is how a client of a version does it. Each release is the first of those that were examined to do so, and these
// are the last that did not: 2.0.30, 2.1.68, 2.1.77, 2.1.150, 2.1.225, 2.1.240, 2.1.266, 2.1.270 and 2.1.300.
func FrameOf(version string) Frame {
	since := func(release string) bool { return version != "" && CompareVersions(version, release) >= 0 }
	return Frame{
		OneMark: since("2.1.69"), Notices: since("2.1.260"), Whole: since("2.1.268"), ByCall: since(recoversSince) && !since("2.1.280"),
		OwnThinking: since("2.1.160"), NoPlan: since("2.0.76") && !since("2.1.305"), HooksApart: version != "" && !since("2.1.240"),
		SystemTurns: since("2.1.160"), LineEnds: since("2.1.80"), MarksSystem: since("2.1.260"), ToolLoaded: since("2.1.76"),
	}
}
