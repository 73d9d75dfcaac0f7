package report

import (
	"fmt"
	"strings"
)

// githubCommand prints a workflow command: an annotation of a file, or of none if file is "". A line or a column of 0
// is left out. data must be escaped.
func githubCommand(b *strings.Builder, level, file string, line, column int, title, data string) {
	var properties []string
	add := func(name, value string) { properties = append(properties, name+"="+githubProperty(value)) }
	if file != "" {
		add("file", file)
		if line > 0 {
			add("line", fmt.Sprint(line))
		}
		if column > 0 {
			add("col", fmt.Sprint(column))
		}
	}
	add("title", title)
	fmt.Fprintf(b, "::%s %s::%s\n", level, strings.Join(properties, ","), data)
}

// githubText escapes a text in the data of a workflow command: nothing in it ends the command or begins another.
func githubText(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(Clean(s))
}

// githubProperty escapes a text in a property of a workflow command.
func githubProperty(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(githubText(s))
}
