package preset_test

import (
	"io/fs"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
)

// opened counts how often each file is opened.
type opened struct {
	fs.FS
	times map[string]int
}

func (o opened) Open(name string) (fs.File, error) {
	o.times[name]++
	return o.FS.Open(name)
}

// A library reads each file at most once, however many sessions it loads policies for, and decodes a policy once.
func TestReadOnce(t *testing.T) {
	times := map[string]int{}
	families := stage.Families()
	for i := range families {
		if families[i].Presets != nil {
			families[i].Presets = opened{families[i].Presets, times}
		}
	}
	reg := must.Get(policy.NewRegistry(families...))(t)
	presets := preset.New(reg)
	clear(times) // of the lists of files
	load := func(name string) {
		for _, version := range []string{"2.1.19", "2.1.60", "2.1.230", ""} {
			must.Get(presets.LoadFor(name, preset.Client{Product: "claude-code", Version: version}))(t)
		}
	}
	names := []string{"claude-code", "claude-code@recorded-version", "claude-code-2.1.37", "opencode", "claude-code@2.1.99"}
	for _, name := range names {
		load(name)
	}
	if len(times) == 0 {
		t.Error("no file was opened")
	}
	for file, n := range times {
		if n > 1 {
			t.Errorf("%s: opened %d times", file, n)
		}
	}
	for _, name := range names {
		cold := testing.AllocsPerRun(1, func() {
			must.Get(preset.Load(name, reg))(t)
		})
		if warm := testing.AllocsPerRun(5, func() { load(name) }) / 4; warm > cold/3 {
			t.Errorf("%s: %.0f allocations where it is loaded again, %.0f by a new library", name, warm, cold)
		}
	}
}

// What a caller sets in a policy is not in the next one.
func TestLoadCopies(t *testing.T) {
	presets := preset.New(registry(t))
	const key = "autocompact.enabled"
	first := must.Get(presets.Load("claude-code-2.1.19"))(t)
	before := must.Get(first.Get(key))(t)
	must.Do(t, first.Set(key, "false"))
	second := must.Get(presets.Load("claude-code-2.1.19"))(t)
	if got, err := second.Get(key); err != nil || got != before || before == "false" {
		t.Errorf("%s is %s (%v), want %s", key, got, err, before)
	}
	if second.Score == nil {
		t.Error("without its score")
	}
}
