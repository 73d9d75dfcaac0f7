package session

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ctxkit/ctxkit/jsonl"
)

// OwnWords are words that a client writes around what a session records, the same in every session of some releases. They
// are on no line; what is known of them is here, so that they have their place and their weight. From 2.1.268 on lines have
// the words of attachments (Sent), and then they are used.
type OwnWords struct {
	Of     string // kind of attachment, or what else they are around
	From   string // first release that is known to write them; "": the first that was read, 2.0.30, of attachments on lines 2.1.100
	Before int    // characters before what is recorded, with the line ends between them, tags left out
	Behind int    // and behind it
	Digest string // first 16 hex digits of SHA-256 of the words; "": they differ between sessions or are not known, and their length is about that
}

// What OwnWords are around next to attachments.
const (
	WordsOfContext      = "context"           // the block with CLAUDE.md, the git state and the date, which is on no line at all
	WordsOfNotification = "task_notification" // of a task in the background
	WordsOfSkills       = "skills"            // the list of the client's own skills, which is on no line at all
)

// withdrawn ends the name of a list of what is no longer there.
const withdrawn = " withdrawn"

// short ends the name of a reminder that says less: as an earlier one says it in full, or as there is no more to say.
const short = " short"

// ownWordsTable is by requests of the releases that it names and by the texts of their programs (2.1.88 to 2.1.266). The last
// row that fits a version holds.
//
//go:embed own_words.tsv
var ownWordsTable string

// ownWords are the rows of the table.
var ownWords = sync.OnceValue(func() (list []OwnWords) {
	for line := range strings.Lines(ownWordsTable) {
		if f := strings.Split(line, "\t"); len(f) > 4 {
			w := OwnWords{Of: f[0], From: f[1], Digest: f[4]}
			w.Before, _ = strconv.Atoi(f[2]) // the head has no numbers
			w.Behind, _ = strconv.Atoi(f[3])
			list = append(list, w)
		}
	}
	return list
})

// counted are the characters that compactions counted around the text of some attachments, with all that they write of them:
// those of 2.1.119 to 2.1.139 129 tokens for an empty task_reminder, and about 101 more for an edited_text_file than for its snippet.
var counted = map[string]int{"edited_text_file": 404, "task_reminder": 516, "todo_reminder": 516}

// hasWords reports whether a client writes words of its own around attachments of a kind.
func hasWords(kind string) bool {
	return slices.ContainsFunc(ownWords(), func(w OwnWords) bool { return w.Of == kind })
}

// OwnWordsOf is what a client of a version writes around something; zero: nothing that is known.
func OwnWordsOf(of, version string) (found OwnWords) {
	for _, w := range ownWords() {
		if w.Of == of && version != "" && CompareVersions(version, w.From) >= 0 {
			found = w
		}
	}
	return found
}

// notificationHead begins a notice of a task in the background, which the client words.
const notificationHead = "<task-notification>"

// aroundMeta is the length of what a client writes around the text of a line that no person typed: words of a notice, a reminder's
// tags and preamble.
func (ld *loader) aroundMeta(n *node, head string) (length int) {
	w := OwnWordsOf(WordsOfNotification, n.version)
	switch {
	case n.class != ClassMeta || !ld.ownFormat() || len(n.blocks) == 0:
	case n.preamble != nil:
		length = len(reminderHead) + len(*n.preamble) + len(reminderTail)
	case w.Before > 0 && strings.HasPrefix(head, notificationHead):
		if length = w.Before; FrameOf(n.version).Notices {
			length += len(reminderHead) + len(reminderTail)
		}
	}
	return length
}

// Placeholder stands for n characters of the client's own words.
func (w OwnWords) Placeholder(n int) string {
	about := "about "
	switch {
	case w.Of == WordsOfContext:
		about = "CLAUDE.md and at least "
	case w.Digest != "":
		about = ""
	}
	return fmt.Sprintf("%s%s: %s%d characters of the client's own, on no line of the session]", placeholderHead, w.Of, about, n)
}

const placeholderHead = "[placeholder for "

// Wrap writes a text as a reminder, with placeholders for the words around it.
func (w OwnWords) Wrap(text string) string {
	parts := []string{text}
	if w.Before > 0 {
		parts = []string{w.Placeholder(w.Before), text}
	}
	if text == "" {
		parts = parts[:len(parts)-1]
	}
	if w.Behind > 0 {
		parts = append(parts, w.Placeholder(w.Behind))
	}
	return reminderHead + strings.Join(parts, "\n") + reminderTail
}

// sentLength is the length of texts with the words in the place of their placeholders.
func (w OwnWords) sentLength(texts []string) jsonl.Metrics {
	n := 0
	for _, words := range []int{w.Before, w.Behind} {
		if words > 0 {
			n += words - len(w.Placeholder(words))
		}
	}
	return jsonl.Measure(strings.Join(texts, "\n")).Add(jsonl.Metrics{UTF16: n, Bytes: n, JSON: n})
}

// Frame is how a client of some version makes messages of what it sends.
type Frame struct {
	OneMark       bool // it marks the last message alone for the cache, and not the last two
	Notices       bool // notices and what hooks said are reminders
	Whole         bool // results of several parts take reminders, and those behind a response that is not sent
	ByCall        bool // parallel results of one moment are in the order of their calls once they are read back
	OwnThinking   bool // signed thinking of a model other than the one that is asked is not sent
	NoPlan        bool // a plan goes back without the members that the client itself wrote into the call
	HooksApart    bool // what hooks around a tool said is a text of its own until it is read back
	TaskReminders bool // reminders of the list of tasks are on no line: they come with the tenth message of the model
	SkillList     bool // the list of skills is on no line: it comes once a process, and again after a compaction
	StopsLater    bool // what is attached of hooks at the end of an agent's run is sent from the next prompt on
	SystemTurns   bool // newer models have messages of the system role
	LineEnds      bool // a text that another message follows in one message ends its line
	MarksSystem   bool // such a message may be marked, and not only the last one of the user
	ToolLoaded    bool // a text stands behind results that name tools
	FilesApart    bool // files and memories are no part of the results before them, for models that take messages of the system role
}

// FrameOf is how a client of a version does it. Each release is the first of those that were examined to do so (HooksApart
// and StopsLater: of all, 2.0.30 and 2.1.100 on), and these are the last that did not: 2.0.30, 2.1.68, 2.1.77, 2.1.150, 2.1.225, 2.1.240, 2.1.266, 2.1.270, 2.1.300 and 2.1.310.
func FrameOf(version string) Frame {
	since := func(release string) bool { return version != "" && CompareVersions(version, release) >= 0 }
	return Frame{
		OneMark: since("2.1.69"), Notices: since("2.1.240"), Whole: since("2.1.268"), ByCall: since(recoversSince) && !since("2.1.280"),
		OwnThinking: since("2.1.160"), NoPlan: since("2.0.76") && !since("2.1.305"), HooksApart: version != "" && !since("2.1.240"),
		SystemTurns: since("2.1.160"), LineEnds: since("2.1.80"), MarksSystem: since("2.1.260"), ToolLoaded: since("2.1.76"),
		TaskReminders: since("2.1.19") && !since("2.1.91"), SkillList: since("2.1.76") && !since("2.1.91"), StopsLater: version != "" && !since("2.1.260"), FilesApart: since("2.1.332"),
	}
}
