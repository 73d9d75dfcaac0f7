package claude_test

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
)

// facts are what the code of each release says, by release and fact (scripts/upstream).
func facts(t *testing.T) (releases []string, facts map[string]map[string]string) {
	t.Helper()
	f := must.Get(os.Open("testdata/facts.tsv"))(t)
	defer f.Close()
	facts = map[string]map[string]string{}
	in := bufio.NewScanner(f)
	for in.Scan() {
		cells := strings.Split(in.Text(), "\t")
		if len(cells) != 5 || cells[0] == "release" {
			continue
		}
		if facts[cells[0]] == nil {
			facts[cells[0]] = map[string]string{}
			releases = append(releases, cells[0])
		}
		facts[cells[0]][cells[1]] = cells[2]
	}
	return releases, facts
}

// Every preset states what the code of its releases does.
func TestFacts(t *testing.T) {
	reg := must.Get(stage.Registry())(t)
	library := preset.New(reg)
	releases, facts := facts(t)
	if len(releases) < 70 {
		t.Fatalf("facts of %d releases", len(releases))
	}
	for _, release := range releases {
		p := must.Get(library.Load("claude-code@" + release))(t)
		f := facts[release]
		number := func(fact string) int {
			n, err := strconv.Atoi(f[fact])
			if err != nil {
				t.Fatalf("%s: %s: %v", release, fact, err)
			}
			return n
		}
		is := func(what string, got, want any) {
			must.Equal(t, fmt.Sprint(got), fmt.Sprint(want), p.Name, release, what)
		}
		get := func(key string) string {
			value := must.Get(p.Get(key))(t)
			return value
		}

		has := func(stage string) bool {
			return slices.ContainsFunc(p.Stages, func(s policy.StageConfig) bool { return s.Definition.Name == stage })
		}

		const window, output = 200000, 32000
		reserve := output
		if f["reserve_cap"] != "none" {
			reserve = min(reserve, number("reserve_cap"))
		}
		auto := window - reserve - number("buffer")
		from := map[string]int{"window": window, "effective": window - reserve, "model": window - reserve}[f["blocking_from"]]
		for _, c := range []struct {
			what  string
			model string
			set   bool
			waits bool // for the API to refuse
		}{
			{"a window that is set", "claude-sonnet-4-5", true, false},
			{"no window", "claude-sonnet-4-5", false, f["reactive"] == "by source"},
			{"no window, opus-4-6", "claude-opus-4-6", false, f["reactive"] == "by source" && f["model_default"] == "-"}, // else in every list
		} {
			got := map[string]policy.Limit{}
			for _, l := range p.Limits(policy.Circumstances{Window: window, MaxOutput: output, Model: c.model, Set: c.set}).List {
				got[l.Name] = l
			}
			is(c.what+": output reserve", got["output reserve"].Tokens, reserve)
			is(c.what+": warning", got["warning threshold"].Tokens, auto-number("warning_offset"))
			is(c.what+": blocking limit", got["blocking limit"].Tokens, from-number("blocking_offset"))
			is(c.what+": blocks", got["blocking limit"].Blocks, !c.waits)
			if c.waits {
				is(c.what+": acts at", got["compaction when the API refuses"].Tokens, window)
				is(c.what+": threshold", got["auto-compact threshold"].Tokens, 0)
			} else {
				is(c.what+": auto-compact threshold", got["auto-compact threshold"].Tokens, auto)
			}
			// A server's flag switched it off for everyone who recorded a session of 2.1.25 and later: it is there, and off.
			is(c.what+": microcompaction", got["microcompaction"].Acts, f["microcompact_size"] != "-" && session.CompareVersions(release, "2.1.25") < 0)
		}

		waits := func(model string, window int) bool {
			for _, l := range p.Limits(policy.Circumstances{Window: window, MaxOutput: output, Model: model}).List {
				if l.Name == "compaction when the API refuses" {
					return true
				}
			}
			return false
		}
		must.Rows(t, `
# fact | model | window
model_default  | claude-sonnet-4-6      | 200000
model_default  | claude-opus-4-8        | 200000
model_default  | claude-opus-5          | 200000
model_default  | claude-opus-5-20261101 | 200000
model_default  | claude-opus-5-5        | 200000
model_default  | claude-sonnet-4-5      | 200000
native_million | claude-opus-5-5        | 1000000
unknown_model  | deepseek-v4            | 200000
`, func(fact, theModel string, window int) {
			says := f[fact]
			model, _, _ := strings.Cut(theModel, "-2026")
			if says == "" || says == "served" { // not read, or not in the code
				return
			}
			acts := says == "proactive" || slices.Contains(strings.Split(says, ","), model)
			is(theModel+" waits for the API to refuse", waits(theModel, window), f["reactive"] == "by source" && !acts)
		})
		if f["window_4_6"] != "-" {
			must.Rows(t, `
claude-sonnet-4-6     | true
claude-opus-4-6       | true
deepseek-v4           | true
claude-sonnet-4-6[1m] | false
claude-opus-4-7       | false
`, func(model string, noted bool) {
				notes := p.Limits(policy.Circumstances{Window: 1000000, MaxOutput: output, OutputFrom: "model table", Model: model}).Notes
				want := "the client takes " + model + " to have " + f["window_4_6"][:3] + ",000 tokens "
				is(model+" without a mark has less", slices.ContainsFunc(notes, func(n string) bool { return strings.HasPrefix(n, want) }), noted)
			})
		}
		switch most := get("autocompact.max_output"); {
		case f["summary_prefix"] != "session":
		case f["summary_cap"] == "none":
			is("the summary has a limit of its own", most == "20000", false)
		case f["summary_cap"] != "":
			is("tokens of the summary", most, f["summary_cap"])
		}

		if f["microcompact_size"] != "-" {
			is("microcompaction by size is on", get("microcompact_size.enabled"), session.CompareVersions(release, "2.1.25") < 0)
		}
		is("a response counts", get("window.answer"), f["answer"])
		is("a percentage only lowers the threshold", f["percent"], "lowers") // Window.Resolve

		limit := number("result_limit")
		if f["result_cap"] != "-" {
			limit = min(limit, number("result_cap"))
		}
		is("characters of a result", get("tool_result_budget.max_chars"), limit)
		is("characters of all results", get("tool_result_budget.max_message_chars"), map[bool]string{true: "none"}[f["message_limit"] == "-" || f["message_limit"] == "flag !1"])
		own := get("tool_result_budget.tool_max_chars")
		if f["result_limit_bash"] != "variable" { // by a variable of the user, whose default is the same
			is("Bash in "+own, strings.Contains(own, "Bash: "+f["result_limit_bash"]), true)
		}
		is("Grep in "+own, strings.Contains(own, "Grep: "+f["result_limit_grep"]), true)
		is("Read in "+own, strings.Contains(own, "Read: none"), f["result_limit_read"] == "none")
		// Which requests ask for an hour is a list (hour_list) that a server may replace, and not for every account: usage tells.
		is("whether a list has who asks for an hour", f["hour_list"], map[bool]string{true: "default", false: "-"}[session.CompareVersions(release, "2.1.108") >= 0])
		is("lifetime of cached tokens", get("cache.ttl"), "auto")
		is("marks", get("cache.breakpoints"), map[string]string{"two": "last_two", "one": "last"}[f["marks"]])
		is("failures", get("autocompact.max_failures"), strings.Replace(f["max_failures"], "-", "0", 1))
		is("refills", get("autocompact.max_refills"), strings.Replace(f["thrash_refills"], "-", "0", 1))
		if f["thrash_turns"] != "-" {
			is("requests of a refill", get("autocompact.refill_requests"), f["thrash_turns"])
		}
		is("prefix of the summary's request", get("autocompact.prefix"), strings.Replace(f["summary_prefix"], "-", "own", 1))
		is("least window", get("window.auto_compact_least") == "0", f["window_variable"] == "any")

		attached := ", " + strings.Trim(get("post_compact.attachments"), "[]") + ","
		must.Rows(t, `
attach_todos     | todos
attach_plan_mode | plan_mode
attach_tools     | deferred_tools
attach_agents    | agent_listing
attach_mcp       | mcp_instructions
`, func(fact, name string) {
			is(name+" in "+attached, strings.Contains(attached, " "+name+","), f[fact] == "yes")
		})
		is("files after a compaction", get("post_compact.max_files"), f["attach_files"])
		is("tokens of a file", get("post_compact.file_tokens"), f["attach_file_tokens"])
		is("tokens of all files", get("post_compact.files_tokens"), f["attach_files_tokens"])
		is("tokens of a skill", get("post_compact.skill_tokens"), strings.Replace(f["attach_skill_tokens"], "whole", "1000000", 1))
		is("tokens of all skills", get("post_compact.skills_tokens"), strings.Replace(f["attach_skills_tokens"], "-", "1000000", 1))
		is("rounds kept", get("autocompact.keep_recent"), map[bool]string{true: f["kept_rounds"], false: "0"}[f["reactive"] == "by source"])

		// What is off by default, or behind a flag, is off where the preset has it at all.
		if pause := strings.Split(f["pause_clearing"], "/"); len(pause) == 5 {
			trigger := 0
			for n := range strings.SplitSeq(pause[4], "+") {
				k, _ := strconv.Atoi(n)
				trigger += k
			}
			below, _ := strconv.Atoi(pause[3])
			seconds, _ := strconv.Atoi(pause[0])
			is("clearing after a pause", get("microcompact_time.enabled"), false)
			is("pause", get("microcompact_time.gap"), strings.TrimSuffix((time.Duration(seconds)*time.Second).String(), "0s"))
			is("results kept after a pause", get("microcompact_time.keep_recent"), pause[1])
			is("tokens that clearing saves", get("microcompact_time.min_savings"), pause[2])
			is("results that are cleared", get("microcompact_time.min_results"), trigger+below)
		} else {
			is("no clearing after a pause", has("microcompact_time"), false)
		}
		if least, tokens, ok := strings.Cut(f["idle"], "/"); ok {
			is("compaction while the user is away", get("autocompact.idle_after"), "0s")
			is("least tokens of it, at least "+least, get("autocompact.idle_tokens"), tokens)
		}
		is("a summary written ahead", get("autocompact.ahead"), 0)
		is("sent to the server's cache", has("microcompact_cached"), false)
		is("session memory", has("session_memory"), false)
	}
}

// The policies of stages that no release has on by default state what the code had of them.
func TestFactsOfThePipeline(t *testing.T) {
	reg := must.Get(stage.Registry())(t)
	p := must.Get(preset.New(reg).Load("claude-code-pipeline"))(t)
	get := func(key string) string {
		value := must.Get(p.Get(key))(t)
		return value
	}
	memory := strings.Join([]string{get("session_memory.min_tokens"), get("session_memory.min_text_messages"), get("session_memory.max_tokens")}, "/")
	gap := must.Get(time.ParseDuration(get("microcompact_time.gap")))(t)
	after := fmt.Sprintf("%.0f/%s", gap.Minutes(), get("microcompact_time.keep_recent"))
	releases, facts := facts(t)
	for fact, want := range map[string]string{"session_memory": memory, "microcompact_time": after, "microcompact_cached": "code"} {
		n := 0
		for _, release := range releases {
			switch f := facts[release][fact]; f {
			case "", "-":
			case want:
				n++
			default:
				t.Errorf("%s of %s: %s, the policy says %s", fact, release, f, want)
			}
		}
		if n == 0 {
			t.Errorf("no release has %s", fact)
		}
	}
}
