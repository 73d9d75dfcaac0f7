package claude

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/pattern"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/summarize"
)

// sessionState is what a client knows of a session next to its messages. It outlives compactions. As messages join,
// only the places are noted; their texts are read at a compaction, each once.
type sessionState struct {
	started   bool // there has been a response
	noted     []note
	planMode  bool
	planShown string // by the last ExitPlanMode
	planPath  string // of the plan's file, if it was touched after that
	skills    entries
	called    *entry             // the skill that the call just before invoked
	agents    entries            // at work in the background: id and description
	listings  map[string]entries // lines by attachment type
	tasks     summarize.TaskList
	hooks     []policy.Target
}

// note is a place whose text is not read yet.
type note struct {
	kind   string // a tool's name, "meta", "hook" or a listing's attachment type
	use    policy.Target
	result policy.Target
	failed bool
}

// delta ends the attachment type of a listing.
const delta = "_delta"

// entry is a skill, an agent or a line of a listing.
type entry struct {
	name, text string
	by         policy.ItemID // the item that announced it
}

// entries are in the order in which they were last put.
type entries []*entry

func (l *entries) drop(name string) {
	*l = slices.DeleteFunc(*l, func(e *entry) bool { return e.name == name })
}

// put moves the entry of a name to the end, or adds it there.
func (l *entries) put(name string) *entry {
	e := &entry{name: name}
	if i := slices.IndexFunc(*l, func(e *entry) bool { return e.name == name }); i >= 0 {
		e = (*l)[i]
		*l = slices.Delete(*l, i, i+1)
	}
	*l = append(*l, e)
	return e
}

// follow notes the places in the items that have joined.
func (s *postCompact) follow(v policy.View) {
	arrived := v.Arrived()
	for _, id := range arrived[s.seen:] {
		m := v.Message(id)
		if m == nil {
			continue
		}
		switch {
		case m.Role == session.Assistant:
			s.started = true
		case m.Class == session.ClassAttachment:
			s.attachment(id, m.Attachment)
		case m.Class == session.ClassMeta:
			s.noted = append(s.noted, note{kind: "meta", result: policy.Target{Item: id}})
		}
		for b := range m.Blocks {
			if bl := &m.Blocks[b]; bl.Kind == jsonl.KindToolResult {
				s.result(v, policy.BlockOf(id, b), bl)
			}
		}
	}
	s.seen = len(arrived)
}

// result notes the call that a tool_result answers.
func (s *postCompact) result(v policy.View, t policy.Target, bl *session.Block) {
	use, block, ok := v.Conversation().ToolUse(bl.ID)
	tool := v.Conversation().Alike(v.Conversation().ToolName(bl.ID))
	n := note{tool, policy.BlockOf(use, block), t, bl.IsError}
	switch {
	case isFileTool(tool):
		if !ok || bl.IsError {
			return
		}
		s.files.seq++
		s.files.pending = append(s.files.pending, fileCall{tool: tool, use: n.use, result: t, seq: s.files.seq})
		ok = tool != "Read" // it may be the plan's file
	case tool == "EnterPlanMode":
		s.planMode = s.planMode || !bl.IsError
		return
	case tool == "ExitPlanMode":
		s.planMode = s.planMode && bl.IsError
	case tool == "Skill", tool == "Task", tool == "Agent", tool == "TaskOutput", tool == "AgentOutputTool", tool == "TaskStop", summarize.IsTaskTool(tool):
	default:
		return
	}
	if ok {
		s.noted = append(s.noted, n)
	}
}

func (s *sessionState) attachment(id policy.ItemID, kind string) {
	switch kind {
	case "plan_mode", "plan_mode_exit":
		s.planMode = kind == "plan_mode"
		return
	case "queued_command":
		kind = "meta"
	case "deferred_tools" + delta, "agent_listing" + delta, "mcp_instructions" + delta:
	case "hook_additional_context", "hook_success":
		if s.started {
			return
		}
		kind = "hook"
	default:
		return
	}
	s.noted = append(s.noted, note{kind: kind, result: policy.Target{Item: id}})
}

// resolve reads the texts at the places that were noted.
func (s *sessionState) resolve(c *policy.Context) error {
	for i := range s.noted {
		if err := s.take(c, &s.noted[i]); err != nil {
			return err
		}
	}
	s.noted = nil
	return nil
}

