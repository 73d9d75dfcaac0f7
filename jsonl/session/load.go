package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/foreign"
	"github.com/ctxkit/ctxkit/jsonl/requests"
	"github.com/ctxkit/ctxkit/jsonl/scan"
)

// LoadOptions are the options of Load. The zero value is the default.
type LoadOptions struct {
	Jobs    int // number of workers that decode lines; 0: 1
	Limits  jsonl.InputLimits
	Offload string // folder of offloaded tool results; "": the folder of the session
	Leaf    string // uuid of the last message of the branch to follow; "": the current branch

	// Item, if set, is called with every item, Aside with every line that is set aside, and Warned with every warning,
	// all on the goroutine of the caller. Only the first Limits.Findings warnings of each Code have a Message. Load
	// stops if Item returns an error.
	Item   func(*jsonl.Item) error
	Aside  func(line int, r Reason)
	Warned func(Warning)
}

// File is a session file with its main conversation and its sidechains.
type File struct {
	Path       string
	Main       *Conversation
	Sidechains []*Conversation // in order of appearance; identified by agent id, else by the uuid of the first line
	Stopped    error           // the error that ended reading before the end of the file, such as a truncated archive; nil: all was read
	source     *jsonl.Source
}

// Close closes the file. After that, texts of its conversations cannot be read.
func (f *File) Close() error { return f.source.Close() }

// WriteLines writes the lines of the file, each with its newline. A session of another agent was converted to lines in
// the form of Claude Code; WriteLines writes these.
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

// Conversations returns the main conversation, then the sidechains.
func (f *File) Conversations() []*Conversation {
	return append([]*Conversation{f.Main}, f.Sidechains...)
}

// Load reads a session file, which may be compressed with gzip or zstd, or a session in a database, FILE#ID. It returns
// an error if path cannot be opened or is not a session. An error later in the file ends the reading; it is in
// File.Stopped.
func Load(path string, opt LoadOptions) (*File, error) {
	src, lost, err := openSession(path, opt.Limits)
	if err != nil {
		return nil, err
	}
	file := path
	if _, _, ok := InDatabase(path); ok {
		file = "" // nothing is next to it
	}
	return load(src, path, file, lost, opt)
}

// LoadReader is like Load for a stream. Errors and warnings give the argument name as the name of the file.
func LoadReader(name string, r io.Reader, opt LoadOptions) (*File, error) {
	src, err := opt.Limits.OpenReader(name, r)
	if err != nil {
		return nil, err
	}
	return load(src, name, "", nil, opt)
}

// loader collects the entries of one file.
type loader struct {
	src      *jsonl.Source
	path     string
	lost     []string // of the database that it is in
	nodes    []*node
	byUUID   map[string]int // index into nodes
	lines    Accounting
	watch    LoadOptions // its Item and Aside
	notes    *notes
	warnings []Warning
	entries  int64 // objects so far, with their blocks and parts
	limits   jsonl.InputLimits
	kept     int64  // messages that compactions kept, together
	leaf     string // last-prompt.leafUuid, the last one
	leafAt   int    // len(nodes) at that line
	snapshot bool   // the last line that counts was a file-history-snapshot
	titles   titles
	marks    []mark
	queued   []queued // texts that were put into the queue
	waiting  waiting  // those in it
	process  process
	oddKinds map[string]bool  // kinds of attachments that a warning names
	attached map[string]bool  // queued texts that stand in attachments
	calls    []snipInput      // inputs of the Snip tool
	requests map[string]bool  // ids of the requests that the client recorded
	callAt   map[string]int   // tool_use id -> index into calls
	removed  map[string]bool  // uuids that a snip removed
	snipped  map[int][]string // the same by line
	places   []place          // see hangsOn; nil: not needed yet
	convs    int              // conversations so far
	foreign  *foreign.Writer  // of a session of another agent, else nil
	recorded foreign.Session  // what recorded it, where a line names it
	totals   []RunTotals
	client   map[string]ClientTotals // by the session's id, the last ones
	billed   []Charge                // by lines of their own
	covered  []string                // ids of responses whose usage is in those
	windows  []window                // of the model, where lines state them, in order
	agents   []UnfiledAgent          // all subagents that lines name
	agentAt  map[string]int          // id -> index into agents
}

