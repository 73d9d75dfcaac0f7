package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/wire"
)

// adapters are programs in docs/examples and the policies that say the same, both with settings that act in most
// sessions.
var adapters = []struct{ name, folder, command, stage string }{
	{"ClearToolUsesEdit", "langchain", `[node, clear-tool-uses.mjs, "20000", "3"]`, `clear_tool_results: {trigger: 20000, keep: 3}`},
	{"trimMessages", "langchain", `[node, trim-messages.mjs, "3000"]`, `trim_messages: {max_tokens: 3000}`},
	{"pruneMessages", "ai-sdk", `[node, prune-messages.mjs, none, before-last-6-messages]`, `prune_messages: {keep: 6}`},
}

// TestAdaptersAgree replays sessions through the real libraries and through the stages that reproduce them: at each
// request the same blocks are in view, with the same texts in place of others. CTXKIT_EXAMPLES is a copy of docs/examples
// with the packages installed (.ci/run adapters); the sessions are 20 of CTXKIT_CORPUS, else some shipped ones.
func TestAdaptersAgree(t *testing.T) {
	examples := folderOf(t, "CTXKIT_EXAMPLES")
	reg := must.Get(stage.Registry())(t)
	decode := func(file, text string) *policy.Policy {
		p := must.Get(policy.Decode(file, []byte("name: mine\nstages:\n  - "+text+"\n"), reg, nil))(t)
		return p
	}
	files := adapterSessions(t)
	for _, a := range adapters {
		t.Run(a.name, func(t *testing.T) {
			program := decode(filepath.Join(examples, a.folder, "mine.yaml"), "program: {command: "+a.command+", timeout: 60s}")
			own := decode("own.yaml", a.stage)
			requests, edits, differ := 0, 0, 0
			for _, file := range files {
				n, m, same := agree(t, file, program, own)
				if requests, edits = requests+n, edits+m; !same {
					differ++
				}
			}
			t.Logf("%d sessions, of which %d differ, %d requests, %d edits", len(files), differ, requests, edits)
			if differ > 0 {
				t.Errorf("%d of %d sessions differ", differ, len(files))
			}
			if edits < len(files)/2 {
				t.Errorf("only %d edits in %d sessions: the test tests too little", edits, len(files))
			}
		})
	}
}

// adapterSessions are 20 real sessions of middle size, or shipped ones.
func adapterSessions(t *testing.T) []string {
	root := os.Getenv("CTXKIT_CORPUS")
	if root == "" {
		var list []string
		for _, name := range strings.Fields("compaction.jsonl microcompact.jsonl parallel-tools.jsonl thinking.jsonl compaction-1.0.jsonl lost.jsonl replacement.jsonl preserved.jsonl") {
			list = append(list, filepath.Join("..", "testdata", "sessions", name))
		}
		return list
	}
	var all []string
	must.Do(t, filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() && strings.Contains(e.Name(), ".jsonl") && len(all) < 20 && wholly(t, path) {
			all = append(all, path)
		}
		return err
	}))
	if len(all) < 20 {
		t.Fatalf("%s has only %d sessions that fit", root, len(all))
	}
	return all
}

// wholly reports whether a program is told every text of a session of middle length that a stage counts. Where a text is
// not recorded, the stage counts its length, which is, and the program the few words that stand for it. Where a response
// has a text of white space alone, which the API refuses and nobody sends, the stage counts it as the client holds it, and
// the program is not told of it.
func wholly(t *testing.T, path string) bool {
	t.Helper()
	s, err := session.Load(path, session.LoadOptions{})
	if err != nil {
		return false
	}
	defer s.Close()
	if n := len(s.Main.Requests); n < 5 || n > 160 {
		return false
	}
	rec := must.Get(replay.NewRecord(s.Main))(t)
	v := must.Get(rec.ViewAt(nil, replay.Options{}, len(s.Main.Requests)+1))(t)
	for id := range v.Items {
		blocks := must.Get(wire.Item(v, id))(t)
		told, counted := 0, 0
		for _, b := range blocks {
			var block struct{ Text string }
			if b.Type == "text" && json.Unmarshal(b.JSON, &block) == nil {
				told += jsonl.Measure(block.Text).UTF16
			}
		}
		for b := range v.Blocks(id) {
			switch t := (policy.Target{Item: id, Block: b}); v.Kind(t) {
			case jsonl.KindToolUse, jsonl.KindToolResult, jsonl.KindThinking, jsonl.KindRedactedThinking, jsonl.KindImage:
			default:
				counted += v.Length(t).UTF16
			}
		}
		if told != counted {
			return false
		}
	}
	return true
}

// agree compares the views of two policies at each request.
func agree(t *testing.T, file string, program, own *policy.Policy) (requests, edits int, same bool) {
	t.Helper()
	s, err := session.Load(file, session.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	sys := newSystem(strings.NewReader(""), os.Stdout, os.Stderr)
	sys.programs.allowed = true
	rec := must.Get(replay.NewRecordWith(s.Main, replay.RecordOptions{Programs: &sys.programs}))(t)
	same = true
	err = rec.EachPair(program, own, replay.Options{}, func(n int, a, b *view.View) bool {
		requests, edits = n-1, len(b.Edits())
		if got, want := shownBlocks(a), shownBlocks(b); !slices.Equal(got, want) {
			i := 0
			for i < min(len(got), len(want)) && got[i] == want[i] {
				i++
			}
			same = false
			t.Logf("%s, request %d: the program has %q, the stage %q", filepath.Base(file), n, element(got, i), element(want, i))
			return false
		}
		return true
	})
	if err != nil {
		t.Error(err)
	}
	return requests, edits, same
}

func element(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}

// shownBlocks names what is sent of a view: each block, and what takes its place.
func shownBlocks(v *view.View) (list []string) {
	for id := range v.Items {
		if v.SentBlocks(id) == 0 {
			continue
		}
		for b := range v.Blocks(id) {
			t := policy.Target{Item: id, Block: b}
			text := "m" + strconv.Itoa(int(id)) + "." + strconv.Itoa(b)
			if c := v.Replacement(t); c != nil {
				if c.Gone {
					continue
				}
				text += fmt.Sprintf(" %.40q", c.Text)
			}
			list = append(list, text)
		}
	}
	return list
}
