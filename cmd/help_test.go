package cmd

import (
	"bytes"
	"strings"
	"testing"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// TestHelpFits holds that no line of any help is wider than a narrow terminal.
func TestHelpFits(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		var out bytes.Buffer
		c.SetOut(&out)
		c.InitDefaultHelpFlag()
		must.Do(t, c.Help())
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

// TestHelpNarrow holds the same of narrow terminals, where lines are folded.
func TestHelpNarrow(t *testing.T) {
	t.Setenv("COLUMNS", "60")
	for _, args := range [][]string{{"--help"}, {"help", "columns"}, {"replay", "--help"}, {"compare", "--help"}, {"sessions", "--help"}, {"check", "--help"}} {
		var out bytes.Buffer
		if code := Main(args, strings.NewReader(""), &out, &out); code != exitDone {
			t.Fatalf("%q: exit code %d", args, code)
		}
		for line := range strings.Lines(out.String()) {
			if w := twwidth.Width(strings.TrimRight(line, "\n")); w > narrowest && strings.Contains(strings.TrimSpace(line), " ") {
				t.Errorf("%q: %d columns: %s", args, w, line)
			}
		}
	}
	for _, tt := range []struct{ line, want string }{
		{"  -f, --flag WORD      a text that says what the flag is for and when", "  -f, --flag WORD      a text that says what\n    the flag is for and when\n"},
		{"  name      a text that says what the command is for", "  name      a text that says what the command\n            is for\n"},
		{"A sentence that goes on for longer than a narrow terminal", "A sentence that goes on for longer than a\nnarrow terminal\n"},
		{"  ctxkit replay session.jsonl --policy opencode -o file", "  ctxkit replay session.jsonl --policy \\\n      opencode -o file\n"},
		{"  " + strings.Repeat("x", 60), "  " + strings.Repeat("x", 60) + "\n"},
	} {
		var out bytes.Buffer
		if err := narrowed(&out, tt.line+"\n", 45); err != nil || out.String() != tt.want {
			t.Errorf("%q, want %q, %v", out.String(), tt.want, err)
		}
	}
}
