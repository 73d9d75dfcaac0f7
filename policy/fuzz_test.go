package policy

import (
	"errors"
	"strings"
	"testing"
)

// FuzzDecode feeds rubbish to the decoder: it never panics, ends, gives every error a place in the file, and what it
// accepts survives being written out.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		"", "stages: []\n", "recorded: true\n", "extends: base\nset: {kinds.count: 3}\n",
		"name: a\nabout: b\nsource: c\ndate: 2026-01-25\ntruth: oracle\nwindow: {context: 1_000, percent: 80, buffer: 3}\nstages: [bare, compress]\n",
		"stages:\n  - kinds:\n      switch: false\n      count: 9\n      free: -7\n      auto: auto\n      share: .5\n      style: chars\n      note: \"a\\nb\"\n      gap: 1h30m\n",
		"stages:\n  - kinds: {tools: [a, b], modes: c, per_tool: {Read: none, Bash: 3}, limit: none, turns: all}\n",
		"stages:\n  - kinds: {summary: [recorded, outline, fixed: 3], trigger: {type: tool_uses, value: 3}, least: {input_tokens: 4}}\n",
		"a: &a [*a, *a]\nb: *a\n<<: *a\n", "? [a, b]\n: c\n", "stages: !!set {a, b}\n", "--- \n...\n--- 1\n", "stages: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[]\n",
		"stages: [picky: {low: 5}]\n", "window: {buffer: 1, room: 2, active: false}\nstages: [sweep, recall, compress, spare, fold, trim, refill]\n", "%YAML 1.1\n---\nstages: []\n", "\ufeffstages: []\r\nname: x\r\n", "name: |+\n  a\n\n\nstages: []\n",
	} {
		f.Add([]byte(s))
	}
	reg := testRegistry(f)
	resolve := library(map[string]string{"base": "stages: [kinds, bare]\n", "self": "extends: self\n", "bad": "stages: 3\n"})
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Decode("p.yaml", data, reg, resolve)
		if err != nil {
			checkErrors(t, data, err)
			return
		}
		checkRoundTrip(t, reg, p)
		Lint(p)
	})
}

func checkErrors(t *testing.T, data []byte, err error) {
	t.Helper()
	lines := strings.Count(strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n").Replace(string(data)), "\n") + 1
	var list Errors
	if !errors.As(err, &list) || len(list) == 0 {
		t.Fatalf("a %T without errors", err)
	}
	for _, e := range list {
		if e.Line < 1 || e.Column < 1 || e.Msg == "" || e.File == "p.yaml" && e.Line > lines+1 {
			t.Fatalf("no place for %v in %d lines", e, lines)
		}
		if strings.ContainsAny(e.Error(), "\n\x1b") {
			t.Fatalf("control characters in %q", e.Error())
		}
	}
}

// FuzzSet changes parameters at random: it never panics, a refused value leaves the policy as it was, an accepted one
// survives being written out.
func FuzzSet(f *testing.F) {
	for _, kv := range [][2]string{
		{"kinds.count", "5"}, {"kinds.tools", "[a, b]"}, {"kinds.per_tool", "{Read: none}"}, {"kinds.limit", ""}, {"kinds.note", "a: b"},
		{"kinds.gap", "1h"}, {"kinds.summary", "[outline, fixed: 9]"}, {"kinds.trigger", "tool_uses: 3"}, {"window.percent", "80x"}, {"window.buffer", "7"}, {"window.room", "7"},
		{"picky.low", "9"}, {"kinds", "1"}, {"", ""}, {".", "~"}, {"kinds.note", "\"\\0\""}, {"kinds.share", "1e-3"},
	} {
		f.Add(kv[0], kv[1])
	}
	reg := testRegistry(f)
	base := mustDecode(f, "p.yaml", "stages: [kinds, picky, bare, sweep]\n", nil)
	before := string(Marshal(base))
	f.Fuzz(func(t *testing.T, key, value string) {
		p := base.Clone()
		if err := p.Set(key, value); err != nil {
			if err.Error() == "" || string(Marshal(p)) != before {
				t.Fatalf("refused with %q, and changed", err)
			}
			return
		}
		checkRoundTrip(t, reg, p)
		if string(Marshal(base)) != before {
			t.Fatal("a copy's change reached the policy")
		}
	})
}
