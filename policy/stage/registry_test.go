package stage

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
)

func registry(t *testing.T) policy.Registry {
	t.Helper()
	reg, err := policy.NewRegistry(All())
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

// Each stage says what it does, where that is written down, and shows it.
func TestDefinitions(t *testing.T) {
	for _, d := range registry(t).Definitions() {
		switch d.Truth {
		case policy.TruthRecorded, policy.TruthOracle, policy.TruthDocumented, policy.TruthDescribed:
		default:
			t.Errorf("%s: truth %q", d.Name, d.Truth)
		}
		if d.Source == "" || !strings.HasSuffix(d.Summary, ".") {
			t.Errorf("%s: summary %q, source %q", d.Name, d.Summary, d.Source)
		}
		if !strings.HasPrefix(d.Example, "before: ") || !strings.Contains(d.Example, "\nafter:  ") {
			t.Errorf("%s: no before and after in its example:\n%s", d.Name, d.Example)
		}
	}
}

func TestPresets(t *testing.T) {
	want := map[string]map[string]string{
		"three-layer": {
			"three_layer_micro.keep_recent": "3", "three_layer_micro.min_chars": "100",
			"three_layer_auto.threshold": "50000", "three_layer_auto.source_chars": "80000", "three_layer_auto.max_output": "2000",
		},
		"anthropic-context-editing": {
			"clear_thinking.keep": "auto", "clear_tool_uses.trigger": "{input_tokens: 100000}", "clear_tool_uses.keep": "3",
			"clear_tool_uses.clear_at_least": "none", "clear_tool_uses.exclude_tools": "[]", "clear_tool_uses.clear_tool_inputs": "false",
		},
	}
	for name, figures := range want {
		p, err := preset.Load(name, registry(t))
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for key := range figures {
			if got[key], err = p.Get(key); err != nil {
				t.Error(err)
			}
		}
		if diff := cmp.Diff(figures, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// What the API documents can be written down, and nothing else.
func TestServerSideNotation(t *testing.T) {
	p, err := preset.Load("anthropic-context-editing", registry(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range []struct{ key, value, want string }{
		{"clear_thinking.keep", "all", "all"}, {"clear_thinking.keep", "2", "2"}, {"clear_thinking.keep", "auto", "auto"},
		{"clear_thinking.keep", "0", ""}, {"clear_thinking.keep", "some", ""},
		{"clear_tool_uses.trigger", "{type: tool_uses, value: 50}", "{tool_uses: 50}"}, {"clear_tool_uses.trigger", "50", ""},
		{"clear_tool_uses.clear_tool_inputs", "true", "true"}, {"clear_tool_uses.clear_tool_inputs", "[Bash, Read]", "[Bash, Read]"},
		{"clear_tool_uses.clear_tool_inputs", "3", ""}, {"clear_tool_uses.clear_at_least", "140000", "140000"},
	} {
		err := p.Set(set.key, set.value)
		if set.want == "" {
			if err == nil {
				t.Errorf("%s=%s: no error", set.key, set.value)
			}
			continue
		}
		if got, _ := p.Get(set.key); err != nil || got != set.want {
			t.Errorf("%s=%s: %s, %v", set.key, set.value, got, err)
		}
	}
}
