package main

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
)

// found is what the code of a release says of a fact.
type found struct {
	value  string
	offset int // of the code that says it, bytes; -1: the code has nothing of it
}

// fact is something that a preset states and how it is read from the code. Minified names change from release to release, so
// that a form finds code by a literal that stays and by its shape.
type fact struct {
	name  string
	forms []form // the first that is found counts
}

// form is one shape of the code that states a fact.
type form struct {
	near          string // literal
	before, after int    // how much code around it the shape is looked for in, bytes

	// shape has groups that are numbers or names of constants; "": the literal is all there is to find.
	shape string

	value string // with $1, $2 for the groups; "": the groups, joined by "/"
	most  bool   // the value that most places have
}

// Shapes of minified code.
const (
	name   = `[\w$]+`
	number = `([\w$]+)`
	share  = "Math.max(0,Math.round((" // of the window that is left, in percent: beside it are the thresholds
	micro  = "DISABLE_MICROCOMPACT"

	pause  = `minIdleSeconds:` + number + `,keepToolUses:` + number + `,clearAtLeastTokens:` + number + `,triggerToolUsesBelowCount:` + number + `,minTriggerToolUses:`
	skills = `=` + name + `\(` + name + `\.content,` + number + `\),` + name + `=` + name + `\(` + name + `\)[,;](?:` + name + `=|if\()` + name + `\+` + name + `[<>]=?` + number
)

