package cmd

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay"
)

// labCallGaps are what is known to be otherwise, by session and call.
var labCallGaps = map[string]string{
	"claude-2.1.119 3":        "the recorded usage of this version has no reads: a digest of the request is at its beginning",
	"claude-2.1.210 3":        "a new process with a system prompt that happens to be the same: nothing in the repository had changed",
	"claude-2.1.260 3":        "the same",
	"claude-2.1.260-errors 1": "the same, one request before",
}

// TestLabCompactionCalls holds what compactions' own requests read from the simulated cache against what real clients'
// requests had in common with the request before: up to 2.1.85 nothing, then all of that request. CTXKIT_LAB names the
// folder of sessions and requests.
func TestLabCompactionCalls(t *testing.T) {
	dir := folderOf(t, "CTXKIT_LAB")
	folders, _ := filepath.Glob(filepath.Join(dir, "claude-*"))
	checked := 0
	for _, folder := range folders {
		all := labRead(t, folder)
		files, _ := filepath.Glob(filepath.Join(folder, "*.jsonl.gz"))
		for _, path := range files {
			want := labCalls(all, labLines(t, path))
			f := must.Get(session.Load(path, session.LoadOptions{}))(t)
			tl := must.Get(replay.Run(f.Main, replay.RecordedTrack(), replay.Options{}))(t)
			f.Close()
			var got []replay.Request
			for _, r := range tl.Requests {
				if r.Kind != "main" {
					got = append(got, r)
				}
			}
			if len(got) != len(want) {
				t.Errorf("%s: %d calls, want %d", filepath.Base(folder), len(got), len(want))
				continue
			}
			for i, r := range got {
				checked++
				call := fmt.Sprint(filepath.Base(folder), " ", i+1)
				t.Logf("%s: %+v of %d, true %+v", call, r.Cache.Split, r.Payload, want[i])
				off := func(got, want, percent int) bool { return max(got-want, want-got)*100 > want*percent }
				wrong := off(r.Cache.Read, want[i].read, 3) && max(r.Cache.Read, want[i].read) > 100 || off(r.Payload, want[i].total, 4)
				if gap := labCallGaps[call]; wrong != (gap != "") {
					t.Errorf("%s: %+v of %d tokens, want %+v; known: %q", call, r.Cache.Split, r.Payload, want[i], gap)
				}
			}
		}
	}
	if checked < 20 {
		t.Errorf("%d calls", checked)
	}
}

// labCall is what a compaction's own request had, in tokens.
type labCall struct{ total, read int }

// labCalls are the requests for the summaries that are on a file. The server of the lab compares a request with the one
// before byte by byte. In 2.1.119 a digest of the request is at its beginning, which no provider reads: there the request
// has all of the one before.
func labCalls(all []labRequest, raw string) (list []labCall) {
	main := labRequest{}
	for _, r := range all {
		switch {
		case r.Who == "main" && r.Answer.Error == nil:
			main = r
		case r.Who == "summary" && r.Of == "" && strings.Contains(raw, "request "+jsonText(r.N)+"."):
			c := labCall{total: r.Answer.U.Total, read: r.Answer.U.Read}
			if r.Tools == main.Tools && r.System != main.System {
				c.read = main.Answer.U.Total
			}
			list = append(list, c)
		}
	}
	return list
}
