package opencode

import (
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

func TestOpencodeTruncate(t *testing.T) {
	lines := func(n int) string { return strings.TrimSuffix(strings.Repeat("x\n", n), "\n") }
	tests := []struct {
		name     string
		text     string
		readBack bool
		inline   bool
		want     string // end of the preview, "" where nothing is cut
	}{
		{"2,000 lines", lines(2000), true, false, ""},
		{"2,001 lines", lines(2001), true, false, "x\n\n...1 lines truncated...\n\n"},
		{"51,200 bytes", strings.Repeat("y", 51200), true, false, ""},
		{"51,201 bytes", strings.Repeat("y", 100) + "\n" + strings.Repeat("y", 51100), true, false, "y\n\n...51101 bytes truncated...\n\n"},
		{"recorded inline: left", lines(3000), false, false, ""},
		{"recorded inline, asked for", lines(2001), false, true, "x\n\n...1 lines truncated...\n\n"},
		{"a stub without its file: left", "<persisted-output>\n" + lines(3000), false, true, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := stagetest.Talk(`prompt "run it"; assistant use a Bash`)
			at := c.Answers(stagetest.Result("a", tt.text))
			if tt.readBack {
				c.Messages[at].Blocks[0].Offload = &session.Offload{Path: "a.txt", Text: jsonl.Measure(tt.text)}
			}
			c.Play(`prompt "and now?"; assistant say done`)
			p := *defineOpencodeTruncate().Params.(*OpencodeTruncate)
			p.Inline = tt.inline
			r := stagetest.NewRun(t, c, stagetest.Start(t, defineOpencodeTruncate(), &p))
			r.All()
			target := policy.Target{Item: policy.ItemID(at)}
			content := r.View.Replacement(target)
			if tt.want == "" {
				if content != nil {
					t.Fatalf("cut to %q", content.Text)
				}
				return
			}
			if content == nil {
				t.Fatal("nothing is cut")
			}
			if i := strings.Index(content.Text, tt.want); i < 0 || !strings.Contains(content.Text, "Full output saved to: ~/.local/share/opencode/tool-output/a\n") {
				t.Errorf("cut to …%q, want it to hold %q and the hint", content.Text[max(0, len(content.Text)-400):], tt.want)
			}
			if e := r.View.Edits(); len(e) != 1 || e[0].Kind != policy.KindTruncate {
				t.Errorf("edits: %+v", e)
			}
		})
	}
}

// From 1.14.20 on the shell keeps the end of an output, and other tools its beginning.
func TestTruncateShell(t *testing.T) {
	must.Rows(t, `
# version | tool | text | want
1.1.60  | Bash | "a\nb\nc"       | "a\nb\n\n...1 lines truncated...\n\n"
1.14.20 | Read | "a\nb\nc"       | "a\nb\n\n...1 lines truncated...\n\n"
1.14.20 | Bash | "a\nb\nc"       | "...output truncated...\n\nFull output saved to: ~/.local/share/opencode/tool-output/a\n\nb\nc"
1.18.17 | Bash | "a\nb\n"        | "...output truncated...\n\nFull output saved to: ~/.local/share/opencode/tool-output/a\n\nb\n"
1.18.17 | Bash | "a\nb"          | ""
1.18.17 | Bash | "a\n123456789"  | "...output truncated...\n\nFull output saved to: ~/.local/share/opencode/tool-output/a\n\n123456789"
1.18.17 | Bash | "a\n12345678éé" | "...output truncated...\n\nFull output saved to: ~/.local/share/opencode/tool-output/a\n\n345678éé"
1.18.17 | Bash | éééééé          | "...output truncated...\n\nFull output saved to: ~/.local/share/opencode/tool-output/a\n\nééééé"
1.18.17 | Bash | xééééé          | "...output truncated...\n\nFull output saved to: ~/.local/share/opencode/tool-output/a\n\nééééé"
1.18.17 | Bash | xxéééée         | "...output truncated...\n\nFull output saved to: ~/.local/share/opencode/tool-output/a\n\nxéééée"
`, func(version, tool, text, want string) {
		c := stagetest.Talk(`prompt "run it"; assistant use a %q`, tool)
		at := c.Answers(stagetest.Result("a", text))
		c.Messages[at].Blocks[0].Offload = &session.Offload{Path: "a.txt", Text: jsonl.Measure(text)}
		c.Play(`assistant say done`)
		for i := range c.Messages {
			c.Messages[i].Version = version
		}
		r := stagetest.NewRun(t, c, stagetest.Start(t, defineOpencodeTruncate(), &OpencodeTruncate{MaxLines: 2, MaxBytes: 10}))
		r.All()
		got := ""
		if content := r.View.Replacement(policy.Target{Item: policy.ItemID(at)}); content != nil {
			got = content.Text
		}
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s, %s, %q: %q, want %q", version, tool, text, got, want)
		}
	})
}
