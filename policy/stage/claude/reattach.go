package claude

import (
	"fmt"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
)

// reattach puts the attachments of one compaction together.
type reattach struct {
	*policy.Context
	s     *postCompact
	round []policy.Edit // the edits since the last compaction
}

// add adds one message, each text a block.
func (r *reattach) add(out *policy.Edit, label string, texts ...string) {
	m := policy.Synthetic{Role: "user", Label: label, Attached: true}
	for _, t := range texts {
		m.Contents = append(m.Contents, policy.NewContent(jsonl.KindText, t))
	}
	out.Insert = append(out.Insert, m)
}

// attach adds the message of one attachment and says how many things it holds.
func (r *reattach) attach(a Attachment, out *policy.Edit) (int, error) {
	s := r.s
	switch a {
	case AttachFiles:
		return r.filesAsSeen(out)
	case AttachPlan:
		return r.planText(out)
	case AttachSkills:
		return r.invokedSkills(out), nil
	case AttachPlanMode:
		if s.planMode {
			r.add(out, "plan mode", "<plan mode>")
			return 1, nil
		}
	case AttachTaskStatus:
		var lines []string
		for id, what := range s.agents.oldestFirst {
			lines = append(lines, "- "+id+": "+what+": running")
		}
		return r.list(out, "task status", lines), nil
	case AttachDeferredTools:
		return r.listing(out, "deferred tools", "deferred_tools_delta"), nil
	case AttachAgents:
		return r.listing(out, "agent listing", "agent_listing_delta"), nil
	case AttachInstructions:
		return r.listing(out, "mcp instructions", "mcp_instructions_delta"), nil
	case AttachHooks:
		return r.hookResults(out), nil
	case AttachTasks:
		var lines []string
		for _, k := range s.tasks.Tasks {
			if k.Status != "deleted" {
				lines = append(lines, fmt.Sprintf("- task #%s: %s: %s", k.Id, k.Text, k.Status))
			}
		}
		return r.list(out, "tasks", lines), nil
	case AttachTodos:
		var lines []string
		for _, k := range s.tasks.Todos {
			mark := " "
			if k.Status == "completed" {
				mark = "x"
			}
			lines = append(lines, "- ["+mark+"] "+k.Text)
		}
		return r.list(out, "todos", lines), nil
	case AttachTeam:
	}
	return 0, nil
}

// list adds a message of lines, where there are any.
func (r *reattach) list(out *policy.Edit, label string, lines []string) int {
	if len(lines) > 0 {
		r.add(out, label, "<"+label+">\n"+strings.Join(lines, "\n"))
	}
	return len(lines)
}

// listing adds what was announced in messages that are not in view any more.
func (r *reattach) listing(out *policy.Edit, label, kind string) int {
	l := r.s.listings[kind]
	if l == nil {
		return 0
	}
	var lines []string
	for _, a := range l.oldestFirst {
		if !r.View.Has(a.by) {
			lines = append(lines, a.line)
		}
	}
	return r.list(out, label, lines)
}

// planText adds the plan: its file as last seen, or what ExitPlanMode showed.
func (r *reattach) planText(out *policy.Edit) (int, error) {
	text := r.s.plan.text
	if f := r.s.files.files[r.s.plan.path]; f != nil {
		seen, err := f.content(r.Context)
		if err != nil {
			return 0, err
		}
		if seen != "" {
			text = seen
		}
	}
	if text == "" {
		return 0, nil
	}
	r.add(out, "plan", "<plan: "+text+">")
	return 1, nil
}

// invokedSkills adds the skills, the one invoked last first: their names, and
// a block for each whose text is known.
func (r *reattach) invokedSkills(out *policy.Edit) int {
	var names, blocks []string
	total := 0
	for _, k := range r.s.skills.newestFirst {
		text, size := cutTo(k.text, r.s.p.SkillTokens)
		if total+size > r.s.p.SkillsTokens {
			continue
		}
		total += size
		names = append(names, k.name)
		if text != "" {
			blocks = append(blocks, "<skill: "+k.name+">\n"+text)
		}
	}
	if len(names) > 0 {
		r.add(out, "invoked skills", append([]string{"<invoked skills: " + strings.Join(names, ", ") + ">"}, blocks...)...)
	}
	return len(names)
}

// hookResults adds what the hooks said at the start of the session again.
func (r *reattach) hookResults(out *policy.Edit) int {
	n := 0
	for _, t := range r.s.hooks {
		if r.View.Has(t.Item) {
			continue
		}
		bl := r.View.Raw(t)
		out.Insert = append(out.Insert, policy.Synthetic{Role: "user", Label: "session start hook", Attached: true, Contents: []policy.Content{{Kind: bl.Kind, Length: bl.Text, Ref: &t}}})
		n++
	}
	return n
}
