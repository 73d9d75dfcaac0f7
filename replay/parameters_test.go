package replay_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
)

// idle are parameters that change nothing a replay of the sample sessions computes, with the reason.
func idle() map[string]string {
	return map[string]string{
		"codex_compaction.model_change": "no sample has two models of Codex",
		"codex_compaction.reasoning":    "Claude's thinking is not counted, and the samples are Claude's",
		"drop_images.by":                "no sample has an image: the stage's own tests have some",
		"drop_images.keep":              "the same",
		"codex_compaction.images":       "no sample has images in prompts that do not fit: the stage's own tests have",
		"autocompact.max_output":        "it is in the request for a summary, which view shows",
		"drop_images.placeholder":       "the same",
		"gemini_compression.estimate":   "no sample has a result whose two estimates are on either side of a limit: the stage's oracle cases have",
		"drop_images.step":              "the same",
		"pi_compaction.manual":          "what a user compacts by hand in the samples is less than the stage keeps",
		"post_compact.skill_tokens":     "no sample has invoked a skill before a compaction",
		"post_compact.skills_tokens":    "no sample has invoked a skill before a compaction",
		"program.command":               "no program may be started: the stage's own tests start one",
		"program.timeout":               "the same",
		"snip.ids":                      "a trial names a message of its session: the stage's own tests have it",
	}
}

// fitting are policies under which a parameter can act where it cannot with the stage's other defaults.
func fitting() map[string]string {
	return map[string]string{
		"autocompact.ptl_gap":               "window: {context: 45000}\nstages: [autocompact]",
		"autocompact.refill_requests":       "window: {context: 45000}\nstages: [autocompact: {max_refills: 1}]",
		"autocompact.idle_tokens":           "stages: [autocompact: {idle_after: 1m}]",
		"codex_compaction.buffer":           "window: {context: 60000}\nstages: [codex_compaction: {form: new_context, token_limit: 30000}]",
		"crush_summarize.buffer":            "window: {context: 250000}\nstages: [crush_summarize]",
		"clear_tool_results.clear_at_least": "stages: [clear_tool_results: {library: python, trigger: 20000}]",
		"gemini_compression.after_failure":  "window: {context: 100000}\nstages: [gemini_compression: {response_budget: 100, cut_chars: 100, verify: false, summary: [fixed: 600000]}]",
		"gemini_compression.cut_lines":      "window: {context: 60000}\nstages: [gemini_compression: {cut: lines, response_budget: 100}]",
		"gemini_compression.cut_chars":      "window: {context: 60000}\nstages: [gemini_compression: {cut: chars, response_budget: 100}]",
		"opencode_compaction.reserved":      "stages: [opencode_compaction: {count: '1.18', input_limit: 100000}]",
		"opencode_prune.protected_tools":    "stages: [opencode_prune: {protect: 0, minimum: 0, protected_tools: []}]",
		"post_compact.long_files":           "stages: [autocompact, post_compact: {file_tokens: 100}]",
		"roo_condense.cut":                  "window: {context: 60000}\nstages: [roo_condense: {condense: false}]",
		"summarize.manual":                  "stages: [summarize: {keep: 0}]",
		"three_layer_auto.tool":             "stages: [three_layer_auto]",
	}
}

// TestParametersAct: every parameter of every stage changes the requests, events or totals of some sample session under
// some policy with the stage, or stands in idle.
func TestParametersAct(t *testing.T) {
	must.BeCI(t)
	reg := must.Get(registry())(t)
	a := &parameterTrial{t: t, reg: reg, presets: presets(t), base: map[string]string{}, records: map[string]*replay.Record{}}
	a.sessions()
	idle, fitting := idle(), fitting()
	for _, d := range reg.Definitions() {
		bases := a.bases(d)
		for _, p := range d.Parameters() {
			key := d.Name + "." + p.Name
			if _, ok := idle[key]; ok {
				delete(idle, key)
				continue
			}
			fit := bases
			if text := fitting[key]; text != "" {
				fit = []*policy.Policy{a.policy(key, text)}
			}
			if !a.acts(fit, key, p) {
				t.Errorf("%s changes nothing: mend it, remove it, or say why in idle", key)
			}
		}
	}
	for key := range idle {
		t.Errorf("%s is no parameter", key)
	}
}

