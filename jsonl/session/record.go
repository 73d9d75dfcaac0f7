package session

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
	"unicode"
)

// SnipCall is a call of the model's Snip tool: it names turns that are to
// leave the view.
type SnipCall struct {
	ToolID   string
	File     int32
	Line     int
	IDs      []string // of the turns' prompts, as given: what their tags say, or uuids
	Reason   string
	Message  int      // index into Messages of the call
	Answered int      // index of the message that answers it, a stand-in too; -1: none does
	Failed   bool     // the answer is an error
	Prompts  []int    // indexes of the prompts it names, each once
	Unknown  []string // those of IDs that name no prompt before the call
}

// Snip is a removal of whole turns the client recorded.
type Snip struct {
	UUID     string // of the line that lists what was removed; "" where only the call is on record
	File     int32
	Line     int      // of that line, else of the call
	Call     int      // index into SnipCalls, -1: none is known
	Removed  []string // uuids, as listed
	Messages []int    // indexes of the messages that left the view, whole rounds, in order
	Reason   string
	Time     time.Time
	Version  string
	Before   int // Messages[:Before] lie before it
	Request  int // N of the first main request after it
}

// Collapse is a span of messages the client recorded as replaced by one
// placeholder.
type Collapse struct {
	ID          string
	File        int32
	Line        int
	First, Last string // uuids of the span's first and last message, as recorded
	From, To    int    // their indexes into Messages, widened to whole rounds
	SummaryUUID string // of the placeholder: a later span may begin or end with it
	Content     string // the placeholder as sent: <collapsed id="…">…</collapsed>
	Summary     string
	Time        time.Time // zero where the line has none
	Before      int       // Messages[:Before] lie before it
	Request     int       // N of the first main request after it
}

// Staged is a span the client recorded as a candidate for a collapse.
type Staged struct {
	Start, End string // uuids
	From, To   int    // their indexes into Messages, widened to whole rounds
	Summary    string
	Risk       float64
	StagedAt   time.Time
}

// CollapseSnapshot is the state of the collapse machinery the client recorded
// last; each replaces the one before.
type CollapseSnapshot struct {
	File            int32
	Line            int
	Staged          []Staged
	Armed           bool
	LastSpawnTokens int
	Before          int // Messages[:Before] lie before it
	Request         int // N of the first main request after it
}

// Replacement is a decision on one tool_result the client recorded: what was
// sent in its place was Text.
type Replacement struct {
	File    int32
	Line    int
	ToolID  string
	Message int // index into Messages of the result
	Block   int
	Text    string
	Before  int // Messages[:Before] lie before it: the result at least
	Request int // N of the first main request after it
}

// A mark is a line that says what the client did to the view and stands
// nowhere in the chain.
type mark struct {
	line     int
	at       int32 // how many chained lines stand before it in the file
	agent    string
	time     time.Time
	commit   *commitLine
	snapshot *snapshotLine
	replaced []replacedLine
	used     bool
}

// commitLine is a marble-origami-commit.
type commitLine struct {
	CollapseID        string `json:"collapseId"`
	SummaryUUID       string `json:"summaryUuid"`
	SummaryContent    string `json:"summaryContent"`
	Summary           string `json:"summary"`
	FirstArchivedUUID string `json:"firstArchivedUuid"`
	LastArchivedUUID  string `json:"lastArchivedUuid"`
}

// snapshotLine is a marble-origami-snapshot.
type snapshotLine struct {
	Staged          []stagedSpan `json:"staged"`
	Armed           bool         `json:"armed"`
	LastSpawnTokens int          `json:"lastSpawnTokens"`
}

type stagedSpan struct {
	StartUUID string  `json:"startUuid"`
	EndUUID   string  `json:"endUuid"`
	Summary   string  `json:"summary"`
	Risk      float64 `json:"risk"`
	StagedAt  float64 `json:"stagedAt"` // milliseconds of the epoch
}

// replacedLine is one decision of a content-replacement. The sources name the
// line and not its fields: these are what the client calls such things
// elsewhere, and the API.
type replacedLine struct {
	ToolUseID   string `json:"toolUseId"`
	ToolUse     string `json:"tool_use_id"`
	Replacement string `json:"replacement"`
	Content     string `json:"content"`
}

// snipMeta is what a snip's line lists.
type snipMeta struct {
	RemovedUUIDs []string `json:"removedUuids"`
}

// snipInput is the input of a call of the Snip tool.
type snipInput struct {
	IDs    snipIDs `json:"ids"`
	Reason string  `json:"reason"`
}

// snipIDs are the ids of a Snip call, a list or one text: a model may write down
// a single id by itself, several of them in one text, or as a number one that is
// all digits.
type snipIDs struct {
	list []string
	odd  bool // something in it is no id
}

// UnmarshalJSON takes what reads; it gives no error, so that the rest of the
// input is read too.
func (s *snipIDs) UnmarshalJSON(data []byte) error {
	var items []json.RawMessage
	if json.Unmarshal(data, &items) != nil {
		items = []json.RawMessage{data}
	}
	for _, item := range items {
		var text string
		var number json.Number
		switch {
		case bytes.Equal(item, []byte("null")): // a text and a number would take it for nothing
			s.odd = true
		case json.Unmarshal(item, &text) == nil:
			s.list = append(s.list, strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })...)
		case json.Unmarshal(item, &number) == nil:
			s.list = append(s.list, number.String())
		default:
			s.odd = true
		}
	}
	return nil
}
