package cmd

import (
	"bytes"
	"strings"
	"testing"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"github.com/spf13/cobra"
)

// TestHelpFits holds that no line of any help is wider than a narrow terminal.
func TestHelpFits(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		var out bytes.Buffer
		c.SetOut(&out)
		c.InitDefaultHelpFlag()
		if err := c.Help(); err != nil {
			t.Fatal(err)
		}
		own := c.Name() != "completion" && (!c.HasParent() || c.Parent().Name() != "completion") // cobra's texts
		for line := range strings.Lines(out.String()) {
			if w := twwidth.Width(strings.TrimRight(line, "\n")); own && w > helpWidth {
				t.Errorf("%s --help: %d columns: %s", c.CommandPath(), w, line)
			}
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	root := newRoot(newSystem(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}))
	root.InitDefaultCompletionCmd()
	walk(root)
}
