package session

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/foreign"
)

// LoadOptions are the options of reading a file. The zero value is the default.
type LoadOptions struct {
	Jobs    int // workers that decode lines; 0: 1
	Limits  jsonl.InputLimits
	Offload string // folder of offloaded tool results; "": the session's own, beside the file
	Leaf    string // uuid of the leaf whose branch is the conversation; "": the live one

	// Item, if set, is called with every item as it is read, Aside with every line that is set aside, and Warned with
	// every warning, on the goroutine that loads. A warning that is not kept has no message.
	Item   func(*jsonl.Item)
	Aside  func(line int, r Reason)
	Warned func(Warning)
}

// File is a session file: its main conversation and its sidechains.
type File struct {
	Path       string
	Main       *Conversation
	Sidechains []*Conversation // by agent id or first uuid, in order of appearance
	Stopped    error           // the error that ended reading before the end of the file, or nil: a truncated archive, a failing disk
	source     *jsonl.Source
}

// Close closes the file of the conversations' texts.
func (f *File) Close() error { return f.source.Close() }

// WriteLines writes the lines that the file was read from, each with its newline: of another agent's session those it
// was converted to.
func (f *File) WriteLines(w io.Writer) error {
	last := &lastByte{Writer: w, b: '\n'}
	_, err := f.source.WriteTo(last)
	if err == nil && last.b != '\n' {
		_, err = io.WriteString(w, "\n")
	}
	return err
}

// lastByte remembers the last byte written.
type lastByte struct {
	io.Writer
	b byte
}

func (l *lastByte) Write(p []byte) (int, error) {
	if len(p) > 0 {
		l.b = p[len(p)-1]
	}
	return l.Writer.Write(p)
}

// Conversations is the main one, then the sidechains.
func (f *File) Conversations() []*Conversation {
	return append([]*Conversation{f.Main}, f.Sidechains...)
}

// Load reads a session file: plain, gzip or zstd.
func Load(path string, opt LoadOptions) (*File, error) {
	src, err := opt.Limits.Open(path)
	if err != nil {
		return nil, err
	}
	return load(src, path, path, opt)
}

// LoadReader reads a session from a stream; name is for messages only.
func LoadReader(name string, r io.Reader, opt LoadOptions) (*File, error) {
	src, err := opt.Limits.OpenReader(name, r)
	if err != nil {
		return nil, err
	}
	return load(src, name, "", opt)
}

// loader collects the entries of one file.
type loader struct {
	src       *jsonl.Source
	path      string
	nodes     chunks[node]
	made      [][]Block // the blocks of the nodes
	uuids     *uuids    // of the nodes, then of what more messages have
	byUUID    lineIndex
	lines     Accounting
	watch     LoadOptions // its Item and Aside
	notes     *notes
	warnings  []Warning
	entries   int64 // objects so far, with their blocks and parts
	limits    jsonl.InputLimits
	leaf      string // last-prompt.leafUuid, the last one
	leafAt    int32  // len(nodes) at that line
	snapshot  bool   // the last line that counts was a file-history-snapshot
	title     string // chosen by a person
	aiTitle   string
	summary   string
	marks     []mark
	queued    []queued        // texts that were put into the queue
	waiting   waiting         // those in it
	oddKinds  map[string]bool // kinds of attachments that a warning names
	attached  map[string]bool // queued texts that stand in attachments
	tools     calls
	files     *files          // apart: a conversation keeps them, and not the loader
	calls     []snipInput     // inputs of the Snip tool
	callAt    map[string]int  // tool_use id -> index into calls
	removed   map[string]bool // uuids that a snip removed
	last      string          // uuid of the last node
	replies   chunks[reply]   // of the assistant lines
	voices    distinct[voice]
	names     distinct[string]   // the first is empty
	envelopes distinct[envelope] // the first is empty
	specials  []specialLine      // in file order
	nothing   special
	origins   distinct[originKey]
	from      []*origin       // of the keys
	convs     int32           // conversations so far
	foreign   *foreign.Writer // of a session of another agent, else nil
	recorded  foreign.Session // what recorded it, where a line says so
	totals    []RunTotals
	windows   []window // of the model, where lines say so, in order
	forks     []fork   // by parent, then by line
}

