package replay_test

import (
	"encoding/json"
	"testing"

	"github.com/ctxkit/ctxkit/replay"
)

// TestRecordAgain holds that a record whose edits a replay gave up has the same recorded track as one that kept them.
func TestRecordAgain(t *testing.T) {
	conv := load(t, shipped+"/big-2.1.139.jsonl").Main
	recorded := func(before ...string) string {
		rec, err := replay.NewRecord(conv)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range before {
			if _, err := rec.Replay(named(t, name), replay.Options{}); err != nil {
				t.Fatal(err)
			}
		}
		tl, err := rec.Replay(replay.RecordedTrack(), replay.Options{Regret: true})
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(tl)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if fresh, again := recorded(), recorded("none", "claude-code-2.1.139"); fresh != again {
		t.Error("after replays of policies the recorded track is another")
	}
}
