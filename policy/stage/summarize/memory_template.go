package summarize

import (
	"slices"
	"strings"
)

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
