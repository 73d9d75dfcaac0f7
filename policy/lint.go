package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Finding is something in a policy that is allowed but hardly meant: a stage
// that can never fire, an order no source has, two stages that compete.
type Finding struct {
	Position        // of Key, where the policy was read from a file
	Key      string // "snip", "window.buffer"
	Rule     string
	Msg      string
	Hint     string
}

// String is "FILE:LINE:COL: what is odd: what to do (rule)".
func (f Finding) String() string {
	e := Error{f.Position, f.Key + ": " + f.Msg, f.Hint}
	return e.Error() + " (" + f.Rule + ")"
}

// Rule is one thing Lint looks for.
type Rule struct {
	Name string
	Doc  string
	find func(*linter)
}

// Rules lists what Lint looks for.
func Rules() []Rule {
	return []Rule{
		{"window", "the output reserve leaves nothing of the window, or requests are blocked before they are compacted", lintWindow},
		{"order", "stages stand in another order than in the products they reproduce, or than the API takes", lintOrder},
		{"compete", "two stages of the policy compact the whole conversation", lintCompete},
		{"alone", "a stage helps another one that is not there", lintAlone},
		{"never", "a stage cannot fire: its threshold lies beyond the window or behind that of a compaction", lintNever},
		{"always", "a compaction fires at every request", lintAlways},
		{"contradict", "two parameters of a stage contradict each other", lintContradict},
		{"summary", "a choice of summary is never reached, or may not exist", lintSummary},
	}
}

// assumedContext is the window Lint reckons with where the policy leaves it
// to the model.
const assumedContext = 200000

// largestContext is the largest window of any model.
const largestContext = 1000000

// assumedOverhead is what a system prompt and tools weigh where nothing is
// known.
const assumedOverhead = 18800

// Lint looks for what is allowed but hardly meant. The findings are in the
// order of the file, or else of the rules.
func Lint(p *Policy) []Finding {
	l := &linter{p: p, t: p.Window.Resolve(assumedContext, 0)}
	for _, r := range Rules() {
		l.rule = r.Name
		r.find(l)
	}
	sortByPlace(l.found, func(f Finding) Position { return f.Position })
	return l.found
}

type linter struct {
	p     *Policy
	t     Thresholds
	rule  string
	found []Finding
}

func (l *linter) add(key, hint, msg string, args ...any) {
	l.found = append(l.found, Finding{l.p.Position(key), key, l.rule, fmt.Sprintf(msg, args...), hint})
}

func (l *linter) has(stage string) bool { return l.p.stage(stage) != nil }

// number is a parameter's value where the stage is there and has it, and does
// not leave it to the window.
func (l *linter) number(key string) (int, bool) {
	f, err := l.p.field(key)
	if err != nil {
		return 0, false
	}
	switch x := f.v.Interface().(type) {
	case int:
		return x, x != 0 || f.Zero == ""
	case *int:
		if x != nil {
			return *x, true
		}
	case Trigger:
		return x.Value, x.Type == TriggerInputTokens
	case *Trigger:
		if x != nil {
			return x.Value, x.Type == TriggerInputTokens
		}
	}
	return 0, false
}

// flag is a bool parameter's value, missing where the stage or it is not
// there.
func (l *linter) flag(key string, missing bool) bool {
	f, err := l.p.field(key)
	if err != nil {
		return missing
	}
	if b, ok := f.v.Interface().(bool); ok {
		return b
	}
	return missing
}

// auto reports whether automatic compaction by thresholds is on.
func (l *linter) auto() bool {
	return l.has("autocompact") && l.flag("autocompact.enabled", true) && l.p.Window.AutoCompact
}

func lintWindow(l *linter) {
	if l.t.Effective <= 0 {
		key := "window.output_reserve"
		if l.p.Window.ReserveCap > 0 {
			key = "window.reserve_cap"
		}
		l.add(key, "reserve less", "%d of %d tokens are reserved, nothing is left to use", l.t.Reserve, l.t.Window)
	}
	if l.auto() && l.t.Blocking < l.t.Auto {
		l.add("window.blocking_offset", "make it smaller, or the buffer larger", "requests are blocked at %d, before they are compacted at %d", l.t.Blocking, l.t.Auto)
	}
}

