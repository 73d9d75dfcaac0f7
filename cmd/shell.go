package cmd

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/replay/check"
	"github.com/ctxkit/ctxkit/replay/compare"
)

// commandWords is the command line that shows a piece of evidence.
func commandWords(e *compare.Pointer) []string {
	words := []string{"ctxkit", string(e.Show), fileWord(e.File), "--policy", e.Policy}
	s := &e.Selection
	for _, kv := range [][2]string{
		{"--against", e.Against}, {"--at", e.At}, {"--agent", s.Agent}, {"--leaf", s.Leaf},
		{"--tokens", s.Tokens}, {"--model", s.Model}, {"--window", s.Window}, {"--overhead", s.Overhead}, {"--cache", cacheWord(e)},
	} {
		if kv[1] != "" {
			words = append(words, kv[0], kv[1])
		}
	}
	for _, t := range s.Tries {
		words = append(words, "--"+trialFlag(t.Stage), t.Text)
	}
	if s.Env {
		words = append(words, "--env")
	}
	return words
}

// cacheWord is the cache of a command that shows costs.
func cacheWord(e *compare.Pointer) string {
	if e.Show == compare.ShowCost || e.Show == compare.ShowReplay {
		return e.Selection.Cache
	}
	return ""
}

// updateCommand is the command line that writes the baseline of a configuration anew.
func updateCommand(file string) string {
	words := []string{"ctxkit", "check", fileWord(file), "--update"}
	if file == check.DefaultFile {
		words = []string{"ctxkit", "check", "--update"}
	}
	return shellLine(words)
}

// fileWord is a file's name that is not taken for a flag.
func fileWord(name string) string {
	if strings.HasPrefix(name, "-") {
		return "./" + name
	}
	return name
}

// shellLine is a command line for a shell, of printable characters only.
func shellLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = shellWord(w)
	}
	return strings.Join(quoted, " ")
}

// shellWord quotes a word where a shell needs it: in '…', or in $'…' with escapes where a character is not printable,
// so that it can be pasted.
func shellWord(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-=,@:+") == "" {
		return s
	}
	if printable(s) {
		return "'" + strings.NewReplacer("'", `'\''`, "##", "#''#").Replace(s) + "'" // ##[error] is a command of CI systems
	}
	var b strings.Builder
	for _, part := range strings.SplitAfter(s, "") { // a character, or a byte that is none
		escape := map[string]string{"\n": `\n`, "\t": `\t`, "\r": `\r`, "'": `\'`, `\`: `\\`, "#": `\043`}[part]
		switch {
		case escape != "":
			b.WriteString(escape)
		case printable(part):
			b.WriteString(part)
		default: // at most three digits, whatever follows
			for i := range len(part) {
				fmt.Fprintf(&b, `\%03o`, part[i])
			}
		}
	}
	return "$'" + b.String() + "'"
}

// printable reports whether s is valid UTF-8 of visible characters and spaces.
func printable(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}
