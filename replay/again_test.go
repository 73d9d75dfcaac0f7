package replay_test

import (
	"encoding/json"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay"
)

// TestRecordAgain holds that a record whose edits a replay gave up has the same recorded track as one that kept them.
func TestRecordAgain(t *testing.T) {
	conv := load(t, shipped+"/big-2.1.139.jsonl").Main
	recorded := func(before ...string) string {
		rec := must.Get(replay.NewRecord(conv))(t)
		for _, name := range before {
			must.Get(rec.Replay(named(t, name), replay.Options{}))(t)
		}
		tl := must.Get(rec.Replay(replay.RecordedTrack(), replay.Options{Regret: true}))(t)
		data := must.Get(json.Marshal(tl))(t)
		return string(data)
	}
	if fresh, again := recorded(), recorded("none", "claude-code-2.1.139"); fresh != again {
		t.Error("after replays of policies the recorded track is another")
	}
}