// load reads a source; file is the path it was opened by, "" for a stream, and lost the unreadable part of its database.
func load(src *jsonl.Source, path, file string, lost []string, opt LoadOptions) (*File, error) {
	limits := opt.Limits.Filled()
	ns := &notes{path: path, most: int(limits.Findings), kinds: map[Code]int{}, watch: opt.Warned}
	ld := &loader{
		requests: map[string]bool{},
		path:     path, lost: lost, lines: Accounting{SetAside: map[Reason]int{}}, watch: opt, notes: ns, limits: limits, byUUID: map[string]int{},
		oddKinds: map[string]bool{}, attached: map[string]bool{}, callAt: map[string]int{}, removed: map[string]bool{}, snipped: map[int][]string{},
		client: map[string]ClientTotals{}, agentAt: map[string]int{},
	}
	src, err := ld.recognise(src, file)
	if err != nil {
		return nil, err
	}
	ld.src = src
	jobs := max(opt.Jobs, 1)
	err = src.Each(jobs, jsonl.ReadOptions{}, ld.item)
	if err != nil {
		ld.warn(CodeStopped, 0, "reading stopped: %v", err)
		if len(ld.nodes) == 0 {
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
	ld.addUnfiled(f, file)
	for _, conv := range f.Conversations() {
		conv.readOffloads(offloadsOf(file, opt.Offload), limits, ns)
		if conv == f.Main && conv.Agent == "" {
			conv.readMemory(ownFolder(file, memoryName))
		}
		slices.SortStableFunc(conv.Warnings, func(a, b Warning) int { return a.Line - b.Line })
	}
	f.Main.Warnings = append(f.Main.Warnings, ns.rest()...)
	f.Main.Lines.Recorded = RequestTally{len(ld.requests), len(ld.requests)}
	return f, nil
}

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
	if rec.Fused {
		ld.lines.Fused++
	}
	if ld.foreign != nil {
		rec.Line = ld.foreign.Origin(rec.Line)
		if rec.Entry != nil {
			rec.Entry.Line = rec.Line
		}
	}
	if ld.watch.Item != nil {
		if err := ld.watch.Item(rec); err != nil {
			return err
		}
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
	ld.noteAgent(e)
	switch e.Type {
	case "user", "assistant":
		if !e.HasMessage {
			ld.aside(e.Line, AsideNoMessage)
			ld.warn(CodeNoMessage, e.Line, "a %s line without a message: line set aside", e.Type)
			return
		}
	case "file-history-snapshot":
		ld.snapshot = !bytes.Contains(e.Raw, []byte(`"isSnapshotUpdate":true`))
	case typeCost:
		ld.process.ended(true)
		ld.costState(e)
		return
	case "last-prompt":
		ld.process.ended(false)
		if e.LeafUUID != "" {
			ld.leaf = e.LeafUUID
			ld.leafAt = len(ld.nodes)
		}
		ld.aside(e.Line, Reason("metadata: "+e.Type))
		return
	case "summary", "custom-title", "ai-title":
		ld.titles.read(e)
		ld.aside(e.Line, Reason("metadata: "+e.Type))
		return
	case foreign.TypeSession:
		ld.recorder(e)
		return
	case foreign.TypeTotals:
		ld.total(e)
		return
	case foreign.TypeCall:
		ld.otherCall(e)
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
		if e.Type == requests.TypeRequest {
			ld.recordedRequest(e)
		}
		ld.aside(e.Line, Reason("metadata: "+e.Type))
	}
}

// recordedRequest counts a request that the client recorded, by its id: a line may be repeated.
func (ld *loader) recordedRequest(e *jsonl.Entry) {
	var request struct{ ID string }
	if json.Unmarshal(e.Raw, &request) == nil {
		ld.requests[request.ID] = true
	}
}

func (ld *loader) add(e *jsonl.Entry) {
	uuid := e.UUID
	if uuid == "" {
		uuid = fmt.Sprintf("line-%d.%d", e.Line, e.Part)
	}
	submitted := ld.snapshot
	ld.snapshot = false
	if _, again := ld.byUUID[uuid]; again {
		ld.aside(e.Line, AsideDuplicate)
		ld.warn(CodeDuplicateUUID, e.Line, "an earlier line has the uuid %s: line set aside", uuid)
		ld.billed = ld.charged(ld.billed, e)
		return
	}
	n := &node{
		uuid: uuid, parentUUID: e.ParentUUID, logicalUUID: e.LogicalParentUUID, line: e.Line, time: e.Time,
		version: e.Version, agent: e.AgentID, sessionID: e.SessionID, cwd: e.CWD, parent: -1,
	}
	ld.byUUID[uuid] = len(ld.nodes)
	ld.nodes = append(ld.nodes, n)
	n.markIf(submitted, lineSubmitted)
	n.markIf(ld.process.chained(), lineLaunched)
	n.markIf(!e.HasParent, lineRootless)
	n.markIf(e.IsSidechain, lineSidechain)
	n.markIf(e.ParentUUID == "" && isOutputOf(clearHook, e), lineCleared)
	n.markIf(isOutputOf(resumeHook, e), lineResumed)
	if above, ok := ld.byUUID[e.ParentUUID]; ok && e.Type != "user" && e.Type != "assistant" {
		n.mark(ld.nodes[above].marks & lineTyped)
	}
	switch e.Type {
	case "user", "assistant":
		n.kind = nodeUser
		if e.Type == "assistant" {
			n.kind = nodeAssistant
		}
		ld.addMessage(n, e)
	case "attachment":
		n.kind = nodeAttachment
		n.class = ClassAttachment
		ld.addAttachment(n, e)
	case "system":
		n.kind = nodeSystem
		n.name = e.Subtype
		if e.Subtype == typeCommand {
			ld.addCommand(n, e)
		}
		switch e.Subtype {
		case "compact_boundary":
			n.kind = nodeBoundary
			n.compact = &compactMeta{}
			ld.metadata(e, "compactMetadata", e.CompactMetadata, n.compact)
		case foreign.SubtypeRestart:
			n.mark(lineRestarted)
		case foreign.SubtypeResume, foreign.SubtypeRepeat:
			n.mark(lineResumed)
		case "microcompact_boundary":
			n.kind = nodeMicro
			n.micro = &microMeta{}
			ld.metadata(e, "microcompactMetadata", e.MicrocompactMetadata, n.micro)
		}
		ld.removal(n, e)
	case "progress":
		n.kind = nodeProgress
	default:
		n.kind = nodeOther
		n.name = e.Type
	}
}

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
		n.response = &response{id: m.ID, call: ld.callOf(e), model: m.Model, stop: m.StopReason, usage: m.Usage, recorded: m.HasUsage, applied: ld.applied(e), cacheMiss: ld.cacheMiss(e)}
	}
	if m.OddUsage != "" && n.kind == nodeAssistant {
		ld.warn(CodeUsage, e.Line, "the recorded usage is not used: %s", m.OddUsage)
	}
	n.markIf(e.IsAPIError, lineAPIError)
	n.markIf(e.NoRequest, lineNoRequest)
	// Nothing was sampled: a model that declined and the fallback that answered leave such a line, by a reader's report of
	// 2.1.321. No session of 1.0.0 to 2.1.332 that was read has one.
	n.markIf(n.kind == nodeAssistant && len(m.Content) == 0 && m.HasUsage && m.Usage.Zero() && ld.ownFormat(), lineAPIError)
	n.blocks = make([]Block, len(m.Content))
	for b := range m.Content {
		bl := &m.Content[b]
		bl.Parts = slices.Clone(bl.Parts) // the reader uses theirs again
		n.blocks[b] = Block{ContentBlock: *bl, Line: e.Line, Row: int32(ld.lines.Read)}
		if bl.Kind == jsonl.KindToolUse && bl.Name == snipTool {
			ld.snipCall(e, bl)
		}
	}
	ld.process.message(n)
	if n.kind == nodeUser {
		n.class = classify(e)
		n.markIf(n.class == ClassPrompt, lineTyped)
		n.preamble = ld.preamble(e)
		if around := ld.aroundMeta(n, m.Head); around > 0 {
			n.blocks[0].Text = n.blocks[0].Text.Add(jsonl.Metrics{UTF16: around, Bytes: around, JSON: around})
		}
		n.markIf(e.IsCompactSummary && e.Message.Role == "assistant", lineAnswers)
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
		n.effort = effortSet(head)
	}
}

