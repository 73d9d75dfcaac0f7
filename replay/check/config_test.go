package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy/strict"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/exact"
)

const head = "version: 1\nsessions: a.jsonl\nbaseline: b.json\n"

const decodings = `
# name | text, where HEAD is the beginning of most | what is wrong, "" for nothing | a schema cannot say that
least | "version: 1\ncases:\n  - policy: none\n    sessions: a.jsonl\n    expect: {events: 0}\n" | "" | false
most | "HEAD\ntokens: heuristic\nagent: all\nmodel: m\nwindow: 200k\noverhead: 100\nprices: p.json\nregret: true\nwithin: 2%\nallow_changes: true\nallow: [refused]\ncases:\n  - name: x\n    policy: opencode,opencode_prune.protect=1\n    set: {opencode_prune.minimum: 3, a.b: [c, d]}\n    sessions: [b.jsonl, 'c/**/*.jsonl']\n    within: 5\n    allow_changes: false\n    expect: {events: any, calls: 3, cost_usd: {within: 0.5 %}, misses: {min: 1, max: 2.5}, violations: {equals: 0}}\n" | "" | false
empty | "" | c.yaml:1:1: the file is empty: write version, sessions and cases (docs/check.md has an example) | false
a list | "[]" | c.yaml:1:1: a list is not a configuration: write keys and values, such as | false
no version | "sessions: a\ncases: [{policy: none, expect: {events: 0}}]" | c.yaml:1:1: no version: write "version: 1" at the top | false
version in words | "version: one\nsessions: a\ncases: [{policy: none, expect: {events: 0}}]" | c.yaml:1:10: version: "one" is not a whole number | false
a newer version | "version: 2\nsessions: a\ncases: [{policy: none, expect: {events: 0}}]" | c.yaml:1:10: version: 2 is not a version that is known: write 1 | false
no cases in the list | "HEAD\ncases: []" | c.yaml:4:8: cases: the list is empty: list them | false
no tolerance | "HEAD\nwithin: none\ncases: [{policy: none}]" | c.yaml:4:9: within: "none" is not a distance | false
no cases | "HEAD\n" | c.yaml:1:1: no cases: list them | false
cases that are none | "HEAD\ncases: {policy: none}" | c.yaml:4:8: cases: a map is not a list: list them | false
a case that is a word | "HEAD\ncases: [none]" | c.yaml:4:9: cases: "none" is not a map | false
no policy | "HEAD\ncases: [{name: x}]" | c.yaml:4:9: cases: no policy: write | false
empty policy | "HEAD\ncases: [{policy: ''}]" | c.yaml:4:18: cases.policy: empty: write a word | false
unknown key | "HEAD\ncases: [{policy: none, expects: {}}]" | c.yaml:4:24: cases: unknown key "expects": did you mean expect? | false
key twice | "HEAD\ncases: [{policy: none, policy: x}]" | c.yaml:4:24: key "policy" is here twice | true
name twice | "HEAD\ncases:\n  - policy: none\n  - policy: none\n" | c.yaml:6:5: case "none" is here twice, first on line 5: give each case a name of its own | true
no sessions | "version: 1\nbaseline: b\ncases: [{policy: none}]" | c.yaml:3:9: case "none" has no sessions | true
empty sessions | "version: 1\nbaseline: b\nsessions: []\ncases: [{policy: none}]" | c.yaml:3:11: sessions: the list is empty | false
sessions of maps | "version: 1\nbaseline: b\nsessions: [{a: b}]\ncases: [{policy: none}]" | c.yaml:3:12: sessions: a map where text belongs | false
no faults expected | "version: 1\nsessions: a\ncases: [{policy: none}]" | "" | false
every fault allowed | "version: 1\nsessions: a\nallow: [refused, violations, preserved_thinking, thrash]\ncases: [{policy: none, expect: {failed_compactions: any}}]" | c.yaml:4:9: case "none" expects nothing, allows every fault, and there is no baseline: write what to expect | true
faults of a case | "HEAD\nallow: [refused]\ncases: [{policy: none, allow: []}, {policy: codex, allow: thrash}]" | "" | true
an unknown fault | "HEAD\nallow: [cost_usd]\ncases: [{policy: none}]" | c.yaml:4:9: allow: "cost_usd" is not one of its values: use one of misses, refused, | false
within nothing | "version: 1\nsessions: a\ncases: [{policy: none, expect: {events: {within: 1, max: 2}}}]" | c.yaml:3:33: events: within needs a baseline, and there is none | true
unknown figure | "HEAD\ncases: [{policy: none, expect: {cost: 1}}]" | "c.yaml:4:33: expect: unknown figure \"cost\": did you mean " | false
unknown limit | "HEAD\ncases: [{policy: none, expect: {events: {most: 1}}}]" | c.yaml:4:42: events: unknown key "most": use one of min, max, equals, within | false
no number | "HEAD\ncases: [{policy: none, expect: {events: few}}]" | c.yaml:4:41: events: "few" is not a number | false
number in quotes | "HEAD\ncases: [{policy: none, expect: {events: {max: '3'}}}]" | c.yaml:4:47: events.max: "3" is not a number | false
a number with a letter | "HEAD\ncases: [{policy: none, expect: {model_peak: {max: 160k, within: 1.5k}, payload_peak: 1m}}]" | "" | true
infinity | "HEAD\ncases: [{policy: none, expect: {events: {max: .inf}}}]" | c.yaml:4:47: events.max: ".inf" is not a number | true
a list of limits | "HEAD\ncases: [{policy: none, expect: {events: [1]}}]" | c.yaml:4:41: events: a list is not a map | false
no limit | "HEAD\ncases: [{policy: none, expect: {events: {}}}]" | c.yaml:4:41: events: a map without a limit | false
equals and max | "HEAD\ncases: [{policy: none, expect: {events: {equals: 1, max: 2}}}]" | c.yaml:4:41: events: equals next to min or max | false
min above max | "HEAD\ncases: [{policy: none, expect: {events: {min: 2, max: 1}}}]" | c.yaml:4:41: events: min is above max | true
negative tolerance | "HEAD\nwithin: -1\ncases: [{policy: none}]" | c.yaml:4:9: within: "-1" is not a distance from the baseline | false
a tolerance of words | "HEAD\ncases: [{policy: none, within: two%}]" | c.yaml:4:32: cases.within: "two%" is not a distance | false
a flag of words | "HEAD\nallow_changes: maybe\ncases: [{policy: none}]" | c.yaml:4:16: allow_changes: "maybe" is not true or false | false
a set of words | "HEAD\ncases: [{policy: none, set: a.b=c}]" | c.yaml:4:29: cases.set: "a.b=c" is not a map | false
an anchor | "HEAD\ncases: [{policy: &a none}]" | c.yaml:4:18: anchors are not allowed | true
no YAML | "HEAD\ncases: [" | not YAML | true
control characters | "HEAD\ncases: [{policy: \"a\\u0007\"}]" | "c.yaml:4:18: cases.policy: " | true
`

