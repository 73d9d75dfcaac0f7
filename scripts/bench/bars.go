package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// run is what one run over everything measured, by GROUP/NAME.
type run map[string]figures

// ratio is the processor time of one as a multiple of another's; 0 where one of them was not measured.
func (r run) ratio(of, to string) float64 {
	if r[to].CPU == 0 {
		return 0
	}
	return r[of].CPU / r[to].CPU
}

// bar is a figure that is to hold.
type bar struct {
	key          string // by which notes.md names it
	figure, unit string // what is measured; after the value
	must, aim    float64
	least        bool // the bars are the least; else the most
	value        func(r run) float64
}

func (b *bar) holds(value, limit float64) bool {
	return limit == 0 || (value >= limit) == b.least || value == limit
}

// compared are the five policies of one comparison.
var compared = []string{"recorded", "none", "claude-code", "opencode", "gemini-cli"}

// linear are commands whose time and memory are to grow as the session does.
var linear = []string{"anonymize", "lint", "view", "diff", "stats", "why"}

const mebibyte, millisecond = " MiB", " ms"

// bars are those of the project. Ratios are of processor time, user and system, where the figure says nothing else.
func bars() []bar {
	ratio := func(of, to string) func(run) float64 { return func(r run) float64 { return r.ratio(of, to) } }
	worst := func(of, to string, names []string) func(run) float64 {
		return func(r run) (most float64) {
			for _, name := range names {
				most = max(most, r.ratio(fmt.Sprintf(of, name), fmt.Sprintf(to, name)))
			}
			return most
		}
	}
	list := []bar{
		{"one", "`replay` with one policy, heuristic counter, a session of 200 MB, to ccusage 20 (native)", "", 0.8, 0.45, false, ratio("one/ctxkit replay", "one/ccusage 20")},
		{"many", "`replay` with one policy, heuristic counter, 200 sessions of 370 MB together, to ccusage 20 (native)", "", 2, 1, false, ratio("many/ctxkit replay", "many/ccusage 20")},
		{"exact", "`replay` with exact o200k_base, a session of 50 MB, to Node and gpt-tokenizer over the same texts", "", 0.1, 0.05, false, ratio("exact/ctxkit replay", "exact/gpt-tokenizer")},
		{"code", "exact tokens (o200k_base) of code: stock tiktoken-go to ctxkit", "", 10, 30, true, ratio("count/code/stock", "count/code/own")},
		{"prose", "exact tokens of prose: stock tiktoken-go to ctxkit", "", 10, 30, true, ratio("count/prose/stock", "count/prose/own")},
		{"session", "exact tokens of a session's texts: stock tiktoken-go to ctxkit", "", 10, 30, true, ratio("count/session/stock", "count/session/own")},
		{"letter", "1 MiB of one character, counted: seconds, the slowest of nine", " s", 1, 0, false, func(r run) (most float64) {
			for name, f := range r {
				if strings.HasPrefix(name, "letters/") && strings.HasSuffix(name, "/1") {
					most = max(most, f.CPU)
				}
			}
			return most
		}},
		{"letters", "2 MiB of one character to 1 MiB, the worst of nine", "", 2.5, 0, false, func(r run) (most float64) {
			for name := range r {
				if one, ok := strings.CutSuffix(name, "/2"); ok && strings.HasPrefix(name, "letters/") {
					most = max(most, r.ratio(name, one+"/1"))
				}
			}
			return most
		}},
		{"memory", "peak memory, 200 MB, heuristic counter", mebibyte, 100, 48, false, func(r run) float64 { return r["one/ctxkit replay"].MiB }},
		{"big", "peak memory, 1 GB to 200 MB", "", 1.5, 1, false, func(r run) float64 {
			if r["one/ctxkit replay"].MiB == 0 {
				return 0
			}
			return r["big/ctxkit replay"].MiB / r["one/ctxkit replay"].MiB
		}},
		{"doubling", "a replay without reading, as requests double, the worst of " + fmt.Sprint(len(doublingPolicies)) + " policies", "", 2.3, 2, false, worst("doubling/%s/2", "doubling/%s/1", doublingPolicies)},
		{"five", "five policies in one `compare --no-regret` to one `replay`, 200 MB", "", 1.5, 1.1, false, ratio("compare/five policies", "compare/one replay")},
		{"regret", "`compare` of five policies with regret to without, 200 MB", "", 0, 2, false, ratio("compare/five policies with regret", "compare/five policies")},
		{"start", "10 lines: start to the first byte of output", millisecond, 30, 10, false, func(r run) float64 { return 1000 * r["start/ctxkit replay"].First }},
		{"status", "`statusline`, its session one of 200 MB: start to the first byte of output", millisecond, 20, 0, false, func(r run) float64 { return 1000 * r["start/ctxkit statusline"].First }},
		{"binary", "size of the program, stripped (`go build -trimpath -ldflags='-s -w'`)", " MB", 30, 15, false, func(r run) float64 { return r["binary/ctxkit"].MiB * (1 << 20) / 1e6 }},
		{"cache", "the first `compare` over 2,000 sessions to the second one, with the cache", "", 5, 0, true, ratio("cache/first", "cache/second")},
		{"first", "first screen over 10,000 sessions: wall seconds", " s", 1, 0, false, func(r run) float64 { return r["first/ctxkit"].Wall }},
	}
	for _, name := range linear {
		list = append(list, bar{"linear", "`" + name + "`, 200 MB to 100 MB", "", 2.2, 0, false, ratio("linear/"+name+" 200 MB", "linear/"+name+" 100 MB")})
	}
	for _, name := range linear { // memory may double as the session does; to be bounded it would not
		list = append(list, bar{"bounded", "peak memory of `" + name + "`, 200 MB to 100 MB", "", 2.2, 1.5, false, func(r run) float64 {
			if r["linear/"+name+" 100 MB"].MiB == 0 {
				return 0
			}
			return r["linear/"+name+" 200 MB"].MiB / r["linear/"+name+" 100 MB"].MiB
		}})
	}
	return list
}

