package claude

import (
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
)

// PostCompact are the parameters of post_compact.
type PostCompact struct {
	Attachments  []Attachment `yaml:"attachments" doc:"names of what is attached, in this order; a name of which there is nothing is passed over" enum:"files,plan,skills,plan_mode,task_status,deferred_tools,agent_listing,mcp_instructions,hooks,tasks,todos,team"`
	MaxFiles     int          `yaml:"max_files" doc:"how many files are attached, the one touched last first" unit:"files" min:"0"`
	FileTokens   int          `yaml:"file_tokens" doc:"what one file may weigh" unit:"tokens" min:"0"`
	LongFiles    string       `yaml:"long_files" doc:"what becomes of a longer file: it is cut at file_tokens, or only named" enum:"cut,name"`
	FilesTokens  int          `yaml:"files_tokens" doc:"all files together; one that does not fit is passed over and the next tried" unit:"tokens" min:"0"`
	SkillTokens  int          `yaml:"skill_tokens" doc:"a longer skill is cut at this" unit:"tokens" min:"0"`
	SkillsTokens int          `yaml:"skills_tokens" doc:"all skills together; one that does not fit is passed over and the next tried" unit:"tokens" min:"0"`
}

// Attachment is a kind of thing that is attached after a compaction.
type Attachment string

// The attachments. The order of the five-level pipeline is that of the first nine; claude-code-2.1 has files, tasks,
// todos, team and hooks.
const (
	AttachFiles         Attachment = "files"            // files read, written or edited since the last compaction, as last seen
	AttachPlan          Attachment = "plan"             // the plan's text
	AttachSkills        Attachment = "skills"           // skills invoked in the session
	AttachPlanMode      Attachment = "plan_mode"        // that plan mode is on
	AttachTaskStatus    Attachment = "task_status"      // agents at work in the background
	AttachDeferredTools Attachment = "deferred_tools"   // announced tools whose announcement has left the view
	AttachAgents        Attachment = "agent_listing"    // the same of agents
	AttachInstructions  Attachment = "mcp_instructions" // the same of instructions of MCP servers
	AttachHooks         Attachment = "hooks"            // results of the session-start hooks
	AttachTasks         Attachment = "tasks"            // the list of tasks
	AttachTodos         Attachment = "todos"            // the last list of todos
	AttachTeam          Attachment = "team"             // the team an agent belongs to: no session has recorded one
)

// pipelineAttachments returns the eight of the five-level pipeline, then the hooks.
func pipelineAttachments() []Attachment {
	return []Attachment{
		AttachFiles, AttachPlan, AttachSkills, AttachPlanMode, AttachTaskStatus,
		AttachDeferredTools, AttachAgents, AttachInstructions, AttachHooks,
	}
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
		New: func(p any) (policy.Stage, error) {
			return &postCompact{
				PostCompact: *p.(*PostCompact), files: readFiles{files: map[string]*readFile{}}, sessionState: sessionState{listings: map[string]entries{}},
			}, nil
		},
	}
}

// Check is what is questionable in a policy with post_compact.
func (p *PostCompact) Check(c *policy.Check) {
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
	at := windowOf(compact).Resolve(policy.Circumstances{Window: c.Window(), Set: true}).Auto
	most := min(p.MaxFiles*p.FileTokens, p.FilesTokens)
	if overhead := c.Overhead(); overhead < at && most+overhead >= at {
		c.Add(policy.RuleAlways, "post_compact.files_tokens", "attach less", "files of %d with %d of system prompt and tools reach %d, where autocompact compacts again", most, overhead, at)
	}
}

// postCompact notes what could be attached as it joins, by place, and reads texts only at a compaction.
type postCompact struct {
	PostCompact
	epoch   int
	seen    int // of the items that ever joined
	edits   int // of the view
	files   readFiles
	carried itemSet // items the last compaction kept
	sessionState
}

func (s *postCompact) Run(c *policy.Context) ([]policy.Edit, error) {
	s.follow(c.View)
	edits, first := c.View.Edits(), s.edits
	if c.View.Epoch() == s.epoch {
		return nil, nil
	}
	s.epoch = c.View.Epoch()
	at := len(edits) - 1
	for at >= first && edits[at].Kind != policy.KindSummarize {
		at--
	}
	if at < first {
		return nil, nil
	}
	s.edits = len(edits)
	e := edits[at]
	defer func() {
		s.files.since = policy.ItemID(e.Joined)
		s.files.recent = nil
		s.carried = itemSet{}
		s.carried.add(e.Lead)
		s.carried.add(e.Keep)
	}()
	attached := func(s policy.Synthetic) bool { return s.Attached } // the recorded session has what the client re-injected
	if e.Request != c.Request || slices.ContainsFunc(e.Insert, attached) || slices.ContainsFunc(e.Tail, attached) {
		return nil, nil
	}
	if err := s.files.resolve(c); err != nil {
		return nil, err
	}
	if err := s.resolve(c); err != nil {
		return nil, err
	}
	r := reattach{Context: c, postCompact: s, round: edits[:at][first:]}
	out := policy.Edit{Kind: policy.KindAttach, Trigger: e.Trigger, Detail: map[string]int{}}
	var what []string
	for _, a := range s.Attachments {
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
