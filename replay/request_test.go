package replay_test

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/wire"
)

// TestRequestOf: the messages of a call's own request weigh what the call counts, at every call of the policies that
// say what they send, whatever was dropped or put back.
func TestRequestOf(t *testing.T) {
	files, err := filepath.Glob("../testdata/sessions/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	marked, put := 0, 0
	for _, text := range []string{
		"claude-code-2.1.19 200000", "claude-code-2.1.19 60000", "claude-code-2.1.119 45000", "claude-code-pipeline 100000", "opencode-1.1.36 100000", "timed 60000", "timed 100000",
	} {
		name, window, _ := strings.Cut(text, " ")
		pol := written(t, "stages: [microcompact_time: {gap: 0s, keep_recent: 0}, autocompact]")
		if name != "timed" {
			pol = named(t, name)
		}
		opt := replay.Options{}
		if opt.Window, err = strconv.Atoi(window); err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			rec, err := replay.NewRecord(load(t, file).Main)
			if err != nil {
				t.Fatal(err)
			}
			tl, err := rec.Replay(pol, opt)
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range tl.Requests {
				if row.Kind != "compaction" || len(row.Events) == 0 {
					continue
				}
				q, err := rec.RequestOf(pol, opt, row.Events[0])
				if err != nil {
					t.Fatal(err)
				}
				if q.Call.Input != row.Tokens || q.Stage != tl.Events[row.Events[0]].Stage {
					t.Errorf("%s, %s, event %d: %d tokens by %s, the replay has %d", text, file, q.Event, q.Call.Input, q.Stage, row.Tokens)
				}
				got, marker := messages(q)
				if marker > 0 {
					marked++
				}
				if want := q.Call.Input - q.Overhead - q.Call.Prompt - marker; got != want {
					t.Errorf("%s, %s, event %d: messages of %d tokens, the call counts %d", text, file, q.Event, got, want)
				}
				for _, e := range q.View.Edits() {
					if e.New != nil && e.New.Ref != nil && e.Kind == policy.KindClear {
						put++
					}
				}
				if body, err := wire.Model(q.View); err != nil || len(body.Messages) == 0 {
					t.Errorf("%s, %s: %v", text, file, err)
				}
			}
		}
	}
	if marked == 0 || put == 0 {
		t.Errorf("%d requests were cut, in %d results were put back: the samples try nothing", marked, put)
	}
}

// messages are the tokens of a request's messages without the prompt and the marker, and what is counted for that.
func messages(q *replay.OwnRequest) (tokens, marker int) {
	edits := q.View.Edits()
	asked := edits[len(edits)-1].Insert
	for _, e := range edits {
		if e.Kind == policy.KindTag && e.Request == edits[len(edits)-1].Request {
			tokens -= e.After - e.Before // this request's, which the call is counted without
		}
	}
	for id := range q.View.Items {
		switch s := q.View.Synthetic(id); {
		case s != nil && s.Label == "truncated":
			marker = policy.RoundQuarter(len(s.Contents[0].Text))
		case !slices.ContainsFunc(asked, func(a policy.Synthetic) bool { return a.ID == id }):
			tokens += q.View.Weight(id)
		}
	}
	for _, t := range q.Without {
		tokens -= q.View.BlockTokens(t)
	}
	return tokens, marker
}

func TestCallEvent(t *testing.T) {
	rec, err := replay.NewRecord(load(t, "../testdata/sessions/big.jsonl").Main)
	if err != nil {
		t.Fatal(err)
	}
	pol := named(t, "opencode-1.1.36")
	tl, err := rec.Replay(pol, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if k, ok := tl.CallEvent(0); !ok || k != 0 {
		t.Errorf("the last call is of event %d, %t", k, ok)
	}
	if _, ok := tl.CallEvent(131); ok {
		t.Error("a call before request 131")
	}
	if _, err := rec.RequestOf(pol, replay.Options{}, 1); err == nil {
		t.Error("a prune makes a call")
	}
}
