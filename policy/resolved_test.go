package policy

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

func TestDecodeDefaults(t *testing.T) {
	p := mustDecode(t, "dir/mine.yaml", "stages: [kinds, bare]\n", nil)
	if p.Name != "mine" || p.File != "dir/mine.yaml" || p.Window != DefaultWindow() {
		t.Errorf("got name %q, file %q, window %+v", p.Name, p.File, p.Window)
	}
	must.Equal(t, p.Stages[0].Params, defineKinds().Params)
	if p.Stages[1].Params != nil || p.Stages[1].Definition.Name != "bare" {
		t.Errorf("bare stage: %+v", p.Stages[1])
	}
	if b := mustDecode(t, "builtin", "stages: []\n", nil); b.Name != "builtin" || b.File != "" {
		t.Errorf("built-in: name %q, file %q", b.Name, b.File)
	}
}

func TestDecodeValues(t *testing.T) {
	p := mustDecode(t, "p.yaml", `
name: all of them
about: 'sets every parameter'
source: these tests
date: 2026-01-25
truth: oracle
window: {context: 1_000_000, percent: 80, active: false, tail: after_first, room: 5}
stages:
  - kinds:
      switch: false
      count: 9
      free: -7
      auto: 12
      share: 1
      style: chars
      note: 2.50
      gap: 1h30m
      tools: mcp__*
      modes: [c, a]
      per_tool: {Read: 5, Grep: none, Bash: ~}
      limit: 0
      turns: 2
      summary: outline
      trigger: {type: tool_uses, value: 50}
      least: {input_tokens: 5000}
  - compress
  - sweep
`, nil)
	zero, two := 0, 2
	want := &kinds{
		Switch: false, Count: 9, Free: -7, Auto: 12, Share: 1, Style: "chars", Note: "2.50",
		Gap: 90 * time.Minute, Tools: []string{"mcp__*"}, Modes: []string{"c", "a"},
		PerTool: map[string]int{"Read": 5, "Grep": -1, "Bash": -1}, Limit: &zero, Turns: &two,
		Summary: SummaryChoices{{Kind: SummaryOutline}}, When: Trigger{TriggerToolUses, 50},
		Least: &Trigger{TriggerInputTokens, 5000},
	}
	must.Equal(t, cmp.Diff(want, p.Stages[0].Params), "")
	w := DefaultWindow()
	w.Context, w.Tail = 1000000, "after_first"
	must.Equal(t, p.Window, w)
	if p.Stages[1].Shared != p.Stages[2].Shared || p.Stages[0].Shared != nil {
		t.Error("compress and sweep do not share their parameters, or kinds has some")
	}
	must.Equal(t, cmp.Diff(&sharedParams{50000, "80", false}, p.Stages[1].Shared), "")
	if got := []string{p.Name, p.About, p.Source, p.Date, string(p.Truth)}; !cmp.Equal(got, []string{"all of them", "sets every parameter", "these tests", "2026-01-25", "oracle"}) {
		t.Errorf("got %q", got)
	}
	words := mustDecode(t, "p.yaml", "stages: [kinds: {auto: auto, limit: ~, turns: all, least: none, tools: [], per_tool: {}, note: '', summary: {fixed: 3}}]\n", nil)
	k := words.Stages[0].Params.(*kinds)
	if k.Auto != 0 || k.Limit != nil || k.Turns != nil || k.Least != nil || len(k.Tools) != 0 || len(k.PerTool) != 0 || k.Note != "" || k.Summary[0].Tokens != 3 {
		t.Errorf("got %+v", k)
	}
}

