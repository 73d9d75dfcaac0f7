package claude

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
)

// PostCompact are the parameters of post_compact.
type PostCompact struct {
	Attachments  []Attachment `yaml:"attachments" doc:"what is attached, in this order, each where there is any"`
	MaxFiles     int          `yaml:"max_files" doc:"how many files are attached, the one touched last first" unit:"files" min:"0"`
	FileTokens   int          `yaml:"file_tokens" doc:"what one file may weigh" unit:"tokens" min:"0"`
	LongFiles    string       `yaml:"long_files" doc:"what becomes of a longer file: it is cut at file_tokens, or only named" enum:"cut,name"`
	FilesTokens  int          `yaml:"files_tokens" doc:"all files together; one that does not fit is passed over and the next tried" unit:"tokens" min:"0"`
	SkillTokens  int          `yaml:"skill_tokens" doc:"a longer skill is cut at this" unit:"tokens" min:"0"`
	SkillsTokens int          `yaml:"skills_tokens" doc:"all skills together; one that does not fit is passed over and the next tried" unit:"tokens" min:"0"`
}

// Attachment is one kind of thing that is attached after a compaction.
type Attachment string

// The attachments. The pipeline's order is the first nine; claude-code-2.1 has
// files, tasks, todos, team and hooks.
const (
	AttachFiles         Attachment = "files"            // files read, written or edited since the last compaction, as last seen
	AttachPlan          Attachment = "plan"             // the plan's text
	AttachSkills        Attachment = "skills"           // skills invoked in the session
	AttachPlanMode      Attachment = "plan_mode"        // that plan mode is on
	AttachTaskStatus    Attachment = "task_status"      // agents at work in the background
	AttachDeferredTools Attachment = "deferred_tools"   // tools that were announced and are so no longer
	AttachAgents        Attachment = "agent_listing"    // agents, likewise
	AttachInstructions  Attachment = "mcp_instructions" // instructions of MCP servers, likewise
	AttachHooks         Attachment = "hooks"            // what the session-start hooks said
	AttachTasks         Attachment = "tasks"            // the list of tasks
	AttachTodos         Attachment = "todos"            // the last list of todos
	AttachTeam          Attachment = "team"             // the team an agent belongs to: no session has recorded one
)

// attachments lists them all.
func Attachments() []Attachment {
	return append(pipelineAttachments(), AttachTasks, AttachTodos, AttachTeam)
}

// pipelineAttachments are the eight of the five-level pipeline, then the hooks.
func pipelineAttachments() []Attachment {
	return []Attachment{
		AttachFiles, AttachPlan, AttachSkills, AttachPlanMode, AttachTaskStatus,
		AttachDeferredTools, AttachAgents, AttachInstructions, AttachHooks,
	}
}

// DecodeParam reads the name of one.
func (a *Attachment) DecodeParam(plain any) error {
	name, _ := plain.(string)
	if !slices.Contains(Attachments(), Attachment(name)) {
		return &policy.Error{Msg: fmt.Sprintf("nothing called %q is attached", fmt.Sprint(plain)), Hint: "use " + attachmentNames()}
	}
	*a = Attachment(name)
	return nil
}

// EncodeParam is the plain form.
func (a *Attachment) EncodeParam() any { return string(*a) }

// ParamForm describes the notation.
func (a *Attachment) ParamForm() (string, map[string]any) {
	var names []any
	for _, a := range Attachments() {
		names = append(names, string(a))
	}
	return attachmentNames(), map[string]any{"enum": names}
}

