package summarize

import (
	"fmt"
	"iter"
	"slices"
	"sort"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
)

// outlineSummary returns the outline of the view of c, in the 9-section form and
// between <summary> tags; [Bare] takes those off.
func outlineSummary(c *policy.Context) (string, error) {
	o, err := gather(c, c.View.Items)
	return o.nine(), err
}

// OutlineSpan returns the outline of a span, in the 9-section form without tags.
// Earlier summaries, as of placeholders that are folded, are cut to the length
// of one.
func OutlineSpan(c *policy.Context, items iter.Seq[policy.ItemID]) (string, error) {
	o, err := gather(c, items)
	if len(o.earlier) > 1 {
		o.earlier = []string{shortened(strings.Join(o.earlier, "\n"))}
	}
	return Bare(o.nine()), err
}

// OutlineMemory returns the outline of some items of the view, in the 10-section
// form of a session's own summary file.
func OutlineMemory(c *policy.Context, items iter.Seq[policy.ItemID]) (string, error) {
	o, err := gather(c, items)
	return o.ten(), err
}

// nine is the form of the client's compaction.
func (o *outline) nine() string {
	var b strings.Builder
	b.WriteString("<summary>\n")
	section := func(n int, title string, lines []string) {
		fmt.Fprintf(&b, "%d. %s:\n", n, title)
		if len(lines) == 0 {
			lines = []string{"N/A"}
		}
		for _, l := range lines {
			b.WriteString(indent(l) + "\n")
		}
		b.WriteString("\n")
	}
	intent := o.earlier
	if n := len(o.prompts); n > 0 {
		intent = append(intent, o.prompts[0].where+" "+quote(o.prompts[0].text))
		if n > 1 {
			intent = append(intent, "latest: "+o.prompts[n-1].where+" "+quote(o.prompts[n-1].text))
		}
	}
	pending, current := o.taskLines()
	section(1, "Primary Request and Intent", intent)
	section(2, "Key Technical Concepts", nil)
	section(3, "Files and Code Sections", newest(o.fileLines()))
	section(4, "Errors and fixes", newest(o.errors))
	section(5, "Problem Solving", nil)
	section(6, "All user messages", o.said())
	section(7, "Pending Tasks", newest(pending))
	section(8, "Current Work", o.atWork())
	section(9, "Optional Next Step", newest(current))
	b.WriteString("</summary>")
	return b.String()
}

// said is every prompt, whole.
func (o *outline) said() []string {
	lines := make([]string, len(o.prompts))
	for i, p := range o.prompts {
		lines[i] = "- " + p.where + " " + p.text
	}
	return lines
}

// atWork is the last answers.
func (o *outline) atWork() []string { return o.last[max(len(o.last)-maxWork, 0):] }

// ten is the form of a session's own summary file. What no message says of
// itself stays empty.
func (o *outline) ten() string {
	pending, current := o.taskLines()
	var title []string
	if len(o.prompts) > 0 {
		title = []string{o.prompts[0].where + " " + quote(o.prompts[0].text)}
	}
	sections := [][]string{
		title,
		slices.Concat(o.atWork(), newest(current)),
		slices.Concat(o.earlier, o.said(), newest(pending)),
		newest(o.fileLines()),
		newest(o.commands),
		newest(o.errors),
		nil, nil, nil,
		newest(o.steps),
	}
	var b strings.Builder
	for i, s := range MemorySections() {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString("# " + s.Title + "\n")
		lines := sections[i]
		if len(lines) == 0 {
			lines = []string{"N/A"}
		}
		for _, l := range lines {
			b.WriteString(l + "\n")
		}
	}
	return b.String()
}

// newest is the end of a list that is too long.
func newest(lines []string) []string {
	over := len(lines) - maxLines
	if over <= 0 {
		return lines
	}
	return append([]string{fmt.Sprintf("(%d earlier lines left out)", over)}, lines[over:]...)
}

func (o *outline) fileLines() []string {
	paths := make([]string, 0, len(o.files))
	for p := range o.files {
		paths = append(paths, p)
	}
	sort.Slice(paths, func(i, j int) bool { return o.files[paths[i]].last < o.files[paths[j]].last })
	lines := make([]string, len(paths))
	for i, p := range paths {
		f := o.files[p]
		failed := ""
		if f.failed > 0 {
			failed = fmt.Sprintf(", failed %d", f.failed)
		}
		lines[i] = fmt.Sprintf("- %s (read %d, written %d, edited %d%s; last %s)", p, f.read, f.written, f.edited, failed, f.where)
	}
	return lines
}

// taskLines are the open tasks, and those of them at work.
func (o *outline) taskLines() (pending, current []string) {
	list := slices.Clone(o.Todos)
	for _, k := range o.Tasks {
		list = append(list, *k)
	}
	for _, k := range list {
		line := "- " + k.where + " " + quote(k.Text)
		if k.where == "" {
			line = "- task #" + k.ID
		}
		if k.changed != "" {
			line += "; " + k.Status + " " + k.changed
		}
		switch k.Status {
		case "completed", "deleted":
		case "in_progress":
			current = append(current, line)
			fallthrough
		default:
			pending = append(pending, line)
		}
	}
	return pending, current
}
