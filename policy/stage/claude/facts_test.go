package claude_test

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
)

// facts are what the code of each release says, by release and fact (scripts/upstream).
func facts(t *testing.T) (releases []string, facts map[string]map[string]string) {
	t.Helper()
	f, err := os.Open("testdata/facts.tsv")
	if err != nil {
		t.Fatal(err)
	}
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
	reg, err := stage.Registry()
	if err != nil {
		t.Fatal(err)
	}
	library := preset.New(reg)
	releases, facts := facts(t)
	if len(releases) < 70 {
		t.Fatalf("facts of %d releases", len(releases))
	}
	for _, release := range releases {
		p, err := library.Load("claude-code@" + release)
		if err != nil {
			t.Fatal(err)
		}
		f := facts[release]
		number := func(fact string) int {
			n, err := strconv.Atoi(f[fact])
			if err != nil {
				t.Fatalf("%s: %s: %v", release, fact, err)
			}
			return n
		}
		is := func(what string, got, want any) {
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s of %s: %s: %v, the code says %v", p.Name, release, what, got, want)
			}
		}
		get := func(key string) string {
			value, err := p.Get(key)
			if err != nil {
				t.Fatal(err)
			}
			return value
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
		for _, c := range []struct {
			fact, model string
			window      int
		}{
			{"model_default", "claude-sonnet-4-6", window}, {"model_default", "claude-opus-4-8", window}, {"model_default", "claude-opus-5", window},
			{"model_default", "claude-opus-5-20261101", window}, {"model_default", "claude-opus-5-5", window}, {"model_default", "claude-sonnet-4-5", window},
			{"native_million", "claude-opus-5-5", 1000000}, {"unknown_model", "deepseek-v4", window},
		} {
			says := f[c.fact]
			model, _, _ := strings.Cut(c.model, "-2026")
			if says == "" || says == "served" { // not read, or not in the code
				continue
			}
			acts := says == "proactive" || slices.Contains(strings.Split(says, ","), model)
			is(c.model+" waits for the API to refuse", waits(c.model, c.window), f["reactive"] == "by source" && !acts)
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
		is("a response counts", get("window.answer"), map[bool]string{true: "whole", false: "recorded"}[session.CompareVersions(release, "2.1.30") >= 0])

		limit := number("result_limit")
		if f["result_cap"] != "-" {
			limit = min(limit, number("result_cap"))
		}
		is("characters of a result", get("tool_result_budget.max_chars"), limit)
		is("characters of all results", get("tool_result_budget.max_message_chars"), "none")
		own := get("tool_result_budget.tool_max_chars")
		is("Bash and Grep in "+own, strings.Contains(own, "Bash: 30000") && strings.Contains(own, "Grep: 20000"), true)
		is("Read in "+own, strings.Contains(own, "Read: none"), f["result_limit_read"] == "none")
		is("marks", get("cache.breakpoints"), map[string]string{"two": "last_two", "one": "last"}[f["marks"]])
		is("failures", get("autocompact.max_failures"), strings.Replace(f["max_failures"], "-", "0", 1))
		is("refills", get("autocompact.max_refills"), strings.Replace(f["thrash_refills"], "-", "0", 1))
		if f["thrash_turns"] != "-" {
			is("requests of a refill", get("autocompact.refill_requests"), f["thrash_turns"])
		}
		is("prefix of the summary's request", get("autocompact.prefix"), strings.Replace(f["summary_prefix"], "-", "own", 1))
		is("least window", get("window.auto_compact_least") == "0", f["window_variable"] == "any")
		if f["pause_clearing"] == "3900/12" {
			is("results kept after a pause", get("microcompact_time.keep_recent"), 12)
			is("clearing after a pause", get("microcompact_time.enabled"), false)
		}
	}
}