func TestExtends(t *testing.T) {
	resolve := library(map[string]string{
		"base":             "about: the base\nsource: tests\ndate: 2026-01-02\ntruth: recorded\nwindow: {buffer: 1, overhead: 5}\nstages: [bare, kinds: {count: 4}, compress]\nset: {kinds.free: 7}\n",
		"dir/mid.yaml":     "extends: base\nwindow: {buffer: 2}\nset: {kinds.count: 5}\n",
		"dir/sub/up.yaml":  "extends: ../mid.yaml\n",
		"./here":           "stages: []\n",
		"dir/stages.yaml":  "extends: mid.yaml\nstages: [kinds]\n",
		"dir/refused.yaml": "extends: base\nstages: [kinds: {count: 0}]\n",
	})
	load := func(name, text string) *Policy { return mustDecode(t, name, text, resolve) }

	p := load("dir/p.yaml", "extends: mid.yaml\nwindow: {context: 9}\nset: {kinds.style: chars, window.overhead: 6}\n")
	k := p.Stages[1].Params.(*kinds)
	must.Say(t, "p the base 2026-01-02 own", p.Name, p.About, p.Date, p.Truth)
	if p.Window.Context != 9 || sharedOf(&p.Stages[2]).Buffer != 2 || p.Window.Overhead != (Overhead{6, true}) {
		t.Errorf("window %+v, shared %+v", p.Window, p.Stages[2].Shared)
	}
	must.Say(t, "3 5 7 chars", len(p.Stages), k.Count, k.Free, k.Style)
	must.Rows(t, `
window.context | dir/p.yaml:2:19
window.buffer  | dir/mid.yaml:2:18
window.tail    | ""
kinds          | base:6:16
kinds.count    | dir/mid.yaml:3:20
kinds.gap      | base:6:16
kinds.style    | dir/p.yaml:3:20
`, func(key, want string) {
		same(t, want, p.Position(key).String(), key)
	})

	p = load("dir/sub/p.yaml", "extends: up.yaml\n")
	must.Equal(t, p.Stages[1].Params.(*kinds).Count, 5, "a file two folders up was not found")
	// A list of stages replaces the other's, parameters and all.
	p = load("dir/p.yaml", "extends: stages.yaml\n")
	if k := p.Stages[0].Params.(*kinds); len(p.Stages) != 1 || k.Count != 3 || k.Free != 0 {
		t.Errorf("stages %+v", p.Stages)
	}
	same(t, "dir/stages.yaml:2:10", p.Position("kinds.count").String(), "position")
}

func TestSet(t *testing.T) {
	p := mustDecode(t, "p.yaml", "stages: [kinds, picky, bare, sweep]\n", nil)
	for _, kv := range [][3]string{
		{"kinds.count", "5", "5"},
		{"kinds.tools", "[Read, Grep]", "[Read, Grep]"},
		{"kinds.tools", "Read", "[Read]"},
		{"kinds.per_tool", "{Read: none, Bash: 3}", "{Bash: 3, Read: none}"},
		{"kinds.limit", "", "none"},
		{"kinds.limit", "7", "7"},
		{"kinds.note", "", "''"},
		{"kinds.note", "true story", "true story"},
		{"kinds.gap", "1h", "1h"},
		{"kinds.summary", "[outline, fixed: 9]", "[outline, {fixed: 9}]"},
		{"kinds.trigger", "tool_uses: 3", "{tool_uses: 3}"},
		{"kinds.auto", "auto", "auto"},
		{"window.buffer", "0", "0"},
		{"window.percent", "80", "'80'"},
		{"window.percent", "", "''"},
		{"picky.high", "9", "9"},
		{"picky.low", "9", "9"},
	} {
		if err := p.Set(kv[0], kv[1]); err != nil {
			t.Errorf("%s=%s: %v", kv[0], kv[1], err)
		} else if got, err := p.Get(kv[0]); err != nil || got != kv[2] {
			t.Errorf("%s=%s: got %q, %v, want %q", kv[0], kv[1], got, err, kv[2])
		}
	}

	before := string(Marshal(p))
	for _, kv := range [][3]string{
		{"count", "5", `"count" names no parameter: did you mean kinds.count?`},
		{"kinds", "5", `"kinds" names no parameter: write kinds.NAME: use one of switch, count, `},
		{"bare", "5", `"bare" names no parameter: write bare.NAME: write when`},
		{"kind.count", "5", `the policy p has no stage "kind": did you mean kinds? the others are window, cache, picky, bare, sweep`},
		{"compress.enabled", "false", `the policy p has no stage "compress": use one of window, cache, kinds, picky, bare, sweep`},
		{"window.room", "1", `no stage of the policy reads window.room: leave it out`},
		{"kinds.cont", "5", `kinds: unknown parameter "cont": did you mean count?`},
		{"window.contxt", "5", `window: unknown parameter "contxt": did you mean context? the others are models, overhead, `},
		{"kinds.count", "5000", "kinds.count: 5000 is out of range: give 1 to 9"},
		{"kinds.count", "", "kinds.count: empty where a whole number belongs: give it, such as 5"},
		{"kinds.count", "[", `kinds.count: "[" cannot be read (not YAML: did not find expected node content while parsing a flow node): give one value, as YAML`},
		{"kinds.count", "5\n---\n6", `kinds.count: "5\n---\n6" cannot be read (a second document begins here): give one value, as YAML`},
		{"kinds.tools", "[&a A, *a]", `kinds.tools: "[&a A, *a]" cannot be read (anchors are not allowed): give one value, as YAML`},
		{"window.percent", "0", `window.percent: "0" is no percentage: give 1 to 100`},
		{"picky.high", "1", "picky: low 9 is over high 1: swap them"},
	} {
		err := p.Set(kv[0], kv[1])
		if err == nil || !strings.HasPrefix(err.Error(), kv[2]) {
			t.Errorf("%s=%s: got %v, want %s", kv[0], kv[1], err, kv[2])
		}
	}
	same(t, before, string(Marshal(p)), "a refused value changed the policy")
	if _, err := p.Get("kinds.cuont"); err == nil {
		t.Error("Get of an unknown key gave no error")
	}
}

