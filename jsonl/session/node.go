package session

import (
	"slices"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/foreign"
)

// node is a chained line while a file is linked. Other lines are named by their index in loader.nodes, -1 being none.
type node struct {
	uuid        string
	parentUUID  string
	logicalUUID string
	line        int
	time        time.Time
	kind        nodeKind
	class       Class
	opening     opening
	marks       nodeMarks
	name        string // a system line's subtype, an attachment's type, or an unknown type
	blocks      []Block
	response    *response // of an assistant line

	version, agent, sessionID, cwd string

	// What few lines have.
	effort   string  // level of reasoning effort that the line says a command set
	preamble *string // see Message.Preamble
	compact  *compactMeta
	micro    *microMeta

	// What linking finds.
	parent int
	under  []int // the lines whose parent it is, in file order
	above  int   // the assistant line at or above it, no prompt between them
	group  int   // of an assistant line: the first line of its message
	conv   int   // number of the conversation it is part of
	at     int   // index of its message there, plus one; 0: none
}

// response is what an assistant line says of its message.
type response struct {
	id, model, stop string
	call            string // what tells its call apart from those of all files; "": nothing
	usage           jsonl.Usage
	recorded        bool // the usage
	applied         Applied
	cacheMiss       string
}

// nodeMarks are the flags of a line.
type nodeMarks uint32

const (
	lineSubmitted nodeMarks = 1 << iota // a file-history-snapshot is right before it: the user submitted it
	lineRootless                        // it has no parentUuid, not even null
	lineSidechain
	lineAPIError
	lineNoRequest // a response for which no request of this session is counted
	lineQueued    // a prompt of which the line says that it was queued
	lineBegins    // a prompt of which the line says that it begins a turn
	lineStopped   // and that the agent had run and stopped before it
	lineAnswers   // a summary in the assistant's role
	lineCleared   // output of a hook that runs as the context is cleared
	lineResumed   // output of a hook that runs as a session is resumed
	lineLaunched  // the queue before the line says that a new process began
	lineRestarted // the line says that the client was started again
	lineOnPath    // on the path from root to leaf of its conversation
	lineEmitted   // part of a message
	lineUsed      // part of a conversation or of its record
	lineVersioned // its version is listed
	lineTyped     // what a person typed, or what is between that and what follows it
)

// is reports whether one of some marks is set.
func (n *node) is(marks nodeMarks) bool { return n.marks&marks != 0 }

func (n *node) mark(marks nodeMarks) { n.marks |= marks }

func (n *node) markIf(so bool, marks nodeMarks) {
	if so {
		n.mark(marks)
	}
}

func (ld *loader) node(i int) *node { return ld.nodes[i] }

// lineOf is the line with a uuid.
func (ld *loader) lineOf(uuid string) (line int, ok bool) {
	line, ok = ld.byUUID[uuid]
	return line, ok
}

// lostParent reports whether the parent of a line is not in the file.
func (n *node) lostParent() bool { return n.parent < 0 && n.parentUUID != "" }

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
	Request          string         `json:"requestId"`
	Model            string         `json:"model"`
	Order            []string       `json:"order"`
	Precomputed      bool           `json:"precomputed"`
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

// kept lists the uuids that a boundary line has of what was kept, the last one at the end.
func (m *compactMeta) kept() (uuids []string) {
	segment := m.PreservedSegment
	if segment != nil {
		uuids = append(uuids, segment.HeadUUID)
	}
	if m.PreservedMessages != nil {
		uuids = append(uuids, m.PreservedMessages.UUIDs...)
	}
	if segment != nil {
		uuids = append(uuids, segment.TailUUID)
	}
	return uuids
}

type microMeta struct {
	Trigger     string   `json:"trigger"`
	PreTokens   int      `json:"preTokens"`
	TokensSaved int      `json:"tokensSaved"`
	ToolIDs     []string `json:"compactedToolIds"`
}
