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

// memorySection is a section of a session's own summary file.
type memorySection struct{ Title, Guidance string } // Guidance is under the title until it is filled in

// MemorySections returns the ten of the template, with the guidance that the analysis of the five-level pipeline
// lists.
func MemorySections() []memorySection {
	return []memorySection{
		{"Session Title", "一个信息密度高的 5-10 词 session 标题,无填充词"},
		{"Current State", "当下正在做什么?未完成的任务、下一步要做什么"},
		{"Task specification", "用户要建什么?任何设计决策或解释性上下文"},
		{"Files and Functions", "哪些文件重要?各自装了什么、为什么相关"},
		{"Workflow", "常用哪些 bash 命令、什么顺序、输出怎么解读"},
		{"Errors & Corrections", "遇到过哪些 error、怎么修的、用户纠正了什么、哪些路子走不通"},
		{"Codebase and System Documentation", "重要系统组件、它们怎么协作"},
		{"Learnings", "什么方式奏效了、什么不行、要避免什么(不重复其他 section 的内容)"},
		{"Key results", "如果用户明确要过某个结果(答案、表格、文档),在这里原样保留"},
		{"Worklog", "一步一步做了什么尝试,每步极简摘要"},
	}
}

// EmptyMemory reports whether a session's own summary is still the template: headings, and under each at most its
// guidance, which is set in italics.
func EmptyMemory(text string) bool {
	known := func(line string) bool {
		return slices.ContainsFunc(MemorySections(), func(s memorySection) bool { return s.Guidance == line })
	}
	guided := false // the current heading has its guidance
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
		case strings.HasPrefix(line, "#"):
			guided = false
		case !guided && (italic(line) || known(line)):
			guided = true
		default:
			return false
		}
	}
	return true
}

// italic reports whether a line is set in italics from end to end.
func italic(line string) bool {
	for _, mark := range []string{"_", "*"} {
		inner, opened := strings.CutPrefix(line, mark)
		inner, closed := strings.CutSuffix(inner, mark)
		if opened && closed && inner != "" && !strings.HasPrefix(inner, mark) {
			return true
		}
	}
	return false
}
