package main

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// TestWords holds that no page, policy file, string or comment has an expression of the list.
func TestWords(t *testing.T) {
	findings := must.Get(search(os.DirFS("../..")))(t)
	for _, f := range findings {
		t.Error(f)
	}
}

// TestSearch finds expressions in each kind of text, and none in code, names, keys and generated parts.
func TestSearch(t *testing.T) {
	folder := fstest.MapFS{
		"a.md":             {Data: []byte("# A page\n\nIt goes by age.\n\n```\nit goes by age\n```\n\n<!-- begin -->\nmisses\n<!-- end -->\n`misses`, cache misses\n")},
		"docs/b.md":        {Data: []byte("<!-- Generated -->\nmisses\n")},
		"policy/p.yaml":    {Data: []byte("truth: recorded\nabout: Beside the summary.\n")},
		"c.go":             {Data: []byte("package c\n\n// Front is a name, a front is a term.\nvar Front = []string{\"misses\", \"two misses\"}\n")},
		"c_test.go":        {Data: []byte("package c\n\n// misses\n")},
		"scripts/d/d.go":   {Data: []byte("package d\n\n// misses\n")},
		"testdata/page.md": {Data: []byte("misses\n")},
	}
	findings := must.Get(search(folder))(t)
	var got []string
	for _, f := range findings {
		text, _, _ := strings.Cut(f.String(), ": write ")
		got = append(got, text)
	}
	want := `a.md:3: "goes by" c.go:3: "front" c.go:4: "misses" policy/p.yaml:2: "Beside"`
	must.Equal(t, strings.Join(got, " "), want)
}