// load reads a source; file is the path it was opened by, "" for a stream.
func load(src *jsonl.Source, path, file string, opt LoadOptions) (*File, error) {
	limits := opt.Limits.Filled()
	ns := &notes{path: path, most: int(limits.Findings), kinds: map[Code]int{}, watch: opt.Warned}
	ld := &loader{
		path: path, lines: Accounting{SetAside: map[Reason]int{}}, watch: opt, notes: ns, limits: limits, uuids: &uuids{}, tools: newCalls(), files: &files{},
	}
	ld.names.place("")
	ld.envelopes.place(envelope{})
	src, err := ld.recognise(src, file)
	if err != nil {
		return nil, err
	}
	ld.src = src
	hint := min(src.Size()/typicalLine, maxHint) + 16
	ld.byUUID = newLineIndex(int(hint))
	jobs := max(opt.Jobs, 1)
	err = src.Each(jobs, jsonl.ReadOptions{}, ld.item)
	if err != nil {
		ld.warn(CodeStopped, 0, "reading stopped: %v", err)
		if ld.nodes.len() == 0 {
			src.Close()
			return nil, err
		}
	}
	f := &File{Path: path, source: src, Stopped: err}
	if _, ok := ld.lineOf(opt.Leaf); opt.Leaf != "" && !ok {
		src.Close()
		return nil, &jsonl.FileError{Path: path, Err: fmt.Errorf("no line has the uuid %s: want the leaf of a branch of this session", opt.Leaf)}
	}
	ld.build(f, opt)
	if ld.nodes.len() > manyLines {
		// Linking needs more memory than is kept. Without a collection the next replay would grow the heap beyond
		// both.
		ld = nil
		runtime.GC()
	}
	for k, conv := range f.Conversations() {
		conv.indexTools(alone - 1 - int32(k))
		conv.readOffloads(offloadsOf(file, opt.Offload), limits, ns)
		if conv == f.Main && conv.Agent == "" {
			conv.readMemory(ownFolder(file, memoryName))
		}
		slices.SortStableFunc(conv.Warnings, func(a, b Warning) int { return a.Line - b.Line })
	}
	f.Main.Warnings = append(f.Main.Warnings, ns.rest()...)
	return f, nil
}

const (
	typicalLine = 4000    // bytes of a chained line in a long session
	maxHint     = 1 << 19 // most nodes that the index has room for before reading
	manyLines   = 1 << 17 // nodes of a long session
)

func (ld *loader) warn(code Code, line int, format string, args ...any) {
	ld.notes.add(&ld.warnings, code, line, format, args...)
}

func (ld *loader) aside(line int, r Reason) {
	ld.lines.SetAside[r]++
	if ld.foreign != nil {
		ld.foreign.Lost(line, string(r))
	}
	if ld.watch.Aside != nil {
		ld.watch.Aside(line, r)
	}
}

func (ld *loader) item(rec *jsonl.Item) error {
	if rec.Kind == jsonl.ItemEntry {
		if ld.entries += size(rec.Entry); ld.entries > ld.limits.Entries {
			return &jsonl.FileError{Path: ld.path, Line: rec.Line, Err: &jsonl.LimitError{Name: "entries", Most: ld.limits.Entries}}
		}
	}
	ld.lines.Read++
	if ld.foreign != nil {
		rec.Line = ld.foreign.Origin(rec.Line)
		if rec.Entry != nil {
			rec.Entry.Line = rec.Line
		}
	}
	if ld.watch.Item != nil {
		ld.watch.Item(rec)
	}
	switch rec.Kind {
	case jsonl.ItemError:
		ld.aside(rec.Line, AsideMalformed)
		ld.warn(CodeMalformed, rec.Err.Line, "column %d: %s: line set aside", rec.Err.Col, rec.Err.Msg)
	case jsonl.ItemComment:
		ld.aside(rec.Line, AsideComment)
	case jsonl.ItemBlank:
		ld.aside(rec.Line, AsideBlank)
	default:
		if rec.Entry.Part > 0 {
			ld.lines.Fused++
		}
		ld.entry(rec.Entry)
	}
	return nil
}

// size is an object with its content blocks and their parts.
func size(e *jsonl.Entry) int64 {
	n := 1 + len(e.Message.Content)
	for i := range e.Message.Content {
		n += len(e.Message.Content[i].Parts)
	}
	return int64(n)
}