// facts are what the presets of Claude Code state.
func facts() []fact {
	thresholds := func(shape, value string) form {
		return form{near: share, before: 9000, after: 16000, shape: shape, value: value}
	}
	has := func(literal, value string) form { return form{near: literal, value: value} }
	return []fact{
		{"reserve_cap", []form{
			thresholds(`=Math\.min\(`+name+`(?:\([\w$.]+\)|\.maxOutputTokens),`+number+`\)`, ""),
			thresholds(`=`+name+`\(`+name+`\);return `+name+`\(`+name+`,`+name+`\(\)\)-`+name+`\}`, "none"),
		}},
		{"buffer", []form{
			thresholds(`let `+name+`=(?:`+name+`\([^)]*\),`+name+`=)?`+name+`-`+number+`,`+name+`=(?:process\.env\.CLAUDE_AUTOCOMPACT_PCT_OVERRIDE|`+name+`\.testPctOverride)`, ""),
			thresholds(`=`+name+`-`+number+`[,;](?:let )?`+name+`=process\.env\.CLAUDE_AUTOCOMPACT_PCT_OVERRIDE`, ""),
		}},
		{"warning_offset", []form{
			thresholds(`\*100\)\),`+name+`=`+name+`-`+number+`,`, ""),
			thresholds(`\.enabled\?`+name+`:`+name+`,`+name+`=`+name+`-`+number+`,`, ""),
		}},
		{"blocking_offset", []form{
			thresholds(`-`+number+`,`+name+`=process\.env\.CLAUDE_CODE_BLOCKING_LIMIT_OVERRIDE`, ""),
			thresholds(`>0\?`+name+`:`+name+`-`+number+`,`, ""),
		}},
		{"blocking_from", []form{
			thresholds(`\+?=`+name+`\(`+name+`,`+name+`\(\)\)-`+name+`,`+name+`=process\.env\.CLAUDE_CODE_BLOCKING_LIMIT_OVERRIDE`, "window"),
			thresholds(`=`+name+`\([\w$,]*\)-`+name+`,`+name+`=process\.env\.CLAUDE_CODE_BLOCKING_LIMIT_OVERRIDE`, "effective"),
			thresholds(`function `+name+`\(`+name+`,`+name+`,`+name+`,`+name+`=[^{]*\{let [^{}]*testBlockingOverride`, "model"),
			thresholds(`testBlockingOverride`, "effective"),
		}},
		{"window_variable", []form{
			{near: `"CLAUDE_CODE_AUTO_COMPACT_WINDOW",`, after: 200, shape: `"CLAUDE_CODE_AUTO_COMPACT_WINDOW",[^,]*,` + name + `,` + name + `\)`, value: "bounded"},
			{near: "process.env.CLAUDE_CODE_AUTO_COMPACT_WINDOW;", after: 80, shape: `parseInt`, value: "any"},
			{near: ".CLAUDE_CODE_AUTO_COMPACT_WINDOW)", value: "bounded"},
		}},
		{"model_default", []form{
			{near: `new Set(["claude-sonnet-4-6","claude-opus-4-6"`, after: 120, shape: `new Set\(\[([^\]]*)\]\)`},
			has(`source:"model-default"`, "served"),
		}},
		{"window_4_6", []form{ // unless its name is marked [1m], a beta header is sent, or a server says more
			{near: `gateway:"claude-sonnet-4-6"},`, after: 400, shape: `context:\{window:` + number + `,`},
			{near: "return 1e6;", after: 300, shape: `^return 1e6;if\(` + name + `\(` + name + `\)\)return 1e6;(?:let ` + name + `=` + name + `\(` + name + `\);if\(` + name + `!==null\)return ` + name + `;)?(?:let ` + name + `=` + name + `\.CLAUDE_CODE_MAX_CONTEXT_TOKENS;if\([^;]*\)return ` + name + `;)?return ` + number + `\}`},
		}},
		{"native_million", []form{{near: `.replacesDefault&&`, before: 40, after: 20, shape: `>=[\w$.]+&&!` + name + `\.replacesDefault&&`, value: "proactive"}}},
		{"unknown_model", []form{has(`source:"unknown-model"`, "proactive")}},
		{"summary_cap", []form{
			{near: `forkLabel:"compact",maxTurns:1,`, after: 200, shape: `maxTurns:1,(?:fallbackModel:[^()]*\([^()]*\),)?maxOutputTokens:Math\.min\(` + number + `,`},
			has(`forkLabel:"compact",maxTurns:1,`, "none"),
		}},
		{"reactive", []form{
			has("tengu_cobalt_raccoon", "flag"),
			{near: "autocompact: tokens=", before: 400, shape: `if\(` + name + `\([\w$]*\)(?:&&!` + name + `\([\w$()]*\))?&&!` + name + `\([\w$,]+\)(?:&&!` + name + `)?\)return!1`, value: "by source"},
			has("isAboveAutoCompactThreshold", "none"),
		}},
		{"max_failures", []form{{near: "consecutiveFailures>=", after: 30, shape: `>=` + number + `[)&]`}}},
		{"thrash_turns", []form{{near: ".turnCounter<", after: 20, shape: `\.turnCounter<` + number + `\?`}}},
		{"thrash_refills", []form{
			{near: "rapid-refill breaker tripped", before: 400, shape: `if\(` + name + `>=` + number + `\)return`},
			{near: `?"trip":"proceed"`, before: 20, shape: `>=` + number + `\?"trip"`},
		}},
		{"result_limit", []form{{near: "maxResultSizeChars:", after: 12, shape: `maxResultSizeChars:(\d[\de]*)[,}]`, most: true}}},
		{"result_limit_bash", []form{
			has("maxResultSizeChars:30000,", "30000"),
			{near: `searchHint:"execute shell commands"`, after: 1200, shape: `get maxResultSizeChars\(\)`, value: "variable"},
		}},
		{"result_limit_grep", []form{has("maxResultSizeChars:20000,", "20000"), has("maxResultSizeChars:2e4,", "20000")}},
		{"result_limit_read", []form{has("maxResultSizeChars:1/0", "none"), has("maxResultSizeChars:Number.POSITIVE_INFINITY", "none")}},
		{"result_cap", []form{
			{near: "){if(!Number.isFinite(", before: 40, after: 20, shape: `,` + name + `=` + number + `(?:,` + name + `=!1)?\)\{if\(!Number\.isFinite\(` + name + `\)\)return ` + name + `;`},
			{near: "return Math.min(", before: 70, after: 20, shape: `Number\.isFinite\(` + name + `\)&&` + name + `>0\)return ` + name + `;return Math\.min\(` + name + `,` + number + `\)\}`},
			{near: ".maxResultSizeChars,", before: 12, after: 20, shape: `Math\.min\(` + name + `\.maxResultSizeChars,` + number + `\)`},
		}},
		{"message_limit", []form{{near: "tengu_hawthorn_steeple", after: 30, shape: `tengu_hawthorn_steeple",!([01])`, value: "flag !$1"}, has("tengu_hawthorn_steeple", "flag")}},
		{"marks", []form{
			{near: "tengu_api_cache_breakpoints", after: 260, shape: `\.length-3`, value: "two"},
			{near: "tengu_api_cache_breakpoints", after: 260, shape: `===` + name + `\.length-1|\.length-2:` + name + `\.length-1|markerCount`, value: "one"},
		}},
		{"hour_list", []form{has(`"repl_main_thread*","sdk","auto_mode"`, "default")}},
		{"summary_prefix", []form{
			{near: `tengu_compact_cache_prefix",!0`, value: "session"},
			{near: `tengu_compact_cache_prefix",!1`, value: "own"},
		}},
		{"microcompact_size", []form{has("tengu_cache_plum_violet", "flag"), has("env."+micro, "on")}},
		{"microcompact_time", []form{
			{near: "gapThresholdMinutes:", before: 40, after: 60, shape: `enabled:!1,gapThresholdMinutes:` + number + `,keepRecent:` + number},
		}},
		{"microcompact_cached", []form{has("cache_edits block with", "code")}},
		{"session_memory", []form{{near: "minTextBlockMessages:", before: 40, after: 60, shape: `minTokens:` + number + `,minTextBlockMessages:` + number + `,maxTokens:` + number}}},
		{"precomputed", []form{has(`tengu_sepia_moth",!1`, "flag"), has("tengu_sepia_moth", "flag")}},
		{"idle", []form{
			{near: ".CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS??", after: 260, shape: `Math\.max\(` + number + `,` + name + `\):` + number},
			{near: ".CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS??", before: 40, after: 20, shape: `Math\.max\(` + number + `,` + name + `\.CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS\?\?` + number},
			has(".CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS", "set"),
		}},
		{"pause_clearing", []form{
			{near: "minIdleSeconds:", after: 200, shape: pause + name + `\+` + number, value: "$1/$2/$3/$4/$2+$5"},
			{near: "minIdleSeconds:", after: 200, shape: pause + number},
		}},
		{"answer", []form{
			{near: `"tengu_max_tokens_reached"`, before: 900, shape: `\.message=\{\.\.\.` + name + `\.message,usage:|\.message\.usage=`, value: "whole"},
			{near: ".message.usage=", after: 60, shape: `^\.message\.usage=` + name + `,` + name + `\.message\.stop_reason=`, value: "whole"},
			{near: `"tengu_max_tokens_reached"`, before: 900, shape: `case"message_delta":`, value: "recorded"},
		}},
		{"percent", []form{
			{near: "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", after: 260, shape: `Math\.floor\(` + name + `\*\(` + name + `/100\)\)[;,](?:return )?(?:` + name + `=)?Math\.min\(`, value: "lowers"},
			{near: ".testPctOverride;", after: 200, shape: `return Math\.min\(Math\.floor\(` + name + `\*\(` + name + `/100\)\),` + name + `\)`, value: "lowers"},
		}},
		{"kept_rounds", []form{
			{near: "fewer than 2 groups, nothing to compact", after: 500, shape: `\.abortController\.signal,` + name + `=(?:` + name + `\?` + name + `:)?` + number + `,`},
			{near: "fewer than 2 groups, nothing to compact", after: 1200, shape: `\?` + name + `-` + name + `(?:\+\(` + name + `\?1:0\))?:` + number + `,`},
		}},
		{"attach_files", []form{
			{near: "readFileState.clear", after: 700, shape: `Promise\.all\(\[` + name + `\(` + name + `,` + name + `,` + number + `(?:,` + name + `)?\),`},
			{near: "Promise.all([", after: 120, shape: `^Promise\.all\(\[` + name + `\(` + name + `,` + name + `,` + number + `,` + name + `(?:,` + name + `)?\),(?:` + name + `\?Promise\.resolve\(\[\]\):)?` + name + `\(` + name + `\)\]\),` + name + `=` + name + `\.agentId`},
			{near: "?[]:await ", before: 100, shape: `=await ` + name + `\(` + name + `,` + name + `,` + number + `,` + name + `(?:,` + name + `)?\),` + name + `=` + name + `\?\[\]:await $`},
		}},
		{"attach_file_tokens", []form{{near: `},"tengu_post_compact_file_restore_success"`, before: 60, shape: `fileReadingLimits:\{maxTokens:` + number + `\}`}}},
		{"attach_files_tokens", []form{{near: `},"tengu_post_compact_file_restore_success"`, after: 500, shape: `if\(` + name + `\+` + name + `<=` + number + `\)return `}}},
		{"attach_skill_tokens", []form{
			{near: ".skillPath,content:", after: 60, shape: `content:` + name + `\(` + name + `\.content,` + number + `\)`},
			{near: ".skillPath,content:", after: 20, shape: `content:` + name + `\.content[},]`, value: "whole"},
			{near: `"attachment")continue;`, after: 300, shape: skills, value: "$1"},
		}},
		{"attach_skills_tokens", []form{
			{near: ".skillPath,content:", after: 300, shape: `if\(` + name + `\+` + name + `>` + number + `\)return!1`},
			{near: `"attachment")continue;`, after: 300, shape: skills, value: "$2"},
		}},
		{"attach_todos", []form{{near: `,context:"post-compact"`, before: 120, shape: `type:"todo",content:`, value: "yes"}}},
		{"attach_plan_mode", []form{{near: `.mode!=="plan")return null;`, after: 600, shape: `type:"plan_mode",reminderType:"full"|\("full",`, value: "yes"}}},
		{"attach_tools", []form{
			{near: `hookType:"session_start"`, before: 1000, shape: name + `\(` + name + `\.options\.tools,` + name + `\.options\.mainLoopModel,(?:\[\]|` + name + `)[,)]`, value: "yes"},
			has("refusedForSize:", "yes"),
		}},
		{"attach_agents", []form{
			{near: `hookType:"session_start"`, before: 1000, shape: `(?:of |\.\.\.)` + name + `\(` + name + `,(?:\[\]|` + name + `)\)[,)]`, value: "yes"},
			has("refusedForSize:", "yes"),
		}},
		{"attach_mcp", []form{
			{near: `hookType:"session_start"`, before: 1000, shape: name + `\(` + name + `\.options\.mcpClients,`, value: "yes"},
			has("refusedForSize:", "yes"),
		}},
	}
}