func attachmentNames() string {
	var names []string
	for _, a := range Attachments() {
		names = append(names, string(a))
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

func definePostCompact() policy.Definition {
	return policy.Definition{
		Name:    "post_compact",
		Summary: "After a compaction that brings no recorded re-injections with it, the client attaches what goes on from there needs: files as last seen, plan, skills, listings, hook results.",
		Source:  "Claude Code, the five-level pipeline analysis; the list of claude-code-2.1: the threshold analysis of 2.1.x; that written and edited files count as read: re-injections recorded by 2.1.119-2.1.210",
		Truth:   policy.TruthDescribed,
		Moments: policy.Prepare | policy.Manual,
		Params: &PostCompact{
			Attachments: pipelineAttachments(),
			MaxFiles:    5, FileTokens: 5000, LongFiles: "cut", FilesTokens: 50000, SkillTokens: 5000, SkillsTokens: 25000,
		},
		Example: `before: the view has just become a summary; src/login.ts was read and edited since the last compaction, a skill invoked
after:  the summary, "<attachment: src/login.ts>" and the file's text with the edits, "<invoked skills: test-driven-development>"`,
		AfterCompaction: true,
		Check:           checkPostCompact,
		New: func(p any) (policy.Stage, error) {
			return &postCompact{
				p: *p.(*PostCompact), files: readFiles{files: map[string]*readFile{}}, sessionState: sessionState{listings: map[string]entries{}},
			}, nil
		},
	}
}

func checkPostCompact(c *policy.Check) {
	p := c.Stage.Params.(*PostCompact)
	c.AtMost("file_tokens", p.FileTokens, "files_tokens", p.FilesTokens)
	c.AtMost("skill_tokens", p.SkillTokens, "skills_tokens", p.SkillsTokens)
	for _, name := range []string{"max_files", "file_tokens", "files_tokens"} {
		c.Unused("post_compact."+name, !slices.Contains(p.Attachments, "files"), "post_compact.attachments has no files")
	}
	for _, name := range []string{"skill_tokens", "skills_tokens"} {
		c.Unused("post_compact."+name, !slices.Contains(p.Attachments, "skills"), "post_compact.attachments has no skills")
	}
	compact := c.Has("autocompact")
	if compact == nil || !compactsAt(compact) {
		return
	}
	at, most := windowOf(compact).Resolve(c.Window(), 0).Auto, min(p.MaxFiles*p.FileTokens, p.FilesTokens)
	if overhead := c.Overhead(); overhead < at && most+overhead >= at {
		c.Add(policy.RuleAlways, "post_compact.files_tokens", "attach less", "files of %d with %d of system prompt and tools reach %d, where autocompact sets in again", most, overhead, at)
	}
}

// postCompact notes what could be attached as it joins, by place, and fetches
// texts at a compaction only.
type postCompact struct {
	p       PostCompact
	epoch   int
	seen    int // of the items that ever joined
	edits   int // of the view
	files   readFiles
	carried itemSet // items the last compaction kept
	sessionState
}

func (s *postCompact) Run(c *policy.Context) ([]policy.Edit, error) {
	s.follow(c.View)
	at := s.compaction(c)
	if at < 0 {
		return nil, nil
	}
	first := s.edits
	s.edits = len(c.View.Edits())
	e := c.View.Edits()[at]
	defer func() {
		s.files.compacted(e.Joined)
		s.carried = itemSet{}
		s.carried.add(e.Lead)
		s.carried.add(e.Keep)
	}()
	if e.Request != c.Request || reinjected(&e) {
		return nil, nil
	}
	if err := s.files.resolve(c); err != nil {
		return nil, err
	}
	if err := s.resolve(c); err != nil {
		return nil, err
	}
	r := reattach{Context: c, s: s, round: c.View.Edits()[first:at]}
	out := policy.Edit{Kind: policy.KindAttach, Trigger: e.Trigger, Detail: map[string]int{}}
	var what []string
	for _, a := range s.p.Attachments {
		n, err := r.attach(a, &out)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			out.Detail[string(a)] = n
			what = append(what, strings.ReplaceAll(string(a), "_", " "))
		}
	}
	if len(out.Insert) == 0 {
		return nil, nil
	}
	out.Reason = "after the compaction: " + strings.Join(what, ", ")
	return []policy.Edit{out}, nil
}

// compaction is the last compaction among the view's new edits, -1 where there
// is none.
func (s *postCompact) compaction(c *policy.Context) int {
	edits := c.View.Edits()
	if c.View.Epoch() == s.epoch {
		return -1
	}
	s.epoch = c.View.Epoch()
	for i := len(edits) - 1; i >= s.edits; i-- {
		if edits[i].Kind == policy.KindSummarize {
			return i
		}
	}
	return -1
}

// reinjected reports whether a compaction brought what the client re-injected
// after a recorded one.
func reinjected(e *policy.Edit) bool {
	attached := func(s policy.Synthetic) bool { return s.Attached }
	return slices.ContainsFunc(e.Insert, attached) || slices.ContainsFunc(e.Tail, attached)
}
