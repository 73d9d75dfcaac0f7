//go:build ci

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/report/golden"
)

// recorded are the measurements of a short run.
func recorded(t *testing.T) *record {
	t.Helper()
	text := must.Get(os.ReadFile("testdata/record.json"))(t)
	var rec record
	must.Do(t, json.Unmarshal(text, &rec))
	return &rec
}

func TestPage(t *testing.T) {
	const notes = "Each policy counts for itself.\n"
	var b bytes.Buffer
	rec := recorded(t)
	must.Do(t, writePage(&b, rec, notes))
	page := b.String()
	must.Say(t, "true false", strings.Contains(page, "**A trial with 0.02 of the data"), strings.Contains(page, "yes"))
	b.Reset()
	rec.Scale = 1
	must.Do(t, writePage(&b, rec, notes))
	golden.Check(t, "testdata/page.md", b.Bytes())
}

func TestWithoutOthers(t *testing.T) {
	rec := recorded(t)
	rec.Scale = 1
	rec.Missing = []string{"script", "ccusage and gpt-tokenizer (no folder for tools is named)"}
	for _, r := range rec.Runs {
		for key := range r {
			if _, name, _ := strings.Cut(key, "/"); strings.HasPrefix(name, "ccusage") || name == "gpt-tokenizer" {
				delete(r, key)
			}
		}
	}
	var b bytes.Buffer
	must.Do(t, writePage(&b, rec, ""))
	page := b.String()
	for _, want := range []string{"Not on this machine, so not measured: script; ccusage and", "| at most 0.9 |  |  |  | not measured |"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, "| ccusage") {
		t.Errorf("the page has figures of ccusage:\n%s", page)
	}
}

func TestJudge(t *testing.T) {
	runs := []run{{"a/x": {CPU: 1}, "a/y": {CPU: 2}}, {"a/x": {CPU: 3}, "a/y": {CPU: 2}}}
	value := func(r run) float64 { return r.ratio("a/x", "a/y") }
	for _, c := range []struct {
		bar  bar
		held string
	}{
		{bar{must: 1.5, value: value}, yes},
		{bar{must: 1.4, value: value}, no},
		{bar{must: 0.5, least: true, value: value}, yes},
		{bar{must: 0.6, least: true, value: value}, no},
		{bar{must: 1, value: func(r run) float64 { return r.ratio("a/x", "a/z") }}, unmeasured},
		{bar{must: 1, value: func(r run) float64 { return r["a/x"].MiB / r["a/z"].MiB }}, unmeasured},
	} {
		if cells, held := c.bar.judge(runs); held != c.held || len(cells) != 2 {
			t.Errorf("%+v: %q, held %s, want %s", c.bar, cells, held, c.held)
		}
	}
}

func TestMeasure(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	list := []command{
		{name: "list", args: []string{self, "-test.list", "TestMeasure"}},
	}
	found, err := interleaved(list, 2)
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	if f := found["list"]; f.CPU <= 0 || f.Wall <= 0 || f.First <= 0 || f.First > f.Wall {
		t.Errorf("%+v", f)
	}
	list = append(list, command{name: "flag", args: []string{self, "-test.nosuchflag"}})
	if _, err := interleaved(list, 1); err == nil {
		t.Error("a command that failed is measured")
	}
}

func TestData(t *testing.T) {
	const scale = 0.0005
	dir := t.TempDir()
	d := place(dir, scale)
	must.Do(t, d.create(scale))
	ten, err := os.ReadFile(d.ten)
	must.Say(t, "<nil> 10", err, bytes.Count(ten, []byte("\n")))
	for folder, n := range map[string]int{d.oneDir: 1, d.many: d.manyN, d.fleet: d.fleetN, d.first: d.firstN} {
		files, err := filepath.Glob(filepath.Join(folder, "projects", "*", "*.jsonl"))
		if err != nil || len(files) != n {
			t.Errorf("%s: %d sessions, %v, want %d", folder, len(files), err, n)
		}
	}
	one, err := os.Stat(d.one)
	if err != nil || one.Size() < 100_000 || one.Size() > 200_000 {
		t.Errorf("%v, %v, want 100 kB", one, err)
	}
	s, err := jsonl.Open(d.one)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Each(1, jsonl.ReadOptions{}, func(it *jsonl.Item) error {
		must.Equal(t, it.Kind, jsonl.ItemEntry, it.Line)
		return nil
	}); err != nil {
		t.Error(err)
	}
	if err := d.create(1); err == nil {
		t.Error("data of another scale are taken")
	}
	text, err := sessionText(d.one, 20_000)
	must.Say(t, "<nil> 20000", err, len(text))
}
