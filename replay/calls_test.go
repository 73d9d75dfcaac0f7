package replay_test

import (
	"path/filepath"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/replay"
)

// A call that goes out as the session's own requests do is billed for what the
// server has not dropped, and reads what the last of them left.
func TestCallsReadWhatTheSessionLeft(t *testing.T) {
	reg, err := policy.NewRegistry(stage.All())
	if err != nil {
		t.Fatal(err)
	}
	pol, err := preset.Load("claude-code-pipeline", reg)
	if err != nil {
		t.Fatal(err)
	}
	f, err := session.Load(filepath.Join("..", "testdata", "sessions", "big.jsonl"), session.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tl, err := replay.Run(f.Main, pol, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cleared, calls, main := false, 0, 0
	for i, r := range tl.Requests {
		for _, n := range r.Events {
			switch tl.Events[n].Kind {
			case policy.KindCacheEdit:
				cleared = true
			case policy.KindSummarize, policy.KindClear:
				cleared = false // what was dropped may be gone
			}
		}
		switch r.Kind {
		case "main":
			main = r.Payload
		case "session_memory":
			if !cleared || r.Cache.Miss != nil {
				break
			}
			calls++
			if r.Payload >= r.Tokens {
				t.Errorf("row %d: %d tokens are sent of a view of %d, and the server has dropped some", i, r.Payload, r.Tokens)
			}
			if r.Cache.Read != main && r.Cache.Read > 0 {
				t.Errorf("row %d reads %d, the request before it left %d", i, r.Cache.Read, main)
			}
		}
	}
	if calls == 0 {
		t.Error("no upkeep of session memory came after a cache edit: nothing was tested")
	}
}
