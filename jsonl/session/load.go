package session

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
)

// LoadOptions say how a file is read. The zero value is the default.
type LoadOptions struct {
	Jobs    int    // workers that decode lines; 0: 1
	MaxLine int    // longest line, bytes; 0: jsonl's default
	Offload string // folder of offloaded tool results; "": the session's own, beside the file
	Leaf    string // uuid of the leaf whose branch is the conversation; "": the live one
}

// File is what one session file holds: a main conversation and the sidechains
// that stand in the same file.
type File struct {
	Path       string
	Main       *Conversation
	Sidechains []*Conversation // by agent id or first uuid, in order of appearance
	source     *jsonl.Source
}

// Close releases the file behind the conversations' texts.
func (f *File) Close() error { return f.source.Close() }

// Conversations is the main one, then the sidechains.
func (f *File) Conversations() []*Conversation {
	return append([]*Conversation{f.Main}, f.Sidechains...)
}

// Load reads a session file: plain, gzip or zstd.
func Load(path string, opt LoadOptions) (*File, error) {
	src, err := jsonl.Open(path)
	if err != nil {
		return nil, err
	}
	return load(src, path, path, opt)
}

// LoadReader reads a session from a stream; name is for messages only.
func LoadReader(name string, r io.Reader, opt LoadOptions) (*File, error) {
	src, err := jsonl.OpenReader(name, r)
	if err != nil {
		return nil, err
	}
	return load(src, name, "", opt)
}

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
	group     int32 // assistant: index of the first line of its message
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
}

type microMeta struct {
	Trigger     string   `json:"trigger"`
	PreTokens   int      `json:"preTokens"`
	TokensSaved int      `json:"tokensSaved"`
	ToolIDs     []string `json:"compactedToolIds"`
	Attachments []string `json:"clearedAttachmentUUIDs"`
}

// loader gathers the entries of one file.
type loader struct {
	src      *jsonl.Source
	path     string
	nodes    []node
	byUUID   map[string]int32
	lines    Accounting
	warnings []Warning
	leaf     string // last-prompt.leafUuid, the last one
	leafAt   int32  // len(nodes) when it stood
	snapshot bool   // the last line that counts was a file-history-snapshot
	title    string // a person's
	aiTitle  string
	summary  string
	used     map[int32]bool
	above    []int32 // nearest assistant line at or above a line, no prompt between; -1: none
}

// Reasons for which lines are set aside.
const (
	AsideMalformed Reason = "malformed"
	AsideComment   Reason = "comment"
	AsideBlank     Reason = "blank"
	AsideBranch    Reason = "abandoned branch"
	AsideAPIError  Reason = "API error written by the client"
	AsideDuplicate Reason = "duplicate uuid"
	AsideNoMessage Reason = "message line without a message"
)

// load reads a source; file is the path it was opened by, "" for a stream.
func load(src *jsonl.Source, path, file string, opt LoadOptions) (*File, error) {
	ld := &loader{src: src, path: path, byUUID: map[string]int32{}, lines: Accounting{SetAside: map[Reason]int{}}}
	jobs := max(opt.Jobs, 1)
	err := src.Each(jobs, jsonl.Options{MaxLine: opt.MaxLine}, ld.record)
	if err != nil {
		ld.warn(0, "reading stopped: %v", err)
		if len(ld.nodes) == 0 {
			src.Close()
			return nil, err
		}
	}
	f := &File{Path: path, source: src}
	ld.build(f, opt)
	for _, conv := range f.Conversations() {
		conv.readOffloads(offloadsOf(file, opt.Offload))
	}
	return f, nil
}

func (ld *loader) warn(line int, format string, args ...any) {
	ld.warnings = append(ld.warnings, Warning{File: ld.path, Line: line, Message: fmt.Sprintf(format, args...)})
}

func (ld *loader) aside(r Reason) { ld.lines.SetAside[r]++ }

func (ld *loader) record(rec *jsonl.Record) error {
	ld.lines.Read++
	switch rec.Kind {
	case jsonl.RecordError:
		ld.aside(AsideMalformed)
		ld.warn(rec.Err.Line, "column %d: %s: line set aside", rec.Err.Col, rec.Err.Msg)
		return nil
	case jsonl.RecordComment:
		ld.aside(AsideComment)
		return nil
	case jsonl.RecordBlank:
		ld.aside(AsideBlank)
		return nil
	}
	e := rec.Entry
	if e.Part > 0 {
		ld.lines.Fused++
	}
	ld.entry(e)
	return nil
}