// read finds a fact in the code of a release. Compiled code beside it has the literals too, but not the shapes.
func (f *fact) read(code []byte) found {
	for _, form := range f.forms {
		if got := form.read(code); got.offset >= 0 {
			return got
		}
	}
	return found{"-", -1}
}

func (f *form) read(code []byte) found {
	shape := regexp.MustCompile(f.shape)
	counts, best := map[string]int{}, found{"", -1}
	for at, from := 0, 0; ; from = at + 1 {
		i := bytes.Index(code[from:], []byte(f.near))
		if i < 0 {
			return best
		}
		at = from + i
		if f.shape == "" {
			return found{f.value, at}
		}
		low := max(at-f.before, 0)
		m := shape.FindSubmatchIndex(code[low:min(at+len(f.near)+f.after, len(code))])
		if m == nil {
			continue
		}
		got := found{f.text(code, low, m), low + m[0]}
		if !f.most {
			return got
		}
		if counts[got.value]++; counts[got.value] > counts[best.value] {
			best = got
		}
	}
}

// text is the value of a match, its constants looked up.
func (f *form) text(code []byte, low int, m []int) string {
	var groups []string
	for g := 2; g < len(m); g += 2 {
		if m[g] >= 0 {
			groups = append(groups, constant(code, low+m[g], string(code[low+m[g]:low+m[g+1]])))
		}
	}
	if f.value == "" {
		return strings.Join(groups, "/")
	}
	value := f.value
	for i, text := range groups {
		value = strings.ReplaceAll(value, "$"+strconv.Itoa(i+1), text)
	}
	return value
}

