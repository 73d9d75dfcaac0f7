package cmd

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/docs"
	"github.com/ctxkit/ctxkit/jsonl/pattern"
)

// narrowed writes text to lines of a width, where it is narrower than help is laid out for: what does not fit goes on in
// a line below, under the second column of a list, else under the first. A command can still be copied.
func narrowed(w io.Writer, text string, width int) error {
	if width <= 0 || width >= helpWidth {
		_, err := io.WriteString(w, text)
		return err
	}
	var b bytes.Buffer
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		first := len(line) - len(strings.TrimLeft(line, " "))
		hang := first
		if at := strings.Index(line[first:], "  "); at >= 0 && first+at < width/2 {
			rest := line[first+at:]
			hang = first + at + len(rest) - len(strings.TrimLeft(rest, " "))
		}
		more := ""
		if strings.HasPrefix(line[first:], "ctxkit ") {
			hang = first + 4
			more = ` \`
		}
		if hang > width/2 {
			hang = first + 2
		}
		for twwidth.Width(line) > width {
			cut := strings.LastIndexByte(line[:within(line, width-len(more))+1], ' ')
			if cut <= hang { // a word that is wider
				break
			}
			b.WriteString(strings.TrimRight(line[:cut], " ") + more + "\n")
			line = strings.Repeat(" ", hang) + strings.TrimLeft(line[cut:], " ")
		}
		b.WriteString(line + "\n")
	}
	_, err := w.Write(b.Bytes())
	return err
}

// within is how many bytes of a line fit into a width, less than all of them.
func within(line string, width int) int {
	for i := range line {
		if twwidth.Width(line[:i]) > width {
			return i - 1
		}
	}
	return len(line) - 1
}

// explanations are the terms of the glossary, and the columns of the tables of all commands, that have a word which begins so.
func explanations(root *cobra.Command, word string) (list [][2]string) {
	is := func(name string) bool { return strings.Contains(" "+strings.ToLower(name), " "+strings.ToLower(word)) }
	_, glossary, _ := strings.Cut(docs.Glossary, "|---|---|\n")
	for line := range strings.Lines(glossary) {
		if name, meaning, _ := strings.Cut(strings.Trim(line, "| \n"), " | "); is(name) {
			list = append(list, [2]string{name, strings.ReplaceAll(goType().ReplaceAllString(meaning, ""), "`", "")})
		}
	}
	var columns [][2]string
	commands := map[[2]string][]string{}
	for _, c := range root.Commands() {
		for _, column := range columnsIn(c.Annotations[columnsTopic]) {
			if !is(column[0]) {
				continue
			}
			if commands[column] == nil {
				columns = append(columns, column)
			}
			if !slices.Contains(commands[column], c.Name()) {
				commands[column] = append(commands[column], c.Name())
			}
		}
	}
	for _, column := range columns {
		list = append(list, [2]string{column[0], "column of " + strings.Join(commands[column], ", ") + ": " + column[1]})
	}
	return list
}

// goType is a Go type in the glossary.
var goType = pattern.New(" \\(`[a-z]+\\.[A-Z]\\w*`\\)")

// columnsIn are the columns of what report.ColumnsText returned, each with what it says.
func columnsIn(text string) (list [][2]string) {
	for line := range strings.Lines(text) {
		name, about, _ := strings.Cut(strings.TrimPrefix(line, "  "), "  ")
		switch {
		case !strings.HasPrefix(line, "  "): // the name of a table
		case name != "" && name[0] != ' ':
			list = append(list, [2]string{name, strings.TrimSpace(about)})
		case len(list) > 0:
			list[len(list)-1][1] += " " + strings.TrimSpace(line)
		}
	}
	return list
}