func (s *sessionState) take(c *policy.Context, n *note) error {
	called := s.called
	s.called = nil
	switch {
	case n.kind == "hook":
		return s.hook(c, n.result)
	case strings.HasSuffix(n.kind, delta):
		return s.announce(c, n)
	case n.kind == "meta", n.kind == "TaskOutput", n.kind == "AgentOutputTool":
		text, err := c.Texts.Recorded(n.result)
		s.agentEnd(text)
		if n.kind == "meta" {
			s.skillText(text, called)
		}
		return err
	case summarize.IsTaskTool(n.kind):
		return s.taskCall(c, n)
	}
	in, err := inputOf[stateInput](c, n.use)
	if err != nil {
		return err
	}
	switch {
	case isFileTool(n.kind):
		if isPlan(in.Path) {
			s.planPath = in.Path
		}
	case n.kind == "ExitPlanMode":
		if in.Plan != "" {
			s.planShown = in.Plan
			s.planPath = ""
		}
	case n.failed:
	case n.kind == "Skill":
		if name := in.Skill + in.Command; name != "" { // one or the other, by version
			s.called = s.skills.put(name)
		}
	case n.kind == "TaskStop":
		s.agents.drop(in.TaskID)
	case in.Background:
		text, err := c.Texts.Recorded(n.result)
		if id := agentID().FindStringSubmatch(text); id != nil {
			s.agents.put(id[1]).text = in.Description
		}
		return err
	}
	return nil
}

// stateInput holds the inputs of the calls that change the state of a session.
type stateInput struct {
	Plan, Skill, Command, Description string

	Path       string `json:"file_path"`
	Background bool   `json:"run_in_background"`
	TaskID     string `json:"task_id"`
}

// inputOf decodes the recorded input of a call. An input that does not decode is empty.
func inputOf[T any](c *policy.Context, use policy.Target) (*T, error) {
	text, err := c.Texts.Recorded(use)
	in := new(T)
	if err == nil && json.Unmarshal(c.Conv.AlikeInput(c.View.Raw(use).Name, []byte(text)), in) != nil {
		in = new(T)
	}
	return in, err
}

func (s *sessionState) taskCall(c *policy.Context, n *note) (err error) {
	if n.failed {
		return nil
	}
	result := ""
	if n.kind == "TaskCreate" {
		if result, err = c.Texts.Recorded(n.result); err != nil {
			return err
		}
	}
	input, err := c.Texts.Recorded(n.use)
	if err == nil {
		s.tasks.Call(n.kind, input, summarize.TaskNumber(result), "")
	}
	return err
}

// skillHead opens the text a client shows of a skill.
const skillHead = "Base directory for this skill: "

// skillText reads a skill's text from what a client wrote for the model: after a Skill call, or after a command of
// the user's.
func (s *sessionState) skillText(text string, called *entry) {
	switch {
	case called != nil:
		called.text = text
	case strings.HasPrefix(text, skillHead):
		dir, _, _ := strings.Cut(text[len(skillHead):], "\n")
		s.skills.put(path.Base(strings.ReplaceAll(strings.TrimSpace(dir), `\`, "/"))).text = text
	}
}

var (
	agentID    = pattern.New(`agentId: ([\w-]+)`)
	taskID     = pattern.New(`<task[-_]id>([\w-]+)</task[-_]id>`)
	taskStatus = pattern.New(`<status>(\w+)</status>`)
)

// agentEnd drops the agent that a text reports as ended.
func (s *sessionState) agentEnd(text string) {
	if len(s.agents) == 0 {
		return
	}
	id := taskID().FindStringSubmatch(text)
	status := taskStatus().FindStringSubmatch(text)
	if id != nil && status != nil && status[1] != "running" {
		s.agents.drop(id[1])
	}
}

// announce applies a recorded change to a listing. A conversation without a file has only the text.
func (s *sessionState) announce(c *policy.Context, n *note) error {
	raw, err := c.Conv.Raw(int(n.result.Item), n.result.Block)
	if err != nil {
		return err
	}
	var d struct{ AddedNames, AddedTypes, AddedLines, AddedBlocks, RemovedNames, RemovedTypes []string }
	if len(raw) == 0 {
		text, err := c.Texts.Recorded(n.result)
		if err != nil {
			return err
		}
		if text != "" {
			d.AddedNames = strings.Split(text, "\n")
		}
	} else if json.Unmarshal(raw, &d) != nil {
		return nil
	}
	list := s.listings[n.kind]
	for _, name := range slices.Concat(d.RemovedNames, d.RemovedTypes) {
		list.drop(name)
	}
	lines := slices.Concat(d.AddedLines, d.AddedBlocks)
	for i, name := range slices.Concat(d.AddedNames, d.AddedTypes) {
		e := list.put(name)
		if e.text, e.by = name, n.result.Item; i < len(lines) {
			e.text = lines[i]
		}
	}
	s.listings[n.kind] = list
	return nil
}

// hook notes the result of a session-start hook.
func (s *sessionState) hook(c *policy.Context, t policy.Target) error {
	raw, err := c.Conv.Raw(int(t.Item), t.Block)
	if err != nil {
		return err
	}
	var h struct{ HookEvent string }
	if json.Unmarshal(raw, &h) == nil && h.HookEvent == "SessionStart" && c.View.Raw(t).Text.UTF16 > 0 {
		s.hooks = append(s.hooks, t)
	}
	return nil
}

// isPlan reports whether a path is that of one of the client's plans.
func isPlan(path string) bool {
	return strings.HasSuffix(path, ".md") && strings.Contains(strings.ReplaceAll(path, `\`, "/"), "/.claude/plans/")
}
