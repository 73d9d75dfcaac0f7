package compare_test

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/replay"
)

// recordOf is the record of a file's main conversation.
func recordOf(t *testing.T, file string) *replay.Record {
	t.Helper()
	f := must.Get(session.Load(file, session.LoadOptions{}))(t)
	t.Cleanup(func() { f.Close() })
	rec := must.Get(replay.NewRecord(f.Main))(t)
	return rec
}

// named are built-in policies.
func named(t *testing.T, names ...string) []*policy.Policy {
	t.Helper()
	reg := must.Get(stage.Registry())(t)
	presets, list := preset.New(reg), make([]*policy.Policy, len(names))
	for i, name := range names {
		list[i] = must.Get(presets.Load(name))(t)
	}
	return list
}
