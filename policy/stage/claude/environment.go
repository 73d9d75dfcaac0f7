package claude

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/pattern"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// Names of the environment variables that the policies follow.
const (
	envPercent      = "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"
	envWindow       = "CLAUDE_CODE_AUTO_COMPACT_WINDOW"
	envNoMillion    = "CLAUDE_CODE_DISABLE_1M_CONTEXT"
	envBlocking     = "CLAUDE_CODE_BLOCKING_LIMIT_OVERRIDE"
	envMaxOutput    = "CLAUDE_CODE_MAX_OUTPUT_TOKENS"
	envNoCompact    = "DISABLE_COMPACT"
	envNoAuto       = "DISABLE_AUTO_COMPACT"
	envNoMicro      = "DISABLE_MICROCOMPACT"
	standardContext = 200000 // the window of a model without a larger one, tokens

	// The bounds of the window that automatic compaction follows, tokens.
	smallestWindow = 100000
	largestWindow  = 1000000

	// The first clients that read two of them.
	windowSince    = "2.1.75"
	clampSince     = "2.1.89"  // to the bounds
	suffixSince    = "2.1.112" // 500k
	noMillionSince = "2.1.50"
)

func variables() []string {
	return []string{envPercent, envWindow, envNoMillion, envBlocking, envMaxOutput, envNoCompact, envNoAuto, envNoMicro}
}

// environment changes a policy as the environment variables of Claude Code do (analyses of Claude Code 2.1.19 and
// 2.1.x; its documentation of environment variables for the window, which clients from 2.1.75 on read, and for the
// switch of the million, from 2.1.50 on). It warns of a value that the client of the policy's version ignores, and
// ignores it too; a policy without a version stands for the newest.
func environment(e *policy.Environment) {
	for _, v := range []struct {
		name, since, key, want string
		read                   func(string) (string, bool)
	}{
		{envPercent, "", "window.pct_override", "a percentage over 0 and up to 100", readPercent},
		{envWindow, windowSince, "window.auto_compact_window", "a whole number over 0", readPositive},
		{envBlocking, "", "window.blocking_limit", "a whole number over 0", readPositive},
		{envMaxOutput, "", "window.max_output", "a whole number over 0", readPositive},
	} {
		given := e.Get(v.name)
		if given == "" || !e.Has(v.key) || !isRead(e, v.name, v.since) {
			continue
		}
		value, ok := v.read(given)
		if v.name == envWindow {
			value, ok = readWindow(given, e.Policy.Version)
		}
		switch {
		case !ok || !e.Change(v.key, value, v.name):
			e.Warn(v.name, "%q is not %s: the client ignores it, and so does the policy", given, v.want)
		case v.name == envWindow && value != strings.TrimSpace(given) && (!suffixed().MatchString(given) || !isSince(e.Policy.Version, suffixSince)):
			e.Warn(v.name, "%q is taken as %s: the client reads the whole number at the beginning, and takes %d to %d", given, value,
				smallestWindow, largestWindow)
		}
	}
	if isOn(e.Get(envNoMillion)) && windowIn(e.Policy) != nil && isRead(e, envNoMillion, noMillionSince) {
		e.Change("window.disable_1m", "true", envNoMillion)
	}
	for _, name := range []string{envNoCompact, envNoAuto} {
		if isOn(e.Get(name)) {
			e.Change("window.auto_compact", "false", name)
			e.Change("autocompact.enabled", "false", name)
		}
	}
	if isOn(e.Get(envNoCompact)) {
		e.Change("autocompact.manual", "ignore", envNoCompact)
	}
	if isOn(e.Get(envNoMicro)) {
		e.Policy.Stages = slices.DeleteFunc(e.Policy.Stages, func(s policy.StageConfig) bool {
			return strings.HasPrefix(s.Definition.Name, "microcompact")
		})
	}
}

// isRead reports whether the policy's client reads a variable that came with version since ("": always), and warns
// where it does not.
func isRead(e *policy.Environment, name, since string) bool {
	version := e.Policy.Version
	if isSince(version, since) {
		return true
	}
	e.Warn(name, "clients before %s do not read it: %s, of version %s, ignores it too", since, e.Policy.Name, version)
	return false
}

// isSince reports whether a version is not before another; "" is the newest, and before all others.
func isSince(version, since string) bool {
	return since == "" || version == "" || session.CompareVersions(version, since) >= 0
}

// readPercent reads a percentage as the client does, by its beginning.
func readPercent(s string) (string, bool) {
	p, ok := ParsePercent(s)
	return strconv.Quote(strconv.FormatFloat(p, 'g', -1, 64)), ok
}

// readWindow reads the window that automatic compaction follows as the client of a version does: up to 2.1.88 any number,
// after that one within bounds, from 2.1.112 on also 500k or 0.5m.
func readWindow(s, version string) (text string, ok bool) {
	text, ok = readPositive(s)
	n, err := strconv.Atoi(text)
	if m := suffixed().FindStringSubmatch(s); m != nil && isSince(version, suffixSince) {
		var f float64
		f, err = strconv.ParseFloat(m[1], 64)
		n = int(min(f*map[string]float64{"k": 1e3, "m": 1e6}[strings.ToLower(m[2])], 2*largestWindow))
		ok = n > 0
	}
	if isSince(version, clampSince) {
		n = min(max(n, smallestWindow), largestWindow)
	}
	return strconv.Itoa(n), ok && err == nil
}

// suffixed matches a number of thousands or millions.
var suffixed = pattern.New(`^\s*(\d+\.?\d*|\.\d+)([kKmM])\s*$`)

// windowIn are the thresholds' parameters of a policy, nil where no stage reads them.
func windowIn(p *policy.Policy) *Window {
	for _, s := range p.Stages {
		if w, ok := s.Shared.(*Window); ok {
			return w
		}
	}
	return nil
}

// leadingNumber matches what JavaScript's parseInt reads of a whole number over 0.
var leadingNumber = pattern.New(`^[ \t\n\r\v\f\x{a0}\x{feff}]*\+?(\d+)`)

// readPositive reads a whole number as JavaScript's parseInt does, by its beginning.
func readPositive(s string) (string, bool) {
	m := leadingNumber().FindStringSubmatch(s)
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