// chunk is in the imports at the beginning of each file of code in an executable that holds several.
const chunk = `from"/$bunfs/root/chunk-`

// constant is what a name stands for at a place: the number given to it nearest to there, in the same file of code, else in
// one that exports the name.
func constant(code []byte, at int, text string) string {
	if n, ok := plain(text); ok || strings.HasPrefix(text, `"`) {
		return n
	}
	digits, exported := regexp.MustCompile(`^\d[\d.e]*[,;}]`), regexp.MustCompile(`[{,]`+regexp.QuoteMeta(text)+`[,} ]`)
	best, distance := text, 2*len(code)
	for from := 0; ; {
		i := bytes.Index(code[from:], []byte(text+"="))
		if i < 0 {
			n, _ := plain(best)
			return n
		}
		given := from + i
		from = given + len(text) + 1
		m := digits.Find(code[from:min(from+20, len(code))])
		if m == nil || given == 0 || !strings.ContainsRune(",; {", rune(code[given-1])) {
			continue
		}
		d := max(given-at, at-given)
		if bytes.Contains(code[min(given, at):max(given, at)], []byte(chunk)) { // of another file
			d += len(code)
			if list := bytes.Index(code[given:], []byte("export{")); list < 0 || !exported.Match(upTo(code[given+list+6:], '}')) {
				continue
			}
		}
		if d < distance {
			distance, best = d, string(m[:len(m)-1])
		}
	}
}

// upTo is the beginning of a text up to and including a character.
func upTo(text []byte, end byte) []byte {
	if i := bytes.IndexByte(text, end); i >= 0 {
		return text[:i+1]
	}
	return text
}

// plain writes a number as digits: 1e5 is 100000.
func plain(text string) (string, bool) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return strings.ReplaceAll(text, `"`, ""), false
	}
	return strconv.FormatFloat(n, 'f', -1, 64), true
}
