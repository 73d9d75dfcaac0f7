package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/scripts/generator"
)

func TestDocsAreCurrent(t *testing.T) {
	stale, err := generator.Generator(generate).Stale(filepath.FromSlash("../../docs"))
	if err != nil {
		t.Fatal(err)
	}
	for path := range stale {
		t.Errorf("%s is stale: run go generate .", path)
	}
}

// TestStagesAreDocumented checks what the page takes from each stage.
func TestStagesAreDocumented(t *testing.T) {
	reg, err := stage.Registry()
	if err != nil {
		t.Fatal(err)
	}
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

// TestLinks checks that every link within the page leads to one of its headings.
func TestLinks(t *testing.T) {
	reg, err := stage.Registry()
	if err != nil {
		t.Fatal(err)
	}
	text, err := page(reg)
	if err != nil {
		t.Fatal(err)
	}
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
