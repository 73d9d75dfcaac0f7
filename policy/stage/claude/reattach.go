package claude

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
)

// reattach makes the attachments of one compaction.
type reattach struct {
	*policy.Context
	*postCompact
	round []policy.Edit // the edits since the last compaction
}

// attach adds the message of one attachment, each text a block, and returns how many things it holds.
func (r *reattach) attach(a Attachment, out *policy.Edit) (n int, err error) {
	label := strings.ReplaceAll(string(a), "_", " ")
	var texts []string
	switch a {
	case AttachFiles:
		texts, err = r.filesAsSeen()
		n = len(texts)
	case AttachPlan:
		texts, err = r.planText()
		n = len(texts)
	case AttachSkills:
		label = "invoked skills"
		texts, n = r.invokedSkills()
	case AttachPlanMode:
		if r.planMode {
			texts = []string{"<plan mode>"}
			n = 1
		}
	case AttachHooks:
		return r.hookResults(out), nil
	default:
		if lines := r.lines(a); len(lines) > 0 {
			texts = []string{"<" + label + ">\n" + strings.Join(lines, "\n")}
			n = len(lines)
		}
	}
	if n == 0 || err != nil {
		return 0, err
	}
	m := policy.Synthetic{Role: "user", Label: label, Attached: true}
	for _, t := range texts {
		m.Contents = append(m.Contents, policy.Text(t))
	}
	out.Insert = append(out.Insert, m)
	return n, nil
}

// lines returns the lines of an attachment that is a list.
func (r *reattach) lines(a Attachment) (lines []string) {
	switch a {
	case AttachTaskStatus:
		for _, k := range r.agents {
			lines = append(lines, "- "+k.name+": "+k.text+": running")
		}
	case AttachTasks:
		for _, k := range r.tasks.Tasks {
			if k.Status != "deleted" {
				lines = append(lines, fmt.Sprintf("- task #%s: %s: %s", k.ID, k.Text, k.Status))
			}
		}
	case AttachTodos:
		for _, k := range r.tasks.Todos {
			mark := " "
			if k.Status == "completed" {
				mark = "x"
			}
			lines = append(lines, "- ["+mark+"] "+k.Text)
		}
	default: // a listing: what was announced in messages that have left the view
		for _, k := range r.listings[string(a)+delta] {
			if !r.View.Has(k.by) {
				lines = append(lines, k.text)
			}
		}
	}
	return lines
}

// planText returns the plan: its file as last seen, or what ExitPlanMode showed.
func (r *reattach) planText() ([]string, error) {
	text := r.planShown
	if f := r.files.files[r.planPath]; f != nil {
		seen, err := f.content(r.Context)
		if err != nil {
			return nil, err
		}
		text = cmp.Or(seen, text)
	}
	if text == "" {
		return nil, nil
	}
	return []string{"<plan: " + text + ">"}, nil
}

// invokedSkills returns the skills, the last invoked first: a text with their names, and one for each whose text is
// known.
func (r *reattach) invokedSkills() (texts []string, n int) {
	var names []string
	texts = []string{""}
	total := 0
	for _, k := range slices.Backward(r.skills) {
		text, size := cutTo(k.text, r.SkillTokens)
		if total+size > r.SkillsTokens {
			continue
		}
		total += size
		names = append(names, k.name)
		if text != "" {
			texts = append(texts, "<skill: "+k.name+">\n"+text)
		}
	}
	texts[0] = "<invoked skills: " + strings.Join(names, ", ") + ">"
	return texts, len(names)
}

// hookResults adds a message for each session-start hook result that has left the view.
func (r *reattach) hookResults(out *policy.Edit) (n int) {
	for _, t := range r.hooks {
		if r.View.Has(t.Item) {
			continue
		}
		bl := r.View.Raw(t)
		content := policy.Content{Kind: bl.Kind, Length: bl.Text, Ref: &t}
		out.Insert = append(out.Insert, policy.Synthetic{Role: "user", Label: "session start hook", Attached: true, Contents: []policy.Content{content}})
		n++
	}
	return n
}

// filesAsSeen returns a text for each file that is not in the kept part.
func (r *reattach) filesAsSeen() (texts []string, err error) {
	cleared, gone := r.lost()
	total := 0
	for _, path := range r.files.newestFirst() {
		if len(texts) >= r.MaxFiles {
			break
		}
		f := r.files.files[path]
		if isPlan(path) || r.kept(f) || r.clearedNow(f, cleared, gone) {
			continue
		}
		text, err := f.content(r.Context)
		if err != nil {
			return nil, err
		}
		shown, size := cutTo(text, r.FileTokens)
		switch {
		case len(shown) < len(text) && r.LongFiles == "name":
			texts = append(texts, "<attachment: "+path+">")
		case shown != "" && total+size <= r.FilesTokens:
			total += size
			texts = append(texts, "<attachment: "+path+">\n"+shown)
		}
	}
	return texts, nil
}

// lost returns the results that this round's microcompaction cleared, and the items that left the view since the last
// compaction.
func (r *reattach) lost() (cleared map[policy.Target]bool, gone itemSet) {
	cleared = map[policy.Target]bool{}
	gone = itemSet{}
	for i := range r.round {
		switch e := &r.round[i]; e.Kind {
		case policy.KindRemove, policy.KindCollapse:
			gone.add(e.Items)
		case policy.KindClear, policy.KindPersist:
			if e.Request == r.Request && strings.HasPrefix(e.Stage, "microcompact") {
				cleared[e.Target] = true
			}
		}
	}
	return cleared, gone
}

// kept reports whether the kept part shows a file as it was last seen: the last call on it is a Read or a Write that
// is still in view. After an edit the view no longer shows the file.
func (r *reattach) kept(f *readFile) bool {
	switch last := f.last(); last.tool {
	case "Read":
		c := r.View.Replacement(last.result)
		return r.View.Has(last.result.Item) && (c == nil || c.Partial)
	case "Write":
		return r.View.Has(last.use.Item)
	}
	return false
}

// clearedNow reports whether the microcompaction of this round cleared every Read of a file that was in view. One
// cleared earlier still counts as there.
func (r *reattach) clearedNow(f *readFile, cleared map[policy.Target]bool, gone itemSet) bool {
	some := false
	for _, call := range f.calls {
		at := call.result.Item
		if call.tool != "Read" || gone[at] || at < r.files.since && !r.carried[at] {
			continue
		}
		if !cleared[call.result] {
			return false
		}
		some = true
	}
	return some
}

// itemSet is a set of items of a view.
type itemSet map[policy.ItemID]bool

func (s itemSet) add(items []policy.ItemID) {
	for _, id := range items {
		s[id] = true
	}
}
