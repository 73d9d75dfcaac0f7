package session

import (
	"slices"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/foreign"
)

// node is a chained line while a file is linked. To keep it small, fields that consecutive lines share are in
// envelope and reply, and rare fields in special.
type node struct {
	parentID string
	head     string // start of a message's text; a system line's subtype; an attachment's or an unknown type
	time     time.Time
	env      *envelope
	reply    *reply   // assistant lines
	special  *special // nil: none
	blocks   []Block
	line     int32
	parent   int32 // index into nodes, -1: none
	child    int32 // the first line under it, -1: none; the others are its next
	last     int32 // the last line under it
	next     int32 // the next line under the same parent, -1: none
	group    int32 // assistant: index of the first line of its message
	conv     int32 // number of the conversation it is part of
	at       int32 // index of its message there, plus one; 0: none
	kind     nodeKind
	class    Class

	submitted bool // a file-history-snapshot is right before the line: the user submitted it
	rootless  bool // the line has no parentUuid, not even null
	cleared   bool // output of a hook that runs as the context is cleared, and the first line after that
	sidechain bool
	apiError  bool
	noRequest bool // a response for which no request of this session is counted
	resumed   bool // output of a hook that runs as a session is resumed
	restarted bool // the line says that the client was started again
	queued    bool // a prompt of which the line says that it was queued
	begins    bool // a prompt of which the line says that it begins a turn
	stopped   bool // and that the agent had run and stopped before it

	onPath  bool // on the path from root to leaf of its conversation
	emitted bool // part of a message
	used    bool // part of a conversation or of its record
}

// envelope holds fields that consecutive lines share.
type envelope struct {
	version, agent, sessionID, cwd string
}

// special holds rare fields.
type special struct {
	logicalID string
	compact   *compactMeta
	micro     *microMeta
	removed   []string // uuids that a snip removed
}

var nothing special

// rare returns the rare fields for reading.
func (n *node) rare() *special {
	if n.special == nil {
		return &nothing
	}
	return n.special
}

// own returns the rare fields for writing.
func (n *node) own() *special {
	if n.special == nil {
		n.special = &special{}
	}
	return n.special
}

// attachment is the type of an attachment.
func (n *node) attachment() string {
	if n.kind == nodeAttachment {
		return n.head
	}
	return ""
}

func (n *node) headIs(prefixes ...string) bool {
	return startsWith(strings.TrimLeft(n.head, " \t\r\n"), prefixes...)
}

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

type microMeta struct {
	Trigger     string   `json:"trigger"`
	PreTokens   int      `json:"preTokens"`
	TokensSaved int      `json:"tokensSaved"`
	ToolIDs     []string `json:"compactedToolIds"`
	Attachments []string `json:"clearedAttachmentUUIDs"`
}