// orders are the orders the sources give; stages of different lines are free.
func orders() [][]string {
	return [][]string{
		{"tool_result_budget", "snip", "microcompact_size", "context_collapse", "session_memory", "autocompact"},
		{"snip", "microcompact_time", "microcompact_cached", "context_collapse", "autocompact"},
		{"tool_result_budget", "microcompact_time"},
		{"opencode_truncate", "opencode_prune"},
		{"opencode_truncate", "opencode_compaction"},
		{"three_layer_micro", "three_layer_auto"},
		{"autocompact", "post_compact"},
	}
}

func lintOrder(l *linter) {
	stages := l.p.owners()[1:]
	for i, late := range stages {
		if late == "clear_thinking" && slices.Contains(stages[:i], "clear_tool_uses") {
			l.add(late, "list it before clear_tool_uses", "the API refuses a request whose edits do not begin with clear_thinking")
			continue
		}
		for _, early := range stages[:i] {
			wrong := slices.ContainsFunc(orders(), func(o []string) bool {
				a, b := slices.Index(o, late), slices.Index(o, early)
				return a >= 0 && b >= 0 && a < b
			})
			if wrong {
				l.add(late, "list it before "+early, "it runs after %s, and before it in the product", early)
				break
			}
		}
	}
}

func lintCompete(l *linter) {
	candidates := []struct {
		stage string
		on    bool
		off   string
	}{
		{"context_collapse", l.has("context_collapse"), ""},
		{"autocompact", l.auto(), "set autocompact.enabled to false"},
		{"opencode_compaction", l.has("opencode_compaction") && l.flag("opencode_compaction.auto", true), "set opencode_compaction.auto to false"},
		{"three_layer_auto", l.has("three_layer_auto"), ""},
		{"compact_api", l.has("compact_api"), ""},
		{"codex_compaction", l.has("codex_compaction"), ""},
		{"condenser_events", l.has("condenser_events"), ""},
		{"gemini_compression", l.has("gemini_compression"), ""},
	}
	first := ""
	for _, c := range candidates {
		switch {
		case !c.on:
		case first == "":
			first = c.stage
		default:
			hint := "keep one of them"
			if c.off != "" {
				hint += ", or " + c.off
			}
			l.add(c.stage, hint, "it competes with %s for the same tokens", first)
		}
	}
	if l.has("session_memory") && l.has("context_collapse") { // beside autocompact it is at home
		l.add("session_memory", "keep one of them", "it competes with context_collapse for the same tokens")
	}
}

func lintAlone(l *linter) {
	for _, s := range []struct {
		stage string
		needs []string
	}{
		{"post_compact", []string{"autocompact", "session_memory", "opencode_compaction"}},
		{"session_memory", []string{"autocompact"}},
	} {
		if l.has(s.stage) && !slices.ContainsFunc(s.needs, l.has) {
			l.add(s.stage, "add one, or leave this out", "it does nothing without %s", strings.Join(s.needs, ", "))
		}
	}
}

