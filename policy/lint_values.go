package policy

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/policy/strict"
)

func lintNever(l *linter) {
	if l.has("autocompact") && l.flag("autocompact.enabled", true) && !l.p.Window.AutoCompact {
		l.add("autocompact.enabled", "set it to false, or window.auto_compact to true", "window.auto_compact is off")
	}
	if l.has("session_memory") && !l.p.Window.AutoCompact {
		l.add("session_memory", "leave it out, or set window.auto_compact to true", "window.auto_compact is off")
	}
	if l.has("snip") && !l.flag("snip.tag", true) && l.empty("snip.ids") {
		l.add("snip.tag", "set it to true, or give snip.ids", "no prompt carries an id and no snip is tried: only calls on record are carried out")
	}
	if ttl, ok := l.pause("cache_ttl_prune.ttl"); ok && ttl == 0 {
		l.add("cache_ttl_prune.ttl", "give a pause such as 5m", "0s means that nothing is ever pruned")
	}
	limit, what := l.limit(l.t, "")
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
	large := l.p.Window.Resolve(largestContext, 0)
	for _, key := range []string{
		"clear_tool_uses.trigger", "clear_tool_uses.clear_at_least", "clear_tool_results.trigger", "compact_api.trigger",
		"context_collapse.stage_at", "context_collapse.commit_at", "context_collapse.protect", "three_layer_auto.threshold",
	} {
		stage, _, _ := strings.Cut(key, ".")
		limit, what := l.limit(large, stage)
		if n, ok := l.number(key); ok && n >= limit {
			l.add(key, "make it smaller", "%d is not below %d, %s", n, limit, what)
		}
	}
	// A response may be over the threshold that the next request is held against.
	if n, ok := l.number("session_memory.init_tokens"); ok && n >= large.Window {
		l.add("session_memory.init_tokens", "make it smaller", "%d is not below %d, the window", n, large.Window)
	}
	protect, _ := l.number("opencode_prune.protect")
	if minimum, ok := l.number("opencode_prune.minimum"); ok && protect+minimum >= l.t.Window {
		l.add("opencode_prune.protect", "make protect or minimum smaller", "%d tokens protected and %d to prune fill the window of %d", protect, minimum, l.t.Window)
	}
}

// limit is what no prompt exceeds for long, whatever the stage called besides
// does, and what that is.
func (l *linter) limit(t Thresholds, besides string) (int, string) {
	limit, what := t.Window, "the window"
	for _, c := range l.compactions(t) {
		if c.stage != besides && c.at < limit {
			limit, what = c.at, "where "+c.stage+" sets in"
		}
	}
	return limit, what
}

// compaction is a stage that compacts every prompt of this many tokens.
type compaction struct {
	stage string
	at    int
}

// compactions are the policy's stages of which it is known when they set in.
func (l *linter) compactions(t Thresholds) []compaction {
	var list []compaction
	if l.auto() {
		list = append(list, compaction{"autocompact", t.Auto})
	}
	if l.has("opencode_compaction") && l.flag("opencode_compaction.auto", true) {
		list = append(list, compaction{"opencode_compaction", t.Effective + 1}) // 1.1.36 tests >
	}
	if n, ok := l.number("compact_api.trigger"); ok {
		list = append(list, compaction{"compact_api", n + 1})
	}
	if n, ok := l.codexLimit(t); ok {
		list = append(list, compaction{"codex_compaction", n})
	}
	if s, ok := l.share("gemini_compression.threshold"); ok {
		list = append(list, compaction{"gemini_compression", int(math.Ceil(float64(t.Window) * s))})
	}
	return list
}

func (l *linter) codexLimit(t Thresholds) (int, bool) {
	percent, ok := l.number("codex_compaction.percent")
	if !ok {
		return 0, false
	}
	at := t.Window * percent / 100
	if n, ok := l.number("codex_compaction.token_limit"); ok {
		at = min(at, n)
	}
	return at, true
}