func TestTruthOfChanges(t *testing.T) {
	resolve := library(map[string]string{"base": "truth: oracle\nstages: [kinds, picky]\n"})
	must.Rows(t, `
"extends: base\n"   | oracle
"extends: base\nabout: other words\nset: {kinds.count: 3}\n" | oracle  # the default
"extends: base\nset: {kinds.count: 7}\n" | own
"extends: base\nstages: [kinds]\n" | own
"extends: base\nversion: '2'\n" | own
"extends: base\ntruth: described\nset: {kinds.count: 7}\n" | described
"stages: [kinds]\n" | ""
`, func(text string, want Truth) {
		must.Equal(t, mustDecode(t, "p.yaml", text, resolve).Truth, want, text)
	})
	p := mustDecode(t, "base", "truth: oracle\nstages: [kinds]\n", nil)
	if p.Set("kinds.count", "0") == nil || p.Truth != TruthOracle {
		t.Errorf("a refused value changed the truth to %q", p.Truth)
	}
	err := p.Set("kinds.count", "7")
	must.Say(t, "<nil> own", err, p.Truth)
}

func TestKeys(t *testing.T) {
	p := mustDecode(t, "p.yaml", "stages: [bare, picky]\n", nil)
	keys := p.Keys()
	want := []string{"bare.when", "picky.low", "picky.high", "picky.when"}
	must.Say(t, "true window.context", cmp.Equal(want, keys[len(WindowParameters())+len(CachingParameters()):]), keys[0])
}

// The window block has the shared parameters that stages of the policy read.
func TestSharedKeys(t *testing.T) {
	must.Rows(t, `
[]                | context models overhead tail answer
[trim, fold]      | context models overhead tail answer
[sweep]           | context models overhead tail answer buffer percent active
[compress, sweep] | context models overhead tail answer buffer percent active
[spare]           | context models overhead tail answer room
[spare, compress] | context models overhead tail answer buffer percent active room
`, func(stages, want string) {
		p := mustDecode(t, "p.yaml", "window: {buffer: 1, room: 2}\nstages: "+stages+"\n", nil)
		var keys []string
		for _, key := range p.Keys() {
			if name, ok := strings.CutPrefix(key, "window."); ok {
				keys = append(keys, name)
			}
		}
		same(t, want, strings.Join(keys, " "), stages)
		text := string(Marshal(p))
		must.Rows(t, `
# key | line
buffer | "\n  buffer: 1\n"
room   | "\n  room: 2\n"
`, func(key, line string) {
			read := slices.Contains(keys, key)
			if _, err := p.Get("window." + key); (err == nil) != read || strings.Contains(text, line) != read {
				t.Errorf("%s: Get %s: %v, Marshal:\n%s", stages, key, err, text)
			}
		})
		same(t, "p.yaml:1:18", p.Position("window.buffer").String(), stages)
	})
}

// A copy shares nothing with the policy, nor a policy with the registry.
func TestCloneSharesNothing(t *testing.T) {
	reg := testRegistry(t)
	p := must.Get(Decode("p.yaml", []byte("stages: [kinds: {limit: 3, least: {tool_uses: 2}}, sweep]\n"), reg, nil))(t)
	before := string(Marshal(p))
	c := p.Clone()
	k := c.Stages[0].Params.(*kinds)
	k.Tools[0], k.PerTool["Grep"], *k.Limit, k.Least.Value, k.Summary[0].Kind = "X", 1, 9, 9, SummaryOutline
	sharedOf(&c.Stages[1]).Buffer = 1
	c.at["kinds"] = Position{}
	same(t, before, string(Marshal(p)), "the copy's change reached the policy")
	must.Equal(t, p.Position("kinds").Line, 1, "the copy's change reached the positions")
	p.Stages[0].Params.(*kinds).Tools[0] = "Y"
	sharedOf(&p.Stages[1]).Buffer = 2
	if d, _ := reg.Lookup("sweep"); !cmp.Equal(madeShared().Params, d.Shared.Params) {
		t.Errorf("a policy's change reached the shared parameters of the registry: %+v", d.Shared.Params)
	}
	d, _ := reg.Lookup("kinds")
	same(t, defineKinds().Params, d.Params, "a policy's change reached the registry")
}

