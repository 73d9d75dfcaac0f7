package replay_test

import (
	"bytes"
	"os"
	"regexp"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay"
)

// TestSealedSummary: the client's call for a compaction reads the session's prefix and writes a summary, as large as it
// is recorded, or as is usual where the recording was cleared of it.
func TestSealedSummary(t *testing.T) {
	content := must.Get(os.ReadFile("../jsonl/internal/codex/testdata/rollout.jsonl"))(t)
	redacted := regexp.MustCompile(`QQQQ+=*`).ReplaceAll(content, []byte("REDACTED"))
	if bytes.Equal(content, redacted) {
		t.Fatal("no encrypted summary")
	}
	for _, c := range []struct {
		name    string
		content []byte
		least   int
		most    int
	}{{"recorded", content, 100, 1783}, {"redacted", redacted, 1784, 1784}} {
		f := must.Get(session.LoadReader(c.name, bytes.NewReader(c.content), session.LoadOptions{}))(t)
		defer f.Close()
		tl := must.Get(replay.Run(f.Main, replay.RecordedTrack(), replay.Options{}))(t)
		var calls []replay.Request
		for i := range tl.Requests {
			if r := tl.Requests[i]; r.Kind == "compaction" {
				calls = append(calls, r)
			}
		}
		if len(calls) != 2 || calls[0].Output < c.least || calls[0].Output > c.most || calls[0].Cache.Read == 0 {
			t.Errorf("%s: calls %+v", c.name, calls)
		}
	}
}
