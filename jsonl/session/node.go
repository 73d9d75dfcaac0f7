package session

import (
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
)

// node is what is kept of one chained line while a file is linked. There are as
// many as lines, so what few lines have is kept apart, and what lines in a row
// share is there once.
type node struct {
	uuid     string
	parentID string
	head     string // how a message's text begins; a system line's subtype; an attachment's or an unknown type
	time     time.Time
	env      *envelope
	reply    *reply   // assistant lines
	special  *special // nil: none of it
	blocks   []Block
	line     int32
	parent   int32 // index into nodes, -1: none
	child    int32 // the first line under it, -1: none; the others are its next
	last     int32 // the last line under it
	next     int32 // the next line under the same parent, -1: none
	group    int32 // assistant: index of the first line of its message
	conv     int32 // number of the conversation it is part of
	at       int32 // index of its message there, and one; 0: none
	kind     nodeKind
	class    Class

	submitted bool // a file-history-snapshot stands right before the line: somebody pressed enter
	rootless  bool // the line has no parentUuid at all, not even null
	sidechain bool
	apiError  bool

	onPath  bool // on the way from root to leaf of its conversation
	emitted bool // part of a message
	used    bool // part of a conversation or of its record
}

// envelope is what all lines of a stretch have in common.
type envelope struct {
	version, agent, sessionID, cwd string
}

// reply is what the lines of one response repeat.
type reply struct {
	id, model, stop string
	usage           jsonl.Usage
	hasUsage        bool
}

// special is what few lines have.
type special struct {
	logicalID string
	compact   *compactMeta
	micro     *microMeta
	removed   []string // uuids a snip took out
}

var nothing special

// rare is what few lines have, for reading.
func (n *node) rare() *special {
	if n.special == nil {
		return &nothing
	}
	return n.special
}

// own is what few lines have, for writing.
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
	h := strings.TrimLeft(n.head, " \t\r\n")
	for _, p := range prefixes {
		if strings.HasPrefix(h, p) {
			return true
		}
	}
	return false
}

type nodeKind uint8

const (
	nodeUser nodeKind = iota
	nodeAssistant
	nodeAttachment
	nodeBoundary // compact_boundary
	nodeMicro    // microcompact_boundary
	nodeSnip     // a system line that lists what a snip took out
	nodeSystem   // any other system line
	nodeProgress
	nodeOther // an unknown type that is part of the chain
)

func (k nodeKind) message() bool { return k == nodeUser || k == nodeAssistant || k == nodeAttachment }

type compactMeta struct {
	Trigger          string `json:"trigger"`
	PreTokens        int    `json:"preTokens"`
	PostTokens       int    `json:"postTokens"`
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