func TestDiff(t *testing.T) {
	a := mustDecode(t, "a.yaml", "about: x\nwindow: {percent: 9}\nstages: [kinds, bare, spare]\n", nil)
	b := mustDecode(t, "b.yaml", "about: x\ntruth: oracle\nwindow: {buffer: 1, room: 3, overhead: 5}\nstages: [picky, kinds: {tools: [], gap: 90s}, sweep]\n", nil)
	want := []Change{
		{"name", "a", "b"},
		{"truth", "", "oracle"},
		{"stages", "[kinds, bare, spare]", "[picky, kinds, sweep]"},
		{"window.overhead", "auto", "5"},
		{"window.room", "7", ""},
		{"kinds.gap", "1h", "1m30s"},
		{"kinds.tools", "[Read, Bash]", "[]"},
		{"window.buffer", "", "1"},
		{"window.percent", "", "''"},
		{"window.active", "", "true"},
		{"picky.low", "", "1"},
		{"picky.high", "", "2"},
		{"sweep.offset", "", "20000"},
		{"sweep.keep", "", "3"},
		{"sweep.least", "", "4"},
		{"sweep.most", "", "9"},
	}
	must.Equal(t, Diff(a, b), want)
	release := func(product, from string) *Policy {
		return mustDecode(t, "r", "product: "+product+"\nvalid: {from: "+from+", source: tests}\nstages: []\n", nil)
	}
	own := mustDecode(t, "r", "stages: []\n", nil)
	for _, c := range []struct {
		a, b *Policy
		want int
	}{{release("x", "2026-01-02"), own, 0}, {own, release("x", "2026-01-02"), 0}, {release("x", "2026-01-02"), release("y", "2026-01-03"), 2}} {
		must.Equal(t, len(Diff(c.a, c.b)), c.want)
	}
	if changes := Diff(a, a.Clone()); len(changes) > 0 {
		t.Errorf("a policy differs from itself: %v", changes)
	}
}

func TestMarshal(t *testing.T) {
	p := mustDecode(t, "p.yaml", "date: 2026-01-25\nabout: \"two\\nlines: yes\"\nstages: [bare, kinds: {note: '123', style: chars}]\n", nil)
	want := `name: p
about: "two\nlines: yes"
date: 2026-01-25
window:
  context: auto
`
	got := string(Marshal(p))
	if !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s", got)
	}
	want = `stages:
  - bare
  - kinds:
      switch: true
      count: 3
      free: 0
      auto: auto
      share: 0.5
      style: chars
      note: '123'
      gap: 1h
      tools: [Read, Bash]
      modes: []
      per_tool: {Grep: 20000, Read: none}
      limit: none
      turns: all
      summary: [recorded, {fixed: 5000}]
      trigger: {input_tokens: 100000}
      least: none
`
	if _, stages, _ := strings.Cut(got, "stages:"); "stages:"+stages != want {
		t.Error(cmp.Diff(want, "stages:"+stages))
	}
}

// TestCounts writes numbers of tokens as people do.
func TestCounts(t *testing.T) {
	p := mustDecode(t, "p.yaml", `
window: {context: 1m, overhead: 18.8k, buffer: 13_000}
stages: [kinds: {summary: [fixed: 2.5k], trigger: {input_tokens: 100K}}, compress]
set: {kinds.least: {type: input_tokens, value: 1k}}
`, nil)
	k := p.Stages[0].Params.(*kinds)
	if p.Window.Context != 1e6 || p.Window.Overhead != (Overhead{18800, true}) || sharedOf(&p.Stages[1]).Buffer != 13000 {
		t.Errorf("window %+v", p.Window)
	}
	must.Say(t, "2500 100000 1000", k.Summary[0].Tokens, k.When.Value, k.Least.Value)
	err := p.Set("window.context", "0.5M")
	must.Say(t, "<nil> 500000", err, p.Window.Context)
	must.Rows(t, `
kinds.count     | 1k
kinds.free      | 1k
kinds.trigger   | {tool_uses: 1k}
window.overhead | 2G
window.context  | 0
kinds.summary   | fixed: 0k
`, func(key, value string) {
		if p.Set(key, value) == nil {
			t.Errorf("%s: %s is taken", key, value)
		}
	})
}

// TestOverhead tells no system prompt from one of unknown size.
func TestOverhead(t *testing.T) {
	for text, want := range map[string]Overhead{"auto": {}, "0": {0, true}, "18.8k": {18800, true}} {
		p := mustDecode(t, "p.yaml", "window: {overhead: "+text+"}\nstages: []\n", nil)
		back := mustDecode(t, "p.yaml", string(Marshal(p)), nil)
		if p.Window.Overhead != want || back.Window.Overhead != want {
			t.Errorf("%s: %+v, again %+v", text, p.Window.Overhead, back.Window.Overhead)
		}
		if text == "0" && (&Check{linter: &linter{Policy: p}}).Overhead() != 0 {
			t.Error("lint assumes an overhead")
		}
	}
	for _, text := range []string{"-1", "none", "1.5", "[1]", "true"} {
		if err := mustDecode(t, "p.yaml", "stages: []\n", nil).Set("window.overhead", text); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}
