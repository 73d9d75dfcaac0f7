package session

import (
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
)

// node is what is kept of one chained line.
type node struct {
	uuid      string
	parent    int32 // index into nodes, -1: none
	parentID  string
	logicalID string
	submitted bool // a file-history-snapshot stands right before the line: somebody pressed enter
	rootless  bool // the line has no parentUuid at all, not even null
	kind      nodeKind
	class     Class
	line      int32
	version   string
	time      time.Time
	agent     string
	sessionID string
	cwd       string
	sidechain bool
	apiError  bool
	source    string // sourceToolAssistantUUID
	msgID     string
	model     string
	stop      string
	head      string
	usage     jsonl.Usage
	hasUsage  bool
	blocks    []Block
	attach    string // attachment type
	compact   *compactMeta
	micro     *microMeta
	removed   []string // uuids a snip took out
	group     int32    // assistant: index of the first line of its message
	children  []int32
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
