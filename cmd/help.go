package cmd

import (
	"bytes"
	"io"
	"io/fs"
	"path"
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

// explanations are the terms of the glossary, the columns of the tables of all commands, and the members of JSON, that
// have a word which begins so; of a member the whole name. names are all there are.
func explanations(root *cobra.Command, word string) (list [][2]string, names []string) {
	is := func(name string) bool {
		names = append(names, name)
		return strings.Contains(" "+strings.ToLower(name), " "+strings.ToLower(word))
	}
	_, glossary, _ := strings.Cut(docs.Glossary, "|---|---|\n")
	for line := range strings.Lines(glossary) {
		if name, meaning, _ := strings.Cut(strings.Trim(line, "| \n"), " | "); is(name) {
			list = append(list, [2]string{name, strings.ReplaceAll(aside().ReplaceAllString(meaning, ""), "`", `"`)})
		}
	}
	var columns [][2]string
	commands := map[[2]string][]string{}
	add := func(column [2]string, command string) {
		if commands[column] == nil {
			columns = append(columns, column)
		}
		if !slices.Contains(commands[column], command) {
			commands[column] = append(commands[column], command)
		}
	}
	for _, c := range root.Commands() {
		for _, column := range columnsIn(c.Annotations[columnsTopic]) {
			if is(column[0]) {
				add([2]string{column[0], "column of %s: " + column[1]}, c.Name())
			}
		}
	}
	files, _ := fs.Glob(docs.Schemas, "schemas/*") // the pattern is valid
	for _, file := range files {
		data, _ := docs.Schemas.ReadFile(file)
		command, _, _ := strings.Cut(path.Base(file), ".")
		for _, m := range member().FindAllSubmatch(data, -1) {
			if name := string(m[1]); is(name) && (name == word || name == word+"s") {
				add([2]string{name, "in JSON of %s: " + string(m[2])}, command)
			}
		}
	}
	for _, column := range columns {
		list = append(list, [2]string{column[0], strings.Replace(column[1], "%s", strings.Join(commands[column], ", "), 1)})
	}
	return list, names
}

// member is a member of a JSON output in its schema, with what it holds.
var member = pattern.New(`"(\w+)": \{[^{}]*?"description": "((?:[^"\\]|\\.)*)"`)

// aside is a Go type in the glossary, or a link.
var aside = pattern.New(" \\((?:`[a-z]+\\.[A-Z][^)]*|\\[[^)]*\\))\\)")

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
