package session

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/foreign"
)

// node is a chained line while a file is linked. To keep it small, it has no pointers: what lines share is in the
// loader's lists, as is what is rare.
type node struct {
	time     int64  // see ticks
	envelope int32  // index into loader.envelopes
	said     int32  // assistant lines: index into loader.replies; others: of the name
	chunk    uint32 // place of its first block in loader.made: number of the chunk, and in chunkBits the place in it
	line     int32
	parent   int32  // index into nodes, -1: none, or not known yet
	group    int32  // assistant lines: index of the first line of its message; others: of the assistant line above (assistantAbove)
	conv     int32  // number of the conversation it is part of
	at       int32  // index of its message there, plus one; 0: none
	blocks   uint16 // how many
	marks    nodeMarks
	timeRest uint8
	kind     nodeKind
	class    Class
	opening  opening
}

// nodeMarks are what is so of a line.
type nodeMarks uint16

const (
	lineSubmitted nodeMarks = 1 << iota // a file-history-snapshot is right before it: the user submitted it
	lineRootless                        // it has no parentUuid, not even null
	lineSidechain
	lineAPIError
	lineNoRequest // a response for which no request of this session is counted
	lineQueued    // a prompt of which the line says that it was queued
	lineBegins    // a prompt of which the line says that it begins a turn
	lineStopped   // and that the agent had run and stopped before it
	lineOnPath    // on the path from root to leaf of its conversation
	lineEmitted   // part of a message
	lineUsed      // part of a conversation or of its record
	lineForked    // it is the parent of one of loader.forks
	lineSpecial   // it is one of loader.specials
)

// is reports whether one of some marks is set.
func (n *node) is(marks nodeMarks) bool { return n.marks&marks != 0 }

func (n *node) mark(marks nodeMarks) { n.marks |= marks }

func (n *node) markIf(so bool, marks nodeMarks) {
	if so {
		n.mark(marks)
	}
}

// envelope holds fields that consecutive lines share.
type envelope struct {
	version, agent, sessionID, cwd string
}

// special holds what few lines have.
type special struct {
	parentID  string // of a parent that was not read before the line
	logicalID string
	effort    string // level of reasoning effort that the line says a command set
	compact   *compactMeta
	micro     *microMeta
	removed   []string // uuids that a snip removed
	cleared   bool     // output of a hook that runs as the context is cleared
	resumed   bool     // output of a hook that runs as a session is resumed
	launched  bool     // the queue before the line says that a new process began
	restarted bool     // the line says that the client was started again
}

// specialLine is a line with such.
type specialLine struct {
	line int32
	*special
}

func (ld *loader) node(i int32) *node { return ld.nodes.at(i) }

func (ld *loader) env(n *node) *envelope { return ld.envelopes.list[n.envelope] }

// reply is that of an assistant line.
func (ld *loader) reply(n *node) *reply { return ld.replies.at(n.said) }

// name is a system line's subtype, an attachment's or an unknown type.
func (ld *loader) name(n *node) string { return *ld.names.list[n.said] }

// rare is what few lines have, of line i, for reading.
func (ld *loader) rare(i int32) *special {
	if !ld.node(i).is(lineSpecial) {
		return &ld.nothing
	}
	at, _ := slices.BinarySearchFunc(ld.specials, i, func(s specialLine, i int32) int { return cmp.Compare(s.line, i) })
	return ld.specials[at].special
}

// own is what few lines have, for writing, of the line that was added last.
func (ld *loader) own() *special {
	i := int32(ld.nodes.len()) - 1
	if n := ld.node(i); !n.is(lineSpecial) {
		n.mark(lineSpecial)
		ld.specials = append(ld.specials, specialLine{i, &special{}})
	}
	return ld.specials[len(ld.specials)-1].special
}

// parentID is the uuid of the parent of line i, which may not be in the file.
func (ld *loader) parentID(i int32) string {
	if p := ld.node(i).parent; p >= 0 {
		return ld.uuids.text(p)
	}
	return ld.rare(i).parentID
}

// lostParent reports whether the parent of line i is not in the file.
func (ld *loader) lostParent(i int32) bool { return ld.node(i).parent < 0 && ld.rare(i).parentID != "" }

func (n *node) when() time.Time { return timeOf(n.time, n.timeRest) }

func startsWith(s string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}

type nodeKind uint8

const (
	nodeUser nodeKind = iota
	nodeAssistant
	nodeAttachment
	nodeBoundary // compact_boundary
	nodeMicro    // microcompact_boundary
	nodeSnip     // a system line that lists what a snip removed
	nodeSystem   // any other system line
	nodeProgress
	nodeOther // an unknown type that is part of the chain
)

func (k nodeKind) message() bool { return k == nodeUser || k == nodeAssistant || k == nodeAttachment }

type compactMeta struct {
	Trigger          string         `json:"trigger"`
	PreTokens        int            `json:"preTokens"`
	PostTokens       int            `json:"postTokens"`
	Usage            *foreign.Usage `json:"usage"`
	PreservedSegment *struct {
		HeadUUID   string `json:"headUuid"`
		AnchorUUID string `json:"anchorUuid"`
		TailUUID   string `json:"tailUuid"`
	} `json:"preservedSegment"`
	PreservedMessages *struct {
		AnchorUUID string   `json:"anchorUuid"`
		UUIDs      []string `json:"uuids"`
		AllUUIDs   []string `json:"allUuids"`
	} `json:"preservedMessages"`
	snipMeta
}

// anchor is the uuid of the line after which a compaction puts what it keeps; "": it keeps nothing.
func (m *compactMeta) anchor() string {
	switch {
	case m.PreservedMessages != nil:
		return m.PreservedMessages.AnchorUUID
	case m.PreservedSegment != nil:
		return m.PreservedSegment.AnchorUUID
	}
	return ""
}

// tail is the uuid of the last line that a compaction keeps where it names an anchor; "": none.
func (m *compactMeta) tail() string {
	switch {
	case m.anchor() == "":
	case m.PreservedSegment != nil:
		return m.PreservedSegment.TailUUID
	case m.PreservedMessages != nil && len(m.PreservedMessages.UUIDs) > 0:
		return m.PreservedMessages.UUIDs[len(m.PreservedMessages.UUIDs)-1]
	}
	return ""
}

type microMeta struct {
	Trigger     string   `json:"trigger"`
	PreTokens   int      `json:"preTokens"`
	TokensSaved int      `json:"tokensSaved"`
	ToolIDs     []string `json:"compactedToolIds"`
	Attachments []string `json:"clearedAttachmentUUIDs"`
}