func lintAlways(l *linter) {
	overhead := l.p.Window.Overhead
	if overhead == 0 {
		overhead = assumedOverhead
	}
	const system = "the %d tokens of system prompt and tools"
	if l.auto() && l.t.Auto <= overhead {
		l.add("autocompact", "make window.buffer or the output reserve smaller", "its threshold of %d is not above "+system, l.t.Auto, overhead)
	} else if l.has("microcompact_size") && l.t.Warning <= overhead {
		l.add("window.warning_offset", "make it smaller", "the warning threshold of %d, for which microcompact_size waits, is not above "+system, l.t.Warning, overhead)
	}
	for _, key := range []string{"clear_tool_uses.trigger", "compact_api.trigger", "codex_compaction.token_limit", "condenser_events.max_tokens"} {
		if n, ok := l.number(key); ok && n <= overhead {
			l.add(key, "make it larger", "%d is not above "+system, n, overhead)
		}
	}
	if s, ok := l.share("gemini_compression.threshold"); ok && s*float64(l.t.Window) <= float64(overhead) {
		l.add("gemini_compression.threshold", "make it larger", "%s of %d tokens is not above "+system, strict.FloatText(s), l.t.Window, overhead)
	}
	l.rebuilt(overhead)
}

// rebuilt looks for compactions that leave as much as they set in at.
func (l *linter) rebuilt(overhead int) {
	for _, c := range l.compactions(l.t) {
		for _, choice := range l.summaries(c.stage + ".summary") {
			if choice.Kind == SummaryFixed && choice.Tokens+overhead >= c.at && overhead < c.at {
				l.add(c.stage+".summary", "make it smaller", "a summary of %d with %d of system prompt and tools reaches %d, where %s sets in again", choice.Tokens, overhead, c.at, c.stage)
			}
		}
	}
	files, _ := l.number("post_compact.max_files")
	each, _ := l.number("post_compact.file_tokens")
	all, ok := l.number("post_compact.files_tokens")
	if most := min(files*each, all); ok && l.auto() && overhead < l.t.Auto && most+overhead >= l.t.Auto {
		l.add("post_compact.files_tokens", "attach less", "files of %d with %d of system prompt and tools reach %d, where autocompact sets in again", most, overhead, l.t.Auto)
	}
	if n, ok := l.number("session_memory.min_tokens"); ok && l.p.Window.AutoCompact && overhead < l.t.Auto && n+overhead >= l.t.Auto {
		l.add("session_memory.min_tokens", "make it smaller", "%d tokens kept with %d of system prompt and tools reach %d, where it sets in again", n, overhead, l.t.Auto)
	}
	if n, ok := l.number("codex_compaction.user_tokens"); ok {
		if at, _ := l.codexLimit(l.t); n+overhead >= at && overhead < at {
			l.add("codex_compaction.user_tokens", "make it smaller", "%d of user messages with %d of system prompt and tools reach %d, where codex_compaction sets in again", n, overhead, at)
		}
	}
}

func (l *linter) summaries(key string) SummaryChoices {
	f, err := l.p.field(key)
	if err != nil {
		return nil
	}
	choices, _ := f.Ref.Interface().(SummaryChoices)
	return choices
}

func lintContradict(l *linter) {
	for _, c := range []struct{ small, large string }{
		{"microcompact_cached.keep", "microcompact_cached.trigger"},
		{"context_collapse.target", "context_collapse.commit_at"},
		{"context_collapse.protect", "context_collapse.commit_at"},
		{"tool_result_budget.preview_chars", "tool_result_budget.max_chars"},
		{"clear_tool_uses.clear_at_least", "clear_tool_uses.trigger"},
		{"three_layer_auto.max_output", "three_layer_auto.threshold"},
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
		{"tool_result_budget.max_chars", "tool_result_budget.max_message_chars"},
		{"cache.system", "window.overhead"},
	} {
		a, ok1 := l.number(c.small)
		b, ok2 := l.number(c.large)
		if ok1 && ok2 && a > b {
			l.add(c.small, "make it "+c.large+" or less", "%d is more than %s %d", a, c.large, b)
		}
	}
	l.toolUses()
	l.trims()
	l.cache()
}

