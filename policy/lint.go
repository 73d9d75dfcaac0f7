package policy

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/policy/strict"
)

// Finding is something in a policy that is allowed but hardly meant: a stage
// that can never fire, an order no source has, two stages that compete.
type Finding struct {
	Position        // of Key, or of what causes it in the user's file; zero where the policy is of no file
	Key      string // "snip", "window.buffer"
	Rule     string
	Msg      string
	Hint     string
}

// String is "FILE:LINE:COL: what is odd: what to do (rule)".
func (f Finding) String() string {
	e := Error{Position: f.Position, Msg: f.Key + ": " + f.Msg, Hint: f.Hint}
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
		{"never", "a stage cannot fire, or only when a compaction takes its work away: it is switched off, or its threshold lies beyond the window or behind that of a compaction", lintNever},
		{"always", "a compaction fires at every request, or leaves as much as it set in at, or a gate is always open", lintAlways},
		{"contradict", "two parameters contradict each other, or what the cache does", lintContradict},
		{"unused", "a parameter is set that another one leaves without effect", lintUnused},
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
// order of the file, or else of the rules, each where it can be mended.
func Lint(p *Policy) []Finding {
	found := findings(p)
	for i := range found {
		found[i].Position = placeOf(p, found[i])
	}
	strict.SortByPlace(found, func(f Finding) Position { return f.Position })
	return found
}

// findings are what the rules find, without a place.
func findings(p *Policy) []Finding {
	l := &linter{p: p, t: p.Window.Resolve(assumedContext, 0)}
	for _, r := range Rules() {
		l.rule = r.Name
		r.find(l)
	}
	return l.found
}

type linter struct {
	p     *Policy
	t     Thresholds
	rule  string
	found []Finding
}

func (l *linter) add(key, hint, msg string, args ...any) {
	l.found = append(l.found, Finding{Key: key, Rule: l.rule, Msg: fmt.Sprintf(msg, args...), Hint: hint})
}

func (l *linter) has(stage string) bool { return l.p.stage(stage) != nil }

// number is a parameter's value where the stage is there and has it, and does
// not leave it to the window or to nothing.
func (l *linter) number(key string) (int, bool) {
	f, err := l.p.field(key)
	if err != nil {
		return 0, false
	}
	v := f.Ref
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return 0, false
		}
		v = v.Elem()
	}
	switch x := v.Interface().(type) {
	case int:
		return x, x != 0 || f.Zero == ""
	case InputTokens:
		return int(x), x != 0
	case ToolUses:
		return int(x), true
	case Trigger:
		return x.Value, x.Type == TriggerInputTokens
	}
	return 0, false
}

// share is the value of a parameter that is a share of something.
func (l *linter) share(key string) (float64, bool) {
	f, err := l.p.field(key)
	if err != nil {
		return 0, false
	}
	x, ok := f.Ref.Interface().(float64)
	return x, ok
}

// pause is the value of a parameter that is a duration.
func (l *linter) pause(key string) (time.Duration, bool) {
	f, err := l.p.field(key)
	if err != nil {
		return 0, false
	}
	x, ok := f.Ref.Interface().(time.Duration)
	return x, ok
}

// word is the value of a parameter that is text, "" where the stage or it is
// not there.
func (l *linter) word(key string) string {
	f, err := l.p.field(key)
	if err != nil {
		return ""
	}
	x, _ := f.Ref.Interface().(string)
	return x
}

// flag is a bool parameter's value, missing where the stage or it is not
// there.
func (l *linter) flag(key string, missing bool) bool {
	f, err := l.p.field(key)
	if err != nil {
		return missing
	}
	if b, ok := f.Ref.Interface().(bool); ok {
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
		key, hint := "window.blocking_offset", "make it smaller, or the buffer larger"
		if l.p.Window.BlockingLimit > 0 {
			key, hint = "window.blocking_limit", "make it, or the buffer, larger"
		}
		l.add(key, hint, "requests are blocked at %d, before they are compacted at %d", l.t.Blocking, l.t.Auto)
	}
	if l.p.Window.BlockingLimit > l.t.Window && l.p.Window.Context > 0 {
		l.add("window.blocking_limit", "make it smaller", "%d is more than the window of %d", l.p.Window.BlockingLimit, l.t.Window)
	}
}

// orders are the orders the sources give; stages of different lines are free.
func orders() [][]string {
	return [][]string{
		{"tool_result_budget", "snip", "microcompact_size", "context_collapse", "session_memory", "autocompact", "post_compact"},
		{"tool_result_budget", "snip", "microcompact_time", "microcompact_cached", "context_collapse", "session_memory", "autocompact", "post_compact"},
		{"opencode_truncate", "opencode_prune"},
		{"opencode_truncate", "opencode_compaction"},
		{"three_layer_micro", "three_layer_auto"},
		{"opencode_compaction", "post_compact"},
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