func (ld *loader) entry(e *jsonl.Entry) {
	switch e.Type {
	case "user", "assistant":
		if !e.HasMessage {
			ld.aside(e.Line, AsideNoMessage)
			ld.warn(CodeNoMessage, e.Line, "a %s line without a message: line set aside", e.Type)
			return
		}
	case "file-history-snapshot":
		ld.snapshot = !bytes.Contains(e.Raw, []byte(`"isSnapshotUpdate":true`))
	case "last-prompt":
		if e.LeafUUID != "" {
			ld.leaf, ld.leafAt = e.LeafUUID, int32(ld.nodes.len())
		}
		ld.aside(e.Line, Reason("metadata: "+e.Type))
		return
	case "summary", "custom-title", "ai-title":
		ld.noteTitle(e)
		ld.aside(e.Line, Reason("metadata: "+e.Type))
		return
	case foreign.TypeSession:
		ld.recorder(e)
		return
	case foreign.TypeTotals:
		ld.total(e)
		return
	case typeQueue:
		ld.queue(e)
		return
	case typeCommit, typeSnapshot, typeReplacement:
		ld.mark(e)
		return
	}
	switch {
	case e.UUID != "" || e.Type == "user" || e.Type == "assistant":
		ld.add(e)
	case e.Type == "":
		ld.aside(e.Line, AsideNoType)
	default:
		ld.aside(e.Line, Reason("metadata: "+e.Type))
	}
}

func (ld *loader) add(e *jsonl.Entry) {
	uuid := e.UUID
	if uuid == "" {
		uuid = fmt.Sprintf("line-%d.%d", e.Line, e.Part)
	}
	submitted := ld.snapshot
	ld.snapshot = false
	if !ld.byUUID.add(ld.uuids, uuid) {
		ld.aside(e.Line, AsideDuplicate)
		ld.warn(CodeDuplicateUUID, e.Line, "an earlier line has the uuid %s: line set aside", uuid)
		return
	}
	n := ld.node(ld.nodes.add(node{
		envelope: ld.envelopes.place(envelope{version: e.Version, agent: e.AgentID, sessionID: e.SessionID, cwd: e.CWD}), line: int32(e.Line),
		parent: -1, group: -1,
	}))
	n.markIf(submitted, lineSubmitted)
	n.markIf(!e.HasParent, lineRootless)
	n.markIf(e.IsSidechain, lineSidechain)
	n.time, n.timeRest = ticks(e.Time)
	ld.addParent(n, e)
	ld.last = uuid
	if cleared, resumed := e.ParentUUID == "" && isOutputOf(clearHook, e), isOutputOf(resumeHook, e); cleared || resumed {
		ld.own().cleared, ld.own().resumed = cleared, resumed
	}
	switch e.Type {
	case "user", "assistant":
		n.kind = nodeUser
		if e.Type == "assistant" {
			n.kind = nodeAssistant
		}
		ld.addMessage(n, e)
	case "attachment":
		n.kind, n.class = nodeAttachment, ClassAttachment
		ld.addAttachment(n, e)
	case "system":
		n.kind = nodeSystem
		n.said = ld.names.place(e.Subtype)
		switch e.Subtype {
		case "compact_boundary":
			n.kind = nodeBoundary
			ld.own().compact = &compactMeta{}
			ld.metadata(e, "compactMetadata", e.CompactMetadata, ld.own().compact)
		case foreign.SubtypeRestart:
			ld.own().restarted = true
		case "microcompact_boundary":
			n.kind = nodeMicro
			ld.own().micro = &microMeta{}
			ld.metadata(e, "microcompactMetadata", e.MicrocompactMetadata, ld.own().micro)
			ld.own().micro.ToolIDs = ld.tools.share(ld.own().micro.ToolIDs)
		}
		ld.removal(n, e)
	case "progress":
		n.kind = nodeProgress
	default:
		n.kind = nodeOther
		n.said = ld.names.place(e.Type)
	}
}

// addParent finds the parent of the line that is added, where it was read before. It is usually the line before.
func (ld *loader) addParent(n *node, e *jsonl.Entry) {
	if e.LogicalParentUUID != "" {
		ld.own().logicalID = strings.Clone(e.LogicalParentUUID) // what is beside it in memory is not kept
	}
	switch e.ParentUUID {
	case "":
	case ld.last:
		n.parent = int32(ld.nodes.len()) - 2
	default:
		if p, ok := ld.lineOf(e.ParentUUID); ok && ld.node(p) != n {
			n.parent = p
		} else {
			ld.own().parentID = strings.Clone(e.ParentUUID)
		}
	}
}

// share returns what responses have in common.
func (ld *loader) share(v voice) *voice { return ld.voices.list[ld.voices.place(v)] }

func (ld *loader) metadata(e *jsonl.Entry, name string, raw []byte, into any) {
	if len(raw) == 0 {
		ld.warn(CodeMetadata, e.Line, "a %s line without %s", e.Subtype, name)
		return
	}
	if err := json.Unmarshal(raw, into); err != nil {
		ld.warn(CodeMetadata, e.Line, "%s is partly unreadable: the readable part is used", name)
	}
}

