package claude

import (
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/summarize"
)

// sessionState is what a client knows of a session beside its messages. It
// outlives compactions. The places are noted as messages join, their texts are
// taken up at a compaction, each once.
type sessionState struct {
	started  bool // there has been a response
	noted    []note
	planMode bool

	plan     planText
	skills   ordered[*skill]
	called   *skill                         // invoked by the call just before
	agents   ordered[string]                // at work in the background, by id what they do
	listings map[string]*ordered[announced] // by attachment type
	tasks    summarize.TaskList
	hooks    []policy.Target
}

// note is a place whose text is not taken up yet.
type note struct {
	kind   string // a tool's name, or meta, listing, hook
	use    policy.Target
	result policy.Target
	failed bool
}

type planText struct {
	text string // of the last ExitPlanMode
	path string // of the plan's file, where it was touched after that
}

// skill is one that was invoked, with the text the client showed of it.
type skill struct{ name, text string }

// announced is a line of a listing, and the item that says so.
type announced struct {
	line string
	by   policy.ItemID
}

// follow notes what has joined.
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
				s.result(v, policy.Target{Item: id, Block: b}, bl)
			}
		}
	}
	s.seen = len(arrived)
}

func (s *postCompact) result(v policy.View, t policy.Target, bl *session.Block) {
	tool := v.Conversation().ToolName(bl.ID)
	switch {
	case isFileTool(tool):
		if !bl.IsError {
			s.files.note(v, t, tool)
			if tool != "Read" { // it may be the plan's file
				s.noteCall(v, t, bl, tool)
			}
		}
	case tool == "EnterPlanMode":
		s.planMode = s.planMode || !bl.IsError
	case tool == "ExitPlanMode":
		s.planMode = s.planMode && bl.IsError
		s.noteCall(v, t, bl, tool)
	case tool == "Skill", tool == "Task", tool == "Agent", tool == "TaskOutput", tool == "AgentOutputTool", tool == "TaskStop", summarize.IsTaskTool(tool):
		s.noteCall(v, t, bl, tool)
	}
}

func (s *sessionState) noteCall(v policy.View, t policy.Target, bl *session.Block, tool string) {
	if use, block, ok := v.Conversation().ToolUse(bl.ID); ok {
		s.noted = append(s.noted, note{kind: tool, use: policy.Target{Item: policy.ItemID(use), Block: block}, result: t, failed: bl.IsError})
	}
}

func (s *sessionState) attachment(id policy.ItemID, kind string) {
	n := note{result: policy.Target{Item: id}}
	switch kind {
	case "plan_mode":
		s.planMode = true
		return
	case "plan_mode_exit":
		s.planMode = false
		return
	case "queued_command":
		n.kind = "meta"
	case "deferred_tools_delta", "agent_listing_delta", "mcp_instructions_delta":
		n.kind = kind
	case "hook_additional_context", "hook_success":
		if s.started {
			return
		}
		n.kind = "hook"
	default:
		return
	}
	s.noted = append(s.noted, n)
}

// resolve takes up what was noted.
func (s *sessionState) resolve(c *policy.Context) error {
	for i := range s.noted {
		if err := s.take(c, &s.noted[i]); err != nil {
			return err
		}
	}
	s.noted = s.noted[:0]
	return nil
}

func (s *sessionState) take(c *policy.Context, n *note) error {
	called := s.called
	s.called = nil
	switch n.kind {
	case "meta":
		text, err := c.Texts.Recorded(n.result)
		s.meta(text, called)
		return err
	case "deferred_tools_delta", "agent_listing_delta", "mcp_instructions_delta":
		return s.announce(c, n)
	case "hook":
		return s.hook(c, n.result)
	case "TaskOutput", "AgentOutputTool":
		text, err := c.Texts.Recorded(n.result)
		s.heardOf(text)
		return err
	}
	if summarize.IsTaskTool(n.kind) {
		if n.failed {
			return nil
		}
		return s.taskCall(c, n)
	}
	in, err := stateInputOf(c, n.use)
	if err != nil || in == nil {
		return err
	}
	switch {
	case isFileTool(n.kind):
		if isPlan(in.Path) {
			s.plan.path = in.Path
		}
	case n.kind == "ExitPlanMode":
		if in.Plan != "" {
			s.plan = planText{text: in.Plan}
		}
	case n.failed:
	case n.kind == "Skill":
		if name := in.Skill + in.Command; name != "" { // one or the other, by version
			s.called = s.invoke(name)
		}
	case n.kind == "TaskStop":
		s.agents.drop(in.TaskID)
	case in.Background:
		text, err := c.Texts.Recorded(n.result)
		if id := agentID.FindStringSubmatch(text); id != nil {
			s.agents.put(id[1], in.Description)
		}
		return err
	}
	return nil
}

