package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/scripts/generator"
)

func TestDocsAreCurrent(t *testing.T) {
	stale := must.Get(generator.Generator(generate).Stale(filepath.FromSlash("../../docs")))(t)
	for path := range stale {
		t.Errorf("%s is stale: run go generate .", path)
	}
}

// TestStagesAreDocumented checks what the page takes from each stage.
func TestStagesAreDocumented(t *testing.T) {
	reg := must.Get(stage.Registry())(t)
	for _, d := range reg.Definitions() {
		if d.Source == "" || d.Truth == "" || d.Example == "" {
			t.Errorf("stage %s: give it a source, a truth and an example", d.Name)
		}
		if !strings.HasSuffix(d.Summary, ".") {
			t.Errorf("stage %s: the summary is not a sentence: %q", d.Name, d.Summary)
		}
		for _, p := range d.Parameters() {
			if strings.HasSuffix(p.Doc, ".") {
				t.Errorf("stage %s: the doc of %s ends with a stop: leave it out, its type follows", d.Name, p.Name)
			}
		}
	}
}

// TestIntro reads the policy files that the introduction shows, and checks that its table has every key of a file.
func TestIntro(t *testing.T) {
	reg := must.Get(stage.Registry())(t)
	examples := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(intro, -1)
	if len(examples) == 0 {
		t.Error("no example")
	}
	for _, m := range examples {
		p, err := policy.Decode("example", []byte(m[1]), reg, preset.Resolve(reg))
		if err != nil {
			t.Errorf("%s: %v", m[1], err)
			continue
		}
		for _, f := range policy.Lint(p) {
			t.Errorf("%s: %v", m[1], f)
		}
	}
	var schema struct{ Properties map[string]any }
	must.Do(t, json.Unmarshal(policy.Schema(reg), &schema))
	described := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\|((?: `[a-z]+`,?)+) \\|").FindAllStringSubmatch(intro, -1) {
		for key := range strings.SplitSeq(row[1], ",") {
			described[strings.Trim(key, " `")] = true
		}
	}
	for key := range schema.Properties {
		if !described[key] {
			t.Errorf("the table has no key %s", key)
		}
	}
	for key := range described {
		if schema.Properties[key] == nil {
			t.Errorf("the table has a key %s, which is none of a policy file", key)
		}
	}
}

// TestLinks checks that every link within the page leads to one of its headings.
func TestLinks(t *testing.T) {
	reg := must.Get(stage.Registry())(t)
	text := must.Get(page(reg))(t)
	headings := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllSubmatch(text, -1) {
		headings[strings.ReplaceAll(strings.ToLower(string(m[1])), ".", "")] = true
	}
	links := regexp.MustCompile(`\]\(#([^)]*)\)`).FindAllSubmatch(text, -1)
	if len(links) == 0 {
		t.Error("no links")
	}
	for _, m := range links {
		if !headings[string(m[1])] {
			t.Errorf("no heading for #%s", m[1])
		}
	}
}

// keepLast is the parameters of a stage that is registered outside policy/stage.
type keepLast struct {
	Trigger int `yaml:"trigger" doc:"messages leave once used reaches this" unit:"tokens" min:"1"`
}

// Limits are what decides when the stage acts.
func (p *keepLast) Limits(l *policy.StageLimits) {
	l.Add(policy.Limit{Name: "keep-last limit", Operator: ">=", Tokens: p.Trigger, Of: policy.OfContext, Acts: true})
}

// TestPageOfOwnFamily finds a stage and a policy that are registered outside policy/stage on the page.
func TestPageOfOwnFamily(t *testing.T) {
	own := policy.Family{
		Name: "own", Title: "An agent of one's own",
		Presets: fstest.MapFS{"own-window.yaml": {Data: []byte("name: own-window\nabout: Keeps the last messages.\nsource: this test\ndate: 2026-11-22\ntruth: described\nstages: [keep_last]\n")}},
		Stages: []policy.Definition{{
			Name: "keep_last", Summary: "Keeps the last messages.", Source: "this test", Truth: policy.TruthDescribed, Moments: policy.Prepare,
			Params: &keepLast{120000},
			New:    func(any) (policy.Stage, error) { return nil, nil },
		}},
	}
	reg := must.Get(policy.NewRegistry(append(stage.Families(), own)...))(t)
	text := must.Get(page(reg))(t)
	for _, want := range []string{"### own-window", "Keeps the last messages.", "`trigger`", "keep-last limit 120,000"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q on the page", want)
		}
	}
}