// decoding is the text of a row.
func decoding(text string) []byte { return []byte(strings.Replace(text, "HEAD\n", head, 1)) }

func TestDecode(t *testing.T) {
	must.Rows(t, decodings, func(name, text, want string, _ bool) {
		_, err := Decode("c.yaml", decoding(text))
		if want == "" {
			must.Do(t, err)
			return
		}
		var list strict.Errors
		if !errors.As(err, &list) || !slices.ContainsFunc(list, func(e *strict.Error) bool { return strings.Contains(e.Error(), want) }) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	})
}

func TestDecoded(t *testing.T) {
	var c *Config
	must.Rows(t, decodings, func(name, text, _ string, _ bool) {
		if name == "most" {
			c = must.Get(Decode("c.yaml", decoding(text)))(t)
		}
	})
	one := c.Cases[0]
	if c.Counting != (Counting{Tokens: "heuristic", Agent: "all", Model: "m", Window: "200k", Overhead: "100", Cache: "equal", Regret: true}) || c.Prices != "p.json" || c.Baseline != "b.json" {
		t.Errorf("%+v", c)
	}
	if one.Within.String() != "5" || c.Within.String() != "2%" || *one.AllowChanges || !c.AllowChanges || len(c.SessionsOf(0)) != 2 {
		t.Errorf("%+v", one)
	}
	must.Equal(t, one.PolicyArgument(one.Policy.Text), "opencode,opencode_prune.protect=1,opencode_prune.minimum=3,a.b=[c, d]")
	if e := one.Expect[2]; e.Figure != "cost_usd" || e.Within.Share != exact.Of(5, 3) || e.Line != 21 {
		t.Errorf("%+v", e)
	}
	if e := one.Expect[3]; e.Min.String() != "1" || e.Max.String() != "2.5" {
		t.Errorf("%+v", e)
	}
}

// TestSchema holds that the published schema takes and refuses what Decode does, but for what a schema cannot say.
func TestSchema(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "check.schema.json")
	s := must.Get(jsonschema.NewCompiler().Compile(path))(t)
	must.Rows(t, decodings, func(name, yamlText, want string, lax bool) {
		var v any
		if err := yaml.Load(decoding(yamlText), &v); err != nil {
			return
		}
		text, err := json.Marshal(v)
		if err != nil {
			return // no JSON, so nothing to hold
		}
		doc := must.Get(jsonschema.UnmarshalJSON(bytes.NewReader(text)))(t)
		if err := s.Validate(doc); err != nil && want == "" {
			t.Errorf("%s: the schema refuses it: %v", name, err)
		} else if err == nil && want != "" && !lax {
			t.Errorf("%s: the schema takes it", name)
		}
	})
	var doc struct {
		Defs       map[string]struct{ Enum []string } `json:"$defs"`
		Properties map[string]struct {
			Items struct {
				Properties map[string]struct {
					PropertyNames struct{ Enum []string }
				}
			}
		}
	}
	text := must.Get(os.ReadFile(path))(t)
	must.Do(t, json.Unmarshal(text, &doc))
	cases := doc.Properties["cases"].Items.Properties
	must.Equal(t, doc.Defs["fault"].Enum, append([]string{"misses"}, compare.FaultNames()...))
	must.Equal(t, cases["expect"].PropertyNames.Enum, compare.Names())
	keys := func(ptr any) []string {
		fields := must.Get(strict.Fields(ptr))(t)
		return strict.Names(fields)
	}
	for _, key := range keys(&Config{}) {
		if _, ok := doc.Properties[key]; !ok {
			t.Errorf("the schema has no %s", key)
		}
	}
	for _, key := range keys(&Case{}) {
		if _, ok := cases[key]; !ok {
			t.Errorf("the schema has no case key %s", key)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for row := range strings.Lines(decodings) {
		var text string
		if cells := strings.Split(row, " | "); len(cells) == 4 && json.Unmarshal([]byte(cells[1]), &text) == nil {
			f.Add(decoding(text))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Decode("c.yaml", data)
		if err == nil && (len(c.Cases) == 0 || c.Cases[0].Policy.Text == "") {
			t.Errorf("no case in %q", data)
		}
	})
}