func (ld *loader) entry(e *jsonl.Entry) {
	switch e.Type {
	case "user", "assistant":
		if !e.HasMessage {
			ld.aside(AsideNoMessage)
			ld.warn(e.Line, "a %s line without a message: line set aside", e.Type)
			return
		}
	case "file-history-snapshot":
		ld.snapshot = !bytes.Contains(e.Raw, []byte(`"isSnapshotUpdate":true`))
	case "last-prompt":
		if e.LeafUUID != "" {
			ld.leaf, ld.leafAt = e.LeafUUID, int32(len(ld.nodes))
		}
		ld.aside(Reason("metadata: " + e.Type))
		return
	case "summary", "custom-title", "ai-title":
		ld.noteTitle(e)
		ld.aside(Reason("metadata: " + e.Type))
		return
	}
	if e.UUID == "" && e.Type != "user" && e.Type != "assistant" {
		if e.Type == "" {
			ld.aside("no type")
		} else {
			ld.aside(Reason("metadata: " + e.Type))
		}
		return
	}
	ld.add(e)
}

func (ld *loader) noteTitle(e *jsonl.Entry) {
	var t struct {
		Summary     string `json:"summary"`
		AITitle     string `json:"aiTitle"`
		CustomTitle string `json:"customTitle"`
	}
	if json.Unmarshal(e.Raw, &t) != nil {
		return
	}
	switch {
	case t.CustomTitle != "":
		ld.title = t.CustomTitle
	case t.AITitle != "":
		ld.aiTitle = t.AITitle // appended again and again: the last one holds
	case t.Summary != "" && ld.summary == "":
		ld.summary = t.Summary
	}
}

func (ld *loader) add(e *jsonl.Entry) {
	n := node{
		submitted: ld.snapshot,
		uuid:      e.UUID, parent: -1, parentID: e.ParentUUID, logicalID: e.LogicalParentUUID, rootless: !e.HasParent,
		line: int32(e.Line), version: e.Version, time: e.Time, agent: e.AgentID, sessionID: e.SessionID, cwd: e.CWD,
		sidechain: e.IsSidechain, source: e.SourceToolAssistantUUID, group: -1,
	}
	ld.snapshot = false
	if n.uuid == "" {
		n.uuid = fmt.Sprintf("line-%d.%d", e.Line, e.Part)
	}
	switch e.Type {
	case "user", "assistant":
		n.kind = nodeUser
		if e.Type == "assistant" {
			n.kind = nodeAssistant
		}
		ld.addMessage(&n, e)
	case "attachment":
		n.kind, n.class = nodeAttachment, ClassAttachment
		ld.addAttachment(&n, e)
	case "system":
		n.kind = nodeSystem
		n.head = e.Subtype
		switch e.Subtype {
		case "compact_boundary":
			n.kind = nodeBoundary
			n.compact = &compactMeta{}
			ld.metadata(e, "compactMetadata", e.CompactMetadata, n.compact)
		case "microcompact_boundary":
			n.kind = nodeMicro
			n.micro = &microMeta{}
			ld.metadata(e, "microcompactMetadata", e.MicrocompactMetadata, n.micro)
		}
	case "progress":
		n.kind = nodeProgress
	default:
		n.kind = nodeOther
		n.head = e.Type
	}
	if _, dup := ld.byUUID[n.uuid]; dup {
		ld.aside(AsideDuplicate)
		ld.warn(e.Line, "uuid %s stands on an earlier line already: line set aside", n.uuid)
		return
	}
	ld.byUUID[n.uuid] = int32(len(ld.nodes))
	ld.nodes = append(ld.nodes, n)
}

func (ld *loader) metadata(e *jsonl.Entry, name string, raw []byte, into any) {
	if len(raw) == 0 {
		ld.warn(e.Line, "a %s line without %s", e.Subtype, name)
		return
	}
	if err := json.Unmarshal(raw, into); err != nil {
		ld.warn(e.Line, "%s does not read: what reads of it is used", name)
	}
}

func (ld *loader) addMessage(n *node, e *jsonl.Entry) {
	m := &e.Message
	n.msgID, n.model, n.stop = m.ID, m.Model, m.StopReason
	n.usage, n.hasUsage = m.Usage, m.HasUsage
	n.apiError = e.IsAPIError
	n.head = m.Head
	if len(n.head) > 64 {
		n.head = strings.Clone(n.head[:64])
	}
	if len(m.Content) > 0 {
		n.blocks = make([]Block, len(m.Content))
		for i := range m.Content {
			n.blocks[i] = Block{Block: m.Content[i], Line: int32(e.Line)}
			if p := m.Content[i].Parts; len(p) > 0 {
				n.blocks[i].Parts = append([]jsonl.Part(nil), p...)
			}
		}
	}
	if n.kind == nodeUser {
		n.class = classify(e)
	}
}