// toolUses: what is kept at a trigger that counts the same.
func (l *linter) toolUses() {
	f, err := l.p.field("clear_tool_uses.trigger")
	if err != nil {
		return
	}
	keep, ok := l.number("clear_tool_uses.keep")
	if t, is := f.Ref.Interface().(Trigger); is && ok && t.Type == TriggerToolUses && keep >= t.Value {
		l.add("clear_tool_uses.keep", "make it smaller than the trigger", "%d tool uses keep their results, nothing is left to clear at %d", keep, t.Value)
	}
}

// trims: what a trimmed result is left with, and the order of the two shares.
func (l *linter) trims() {
	head, _ := l.number("cache_ttl_prune.soft_head_chars")
	tail, _ := l.number("cache_ttl_prune.soft_tail_chars")
	if most, ok := l.number("cache_ttl_prune.soft_max_chars"); ok && head+tail >= most {
		l.add("cache_ttl_prune.soft_head_chars", "make head or tail smaller", "%d and %d characters are left of a result of more than %d: it is not shorter", head, tail, most)
	}
	soft, _ := l.share("cache_ttl_prune.soft_trim_ratio")
	if hard, ok := l.share("cache_ttl_prune.hard_clear_ratio"); ok && l.flag("cache_ttl_prune.hard_clear", true) && hard < soft {
		l.add("cache_ttl_prune.hard_clear_ratio", "make it cache_ttl_prune.soft_trim_ratio or more", "%s is less than cache_ttl_prune.soft_trim_ratio %s, where pruning begins", strict.FloatText(hard), strict.FloatText(soft))
	}
}

// cache: stages that reckon with a cache the policy does not use so.
func (l *linter) cache() {
	life := 5 * time.Minute
	if l.p.Cache.TTL == "1h" {
		life = time.Hour
	}
	for _, key := range []string{"microcompact_time.gap", "cache_ttl_prune.ttl"} {
		if pause, ok := l.pause(key); ok && pause < life && (pause > 0 || key == "microcompact_time.gap") {
			l.add(key, "give "+strict.DurationText(life)+" or more", "after %s the prompt cache is still warm, and clearing makes it cold", strict.DurationText(pause))
		}
	}
	if l.p.Cache.Breakpoints != BreakpointsNone {
		return
	}
	if l.has("microcompact_cached") {
		l.add("microcompact_cached", "give cache.breakpoints, or leave the stage out", "it deletes from what the server has cached, and cache.breakpoints: none caches nothing")
	}
	for _, s := range l.p.Stages {
		if key := s.Definition.Name + ".prefix"; l.word(key) == "session" && l.isSet(key) {
			l.add(key, "give cache.breakpoints, or the prefix own", "with cache.breakpoints: none no prefix is warm")
		}
	}
}

// without is a parameter that has no effect under a condition.
type without struct {
	key  string
	when bool
	why  string
}

