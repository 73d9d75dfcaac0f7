package opencode_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/ctxkit/ctxkit/policy/stage/opencode"
)

func TestTruthy(t *testing.T) {
	for value, want := range map[string]bool{
		"true": true, "1": true, "-1": true, `"x"`: true, "{}": true, "[]": true, `{"title":"a"}`: true,
		"false": false, "null": false, "0": false, "0.0": false, `""`: false,
	} {
		info := opencode.Info{Summary: opencode.Truthy(!want)}
		if err := json.Unmarshal([]byte(`{"summary": `+value+`}`), &info); err != nil || bool(info.Summary) != want {
			t.Errorf("%s: %t, %v", value, info.Summary, err)
		}
	}
}

// TestTailStart has tail_start_ids that point nowhere useful.
func TestTailStart(t *testing.T) {
	all := []string{"msg_0001", "msg_0002", "msg_0003", "msg_0004", "msg_0005"}
	for start, want := range map[string][]string{
		"":         all[2:],                                                      // no tail
		"msg_0003": all[2:],                                                      // the compaction itself
		"msg_0002": {"msg_0003", "msg_0004", "msg_0002", "msg_0005"},             // an assistant message
		"msg_0001": {"msg_0003", "msg_0004", "msg_0001", "msg_0002", "msg_0005"}, // everything
		"msg_0005": all,                                                          // newer than the compaction
		"msg_9999": all,                                                          // unknown
	} {
		var s session
		s.user(text("one"))
		s.assistant("stop", text("done"))
		s.user(opencode.Part{Type: opencode.PartCompaction, TailStartID: &start})
		s.assistant("stop", text("summary")).Info.Summary = true
		s.user(text("two"))
		for _, v := range opencode.Versions() {
			want := want
			if v.Name == "pinned" {
				want = all[2:]
			}
			var got []string
			for _, m := range v.FilterCompacted(s.messages) {
				got = append(got, m.Info.ID)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: tail from %q: %v, want %v", v.Name, start, got, want)
			}
		}
	}
}
