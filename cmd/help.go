package cmd

import (
	"bytes"
	"io"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
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
			hang, more = first+4, ` \`
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