// lintUnused looks at parameters whose value is not the default's.
func lintUnused(l *linter) {
	w := l.p.Window
	old := l.has("opencode_compaction") && l.word("opencode_compaction.count") == "1.1.36"
	oldWhy := "opencode_compaction.count: 1.1.36 keeps no tail and reserves what the window block says"
	recorded := l.word("context_collapse.source") == "recorded"
	recordedWhy := "context_collapse.source: recorded follows the record alone"
	manual := l.flag("microcompact_size.manual", false)
	manualWhy := "microcompact_size.manual: true skips the gates"
	none := l.p.Cache.Breakpoints == BreakpointsNone
	noneWhy := "cache.breakpoints: none caches nothing"
	noFiles, noSkills := !l.lists("post_compact.attachments", "files"), !l.lists("post_compact.attachments", "skills")
	list := []without{
		{"window.output_reserve", w.ReserveCap > 0, "window.reserve_cap gives the reserve"},
		{"window.output_reserve", w.ReserveCap == 0 && w.MaxOutput > 0, "window.max_output gives the reserve"},
		{"window.blocking_offset", w.BlockingLimit > 0, "window.blocking_limit gives the limit"},
		{"window.pct_override", l.overrideIdle(), fmt.Sprintf("the buffer of %d alone sets the threshold lower", w.Buffer)},
		{"opencode_compaction.reserved", old, oldWhy},
		{"opencode_compaction.tail_turns", old, oldWhy},
		{"opencode_compaction.preserve_recent_tokens", old, oldWhy},
		{"context_collapse.stage_at", recorded, recordedWhy},
		{"context_collapse.commit_at", recorded, recordedWhy},
		{"context_collapse.target", recorded, recordedWhy},
		{"context_collapse.protect", recorded, recordedWhy},
		{"microcompact_size.min_savings", manual, manualWhy},
		{"microcompact_size.gate", manual, manualWhy},
		{"post_compact.max_files", noFiles, "post_compact.attachments has no files"},
		{"post_compact.file_tokens", noFiles, "post_compact.attachments has no files"},
		{"post_compact.files_tokens", noFiles, "post_compact.attachments has no files"},
		{"post_compact.skill_tokens", noSkills, "post_compact.attachments has no skills"},
		{"post_compact.skills_tokens", noSkills, "post_compact.attachments has no skills"},
		{"gemini_compression.cut_chars", l.word("gemini_compression.cut") == "lines", "gemini_compression.cut: lines goes by cut_lines"},
		{"gemini_compression.cut_lines", l.word("gemini_compression.cut") == "chars", "gemini_compression.cut: chars goes by cut_chars"},
		{"gemini_compression.verify_prompt_tokens", !l.flag("gemini_compression.verify", true), "gemini_compression.verify is off"},
		{"cache_ttl_prune.hard_clear_ratio", !l.flag("cache_ttl_prune.hard_clear", true), "cache_ttl_prune.hard_clear is off"},
		{"cache_ttl_prune.min_prunable_chars", !l.flag("cache_ttl_prune.hard_clear", true), "cache_ttl_prune.hard_clear is off"},
		{"compact_api.prompt_tokens", l.word("compact_api.instructions") != "", "compact_api.instructions stand in its place"},
		{"cache.ttl", none, noneWhy},
		{"cache.system", none, noneWhy},
		{"cache.warm", none, noneWhy},
	}
	for _, u := range list {
		if u.when && l.isSet(u.key) {
			l.add(u.key, "leave it out", "it has no effect: %s", u.why)
		}
	}
}

// overrideIdle reports whether the percentage asks for a threshold that the
// buffer alone has undercut.
func (l *linter) overrideIdle() bool {
	free := l.p.Window
	free.PctOverride = ""
	return l.p.Window.PctOverride != "" && free.Resolve(assumedContext, 0).Auto == l.t.Auto && free.Resolve(largestContext, 0).Auto == l.p.Window.Resolve(largestContext, 0).Auto
}

// isSet reports whether a parameter is there and has another value than its
// default.
func (l *linter) isSet(key string) bool {
	f, err := l.p.field(key)
	if err != nil {
		return false
	}
	owner, name, _ := strings.Cut(key, ".")
	params := WindowParameters()
	switch s := l.p.stage(owner); {
	case s != nil:
		params = s.Definition.Parameters()
	case owner == cacheKey:
		params = CachingParameters()
	}
	i := slices.IndexFunc(params, func(p Param) bool { return p.Name == name })
	return i >= 0 && params[i].Default != f.Text()
}

// empty reports whether a parameter is a list with nothing in it, or is not
// there.
func (l *linter) empty(key string) bool {
	f, err := l.p.field(key)
	return err != nil || f.Text() == "[]"
}

// lists reports whether a parameter is a list with this word in it, or is not
// there.
func (l *linter) lists(key, word string) bool {
	f, err := l.p.field(key)
	if err != nil {
		return true
	}
	words := strings.Split(strings.Trim(f.Text(), "[]"), ", ")
	return slices.Contains(words, word)
}

func lintSummary(l *linter) {
	for _, key := range l.p.Keys() {
		f, err := l.p.field(key)
		if err != nil {
			continue
		}
		choices, ok := f.Ref.Interface().(SummaryChoices)
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
