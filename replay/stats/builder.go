package stats

import (
	"crypto/sha256"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// builder reads a conversation in order.
type builder struct {
	*SessionStats
	costs   *tokenCosts
	conv    *session.Conversation
	reader  *session.BlockReader
	ledger  *Ledger
	files   *files
	tools   map[string]*Tool
	byPath  map[string]*FileReads
	calls   map[string]call  // by id: without a result so far
	texts   map[[32]byte]int // by text: index into groups
	groups  []Duplicate
	agents  map[string]*SubagentType
	prompts map[string]string // type of subagent by prompt, and by id of the call
	none    input             // of a call that is not there, or whose input is not needed
}

// call is a call without a result so far.
type call struct {
	tool   string
	target string
	in     *input // of a tool on files or agents
}

// block is a block of the ledger, nil for one that no request held.
func (b *builder) block(m, i int) (*LedgerBlock, int) {
	at, ok := b.ledger.of(policy.ItemID(m))
	if !ok {
		return nil, 0
	}
	return &b.ledger.Blocks[at+i], at + i
}

func (b *builder) tool(name string) *Tool {
	if b.tools[name] == nil {
		b.tools[name] = &Tool{Name: name}
	}
	return b.tools[name]
}

func (b *builder) message(m int) error {
	msg := &b.conv.Messages[m]
	if msg.Lost || msg.Is(session.Earlier) || msg.RecordOnly {
		return nil
	}
	for i := range msg.Blocks {
		bl, at := b.block(m, i)
		if bl == nil {
			continue
		}
		came, ok := bl.came(b.Until)
		if !ok {
			continue
		}
		var err error
		switch msg.Blocks[i].Kind {
		case jsonl.KindToolUse:
			err = b.call(m, i, bl, came)
		case jsonl.KindToolResult:
			err = b.result(m, i, bl, at, came)
		case jsonl.KindAttachment:
			err = b.definition(m, i, bl, came)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// call takes in a call of a tool.
func (b *builder) call(m, i int, bl *LedgerBlock, came int) error {
	raw := &b.conv.Messages[m].Blocks[i]
	in, err := readInput(b.conv, b.reader, m, i)
	if err != nil {
		return err
	}
	t := b.tool(raw.Name)
	t.Calls++
	t.Called += came
	_, carried := bl.carried(b.Until)
	t.Sent += carried
	t.USD.Add(b.costs.block(bl, b.Until))
	if s, ok := bl.At(b.Request); ok {
		t.InContext += s.Tokens
	}
	c := call{tool: raw.Name, target: in.target(b.conv.CWD)}
	if alike := b.conv.Alike(raw.Name); isFileTool(alike) || isAgentTool(alike) { // the others' inputs are not needed any more
		c.in = in
	}
	b.calls[raw.ID] = c
	if isAgentTool(b.conv.Alike(raw.Name)) {
		b.prompts["call "+raw.ID] = in.Agent
		b.prompts["prompt "+promptKey(in.Prompt)] = in.Agent
		a := b.agent(in.Agent)
		a.Calls++
		a.Called += came
	}
	return nil
}

func isFileTool(name string) bool {
	switch name {
	case "Read", "NotebookRead", "Edit", "MultiEdit", "NotebookEdit", "Write":
		return true
	}
	return false
}

func isAgentTool(name string) bool { return name == "Task" || name == "Agent" }

func (b *builder) agent(kind string) *SubagentType {
	if b.agents[kind] == nil {
		b.agents[kind] = &SubagentType{Type: kind}
	}
	return b.agents[kind]
}

// result takes in the result of a call.
func (b *builder) result(m, i int, bl *LedgerBlock, at int, came int) error {
	raw := &b.conv.Messages[m].Blocks[i]
	c, ok := b.calls[raw.ID]
	if !ok {
		c.tool = b.conv.ToolName(raw.ID)
	}
	if c.in == nil {
		c.in = &b.none
	}
	delete(b.calls, raw.ID)
	r := ToolResult{Tool: c.tool, Target: c.target, Line: raw.Line, Tokens: came, Error: raw.IsError}
	if s, ok := bl.At(b.Request); ok {
		r.InContext = s.Tokens
	}
	r.Requests, r.Sent = bl.carried(b.Until)
	r.USD = b.costs.block(bl, b.Until)
	b.Results = append(b.Results, r)
	t := b.tool(c.tool)
	t.Returned += came
	t.Sent += r.Sent
	t.USD.Add(r.USD)
	t.InContext += r.InContext
	t.Largest = max(t.Largest, came)
	if raw.IsError {
		t.Errors++
	}
	if isAgentTool(b.conv.Alike(c.tool)) {
		b.agent(c.in.Agent).Returned += came
	}
	text, err := b.reader.Text(m, i)
	if err != nil {
		return err
	}
	b.repeats(&r, text)
	if isFileTool(b.conv.Alike(c.tool)) && c.in.Path() != "" && !raw.IsError {
		b.fileResult(&c, bl, at, text)
	}
	return nil
}

// repeats compares the text of a result with those of earlier ones.
func (b *builder) repeats(r *ToolResult, text []byte) {
	if len(text) < minRepeated {
		return
	}
	key := sha256.Sum256(text)
	k, again := b.texts[key]
	if !again {
		b.texts[key] = len(b.groups)
		b.groups = append(b.groups, Duplicate{Tool: r.Tool, Target: r.Target, Line: r.Line, Copies: 1})
		return
	}
	g := &b.groups[k]
	g.Copies++
	g.Tokens += r.Tokens
	b.Repeated.Results++
	b.Repeated.Tokens += r.Tokens
	b.Repeated.InContext += r.InContext
}

// fileResult takes in the result of a call about a file.
func (b *builder) fileResult(c *call, bl *LedgerBlock, at int, text []byte) {
	path := filePath(b.conv.CWD, c.in.Path())
	request := bl.Spans[0].From
	f := b.byPath[path]
	if f == nil {
		f = &FileReads{Path: path}
		b.byPath[path] = f
	}
	switch b.conv.Alike(c.tool) {
	case "Read", "NotebookRead":
		if text := string(text); !session.IsUnchangedFile(text) {
			b.files.read(at, path, text, request-1, request)
		}
		return
	case "Edit", "MultiEdit":
		for _, e := range c.in.Edits() {
			b.files.edit(path, e, request)
		}
	default:
		b.files.write(path, request)
	}
	f.Changes++
}

// listings are the types of attachments that list what the model may use.
var listings = [...]string{"deferred_tools_delta", "mcp_instructions_delta", "skill_listing", "agent_listing_delta"}
