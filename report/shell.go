package report

import (
	"fmt"
	"strings"
)

// commandLine is a command as a shell takes it.
func commandLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = shellWord(w)
	}
	return strings.Join(quoted, " ")
}

// shellWord quotes a word for a shell where it must be: in '…', or in $'…' with
// escapes where Clean would change what is printed, so that it can be pasted.
func shellWord(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-=,@:+") == "" {
		return s
	}
	if Clean(s) == s {
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
		case Clean(part) == part:
			b.WriteString(part)
		default: // at most three digits, whatever follows
			for i := range len(part) {
				fmt.Fprintf(&b, `\%03o`, part[i])
			}
		}
	}
	return b.String() + "'"
}
