package compare

import (
	"os/exec"
	"testing"
)

// TestShellWord holds that a shell takes a word as what it was, and that nothing
// of it acts on the terminal that shows it.
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
		got := ShellWord(word)
		if got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
		if !printed(got) {
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