func lintNever(l *linter) {
	if l.has("autocompact") && l.flag("autocompact.enabled", true) && !l.p.Window.AutoCompact {
		l.add("autocompact.enabled", "set it to false, or window.auto_compact to true", "window.auto_compact is off")
	}
	limit, what := l.limit(l.t)
	if l.has("microcompact_size") && !l.flag("microcompact_size.manual", false) {
		if l.t.Warning >= limit {
			l.add("microcompact_size", "make window.warning_offset larger", "it waits for the warning threshold %d, which is not below %d, %s", l.t.Warning, limit, what)
		}
		target, _ := l.number("microcompact_size.target")
		savings, _ := l.number("microcompact_size.min_savings")
		if target+savings > limit {
			l.add("microcompact_size.target", "make target or min_savings smaller", "%d tokens of results and %d to save are more than %d, %s", target, savings, limit, what)
		}
	}
	// A size of the prompt that a small window never holds, a large one may.
	limit, what = l.limit(l.p.Window.Resolve(largestContext, 0))
	for _, key := range []string{
		"clear_tool_uses.trigger", "clear_tool_uses.clear_at_least", "compact_api.trigger",
		"context_collapse.stage_at", "context_collapse.commit_at", "three_layer_auto.threshold",
	} {
		if n, ok := l.number(key); ok && n >= limit {
			l.add(key, "make it smaller", "%d is not below %d, %s", n, limit, what)
		}
	}
	protect, _ := l.number("opencode_prune.protect")
	if minimum, ok := l.number("opencode_prune.minimum"); ok && protect+minimum >= l.t.Window {
		l.add("opencode_prune.protect", "make protect or minimum smaller", "%d tokens protected and %d to prune fill the window of %d", protect, minimum, l.t.Window)
	}
}

// limit is what no prompt exceeds for long, and what that is.
func (l *linter) limit(t Thresholds) (int, string) {
	if l.auto() && t.Auto < t.Window {
		return t.Auto, "where autocompact sets in"
	}
	return t.Window, "the window"
}

func lintAlways(l *linter) {
	overhead := l.p.Window.Overhead
	if overhead == 0 {
		overhead = assumedOverhead
	}
	if l.auto() && l.t.Auto <= overhead {
		l.add("autocompact", "make window.buffer or the output reserve smaller", "its threshold of %d is not above the %d tokens of system prompt and tools", l.t.Auto, overhead)
	}
	for _, key := range []string{"clear_tool_uses.trigger", "compact_api.trigger"} {
		if n, ok := l.number(key); ok && n <= overhead {
			l.add(key, "make it larger", "%d is not above the %d tokens of system prompt and tools", n, overhead)
		}
	}
}

func lintContradict(l *linter) {
	for _, c := range []struct{ small, large string }{
		{"microcompact_cached.keep", "microcompact_cached.trigger"},
		{"context_collapse.target", "context_collapse.commit_at"},
		{"tool_result_budget.preview_chars", "tool_result_budget.max_chars"},
	} {
		a, ok1 := l.number(c.small)
		b, ok2 := l.number(c.large)
		if ok1 && ok2 && a >= b {
			l.add(c.small, "make it smaller than "+c.large, "%d leaves nothing to do at %s %d", a, c.large, b)
		}
	}
	for _, c := range []struct{ small, large string }{
		{"session_memory.min_tokens", "session_memory.max_tokens"},
		{"context_collapse.stage_at", "context_collapse.commit_at"},
		{"post_compact.file_tokens", "post_compact.files_tokens"},
		{"post_compact.skill_tokens", "post_compact.skills_tokens"},
	} {
		a, ok1 := l.number(c.small)
		b, ok2 := l.number(c.large)
		if ok1 && ok2 && a > b {
			l.add(c.small, "make it "+c.large+" or less", "%d is more than %s %d", a, c.large, b)
		}
	}
	const cacheLife = 5 * time.Minute
	if f, err := l.p.field("microcompact_time.gap"); err == nil {
		if gap, ok := f.v.Interface().(time.Duration); ok && gap < cacheLife {
			l.add("microcompact_time.gap", "give 5m or more", "after %s the prompt cache is still warm, and clearing makes it cold", durationText(gap))
		}
	}
}

func lintSummary(l *linter) {
	for _, key := range l.p.Keys() {
		f, err := l.p.field(key)
		if err != nil {
			continue
		}
		choices, ok := f.v.Interface().(SummaryChoices)
		if !ok {
			continue
		}
		for i, c := range choices {
			if c.Kind == SummaryFixed && i+1 < len(choices) {
				l.add(key, "put "+c.String()+" last", "%s is always there, what follows it is never reached", c)
				break
			}
		}
		if n := len(choices); n == 0 || choices[n-1].Kind == SummaryRecorded {
			l.add(key, "end the list with outline or fixed: 5000", "there may be no summary: not every stretch has a recorded one")
		}
	}
}