// group is a set of commands that are measured in turns.
type group struct {
	name     string
	commands []command
	often    int // how many times as often as others they run: ratios that are near their bars, which noise would decide
}

// tools are the programs that are run. One that is not there is empty.
type tools struct {
	ctxkit, self                            string
	ccusage20, ccusage18, tokenizer, folder string // folder: where npm's packages are
	node, jq, cat, wc, script               string
	count                                   string // count.mjs
}

// groups are the commands to measure, without those whose program is not there.
func (t *tools) groups(d *data, scratch string) []group {
	off := []string{"CTXKIT_CACHE=off"}
	kit := func(name string, args ...string) command {
		return command{name: name, args: append([]string{t.ctxkit}, args...), env: off}
	}
	usage := func(folder string) []command {
		env := []string{"CLAUDE_CONFIG_DIR=" + folder, "HOME=" + scratch, "LOG_LEVEL=0"}
		return []command{
			{name: "ccusage 20", args: []string{t.ccusage20, "daily", "--offline", "--json"}, env: env},
			{name: "ccusage 18", args: []string{t.node, t.ccusage18, "daily", "--offline", "--json"}, env: env, most: 1},
		}
	}
	replay := func(name, input string) command {
		return kit(name, "replay", input, "-q", "-p", "opencode", "--tokens", "heuristic")
	}
	compare := []string{"compare", d.one, "-q"}
	for _, p := range compared {
		compare = append(compare, "-p", p)
	}
	list := []group{
		{"one", append(usage(d.oneDir), replay("ctxkit replay", d.one),
			command{name: "jq -c .type", args: []string{t.jq, "-c", ".type", d.one}, most: 1},
			command{name: "wc -l", args: []string{t.wc, "-l", d.one}},
			command{name: "cat", args: []string{t.cat, d.one}}), 4},
		{"many", append(usage(d.many), replay("ctxkit replay", filepath.Join(d.many, "projects"))), 1},
		{"exact", []command{
			kit("ctxkit replay", "replay", d.few, "-q", "-p", "opencode", "--tokens", "o200k_base"),
			{name: "gpt-tokenizer", args: []string{t.node, t.count, d.few}, dir: t.folder},
		}, 6},
		{"big", []command{replay("ctxkit replay", d.big)}, 1},
		{"compare", []command{
			kit("one replay", "replay", d.one, "-q", "-p", "opencode"),
			kit("five policies", append(compare, "--no-regret")...),
			kit("five policies with regret", compare...),
		}, 9},
		{"linear", nil, 6},
	}
	more := map[string][]string{
		"anonymize": {"--seed", "1", "-o", filepath.Join(scratch, "anonymous.jsonl")},
		"view":      {"-p", "opencode", "--at", "last"},
		"diff":      {"-p", "opencode"}, "stats": nil, "why": {"-p", "opencode"}, "lint": nil,
	}
	for _, name := range linear {
		for _, of := range [][2]string{{d.half, "100 MB"}, {d.one, "200 MB"}} {
			c := kit(name+" "+of[1], append([]string{name, of[0], "-q"}, more[name]...)...)
			c.code = []int{1} // lint found something
			if name == "anonymize" {
				c.most = 3
			}
			list[5].commands = append(list[5].commands, c)
		}
	}
	for i := range list {
		var there []command
		for _, c := range list[i].commands {
			if c.args[0] != "" && (c.name != "ccusage 18" || t.ccusage18 != "") && (c.name != "gpt-tokenizer" || t.tokenizer != "") {
				there = append(there, c)
			}
		}
		list[i].commands = there
	}
	return list
}

