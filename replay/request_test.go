package replay_test

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/wire"
)

// TestRequestOf: the messages of a call's own request weigh what the call counts, at every call of the policies that
// say what they send, whatever was dropped or put back.
func TestRequestOf(t *testing.T) {
	must.BeCI(t)
	files := must.Glob(t, 1, "../testdata/sessions/*.jsonl")
	records := map[string]*replay.Record{}
	for _, file := range files {
		records[file] = recordOf(t, load(t, file).Main)
	}
	marked, put := 0, 0
	cut, over := 0, 0 // tokens of the requests with cut results, and what their messages weigh more than counted
	for _, text := range []string{
		"claude-code-2.1.19 200000", "claude-code-2.1.19 60000", "claude-code-2.1.119 45000", "claude-code-pipeline 100000", "opencode-1.1.36 100000", "opencode-1.18 100000", "timed 60000", "timed 100000",
	} {
		name, window, _ := strings.Cut(text, " ")
		pol := written(t, "stages: [microcompact_time: {gap: 0s, keep_recent: 0}, autocompact]")
		if name != "timed" {
			pol = named(t, name)
		}
		opt := replay.Options{}
		opt.Window = must.Get(strconv.Atoi(window))(t)
		for _, file := range files {
			rec := records[file]
			tl := must.Get(rec.Replay(pol, opt))(t)
			for _, row := range tl.Requests {
				if row.Kind != "compaction" || len(row.Events) == 0 {
					continue
				}
				q := must.Get(rec.RequestOf(pol, opt, row.Events[0]))(t)
				if q.Call.Input != row.Tokens || q.Stage != tl.Events[row.Events[0]].Stage {
					t.Errorf("%s, %s, event %d: %d tokens by %s, the replay has %d", text, file, q.Event, q.Call.Input, q.Stage, row.Tokens)
				}
				got, marker := messages(q)
				if marker > 0 {
					marked++
				}
				off, want := 0, q.Call.Input-q.Overhead-q.Call.Prompt-marker
				if name == "opencode-1.18" { // it counts a cut result by its share of the whole
					off = q.Call.Input / 8
					cut, over = cut+q.Call.Input, over+got-want
				}
				if got < want-off || got > want+off {
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
	if 25*over < -cut || 25*over > cut || cut == 0 {
		t.Errorf("requests with cut results: off by %d of %d tokens, want 4 %% at most", over, cut)
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

// TestRequestRefused: a call that fails has its request too, larger than the limit that it does not fit.
func TestRequestRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("many replays")
	}
	rec := recordOf(t, load(t, "../testdata/sessions/big.jsonl").Main)
	for name, window := range map[string]int{"claude-code-2.1.19": 30000, "opencode-1.1.36": 3000, "opencode-1.18": 3000} {
		pol, opt := named(t, name), replay.Options{Window: window}
		tl := must.Get(rec.Replay(pol, opt))(t)
		list, failed := tl.CallEvents(), 0
		for _, k := range list {
			if tl.Events[k].Kind != policy.KindFail {
				continue
			}
			if failed++; failed%10 != 1 && os.Getenv("CTXKIT_LONG") != "1" { // each request is another replay
				continue
			}
			q, err := rec.RequestOf(pol, opt, k)
			if err != nil {
				t.Fatalf("%s, event %d: %v", name, k, err)
			}
			if want := tl.Events[k].Detail["input_tokens"]; q.Call.Input != want || !q.Refused || q.View.Len() < 2 {
				t.Errorf("%s, event %d: %d tokens in %d messages, the event says %d", name, k, q.Call.Input, q.View.Len(), want)
			}
			if at, ok := tl.CallEvent(*tl.Events[k].Request); !ok || at > k {
				t.Errorf("%s: the first call before request %d is of event %d, %t", name, *tl.Events[k].Request, at, ok)
			}
		}
		if failed == 0 {
			t.Errorf("%s: no call fails in %d tokens", name, window)
		}
	}
}

// TestRequestUnseen: where the stage does not know the messages, an error names the event and the stage.
func TestRequestUnseen(t *testing.T) {
	for name, file := range map[string]string{"goose-1.28": "big", "pi-0.87": "big", "recorded": "compaction"} {
		rec, err := replay.NewRecord(load(t, "../testdata/sessions/"+file+".jsonl").Main)
		if err != nil {
			t.Fatal(err)
		}
		pol, opt := named(t, name), replay.Options{}
		tl := must.Get(rec.Replay(pol, opt))(t)
		k, ok := tl.CallEvent(0)
		if !ok {
			t.Errorf("%s: no call", name)
			continue
		}
		_, err = rec.RequestOf(pol, opt, k)
		var unseen *replay.UnseenError
		if !errors.As(err, &unseen) || unseen.Event != k || unseen.Stage != tl.Events[k].Stage {
			t.Errorf("%s, event %d: %v", name, k, err)
		}
	}
}

func TestCallEvent(t *testing.T) {
	rec := must.Get(replay.NewRecord(load(t, "../testdata/sessions/big.jsonl").Main))(t)
	pol := named(t, "opencode-1.1.36")
	tl := must.Get(rec.Replay(pol, replay.Options{}))(t)
	must.Both(tl.CallEvent(0))(t, 0, true)
	if _, ok := tl.CallEvent(131); ok {
		t.Error("a call before request 131")
	}
	if _, err := rec.RequestOf(pol, replay.Options{}, 1); err == nil {
		t.Error("a prune makes a call")
	}
}
