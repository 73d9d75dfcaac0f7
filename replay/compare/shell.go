package compare

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ShellLine is a command as a shell takes it, in characters that are printed as
// they are.
func ShellLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = ShellWord(w)
	}
	return strings.Join(quoted, " ")
}

// ShellWord quotes a word for a shell where it must be: in '…', or in $'…' with
// escapes where a character cannot be printed as it is, so that it can be pasted.
func ShellWord(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-=,@:+") == "" {
		return s
	}
	if printed(s) {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for _, part := range strings.SplitAfter(s, "") { // a character, or a byte that is none
		switch {
		case part == "'" || part == `\`:
			b.WriteString(`\` + part)
		case part == "\n":
			b.WriteString(`\n`)
		case part == "\t":
			b.WriteString(`\t`)
		case part == "\r":
			b.WriteString(`\r`)
		case printed(part):
			b.WriteString(part)
		default: // at most three digits, whatever follows
			for i := range len(part) {
				fmt.Fprintf(&b, `\%03o`, part[i])
			}
		}
	}
	return b.String() + "'"
}

// printed reports whether all of s is text that can be seen.
func printed(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}
