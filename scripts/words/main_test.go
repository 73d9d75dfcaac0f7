package main

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// TestWords holds that no page, policy file, string or comment has an expression of the list.
func TestWords(t *testing.T) {
	findings, err := search(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
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
	findings, err := search(folder)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range findings {
		text, _, _ := strings.Cut(f.String(), ": write ")
		got = append(got, text)
	}
	want := `a.md:3: "goes by" c.go:3: "front" c.go:4: "misses" policy/p.yaml:2: "Beside"`
	if strings.Join(got, " ") != want {
		t.Errorf("found %s, want %s", strings.Join(got, " "), want)
	}
}
