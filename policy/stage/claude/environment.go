package claude

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
)

// environment changes a policy as the environment variables of Claude Code do (analyses of Claude Code 2.1.19 and
// 2.1.x). It warns of a value that the client ignores, and ignores it too.
func environment(e *policy.Environment) {
	for _, v := range []struct {
		name, key, want string
		read            func(string) (string, bool)
	}{
		{"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "window.pct_override", "a percentage over 0 and up to 100", readPercent},
		{"CLAUDE_CODE_BLOCKING_LIMIT_OVERRIDE", "window.blocking_limit", "a whole number over 0", readPositive},
		{"CLAUDE_CODE_MAX_OUTPUT_TOKENS", "window.max_output", "a whole number over 0", readPositive},
	} {
		given := e.Get(v.name)
		if given == "" || !e.Has(v.key) {
			continue
		}
		value, ok := v.read(given)
		if !ok || !e.Change(v.key, value, v.name) {
			e.Warn(v.name, "%q is not %s: the client ignores it, and so does the policy", given, v.want)
		}
	}
	for _, name := range []string{"DISABLE_COMPACT", "DISABLE_AUTO_COMPACT"} {
		if isOn(e.Get(name)) {
			e.Change("window.auto_compact", "false", name)
			e.Change("autocompact.enabled", "false", name)
		}
	}
	if isOn(e.Get("DISABLE_COMPACT")) {
		e.Change("autocompact.manual", "ignore", "DISABLE_COMPACT")
	}
	if isOn(e.Get("DISABLE_MICROCOMPACT")) {
		e.Policy.Stages = slices.DeleteFunc(e.Policy.Stages, func(s policy.StageConfig) bool {
			return strings.HasPrefix(s.Definition.Name, "microcompact")
		})
	}
}

// readPercent reads a percentage as the client does, by its beginning.
func readPercent(s string) (string, bool) {
	p, ok := ParsePercent(s)
	return strconv.Quote(strconv.FormatFloat(p, 'g', -1, 64)), ok
}

// leadingNumber matches what JavaScript's parseInt reads of a whole number over 0.
var leadingNumber = regexp.MustCompile(`^[ \t\n\r\v\f\x{a0}\x{feff}]*\+?(\d+)`)

// readPositive reads a whole number as JavaScript's parseInt does, by its beginning.
func readPositive(s string) (string, bool) {
	m := leadingNumber.FindStringSubmatch(s)
	if m == nil {
		return "", false
	}
	n, err := strconv.Atoi(m[1])
	return strconv.Itoa(n), err == nil && n > 0
}

// isOn reads a switch as the client does.
func isOn(value string) bool {
	return slices.Contains([]string{"1", "true", "yes", "on"}, strings.ToLower(strings.TrimSpace(value)))
}
