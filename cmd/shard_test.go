package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestShards holds that shards are disjoint and complete, that they are the same wherever the folder is, and that what is
// added moves nothing.
func TestShards(t *testing.T) {
	var paths, moved []string
	for i := range 300 {
		paths = append(paths, fmt.Sprintf("/home/a/projects/p%d/s%d.jsonl", i%7, i))
		moved = append(moved, fmt.Sprintf("/mnt/x/%d.jsonl", i))
		moved[i] = strings.Replace(paths[i], "/home/a/projects", "/mnt/disk 2", 1)
	}
	more := append(slices.Clone(paths), "/home/a/projects/p9/new.jsonl")
	for of := 1; of <= 5; of++ {
		where := map[int]int{}
		for n := 1; n <= of; n++ {
			in, there, grown := &inputs{list: paths}, &inputs{list: moved}, &inputs{list: more}
			for _, in := range []*inputs{in, there, grown} {
				in.take(shard{n, of})
			}
			if !slices.Equal(in.at, there.at) || in.names != there.names {
				t.Errorf("shard %d of %d is another where the folder is elsewhere", n, of)
			}
			if grown.names == in.names || !slices.Equal(in.list, slices.DeleteFunc(grown.list, func(p string) bool { return p == more[300] })) {
				t.Errorf("shard %d of %d is another with one more session", n, of)
			}
			if len(in.list) < 300/of/2 {
				t.Errorf("shard %d of %d has %d of 300", n, of, len(in.list))
			}
			for i, at := range in.at {
				where[at]++
				if paths[at] != in.list[i] {
					t.Errorf("%d is %s", at, in.list[i])
				}
			}
		}
		for i := range paths {
			if where[i] != 1 {
				t.Errorf("%s is in %d of %d shards", paths[i], where[i], of)
			}
		}
	}
	one := &inputs{list: []string{"-", "/a/b/c.jsonl"}}
	if one.take(shard{}); len(one.list) != 2 || !slices.Equal(sharedNames(one.list), []string{"-", "c.jsonl"}) {
		t.Errorf("%+v", one)
	}
}

// TestRowsSchema holds every line of rows against the schema.
func TestRowsSchema(t *testing.T) {
	schema := schemaOf(t, "rows.v1.json")
	for _, args := range [][]string{
		{"--agent", "all", "--model", "claude-haiku-4-5", "--no-regret", "-p", "none,window.context=150k", "-p", "opencode"},
		{"-p", "recorded", "-p", "claude-code", "--window", "100k", "--shard", "1/2"},
	} {
		out := mustRun(t, append(strings.Fields("compare ../testdata/sessions -q -f rows"), args...)...)
		for line := range strings.Lines(string(out)) {
			v, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
			if err == nil {
				err = schema.Validate(v)
			}
			if err != nil {
				t.Fatalf("%q: %v", args, err)
			}
		}
	}
}

// fivePolicies are of all kinds.
var fivePolicies = strings.Fields("-p recorded -p claude-code -p opencode -p gemini-cli -p three-layer")

// TestShardsAreTheWhole compares five policies over the shipped sessions, and over every eighth real one (with
// CTXKIT_LONG=1 over all) where there are some: whole, and merged from shards, at one job and at four.
func TestShardsAreTheWhole(t *testing.T) {
	inputs := [][]string{{"../testdata/sessions"}}
	if dir := os.Getenv("CTXKIT_CORPUS"); dir != "" && !testing.Short() {
		inputs = append(inputs, every(8, sessionFiles(t, dir)))
	}
	dir := t.TempDir()
	for i, files := range inputs {
		run := func(args ...string) string { return string(mustRun(t, append(args, "-q")...)) }
		compare := append(append([]string{"compare"}, files...), fivePolicies...)
		want := run(append(compare, "-f", "json", "--jobs", "1")...)
		if got := run(append(compare, "-f", "json", "--jobs", "4")...); got != want {
			t.Errorf("input %d: four jobs give something else", i)
		}
		const shards = 3
		merge := strings.Fields("merge -f json")
		for n := 1; n <= shards; n++ {
			file := filepath.Join(dir, fmt.Sprint(n))
			run(append(compare, "-f", "rows", "-o", file, "--shard", fmt.Sprintf("%d/%d", n, shards), "--jobs", fmt.Sprint(n))...)
			merge = append(merge, file)
		}
		if got := run(merge...); got != want {
			t.Errorf("input %d: %d shards are not the whole", i, shards)
		}
	}
}