// clientStatus is what Claude Code writes to a status line's command, of a session in a file.
func clientStatus(file string) string {
	return fmt.Sprintf(`{"hook_event_name":"Status","transcript_path":%q,"version":"2.1.139","model":{"id":"claude-opus-4-5","display_name":"Opus 4.5"},`+
		`"context_window":{"context_window_size":200000,"current_usage":{"input_tokens":10,"output_tokens":300,"cache_creation_input_tokens":2000,"cache_read_input_tokens":140000}}}`,
		filepath.ToSlash(file))
}

// once measures everything once; the commands of a group run times times.
func (t *tools) once(d *data, scratch string, times int, scale string, say func(string)) (run, error) {
	r := run{}
	add := func(group string, found map[string]figures, err error) error {
		for name, f := range found {
			r[group+"/"+name] = f
		}
		return err
	}
	for _, g := range t.groups(d, scratch) {
		say(g.name)
		found, err := interleaved(g.commands, g.often*times)
		if err := add(g.name, found, err); err != nil {
			return nil, err
		}
	}
	for _, part := range []struct {
		name  string
		often int // as in a group
	}{{"count", 1}, {"letters", 1}, {"doubling", 3}} {
		say(part.name)
		found, err := t.part(part.name, d, scale, part.often*times)
		if err := add(part.name, found, err); err != nil {
			return nil, err
		}
	}
	say("start")
	found, err := interleaved([]command{
		{name: "ctxkit replay", args: []string{t.ctxkit, "replay", d.ten, "-q", "-p", "opencode"}, env: []string{"CTXKIT_CACHE=off"}},
		{name: "ctxkit statusline", args: []string{t.ctxkit, "statusline"}, in: clientStatus(d.one)},
	}, 10*times)
	if err := add("start", found, err); err != nil {
		return nil, err
	}
	info, err := os.Stat(t.ctxkit)
	if err != nil {
		return nil, err
	}
	r["binary/ctxkit"] = figures{MiB: float64(info.Size()) / (1 << 20)}
	say("cache")
	kept := []string{"CTXKIT_CACHE=" + filepath.Join(scratch, "cache"), "TERM=xterm-256color"}
	fleet := []string{t.ctxkit, "compare", filepath.Join(d.fleet, "projects"), "-q"}
	found, err = interleaved([]command{
		{name: "clear", args: []string{t.ctxkit, "cache", "clear"}, env: kept}, {name: "first", args: fleet, env: kept}, {name: "second", args: fleet, env: kept},
	}, times)
	if err := add("cache", found, err); err != nil {
		return nil, err
	}
	if t.script != "" {
		say("first")
		screen := command{name: "ctxkit", args: []string{t.script, "-qec", t.ctxkit, "/dev/null"}, env: append(kept, "CLAUDE_CONFIG_DIR="+d.first, "HOME="+scratch)}
		found, err := interleaved([]command{screen}, times)
		if err := add("first", found, err); err != nil {
			return nil, err
		}
	}
	return r, nil
}
