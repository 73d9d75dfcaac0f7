package compare_test

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/replay"
)

// recordOf is the record of a file's main conversation.
func recordOf(t *testing.T, file string) *replay.Record {
	t.Helper()
	f, err := session.Load(file, session.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	rec, err := replay.NewRecord(f.Main)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// named are built-in policies.
func named(t *testing.T, names ...string) []*policy.Policy {
	t.Helper()
	reg, err := stage.Registry()
	if err != nil {
		t.Fatal(err)
	}
	presets, list := preset.New(reg), make([]*policy.Policy, len(names))
	for i, name := range names {
		if list[i], err = presets.Load(name); err != nil {
			t.Fatal(err)
		}
	}
	return list
}