// stateInput is what calls say that change the state of a session.
type stateInput struct {
	Path        string `json:"file_path"`
	Plan        string `json:"plan"`
	Skill       string `json:"skill"`
	Command     string `json:"command"`
	Description string `json:"description"`
	Background  bool   `json:"run_in_background"`
	TaskID      string `json:"task_id"`
}

// stateInputOf is the input of a call; nil of one that does not read.
func stateInputOf(c *policy.Context, use policy.Target) (*stateInput, error) {
	return policy.Digest(c.Digests, "state", use, func() (*stateInput, int, error) {
		text, err := c.Texts.Recorded(use)
		in := &stateInput{}
		if err != nil || json.Unmarshal([]byte(text), in) != nil {
			return nil, 0, err
		}
		return in, len(in.Path) + len(in.Plan) + len(in.Skill) + len(in.Command) + len(in.Description) + len(in.TaskID), nil
	})
}

func (s *sessionState) taskCall(c *policy.Context, n *note) error {
	number := ""
	if n.kind == "TaskCreate" {
		var err error
		if number, err = summarize.TaskNumberOf(c.Digests, n.result, c.Texts.Recorded); err != nil {
			return err
		}
	}
	in, err := summarize.TaskInputOf(c.Digests, n.use, c.Texts.Recorded)
	if err == nil {
		s.tasks.Call(n.kind, in, number, "")
	}
	return err
}

// skillHead opens the text a client shows of a skill.
const skillHead = "Base directory for this skill: "

// meta takes up what a client wrote for the model: a skill's text, word of an
// agent.
func (s *sessionState) meta(text string, called *skill) {
	s.heardOf(text)
	switch {
	case called != nil:
		called.text = text
	case strings.HasPrefix(text, skillHead): // invoked by a command of the user's
		dir, _, _ := strings.Cut(text[len(skillHead):], "\n")
		s.invoke(path.Base(strings.ReplaceAll(strings.TrimSpace(dir), `\`, "/"))).text = text
	}
}

// invoke moves a skill to the end of those invoked.
func (s *sessionState) invoke(name string) *skill {
	k, known := s.skills.get(name)
	if !known {
		k = &skill{name: name}
	}
	s.skills.put(name, k)
	return k
}

var (
	agentID    = regexp.MustCompile(`agentId: ([\w-]+)`)
	taskID     = regexp.MustCompile(`<task[-_]id>([\w-]+)</task[-_]id>`)
	taskStatus = regexp.MustCompile(`<status>(\w+)</status>`)
)

// heardOf takes up a text that tells of an agent's end.
func (s *sessionState) heardOf(text string) {
	if len(s.agents.at) == 0 {
		return
	}
	id, status := taskID.FindStringSubmatch(text), taskStatus.FindStringSubmatch(text)
	if id != nil && status != nil && status[1] != "running" {
		s.agents.drop(id[1])
	}
}

// announce takes up a recorded change of a listing. A conversation without a
// file has only the text.
func (s *sessionState) announce(c *policy.Context, n *note) error {
	raw, err := c.Conv.Raw(int(n.result.Item), n.result.Block)
	if err != nil {
		return err
	}
	var d struct {
		AddedNames   []string `json:"addedNames"`
		AddedTypes   []string `json:"addedTypes"`
		AddedLines   []string `json:"addedLines"`
		AddedBlocks  []string `json:"addedBlocks"`
		RemovedNames []string `json:"removedNames"`
		RemovedTypes []string `json:"removedTypes"`
	}
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
	if s.listings == nil {
		s.listings = map[string]*ordered[announced]{}
	}
	l := s.listings[n.kind]
	if l == nil {
		l = &ordered[announced]{}
		s.listings[n.kind] = l
	}
	for _, name := range slices.Concat(d.RemovedNames, d.RemovedTypes) {
		l.drop(name)
	}
	lines := slices.Concat(d.AddedLines, d.AddedBlocks)
	for i, name := range slices.Concat(d.AddedNames, d.AddedTypes) {
		line := name
		if i < len(lines) {
			line = lines[i]
		}
		l.put(name, announced{line, n.result.Item})
	}
	return nil
}

// hook takes up what a session-start hook said.
func (s *sessionState) hook(c *policy.Context, t policy.Target) error {
	raw, err := c.Conv.Raw(int(t.Item), t.Block)
	if err != nil {
		return err
	}
	var h struct {
		Event string `json:"hookEvent"`
	}
	if json.Unmarshal(raw, &h) == nil && h.Event == "SessionStart" && c.View.Raw(t).Text.UTF16 > 0 {
		s.hooks = append(s.hooks, t)
	}
	return nil
}

// isPlan reports whether a file is a plan of the client's.
func isPlan(path string) bool {
	return strings.HasSuffix(path, ".md") && strings.Contains(strings.ReplaceAll(path, `\`, "/"), "/.claude/plans/")
}
