package cmd

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/compare"
)

// TestShellWord holds that a shell takes a word as what it was, and that nothing of it acts on the terminal that
// shows it.
func TestShellWord(t *testing.T) {
	words := map[string]string{
		"plain-1.jsonl":           "plain-1.jsonl",
		"a/b,c.d=1@x:+":           "a/b,c.d=1@x:+",
		"":                        "''",
		"two words":               "'two words'",
		"it's":                    `'it'\''s'`,
		"$HOME `id` !x":           "'$HOME `id` !x'",
		"line\nline\t\r":          `$'line\nline\t\r'`,
		"it's\n\\":                `$'it\'s\n\\'`,
		"\x1b[31m1":               `$'\033[31m1'`,
		"bell\a7":                 `$'bell\0077'`,
		"right\u202eleft":         `$'right\342\200\256left'`,
		"not \xff UTF-8 \xe4\xb8": `$'not \377 UTF-8 \344\270'`,
		"é 中":                     "'é 中'",
		"é\n中":                    `$'é\n中'`,
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Log("no bash: the words were not tried")
	}
	for word, want := range words {
		got := shellWord(word)
		if got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
		if !printable(got) {
			t.Errorf("%q: %q is not printed as it is", word, got)
		}
		if bash == "" {
			continue
		}
		if out, err := exec.Command(bash, "-c", "printf %s "+got).Output(); err != nil || string(out) != word {
			t.Errorf("%q: bash makes %q of %s (%v)", word, out, got, err)
		}
	}
}

// TestCommandWords holds that a command line names what is not a default.
func TestCommandWords(t *testing.T) {
	for _, c := range []struct {
		e    compare.Pointer
		want string
	}{
		{compare.Pointer{Show: compare.ShowCost, File: "a.jsonl", Policy: "p"}, "ctxkit cost a.jsonl --policy p"},
		{compare.Pointer{Show: compare.ShowDiff, File: "-a.jsonl", Policy: "p", Against: "q", At: "7", Selection: compare.Selection{
			Agent: "a5", Leaf: "u", Tokens: "heuristic", Model: "m", Window: "20000", Overhead: "1000", Tries: []policy.Try{{Stage: "snip", Text: "a@1"}, {Stage: "snip", Text: "b@2"}}, Env: true,
		}}, "ctxkit diff ./-a.jsonl --policy p --against q --at 7 --agent a5 --leaf u --tokens heuristic --model m --window 20000 --overhead 1000 --snip a@1 --snip b@2 --env"},
	} {
		if got := strings.Join(commandWords(&c.e), " "); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// TestUpdateCommand holds that the command can be pasted into a shell.
func TestUpdateCommand(t *testing.T) {
	for file, want := range map[string]string{
		"ctxkit.yaml":   "ctxkit check --update",
		"ci/x.yaml":     "ctxkit check ci/x.yaml --update",
		"my check.yaml": "ctxkit check 'my check.yaml' --update",
		"-x.yaml":       "ctxkit check ./-x.yaml --update",
	} {
		if got := updateCommand(file); got != want {
			t.Errorf("%q: %s, want %s", file, got, want)
		}
	}
}
