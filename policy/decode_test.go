package policy

import (
	"errors"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// Each case is a file and every error it gives, in order.
func TestDecodeErrors(t *testing.T) {
	tests := []struct {
		name string
		text string
		want string
	}{
		{"empty", "", "p.yaml:1:1: the file is empty: write a policy"},
		{"comment only", "# nothing\n", "p.yaml:1:1: the file is empty: write a policy"},
		{"a list", "- a\n", `p.yaml:1:1: a list is not a policy: write keys and values, such as "stages: []"`},
		{"a word", "none\n", `p.yaml:1:1: a text is not a policy: write keys and values, such as "stages: []"`},
		{"a file of secrets", "//registry.example/:_authToken=SECRET\n", `p.yaml:1:1: a text is not a policy: write keys and values, such as "stages: []"`},
		{"a map of secrets", "SECRET: {SECRET: SECRET}\nSECRET: 1\n", `p.yaml:1:1: a map of other keys is not a policy: write keys and values, such as "stages: []"`},
		{"null", "~\n", `p.yaml:1:1: empty is not a policy: write keys and values, such as "stages: []"`},
		{"two documents", "stages: []\n---\nstages: []\n", "p.yaml:2:1: a second document begins here: keep one policy a file"},
		{"second document broken", "stages: []\n---\na: [\n", "p.yaml:4:1: not YAML: did not find expected node content while parsing a flow node: fix the syntax"},
		{"syntax", "stages: []\nwindow:\n  buffer: 1\n buffer: 2\n", "p.yaml:4:2: not YAML: did not find expected key while parsing a block mapping that began on line 1: fix the syntax"},
		{"a colon in a text", "about: a: b\n", "p.yaml:1:9: not YAML: mapping values are not allowed in this context: indent keys alike, and quote a text that holds a colon and a space"},
		{"tab", "window:\n\tbuffer: 1\n", "p.yaml:2:1: not YAML: found character that cannot start any token while scanning for the next token: fix the syntax"},
		{"not UTF-8", "about: \xff\n", "p.yaml:1:8: not text: byte 0xff: save the file as UTF-8 without control characters"},
		{"anchor and alias", "about: &a x\nsource: *a\nstages: []\n", lines(
			"p.yaml:1:8: anchors are not allowed: write the value out where it is needed",
			"p.yaml:2:9: aliases are not allowed: write the value out",
		)},
		{"tag", "about: !!str 3\nstages: []\n", `p.yaml:1:8: the type tag "!!str" is not allowed: leave it out`},
		{"key that is a list", "[a, b]: 3\nstages: []\n", "p.yaml:1:1: a key must be a word: write a name before the colon"},
		{"unknown key", "stage: []\nstages: []\n", `p.yaml:1:1: unknown key "stage": did you mean stages?`},
		{"duplicate key", "stages: []\nname: a\nname: b\n", `p.yaml:3:1: key "name" is here twice, first on line 2: keep one of them`},
		{"duplicate parameter", "stages: [kinds: {count: 1, count: 2}]\n", `p.yaml:1:28: key "count" is here twice, first on line 1: keep one of them`},
		{"name", "name: ''\nstages: []\n", "p.yaml:1:7: name: empty: write a word, or leave the key out"},
		{"about", "about: [a]\nsource: true\nstages: []\n", lines(
			"p.yaml:1:8: about: a list where text belongs: give it, such as a word",
			"p.yaml:2:9: source: true is not text: put it in quotes")},
		{"date", "date: 25 January\nstages: []\n", `p.yaml:1:7: date: "25 January" is not a date: write it as 2026-01-25`},
		{"truth", "truth: documentd\nstages: []\n", `p.yaml:1:8: truth: "documentd" is not one of its values: did you mean documented? the others are recorded, oracle, described, own`},
		{"recorded", "recorded: maybe\nstages: []\n", `p.yaml:1:11: recorded: "maybe" is not true or false: write true or false`},
		{"recorded with stages", "recorded: true\nstages: [bare]\n", "p.yaml:2:9: a recorded policy has stages: leave out either: `recorded` repeats the client's own edits"},
		{"no stages", "name: a\n", `p.yaml:1:1: the policy has no stages: list them under "stages:", [] for none, or say what it extends`},
		{"stages empty", "stages:\n", `p.yaml:1:8: stages: empty is not a list: write one stage a line, each after "- ", or [] for none`},
		{"stages a map", "stages: {bare: }\n", `p.yaml:1:9: stages: a map is not a list: write one stage a line, each after "- ", or [] for none`},
		{"stage a list", "stages: [[bare], ~, {}]\n", lines(
			"p.yaml:1:10: a list is not a stage: write its name",
			"p.yaml:1:18: empty is not a stage: write its name",
			`p.yaml:1:21: a stage with 0 keys: write "- NAME:" and its parameters below, indented by four more`)},
		{"unknown stage", "stages:\n  - kind\n", `p.yaml:2:5: unknown stage "kind": did you mean kinds? the others are bare, compress, fold, picky, recall, refill, spare, sweep, trim`},
		{"stage twice", "stages:\n  - bare\n  - kinds\n  - bare:\n", "p.yaml:4:5: stage bare is listed twice, first on line 2: keep one of them"},
		{"stage with two keys", "stages:\n  - kinds:\n    count: 4\n", `p.yaml:2:5: a stage with 2 keys: write "- NAME:" and its parameters below, indented by four more`},
		{"parameters a word", "stages: [kinds: 4]\n", `p.yaml:1:17: kinds: "4" is not a map of parameters: write them as NAME: VALUE, one a line`},
		{"parameters of a bare stage", "stages: [bare: {a: 1}]\n", `p.yaml:1:17: bare: unknown parameter "a": write when`},
		{"window a list", "window: [1]\nstages: []\n", "p.yaml:1:9: window: a list is not a map of parameters: write them as NAME: VALUE, one a line"},
		{"window", "window:\n  bufer: 1\n  context: 1.5\n  tail: last\n  active: no\nstages: []\n", lines(
			`p.yaml:2:3: window: unknown parameter "bufer": did you mean buffer? the others are context, models, overhead, tail, answer, percent, active, room`,
			`p.yaml:3:12: window.context: "1.5" is not a whole number: write digits, such as 1000, or auto`,
			`p.yaml:4:9: window.tail: "last" is not one of its values: did you mean after_last? the others are after_first`,
			`p.yaml:5:11: window.active: "no" is not true or false: write true or false`,
		)},
		{"percent", "window: {percent: x80}\nstages: [compress]\n", `p.yaml:1:19: window.percent: "x80" is no percentage: give 1 to 100`},
		{"percent that no stage reads", "window: {percent: x80}\nstages: []\n", `p.yaml:1:19: window.percent: "x80" is no percentage: give 1 to 100`},
		{"percent, left out", "extends: percent.yaml\nset: {window.percent: 101}\n", `p.yaml:2:23: window.percent: "101" is no percentage: give 1 to 100`},
		{"set what no stage reads", "stages: [spare]\nset: {window.room: 1, window.buffer: 1}\n", `p.yaml:2:23: no stage of the policy reads window.buffer: leave it out`},
		{"set", "stages: [kinds]\nset: {kinds.cuont: 1, kind.count: 2, kinds: 3, kinds.count: 10, x: 1}\n", lines(
			`p.yaml:2:7: kinds: unknown parameter "cuont": did you mean count?`,
			`p.yaml:2:23: the policy p has no stage "kind": did you mean kinds? the others are window, cache`,
			`p.yaml:2:38: "kinds" names no parameter: write kinds.NAME: use one of switch, count, free, auto, share, style, note, gap, tools, modes, per_tool, limit, turns, summary, trigger, least, when`,
			"p.yaml:2:61: kinds.count: 10 is out of range: give 1 to 9",
			`p.yaml:2:65: "x" names no parameter: use one of window.context, window.models, window.overhead, window.tail, window.answer, cache.breakpoints, cache.ttl, cache.system, cache.warm, kinds.switch, kinds.count, kinds.free, kinds.auto, kinds.share, kinds.style, kinds.note, kinds.gap, kinds.tools, kinds.modes, kinds.per_tool, …`,
		)},
		{"set a list", "stages: []\nset: [a]\n", "p.yaml:2:6: set: a list is not a map: write {stage.param: value}"},
		{"refused by the stage", "stages:\n  - picky: {low: 5}\n", "p.yaml:2:5: picky: low 5 is over high 2: swap them"},
		{"extends nothing", "extends:\n", "p.yaml:1:9: extends: empty is not a policy: name a built-in policy or a file"},
		{"extends unknown", "extends: other\nset: {kinds.count: 1, window.contxt: 3}\nstage: 1\n", lines(
			`p.yaml:1:10: extends: unknown policy "other": use a known one`,
			`p.yaml:2:23: window: unknown parameter "contxt": did you mean context? the others are models, overhead, tail, answer`,
			`p.yaml:3:1: unknown key "stage": did you mean stages?`,
		)},
		{"extends a broken one", "extends: bad.yaml\nset: {kinds.count: 10, kinds.x: 1}\nnam: x\n", lines(
			`p.yaml:3:1: unknown key "nam": did you mean name?`,
			"bad.yaml:1:26: kinds.count: 0 is out of range: give 1 to 9",
		)},
		{"extends itself", "extends: p.yaml\n", "p.yaml:1:10: extends: p.yaml extends itself (p.yaml -> p.yaml): break the circle"},
		{"extends in a circle", "extends: a.yaml\n", lines(
			"a.yaml:1:10: extends: p.yaml extends itself (p.yaml -> a.yaml -> p.yaml): break the circle")},
		{"refused with what it extends", "extends: picky.yaml\nset: {picky.high: 0}\n", "p.yaml:2:6: picky: low 1 is over high 0: swap them"},
		{"values", `stages:
  - kinds:
      switch: yes
      count: many
      free: 0x10
      auto: none
      share: 2
      style: short
      note: [a]
      gap: 60
      tools: {a: b}
      modes: [a, d, a]
      per_tool: [Read]
      limit: -1
      turns: none
      summary: [recorded, recorded, model]
      trigger: 100000
      least: {input_tokens: 0}
`, lines(
			`p.yaml:3:15: kinds.switch: "yes" is not true or false: write true or false`,
			`p.yaml:4:14: kinds.count: "many" is not a whole number: write digits, such as 3`,
			`p.yaml:5:13: kinds.free: "0x10" is not a whole number: write digits, such as 1000`,
			`p.yaml:6:13: kinds.auto: "none" is not a whole number: write digits, such as 1000, or auto`,
			"p.yaml:7:14: kinds.share: 2 is out of range: give 0 to 1",
			`p.yaml:8:14: kinds.style: "short" is not one of its values: use one of human, chars`,
			"p.yaml:9:13: kinds.note: a list where text belongs: give it, such as a word",
			`p.yaml:10:12: kinds.gap: "60" is not a duration: write it with its units, such as 60m or 1h30m`,
			"p.yaml:11:14: kinds.tools: a map is not a list: write it as [A, B], or [] for none",
			`p.yaml:12:18: kinds.modes: "d" is not one of its values: use one of a, b, c`,
			"p.yaml:12:21: kinds.modes: a is listed twice: keep one of them",
			"p.yaml:13:17: kinds.per_tool: a list is not a map: write it as {NAME: 1000, NAME: none}, or {} for none",
			"p.yaml:14:14: kinds.limit: -1 is out of range: give 0 or more",
			`p.yaml:15:14: kinds.turns: "none" is not a whole number: write digits, such as 1000, or all`,
			"p.yaml:16:27: kinds.summary: recorded is listed twice: keep one of them",
			`p.yaml:16:37: kinds.summary: "model" is not a source of summaries: write recorded, outline, typical or fixed: 5000`,
			"p.yaml:17:16: kinds.trigger: not a trigger: write {input_tokens: 100000} or {tool_uses: 50}",
			`p.yaml:18:14: kinds.least: "0" is not a trigger value: give a whole number of 1 or more`,
		)},
		{"more values", `stages:
  - kinds:
      switch: []
      count: 1_0
      free: 2000000000
      auto: 010
      share: .nan
      note: false
      gap: 2s3
      tools:
      modes: [a, ~, [b]]
      per_tool: {Read: -1, Bash: lots, Grep: [1]}
      limit: 1.5
      summary: {fixed: many}
      trigger: {type: bytes, value: 3}
      least: {type: tool_uses, value: -3, extra: 3}
`, lines(
			"p.yaml:3:15: kinds.switch: a list where true or false belongs: give it, such as true",
			"p.yaml:4:14: kinds.count: 1_0 is out of range: give 1 to 9",
			"p.yaml:5:13: kinds.free: 2000000000 is out of range: give 1000000000 or less",
			`p.yaml:6:13: kinds.auto: "010" is not a whole number: write digits, such as 1000, or auto`,
			`p.yaml:7:14: kinds.share: ".nan" is not a number: write digits, such as 0.5`,
			"p.yaml:8:13: kinds.note: false is not text: put it in quotes",
			`p.yaml:9:12: kinds.gap: "2s3" is not a duration: write it with its units, such as 60m or 1h30m`,
			"p.yaml:10:13: kinds.tools: empty is not a list: write it as [A, B], or [] for none",
			"p.yaml:11:18: kinds.modes: empty where text belongs: give it, such as a",
			"p.yaml:11:21: kinds.modes: a list where text belongs: give it, such as a",
			"p.yaml:12:24: kinds.per_tool.Read: -1 is out of range: give 0 or more, or none",
			`p.yaml:12:34: kinds.per_tool.Bash: "lots" is not a whole number: write digits, such as 1000, or none`,
			"p.yaml:12:46: kinds.per_tool.Grep: a list where a whole number belongs: give it, such as 1000, or none",
			`p.yaml:13:14: kinds.limit: "1.5" is not a whole number: write digits, such as 1000, or none`,
			"p.yaml:14:16: kinds.summary: a summary with a size is fixed: N: write recorded, outline, typical or fixed: 5000",
			`p.yaml:15:16: kinds.trigger: unknown trigger type "bytes": write {input_tokens: 100000} or {tool_uses: 50}`,
			"p.yaml:16:14: kinds.least: a trigger has a type and a value: write {input_tokens: 100000} or {tool_uses: 50}",
		)},
	}
	resolve := library(map[string]string{
		"bad.yaml":   "stages: [{kinds: {count: 0}}]\n",
		"a.yaml":     "extends: p.yaml\n",
		"p.yaml":     "extends: a.yaml\n",
		"picky.yaml": "stages: [picky]\n",

		"percent.yaml": "window: {percent: 80}\nstages: [compress]\n",
	})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Decode("p.yaml", []byte(tt.text), testRegistry(t), resolve)
			if err == nil {
				t.Fatalf("accepted: %+v", p)
			}
			must.Equal(t, strings.Split(err.Error(), "\n"), strings.Split(tt.want, "\n"))
			var list Errors
			if !errors.As(err, &list) || p != nil {
				t.Errorf("got a policy %v and a %T", p, err)
			}
		})
	}
}

func lines(s ...string) string { return strings.Join(s, "\n") }