func (ld *loader) addAttachment(n *node, e *jsonl.Entry) {
	a := readAttachment(e.Attachment)
	n.attach = a.kind
	if a.prompt {
		n.class = ClassPrompt
	}
	off := e.Offset
	if i := spanIn(e.Raw, e.Attachment); i >= 0 {
		off += int64(i)
	}
	span := jsonl.Span{Off: off, Len: len(e.Attachment)}
	n.blocks = []Block{{
		Block: jsonl.Block{Kind: jsonl.KindAttachment, Type: a.kind, Text: a.length, JSON: jsonl.Metrics{UTF16: len(e.Attachment), Bytes: len(e.Attachment)}, Span: span, Value: span},
		Line:  int32(e.Line),
	}}
}

// build links the nodes, finds the conversations and fills the file.
func (ld *loader) build(f *File, opt LoadOptions) {
	ld.link()
	ld.used = map[int32]bool{}
	main, sides := ld.split()
	f.Main = ld.conversation(main, "", opt.Leaf)
	f.Main.Agent = ld.ownAgent(main)
	for _, s := range sides {
		f.Sidechains = append(f.Sidechains, ld.conversation(s.nodes, s.agent, ""))
	}
	ld.account()
	f.Main.Lines = ld.lines
	f.Main.Warnings = append(ld.warnings, f.Main.Warnings...)
	f.Main.Title = cmp.Or(ld.title, ld.aiTitle, ld.summary)
}

// account counts each chained line as used or set aside.
func (ld *loader) account() {
	for i := range ld.nodes {
		n := &ld.nodes[i]
		switch {
		case ld.used[int32(i)]:
			ld.lines.Used++
		case n.apiError:
			ld.aside(AsideAPIError)
		case n.kind == nodeProgress:
			ld.aside("progress")
		case n.kind == nodeSystem:
			ld.aside(Reason("system: " + n.head))
		case n.kind == nodeOther:
			ld.aside(Reason("unknown type: " + n.head))
		default:
			ld.aside(AsideBranch)
		}
	}
}

// ownAgent is the agent id where the main conversation is a subagent's own
// file, else "".
func (ld *loader) ownAgent(main []int32) string {
	for _, i := range main {
		if n := &ld.nodes[i]; n.kind.message() {
			if n.sidechain {
				return n.agent
			}
			return ""
		}
	}
	return ""
}

type side struct {
	agent string
	nodes []int32
}

// split tells the main conversation's lines from sidechains'. A file in which
// every message is a sidechain's is a subagent's own: there it is the main one.
func (ld *loader) split() (main []int32, sides []side) {
	all := true
	for i := range ld.nodes {
		if ld.nodes[i].kind.message() && !ld.nodes[i].sidechain {
			all = false
			break
		}
	}
	at := map[string]int{}
	var roots []int32
	for i := range ld.nodes {
		n := &ld.nodes[i]
		if all || !n.sidechain {
			main = append(main, int32(i))
			continue
		}
		key := n.agent
		if key == "" {
			if roots == nil {
				roots = ld.sideRoots()
			}
			key = ld.nodes[roots[i]].uuid
		}
		j, ok := at[key]
		if !ok {
			j = len(sides)
			at[key] = j
			sides = append(sides, side{agent: key})
		}
		sides[j].nodes = append(sides[j].nodes, int32(i))
	}
	return main, sides
}

// sideRoots finds the topmost sidechain line above each sidechain line.
func (ld *loader) sideRoots() []int32 {
	roots := make([]int32, len(ld.nodes))
	for i := range roots {
		roots[i] = -1
	}
	var path []int32
	for i := range ld.nodes {
		path = path[:0]
		at := int32(i)
		for roots[at] < 0 {
			roots[at] = at // breaks cycles
			path = append(path, at)
			if p := ld.nodes[at].parent; p >= 0 && ld.nodes[p].sidechain {
				at = p
			}
		}
		for _, k := range path {
			roots[k] = roots[at]
		}
	}
	return roots
}

// SortedReasons lists the reasons of an accounting, most frequent first.
func (a Accounting) SortedReasons() []Reason {
	rs := make([]Reason, 0, len(a.SetAside))
	for r := range a.SetAside {
		rs = append(rs, r)
	}
	sort.Slice(rs, func(i, j int) bool {
		if a.SetAside[rs[i]] != a.SetAside[rs[j]] {
			return a.SetAside[rs[i]] > a.SetAside[rs[j]]
		}
		return rs[i] < rs[j]
	})
	return rs
}

// Balanced reports whether Read = Used + sum(SetAside).
func (a Accounting) Balanced() bool {
	n := a.Used
	for _, c := range a.SetAside {
		n += c
	}
	return n == a.Read
}
