package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	figure, unit string // what is measured; after the value
	must         float64
	least        bool // the bar is the least; else the most
	value        func(r run) float64
}

// holds reports whether a value reaches the bar.
func (b *bar) holds(value float64) bool { return (value >= b.must) == b.least || value == b.must }

// compared are the five policies of one comparison.
var compared = []string{"recorded", "none", "claude-code", "opencode", "gemini-cli"}

const mebibyte, millisecond, seconds = " MiB", " ms", " s"

// bars are those of the project. Ratios are of processor time, user and system, where the figure says nothing else.
func bars() []bar {
	ratio := func(of, to string) func(run) float64 { return func(r run) float64 { return r.ratio(of, to) } }
	worst := func(group, of, to string) func(run) float64 { // the largest ratio in a group whose names end with of and to
		return func(r run) (most float64) {
			for name := range r {
				if one, ok := strings.CutSuffix(name, to); ok && strings.HasPrefix(name, group+"/") {
					most = max(most, r.ratio(one+of, name))
				}
			}
			return most
		}
	}
	return []bar{
		{"`replay` with one policy, heuristic counter, a session of 200 MB, to ccusage 20 (native)", "", 0.9, false, ratio("one/ctxkit replay", "one/ccusage 20")},
		{"the same over 200 sessions of 370 MB together, to ccusage 20", "", 1.2, false, ratio("many/ctxkit replay", "many/ccusage 20")},
		{"`replay` with exact o200k_base, a session of 50 MB, to Node and gpt-tokenizer over the same texts", "", 0.12, false, ratio("exact/ctxkit replay", "exact/gpt-tokenizer")},
		{"exact tokens (o200k_base) of code: stock tiktoken-go to ctxkit", "", 10, true, ratio("count/code/stock", "count/code/own")},
		{"exact tokens of prose: stock tiktoken-go to ctxkit", "", 10, true, ratio("count/prose/stock", "count/prose/own")},
		{"exact tokens of a session's texts: stock tiktoken-go to ctxkit", "", 10, true, ratio("count/session/stock", "count/session/own")},
		{"1 MiB of one character, counted: the slowest of nine", seconds, 1, false, func(r run) (most float64) {
			for name, f := range r {
				if strings.HasPrefix(name, "letters/") && strings.HasSuffix(name, "/1") {
					most = max(most, f.CPU)
				}
			}
			return most
		}},
		{"2 MiB of one character to 1 MiB: the worst of nine", "", 2.5, false, worst("letters", "/2", "/1")},
		{"peak memory, 200 MB, heuristic counter, text output", mebibyte, 160, false, func(r run) float64 { return r["one/ctxkit replay"].MiB }},
		{"peak memory, 1 GB to 200 MB", "", 4, false, func(r run) float64 {
			return r["big/ctxkit replay"].MiB / r["one/ctxkit replay"].MiB
		}},
		{"a replay without reading, as requests double: the worst of " + fmt.Sprint(len(doublingPolicies)) + " policies", "", 2.3, false, worst("doubling", "/2", "/1")},
		{"five policies in one `compare --no-regret` to one `replay`, 200 MB", "", 2, false, ratio("compare/five policies", "compare/one replay")},
		{"`compare` of five policies with regret to without, 200 MB", "", 3, false, ratio("compare/five policies with regret", "compare/five policies")},
		{"10 lines: start to the first byte of output", millisecond, 30, false, func(r run) float64 { return 1000 * r["start/ctxkit replay"].First }},
		{"`statusline`, its session one of 200 MB: start to the first byte of output", millisecond, 20, false, func(r run) float64 { return 1000 * r["start/ctxkit statusline"].First }},
		{"the first `compare` over 2,000 sessions to the second one, with the cache", "", 5, true, ratio("cache/first", "cache/second")},
		{"first screen over 10,000 sessions: wall time", seconds, 1, false, func(r run) float64 { return r["first/ctxkit"].Wall }},
		{"84 recorded sessions under two policies: processor time", seconds, 3, false, func(r run) float64 { return r["recorded/ctxkit compare"].CPU }},
		{"size of the program, stripped (`go build -trimpath -ldflags='-s -w'`)", " MB", 34, false, func(r run) float64 { return r["binary/ctxkit"].MiB * (1 << 20) / 1e6 }},
	}
}

// group is a set of commands that are measured in turns.
type group struct {
	name     string
	commands []command
}

// tools are the programs that are run. One that is not there is empty.
type tools struct {
	ctxkit, self                 string
	ccusage20, tokenizer, folder string // folder: where npm's packages are
	node, script                 string
	count                        string // count.mjs
	recorded                     string // a folder of recorded sessions
}

// groups are the commands to measure, without those whose program is not there.
func (t *tools) groups(d *data, scratch string) []group {
	off := []string{"CTXKIT_CACHE=off"}
	kit := func(name string, args ...string) command {
		return command{name: name, args: append([]string{t.ctxkit}, args...), env: off}
	}
	usage := func(folder string) command {
		return command{name: "ccusage 20", args: []string{t.ccusage20, "daily", "--offline", "--json"}, env: []string{"CLAUDE_CONFIG_DIR=" + folder, "HOME=" + scratch, "LOG_LEVEL=0"}}
	}
	replay := func(name, input string) command {
		return kit(name, "replay", input, "-q", "-p", "opencode", "--tokens", "heuristic")
	}
	compare := []string{"compare", d.one, "-q"}
	for _, p := range compared {
		compare = append(compare, "-p", p)
	}
	list := []group{
		{"one", []command{usage(d.oneDir), replay("ctxkit replay", d.one)}},
		{"many", []command{usage(d.many), replay("ctxkit replay", filepath.Join(d.many, "projects"))}},
		{"exact", []command{
			kit("ctxkit replay", "replay", d.few, "-q", "-p", "opencode", "--tokens", "o200k_base"),
			{name: "gpt-tokenizer", args: []string{t.node, t.count, d.few}, dir: t.folder},
		}},
		{"big", []command{replay("ctxkit replay", d.big)}},
		{"compare", []command{
			kit("one replay", "replay", d.one, "-q", "-p", "opencode"),
			kit("five policies", append(compare, "--no-regret")...),
			kit("five policies with regret", compare...),
		}},
	}
	if t.recorded != "" {
		list = append(list, group{"recorded", []command{kit("ctxkit compare", "compare", t.recorded, "-q", "-p", "recorded", "-p", "opencode", "--no-regret")}})
	}
	for i := range list {
		list[i].commands = slices.DeleteFunc(list[i].commands, func(c command) bool {
			return c.args[0] == "" || c.name == "gpt-tokenizer" && t.tokenizer == ""
		})
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
		found, err := interleaved(g.commands, times)
		if err := add(g.name, found, err); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"count", "letters", "doubling"} {
		say(name)
		found, err := t.part(name, d, scale, times)
		if err := add(name, found, err); err != nil {
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