func (ld *loader) addMessage(n *node, e *jsonl.Entry) {
	m := &e.Message
	if n.kind == nodeAssistant {
		r := reply{id: m.ID, voice: ld.share(voice{m.Model, m.StopReason, 0}), recorded: m.HasUsage}
		r.setUsage(&m.Usage)
		if k := ld.replies.len(); k == 0 || *ld.replies.at(int32(k - 1)) != r {
			ld.replies.add(r)
		}
		n.said = int32(ld.replies.len() - 1)
	}
	if m.OddUsage != "" && n.kind == nodeAssistant {
		ld.warn(CodeUsage, e.Line, "the recorded usage is not used: %s", m.OddUsage)
	}
	n.markIf(e.IsAPIError, lineAPIError)
	n.markIf(e.NoRequest, lineNoRequest)
	blocks := ld.newBlocks(n, len(m.Content))
	for i := range blocks {
		m.Content[i].Parts = slices.Clone(m.Content[i].Parts)
		blocks[i].fill(&m.Content[i])
		blocks[i].call = ld.tools.of(&m.Content[i])
		blocks[i].Line = int32(e.Line)
		if m.Content[i].Kind == jsonl.KindToolUse {
			switch m.Content[i].Name {
			case snipTool:
				ld.snipCall(e, &m.Content[i])
			case readTool:
				blocks[i].file = ld.fileRead(e, &m.Content[i])
			}
		}
	}
	if n.kind == nodeUser {
		n.class = classify(e)
		switch e.RecordedTurn {
		case foreign.TurnQueued:
			n.class = ClassPrompt
			n.mark(lineQueued)
		case foreign.TurnBegins:
			n.class = ClassPrompt
			n.mark(lineBegins)
		case foreign.TurnStopped:
			n.class = ClassPrompt
			n.mark(lineBegins | lineStopped)
		}
	}
	head := m.Head[:min(len(m.Head), mostHead)]
	if n.opening = open(n.class, head); n.opening == opensOutput {
		if effort := effortSet(head); effort != "" {
			ld.own().effort = effort
		}
	}
}

func (ld *loader) addAttachment(n *node, e *jsonl.Entry) {
	a, sent := readAttachment(e.Attachment), readSent(e)
	n.said = ld.names.place(a.kind)
	if a.odd && !sent.Recorded && !rendersAttachments(e.Version) && !ld.oddKinds[a.kind] {
		if ld.oddKinds == nil {
			ld.oddKinds = map[string]bool{}
		}
		ld.oddKinds[a.kind] = true
		ld.warn(CodeMetadata, e.Line, "an attachment of kind %s, which is not known, has text: it is counted as sent", a.kind)
	}
	if a.kind == typeQueued {
		if ld.attached == nil {
			ld.attached = map[string]bool{}
		}
		ld.attached[attachmentText(e.Attachment)] = true
	}
	if a.prompt {
		n.class = ClassPrompt
	}
	span, ok := e.SpanOf(e.Attachment)
	if !ok {
		span = jsonl.Span{Off: e.Offset}
	}
	value := span
	if sent.Recorded {
		value, _ = e.SpanOf(e.Rendered)
		a.length = jsonl.Measure(strings.Join(renderedTexts(e.Rendered), "\n"))
	} else if rendersAttachments(e.Version) {
		a.length = jsonl.Metrics{}
	}
	blocks := ld.newBlocks(n, 1)
	blocks[0].fill(&jsonl.ContentBlock{
		Kind: jsonl.KindAttachment, Type: a.kind, Text: a.length, JSON: jsonl.Metrics{UTF16: len(e.Attachment), Bytes: len(e.Attachment)}, Span: span, Value: value,
	})
	if blocks[0].more != nil {
		blocks[0].more.sent = sent
	}
	blocks[0].Line = int32(e.Line)
}

// build links the nodes, finds the conversations and fills the file.
func (ld *loader) build(f *File, opt LoadOptions) {
	ld.link()
	main, sides := ld.split()
	f.Main = ld.conversation(main, "", opt.Leaf)
	f.Main.Agent = ld.ownAgent(main)
	for _, s := range sides {
		f.Sidechains = append(f.Sidechains, ld.conversation(s.nodes, s.agent, ""))
	}
	ld.files.at = nil
	ld.account()
	ld.origin()
	f.Main.Lines, f.Main.Totals = ld.lines, ld.totals
	f.Main.Warnings = append(ld.warnings, f.Main.Warnings...)
	f.Main.Title = cmp.Or(ld.title, ld.aiTitle, ld.summary)
}
