package summarize

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
)

// outlineSummary returns the outline of the view of c, in the 9-section form and between <summary> tags; [Bare] takes
// those off.
func outlineSummary(c *policy.Context) (string, error) {
	o, err := gather(c, c.View.Items)
	return o.nine(), err
}

// OutlineSpan returns the outline of a span, in the 9-section form without tags. Earlier summaries, as of
// placeholders that are folded, are cut to the length of one.
func OutlineSpan(c *policy.Context, items iter.Seq[policy.ItemID]) (string, error) {
	o, err := gather(c, items)
	if len(o.earlier) > 1 {
		o.earlier = []string{shortened(strings.Join(o.earlier, "\n"))}
	}
	return Bare(o.nine()), err
}

// OutlineMemory returns the outline of some items of the view, in the 10-section form of a session's own summary
// file.
func OutlineMemory(c *policy.Context, items iter.Seq[policy.ItemID]) (string, error) {
	o, err := gather(c, items)
	return o.ten(), err
}

// nine returns the form of the client's compaction.
func (o *outline) nine() string {
	var b strings.Builder
	b.WriteString("<summary>\n")
	section := func(n int, title string, lines []string) {
		fmt.Fprintf(&b, "%d. %s:\n", n, title)
		for _, l := range orNone(lines) {
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

// said returns every prompt, whole.
func (o *outline) said() []string {
	lines := make([]string, len(o.prompts))
	for i, p := range o.prompts {
		lines[i] = "- " + p.where + " " + p.text
	}
	return lines
}

// atWork returns the last answers.
func (o *outline) atWork() []string { return o.last[max(len(o.last)-maxWork, 0):] }

// ten returns the form of a session's own summary file. A section that no message fills has N/A.
func (o *outline) ten() string {
	pending, current := o.taskLines()
	var title []string
	if len(o.prompts) > 0 {
		title = []string{o.prompts[0].where + " " + quote(o.prompts[0].text)}
	}
	sections := [10][]string{
		0: title,
		1: slices.Concat(o.atWork(), newest(current)),
		2: slices.Concat(o.earlier, o.said(), newest(pending)),
		3: newest(o.fileLines()),
		4: newest(o.commands),
		5: newest(o.errors),
		9: newest(o.steps),
	}
	parts := make([]string, len(sections))
	for i, s := range MemorySections() {
		parts[i] = "# " + s.Title + "\n" + strings.Join(orNone(sections[i]), "\n") + "\n"
	}
	return strings.Join(parts, "\n")
}

// orNone returns the lines of a section, N/A if there are none.
func orNone(lines []string) []string {
	if len(lines) == 0 {
		return []string{"N/A"}
	}
	return lines
}

// newest cuts a list to its last maxLines, and counts the rest.
func newest(lines []string) []string {
	over := len(lines) - maxLines
	if over <= 0 {
		return lines
	}
	return append([]string{fmt.Sprintf("(%d earlier lines left out)", over)}, lines[over:]...)
}

func (o *outline) fileLines() []string {
	paths := slices.SortedFunc(maps.Keys(o.files), func(a, b string) int { return o.files[a].last - o.files[b].last })
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

// taskLines returns the open tasks, and those of them in progress.
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