type parameterTrial struct {
	t       *testing.T
	reg     policy.Registry
	presets []*policy.Policy
	files   []string
	records map[string]*replay.Record
	base    map[string]string // output by base policy and session
}

// sessions are the sample sessions, the small ones first.
func (a *parameterTrial) sessions() {
	files, err := filepath.Glob("../testdata/sessions/*.jsonl")
	more, errMore := filepath.Glob("../testdata/sessions/*/*.jsonl")
	if err != nil || errMore != nil || len(files) == 0 {
		a.t.Fatal(err, errMore)
	}
	size := map[string]int{}
	for _, f := range append(files, more...) {
		conv := load(a.t, f).Main
		a.records[f], size[f] = recordOf(a.t, conv), len(conv.Messages)
		if len(conv.Requests) > 0 {
			a.files = append(a.files, f)
		}
	}
	slices.SortFunc(a.files, func(x, y string) int { return size[x] - size[y] })
}

// bases are policies that have the stage: it alone, in two windows, and the built-in ones.
func (a *parameterTrial) bases(d policy.Definition) []*policy.Policy {
	var list []*policy.Policy
	for _, text := range []string{
		"stages: [" + d.Name + "]",
		"window: {context: 60000}\nstages: [" + d.Name + "]",
	} {
		list = append(list, a.policy(strconv.Itoa(len(text))+d.Name, text))
	}
	for _, p := range a.presets {
		if p.Has(d.Name) {
			list = append(list, p)
		}
	}
	return list
}

func (a *parameterTrial) policy(name, text string) *policy.Policy {
	p := must.Get(policy.Decode(name, []byte(text), a.reg, nil))(a.t)
	return p
}

// acts looks for a value, a policy and a session with another output.
func (a *parameterTrial) acts(bases []*policy.Policy, key string, p policy.Param) bool {
	for _, base := range bases {
		var changed []*policy.Policy
		for _, v := range values(p) {
			if q := base.Clone(); q.Set(key, v) == nil {
				changed = append(changed, q)
			}
		}
		for _, f := range a.files {
			at := base.Name + " " + f
			if a.base[at] == "" {
				a.base[at] = a.output(base, f)
			}
			for _, q := range changed {
				if a.output(q, f) != a.base[at] {
					return true
				}
			}
		}
	}
	return false
}

// output is what a replay computes. A policy that the replay refuses has none.
func (a *parameterTrial) output(p *policy.Policy, file string) string {
	tl, err := a.records[file].Replay(p, replay.Options{})
	if err != nil {
		return "-"
	}
	text := must.Get(json.Marshal([]any{tl.Requests, tl.Events, tl.Totals}))(a.t)
	return string(text)
}

// values to try. Those that the parameter does not take are passed over.
func values(p policy.Param) []string {
	list := append([]string{}, p.Enum...)
	list = append(list, "true", "false")
	if x, err := strconv.ParseFloat(p.Default, 64); err == nil && x != 0 {
		for _, by := range []float64{0.1, 0.5, 2, 10} {
			list = append(list, strconv.FormatFloat(x*by, 'f', -1, 64))
		}
	}
	list = append(list, "0", "1", "3", "0.01", "1000", "20000", "60000", "1s", "100h", "none", "auto", "all", "[]", "[Read]", "[Bash, Read]", "[bash]", "[read]", "TodoWrite", "Bash", "outline",
		"fixed: 77", "{tool_uses: 3}", "{input_tokens: 20000}", "{Bash: 10}", `""`, "a word of one's own")
	return slices.DeleteFunc(list, func(v string) bool { return v == p.Default })
}