// addCommand adds the text of a command that was run locally, which is that of a user's message.
func (ld *loader) addCommand(n *node, e *jsonl.Entry) {
	var content []byte
	m := scan.Object(e.Raw, 0, 0)
	for m.Next() {
		from := m.At
		m.At, m.Code = scan.Value(e.Raw, from, m.Depth())
		if key, _ := m.Key(); string(key) == "content" {
			content = e.Raw[from:m.At]
		}
	}
	text, ok := jsonl.Unquote(content)
	if !ok || text == "" {
		return
	}
	span, _ := e.SpanOf(content)
	n.kind, n.class, n.opening = nodeUser, ClassCommand, open(ClassCommand, text[:min(len(text), mostHead)])
	n.blocks = []Block{{Line: e.Line, Row: int32(ld.lines.Read), ContentBlock: jsonl.ContentBlock{
		Kind: jsonl.KindText, Type: "text", IsString: true, Text: jsonl.Measure(text), JSON: jsonl.Metrics{UTF16: len(content), Bytes: len(content)}, Span: span, Value: span,
	}}}
}

func (ld *loader) addAttachment(n *node, e *jsonl.Entry) {
	switch {
	case len(e.RenderedInTurn) == 0 || !n.is(lineTyped):
	case len(e.Rendered) > 0 && oddlyRendered(e.RenderedInTurn):
		ld.warn(CodeMetadata, e.Line, "renderedInHumanTurn of an attachment is unreadable: rendered is counted")
	default:
		e.Rendered = e.RenderedInTurn
	}
	version := ""
	if ld.ownFormat() {
		version = e.Version
	}
	a := readAttachment(e.Attachment, version)
	sent := readSent(e, a.kind)
	n.name = a.kind
	renders := ld.ownFormat() && rendersAttachments(e.Version)
	if a.odd && !sent.Recorded && !renders && !ld.oddKinds[a.kind] {
		ld.oddKinds[a.kind] = true
		ld.warn(CodeMetadata, e.Line, "an attachment of kind %.40q, which is not known, has text: it is counted as sent", a.kind)
	}
	if a.kind == typeQueued {
		ld.attached[attachmentText(e.Attachment)] = true
	}
	if a.prompt {
		n.class = ClassPrompt
	}
	odd := oddlyRendered(e.Rendered)
	switch {
	case odd:
		ld.warn(CodeMetadata, e.Line, "the words that an attachment of kind %.40s was sent as are unreadable: its own text is counted", a.kind)
	case sent.Recorded && contradicts(e.Rendered, e.Attachment):
		ld.warn(CodeMetadata, e.Line, "the words that an attachment of kind %.40s was sent as contradict its text: the words are counted", a.kind)
	}
	span, ok := e.SpanOf(e.Attachment)
	if !ok {
		span = jsonl.Span{Off: e.Offset}
	}
	value := span
	if sent.Recorded {
		value, _ = e.SpanOf(e.Rendered)
		a.length = jsonl.Measure(strings.Join(renderedTexts(e.Rendered), "\n"))
	} else if renders && !odd {
		a.length = jsonl.Metrics{}
	}
	n.blocks = []Block{{Line: e.Line, Row: int32(ld.lines.Read), Sent: sent, ContentBlock: jsonl.ContentBlock{
		Kind: jsonl.KindAttachment, Type: a.kind, Text: a.length, JSON: jsonl.Metrics{UTF16: len(e.Attachment), Bytes: len(e.Attachment)}, Span: span, Value: value,
	}}}
}

// build links the nodes, finds the conversations and fills the file.
func (ld *loader) build(f *File, opt LoadOptions) {
	ld.link()
	for _, n := range ld.nodes {
		if n.kind == nodeBoundary {
			ld.lostKept(n)
		}
	}
	main, sides := ld.split()
	f.Main = ld.conversation(main, "", opt.Leaf)
	f.Main.Agent = ld.ownAgent(main)
	for _, s := range sides {
		f.Sidechains = append(f.Sidechains, ld.conversation(s.nodes, s.agent, ""))
	}
	f.Main.Totals, f.Main.Client = ld.totals, ld.clientTotals(f.Main.SessionID)
	f.addCharges(ld.billed, ld.covered)
	ld.account()
	ld.origin()
	f.Main.Lines = ld.lines
	f.Main.Warnings = append(ld.warnings, f.Main.Warnings...)
	f.Main.Title = ld.titles.title()
}
