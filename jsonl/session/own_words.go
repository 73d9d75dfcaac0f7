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

// OwnWords describes words that a client writes around recorded content and that no line of the file records. A wording
// is the same in all sessions of a range of releases. Because the lengths of these words are known, a replay can count
// their tokens. From 2.1.268 on, the lines of attachments contain these words (Sent), and the recorded words are used.
type OwnWords struct {
	Of     string // what the words are around: the type of an attachment, or one of the WordsOf constants
	From   string // first release known to write these words; "": the oldest examined release, which is 2.0.30, or 2.1.100 for attachments that have lines
	Before int    // number of characters before the recorded text, with newlines but without the tags of the reminder
	Behind int    // number of characters after the recorded text, counted in the same way
	Digest string // first 16 hex digits of the SHA-256 of the words; "": the words vary or are unknown, and the lengths are approximate
}

// The WordsOf constants are the values of OwnWords.Of that are not types of attachments.
const (
	WordsOfContext      = "context"           // the block with CLAUDE.md, the git state and the date; no line records any of it
	WordsOfNotification = "task_notification" // the notification that a background task has ended
	WordsOfSkills       = "skills"            // the list of the client's own skills; no line records any of it
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

// OwnWordsOf describes the words that a version of the client writes around one kind of content (a value of
// OwnWords.Of). It returns the zero value if no such words are known.
func OwnWordsOf(kind, version string) (found OwnWords) {
	for _, w := range ownWords() {
		if w.Of == kind && version != "" && CompareVersions(version, w.From) >= 0 {
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

// Placeholder returns a text that stands for n characters of the client's own words.
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

// Wrap returns a reminder that contains text, with placeholders for the client's own words around the text.
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

// Frame describes how a version of Claude Code puts content into the messages of a request. A field is true for the
// versions that behave as the comment on the field says. For an unknown version all fields are false.
type Frame struct {
	OneMark       bool // only the last message has a cache breakpoint; if false, the last two messages have one each
	Notices       bool // notices and the output of hooks are sent as reminders
	Whole         bool // a result of several parts can contain reminders; if false, only a result that is one text can
	ByCall        bool // after a restart, parallel results with the same time are sent in the order of their calls
	OwnThinking   bool // signed thinking is not sent if it comes from another model than the model of the request
	NoPlan        bool // the call with a plan is sent back without the JSON fields that the client itself added
	HooksApart    bool // the output of a hook around a tool call is a separate text block, until a restarted client reads the session back
	TaskReminders bool // no line records reminders of the task list; one is sent after 10 messages of the model without such a reminder and without a use of the list
	SkillList     bool // no line records the list of skills; it is sent once in each process, and again after a compaction
	StopsLater    bool // attachments of Stop hooks are first sent with the next prompt
	SystemTurns   bool // requests to newer models have messages of the system role
	LineEnds      bool // if two texts are merged into one message, the first ends with a newline
	MarksSystem   bool // the last message can have the cache breakpoint even if its role is system
	ToolLoaded    bool // the text "Tool loaded." comes directly after results that name loaded tools
	FilesApart    bool // for models with messages of the system role: files and memories are not merged into the result directly before them
}

// FrameOf returns the Frame of a version of Claude Code, and the zero value for "". A field changes at the first
// examined release that has the new behaviour. The last examined releases with the behaviour before a change are 2.0.30,
// 2.1.68, 2.1.77, 2.1.150, 2.1.225, 2.1.240, 2.1.266, 2.1.270, 2.1.300 and 2.1.310. The change itself may have come with
// any release between such a release and the next examined one.
func FrameOf(version string) Frame {
	since := func(release string) bool { return version != "" && CompareVersions(version, release) >= 0 }
	return Frame{
		OneMark: since("2.1.69"), Notices: since("2.1.240"), Whole: since("2.1.268"), ByCall: since(recoversSince) && !since("2.1.280"),
		OwnThinking: since("2.1.160"), NoPlan: since("2.0.76") && !since("2.1.305"), HooksApart: version != "" && !since("2.1.240"),
		SystemTurns: since("2.1.160"), LineEnds: since("2.1.80"), MarksSystem: since("2.1.260"), ToolLoaded: since("2.1.76"),
		TaskReminders: since("2.1.19") && !since("2.1.91"), SkillList: since("2.1.76") && !since("2.1.91"), StopsLater: version != "" && !since("2.1.260"), FilesApart: since("2.1.332"),
	}
}
