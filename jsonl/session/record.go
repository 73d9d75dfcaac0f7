package session

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"
)

// SnipCall is a call of the Snip tool, with which the model names turns that are to be removed from the context.
type SnipCall struct {
	ToolID   string
	Line     int
	IDs      []string // ids with which the call names the prompts of these turns: short ids (Prompts) or uuids
	Reason   string
	Message  int      // index into Messages of the message with the call
	Answered int      // index of the message with the result, or of a placeholder for it; -1: none
	Failed   bool     // the result is an error
	Prompts  []int    // distinct indexes of the prompts that the call names
	Unknown  []string // the elements of IDs that are not ids of prompts before the call
}

// RecordedSnip is a recorded removal of whole turns (snip).
type RecordedSnip struct {
	Line     int      // line with the uuids of the removed messages, else line of the call
	Call     int      // index into SnipCalls; -1: unknown
	Removed  []string // recorded uuids of the removed messages
	Messages []int    // indexes of the removed messages, in order; no call is separated from its result
	Reason   string
	Before   int // Messages[:Before] are before the removal
	Request  int // number of the first main request after the removal
}

// Collapse is a recorded replacement of a span of messages by a placeholder.
type Collapse struct {
	ID       string
	Line     int
	From, To int    // indexes of the first and the last message of the span, which is extended so that no call is separated from its result
	Content  string // the placeholder as sent: <collapsed id="…">…</collapsed>
	Summary  string
	Before   int // Messages[:Before] are before the collapse
	Request  int // number of the first main request after the collapse
}

// Staged is a span of messages that the client may collapse.
type Staged struct {
	From, To int // indexes into Messages, as in Collapse
	Summary  string
	Risk     float64 // recorded number for the risk of collapsing the span; its scale is not known
}

// CollapseSnapshot is a recorded list of the spans that the client may collapse next. Each snapshot replaces the
// previous one.
type CollapseSnapshot struct {
	Line    int
	Staged  []Staged
	Before  int // Messages[:Before] are before the snapshot
	Request int // number of the first main request after the snapshot
}

// Replacement is a recorded decision to send Text in place of the content of a tool_result.
type Replacement struct {
	Line    int
	ToolID  string
	Message int // index of the message with the result in Messages
	Block   int // index of the result in that message
	Text    string
	Before  int // Messages[:Before] are before the decision; they include the message with the result
	Request int // number of the first main request after the decision
}

// A mark is a line outside the chain that records an edit of the context.
type mark struct {
	line     int
	at       int // number of chained lines before it in the file
	agent    string
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
	Staged []stagedSpan `json:"staged"`
}

type stagedSpan struct {
	StartUUID string  `json:"startUuid"`
	EndUUID   string  `json:"endUuid"`
	Summary   string  `json:"summary"`
	Risk      float64 `json:"risk"`
}

// replacedLine is one decision of a content-replacement. Its fields are not documented: these are the client's names
// elsewhere, and those of the API.
type replacedLine struct {
	ToolUseID   string `json:"toolUseId"`
	ToolUse     string `json:"tool_use_id"`
	Replacement string `json:"replacement"`
	Content     string `json:"content"`
}

// snipMeta is the metadata of a snip's line.
type snipMeta struct {
	RemovedUUIDs []string `json:"removedUuids"`
}

// snipInput is the input of a call of the Snip tool.
type snipInput struct {
	IDs    snipIDs `json:"ids"`
	Reason string  `json:"reason"`
}

// snipIDs are the ids of a Snip call. A model may write a list, a single id, several ids in one text, or an id of
// digits as a number.
type snipIDs struct {
	list []string
	odd  bool // an element is not an id
}

// UnmarshalJSON reads what is readable, without errors: the rest of the input is read too.
func (s *snipIDs) UnmarshalJSON(data []byte) error {
	var items []json.RawMessage
	if json.Unmarshal(data, &items) != nil {
		items = []json.RawMessage{data}
	}
	for _, item := range items {
		var text string
		var number json.Number
		switch {
		case bytes.Equal(item, []byte("null")): // it would unmarshal into a text
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
