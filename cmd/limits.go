package cmd

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/pattern"
)

// limitFlag is --max: NAME=VALUE, repeatable.
type limitFlag struct{ of *jsonl.InputLimits }

const limitName = "max"

// limitUsage is what help says of it.
func limitUsage() string {
	var list []string
	for _, l := range jsonl.LimitNames() {
		list = append(list, l.Name)
	}
	return "change a limit of what an input may cost: `NAME=VALUE` (repeatable), of " + strings.Join(list, ", ") + " (docs/limits.md)"
}

// String is the flag's value.
func (f *limitFlag) String() string { return "" }

// Type names the kind of value in help texts.
func (f *limitFlag) Type() string { return "limit" }

// Set reads the flag's value.
func (f *limitFlag) Set(s string) error {
	name, value, _ := strings.Cut(s, "=")
	var names []string
	for _, l := range jsonl.LimitNames() {
		names = append(names, l.Name)
		if l.Name != name {
			continue
		}
		n, ok := parseAmount(value, l.Bytes)
		if !ok {
			return fmt.Errorf("want a number above 0, such as %s=%s", name, l.DefaultText())
		}
		if most := l.Most(); n > most {
			return fmt.Errorf("want %s=%d or less", name, most)
		}
		f.of.Set(name, n)
		return nil
	}
	return errors.New(suggestion(name, names, "want one of "+strings.Join(names, ", ")))
}

// mostLimit is the largest value of a limit, whatever its unit.
const mostLimit = 1 << 40

// parseAmount reads a number, or a size: 1000, 40k, 64MiB. The units of sizes are binary.
func parseAmount(s string, bytes bool) (int64, bool) {
	digits := strings.TrimRight(s, "kKmMgGiIbB")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n <= 0 || n > mostLimit {
		return 0, false
	}
	base := int64(1000)
	unit := strings.ToLower(s[len(digits):])
	if bytes {
		base = 1024
		if unit == "b" {
			unit = ""
		}
		unit = strings.TrimSuffix(strings.TrimSuffix(unit, "b"), "i")
	}
	switch unit {
	case "":
		return n, true
	case "g":
		n *= base * base * base
	case "m":
		n *= base * base
	case "k":
		n *= base
	default:
		return 0, false
	}
	return n, n <= mostLimit && n > 0
}

// overLimit matches what a warning or an error says of an input that is over a limit.
var overLimit = pattern.New(`\bover the limit ([a-z]+)=`)

// limitHint adds to such a text how to raise the limit.
func limitHint(text string) string {
	if m := overLimit().FindStringSubmatch(text); m != nil && !strings.Contains(text, "--"+limitName) {
		return fmt.Sprintf("%s: --%s %s=N allows more", text, limitName, m[1])
	}
	return text
}
