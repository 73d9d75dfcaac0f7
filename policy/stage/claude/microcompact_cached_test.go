package claude

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/anthropic"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
	"github.com/ctxkit/ctxkit/policy/view"
)

func cached(trigger, keep int) *MicrocompactCached {
	return &MicrocompactCached{Trigger: trigger, Keep: keep, Tools: compactable()}
}

// pins lists the standing cache edits as "m2>m9": what is deleted, and the message that carries the edit.
func pins(v *view.View) []string {
	var list []string
	for _, e := range v.CacheEdits() {
		list = append(list, fmt.Sprintf("m%d>m%d", e.Target.Item, e.Carrier))
	}
	return list
}

// rounds is a prompt and n rounds, with results in messages 2, 4, 6 …
func rounds(n int) *stagetest.Convo {
	c := stagetest.Talk(`prompt go`)
	for i := range n {
		c.Play(`call t%d Read 400`, i)
	}
	return c
}

func TestMicrocompactCachedCounts(t *testing.T) {
	defaults := *defineMicrocompactCached().Params.(*MicrocompactCached)
	must.Say(t, "12 5", defaults.Trigger, defaults.Keep)
	must.Rows(t, `
# results | trigger | keep | want
11 | 12 | 5 | null
12 | 12 | 5 | ["m2", "m4", "m6", "m8", "m10", "m12", "m14"]
13 | 12 | 5 | null  # 12 fired before; 6 are live
18 | 12 | 5 | null  # 11 are live
19 | 12 | 5 | ["m16", "m18", "m20", "m22", "m24", "m26", "m28"]  # 5 + 7
2  | 3  | 2 | null
3  | 3  | 2 | ["m2"]
3  | 3  | 3 | null
4  | 3  | 4 | null  # keep above trigger leaves nothing to do
5  | 3  | 4 | ["m2"]
1  | 1  | 0 | null  # the only result stands in the message that would carry the edit
2  | 1  | 0 | ["m2"]
`, func(results, trigger, keep int, theWant []string) {
		t.Run(fmt.Sprintf("%d results, trigger %d, keep %d", results, trigger, keep), func(t *testing.T) {
			c := rounds(results)
			c.Play(`assistant say done`)
			r := stagetest.NewRun(t, c, stagetest.Start(t, defineMicrocompactCached(), cached(trigger, keep))).All()
			var got []string
			for _, e := range r.View.Edits() {
				must.Equal(t, e.Kind, policy.KindCacheEdit, "an edit of kind")
				must.Equal(t, e.Carrier, policy.ItemID(2*(e.Request-1)), e.Request)
				if e.Request == results+1 {
					got = append(got, fmt.Sprintf("m%d", e.Target.Item))
				}
			}
			must.Equal(t, got, theWant)
			if want := r.View.Tokens() - 100*len(r.View.Edits()); r.View.PayloadTokens() != want {
				t.Errorf("payload of %d tokens, want %d", r.View.PayloadTokens(), want)
			}
			for _, res := range r.View.Results() {
				if r.View.Replacement(res.Target) != nil {
					t.Errorf("%s changed in the model view", res.ID)
				}
			}
		})
	})
}

func TestMicrocompactCachedDetail(t *testing.T) {
	c := rounds(3)
	c.Play(`assistant say done`)
	r := stagetest.NewRun(t, c, stagetest.Start(t, defineMicrocompactCached(), cached(3, 1))).All()
	e := r.View.Edits()[0]
	if want := (map[string]int{"live_results": 3, "deleted_results": 2, "tokens_saved": 200}); !cmp.Equal(e.Detail, want) {
		t.Errorf("detail %v, want %v", e.Detail, want)
	}
	if want := "3 live results >= trigger 3: all but the newest 1"; e.Reason != want {
		t.Errorf("reason %q", e.Reason)
	}
}

// Which results count: of the named tools, on the main thread, not cleared by another stage; persisted ones with a
// preview and cut ones do.
func TestMicrocompactCachedLive(t *testing.T) {
	preview := policy.NewContent(0, persistedOutput(strings.Repeat("x", 3000), "/f", "human", 2000))
	stub := persistedStub(stagetest.NewConvo().Conversation, "t0", "txt")
	cleared := policy.NewContent(0, ClearedText)
	cut := policy.NewContent(0, "xx")
	cut.Partial = true
	for _, tt := range []struct {
		name   string
		change func(c *stagetest.Convo)
		edit   *policy.Edit // of the first result, before the last request
		want   []string
	}{
		{"all", nil, nil, []string{"m2>m6", "m4>m6"}},
		{"a tool that is not listed", func(c *stagetest.Convo) {
			c.Messages[1].Blocks[0].Name = "Task"
		}, nil, nil},
		{"a subagent", func(c *stagetest.Convo) { c.Agent = "a1" }, nil, nil},
		{"cleared", nil, &policy.Edit{Kind: policy.KindClear, New: &cleared}, nil},
		{"saved to a file", nil, &policy.Edit{Kind: policy.KindPersist, New: &stub}, nil},
		{"saved to a file, with a preview", nil, &policy.Edit{Kind: policy.KindPersist, New: &preview}, []string{"m2>m6", "m4>m6"}},
		{"cut", nil, &policy.Edit{Kind: policy.KindTruncate, New: &cut}, []string{"m2>m6", "m4>m6"}},
		{"its message is gone", nil, &policy.Edit{Kind: policy.KindRemove, Items: []policy.ItemID{1, 2}}, nil},
		{"cleared by the server, which the client does not know", nil, &policy.Edit{Kind: policy.KindServerClear, New: &cleared}, []string{"m2>m6", "m4>m6"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := rounds(3)
			if tt.change != nil {
				tt.change(c)
			}
			c.Play(`assistant say done`)
			r := stagetest.NewRun(t, c, stagetest.Start(t, defineMicrocompactCached(), cached(3, 1)))
			r.Each = func(k int) {
				if k == 2 && tt.edit != nil {
					e := *tt.edit
					if e.Stage = "another"; len(e.Items) == 0 {
						e.Target = policy.Target{Item: 2}
					}
					must.Get(r.View.Apply(e))(t)
				}
			}
			r.All()
			must.Equal(t, pins(r.View), tt.want)
		})
	}
}

// The analysis' two rounds: tool_use A is deleted by the comment that follows, B by the message that answers C; the
// first edit stays where it was.
func TestMicrocompactCachedTwoRounds(t *testing.T) {
	c := stagetest.Talk(`
prompt question; assistant use A Read; answers result A "result A"; prompt comment; prompt question
assistant use B Read; answers result B "result B"; assistant use C Read; answers result C "result C"
`)
	r := stagetest.NewRun(t, c, stagetest.Start(t, defineMicrocompactCached(), cached(1, 0)))
	step := func(to, k int, want ...string) {
		t.Helper()
		for m := r.View.Joined(); m <= to; m++ {
			r.View.Join(m)
		}
		r.Fire(policy.Project, k, policy.Context{})
		must.Equal(t, pins(r.View), want, to+1)
	}
	step(3, 1, "m2>m3")
	step(6, 2, "m2>m3")
	step(8, 3, "m2>m3", "m6>m8")
}

// Parallel results are taken in the order of their calls. None of those that the request sends for the first time is deleted,
// wherever they stand: they are one message of the API, with what the client says behind them.
func TestMicrocompactCachedParallel(t *testing.T) {
	c := stagetest.Talk(`
prompt go; assistant use a Read use b Read use c Read use d Read; answers result d d result c c
answers result b b result a a; assistant say done
`)
	r := stagetest.NewRun(t, c, stagetest.Start(t, defineMicrocompactCached(), cached(4, 1))).All()
	must.Equal(t, r.Edits(), "")
	c.Play(`prompt more; call e Read 40; assistant say done`)
	r = stagetest.NewRun(t, c, stagetest.Start(t, defineMicrocompactCached(), cached(4, 1))).All()
	must.Equal(t, r.Edits(), "cache_edit@3 m3.1, cache_edit@3 m3, cache_edit@3 m2.1")
}

// Six results, then eight parallel ones: the six may be deleted, and of the eight none before they were sent.
func TestMicrocompactCachedUnsent(t *testing.T) {
	c := rounds(6)
	var uses []stagetest.BlockText
	for i := range 8 {
		uses = append(uses, stagetest.Use(fmt.Sprintf("n%d", i), "Read"))
	}
	c.Assistant(uses...)
	for i := range 8 {
		c.Play(`answers result n%d new`, i)
	}
	c.Play(`assistant say done`)
	r := stagetest.NewRun(t, c, stagetest.Start(t, defineMicrocompactCached(), cached(12, 5))).All()
	want := "cache_edit@8 m2, cache_edit@8 m4, cache_edit@8 m6, cache_edit@8 m8, cache_edit@8 m10, cache_edit@8 m12"
	must.Equal(t, r.Edits(), want)
}

// The time-based path comes first: where it clears, the cached path is not tried, what was deleted is sent again, and
// counting starts anew.
func TestMicrocompactCachedAfterTime(t *testing.T) {
	c := rounds(5)
	at := c.Messages[c.Assistant(stagetest.Say("done"))].Time
	c.Play(`prompt "and now"; call u0 Read 400; call u1 Read 400; call u2 Read 400; assistant say done`)
	r := stagetest.NewRun(t, c,
		stagetest.Start(t, defineMicrocompactTime(), &MicrocompactTime{Enabled: true, Gap: time.Hour, KeepRecent: 4, Tools: compactable()}),
		stagetest.Start(t, defineMicrocompactCached(), cached(4, 2)))
	r.At = map[int]time.Time{6: at.Add(2 * time.Hour)}
	var payload []int
	r.Each = func(int) { payload = append(payload, r.View.PayloadTokens()-r.View.Tokens()) }
	r.All()
	// At request 5 4 are live, 2 kept; at 7 of 5 results the newest 4 stay: m4, m6, m8 and m10 are live then, but that one is the
	// time-based path's.
	must.Equal(t, r.Edits(), "cache_edit@5 m2, cache_edit@5 m4, clear@7 m2, server_keep@7 m2, server_keep@7 m4, cache_edit@8 m4, cache_edit@8 m6, cache_edit@8 m8, cache_edit@10 m10, cache_edit@10 m14")
	must.Equal(t, payload, []int{0, 0, 0, 0, -200, -200, 0, -300, -300, -500}, "what is deleted")
}

// A pause without anything to clear leaves the cached path alone.
func TestMicrocompactCachedTimeDidNothing(t *testing.T) {
	c := rounds(3)
	at := c.Messages[c.Assistant(stagetest.Say("done"))].Time
	c.Play(`prompt "and now"; assistant say done`)
	r := stagetest.NewRun(t, c, stagetest.Start(t, defineMicrocompactTime(), nil), stagetest.Start(t, defineMicrocompactCached(), cached(3, 1)))
	r.At = map[int]time.Time{4: at.Add(2 * time.Hour)}
	must.Equal(t, r.All().Edits(), "cache_edit@4 m2, cache_edit@4 m4")
}

// After a compaction the state starts again: what it kept is sent whole.
func TestMicrocompactCachedAfterCompaction(t *testing.T) {
	c := rounds(6)
	c.Play(`assistant say done`)
	r := stagetest.NewRun(t, c, stagetest.Start(t, defineMicrocompactCached(), cached(4, 1)))
	r.Each = func(k int) {
		if k == 4 { // four results were there, three are deleted
			keep := slices.Clone(r.View.IDs()[1:])
			must.Get(r.View.Apply(policy.Edit{Kind: policy.KindSummarize, Insert: []policy.Synthetic{{Role: "user", Contents: []policy.Content{policy.NewContent(0, "summary")}}}, Keep: keep}))(t)
		}
	}
	r.All()
	must.Equal(t, r.Edits(), "cache_edit@5 m2, cache_edit@5 m4, cache_edit@5 m6, summarize@0, server_keep@6 m2, server_keep@6 m4, server_keep@6 m6, cache_edit@6 m2, cache_edit@6 m4, cache_edit@6 m6, cache_edit@6 m8")
	must.Equal(t, pins(r.View), []string{"m2>m10", "m4>m10", "m6>m10", "m8>m10"})
}

// Where the message that carries an edit leaves the view, the last one takes the edit on; where the deleted result
// leaves, the edit goes with it.
func TestMicrocompactCachedCarrierLeaves(t *testing.T) {
	c := rounds(3)
	c.Play(`assistant say done; prompt more; assistant say done; prompt more; assistant say done`)
	r := stagetest.NewRun(t, c, stagetest.Start(t, defineMicrocompactCached(), cached(3, 1)))
	r.Each = func(k int) {
		var gone []policy.ItemID
		switch k {
		case 3:
			gone = []policy.ItemID{5, 6, 3, 4} // the carrier, and a result
		default:
			return
		}
		must.Get(r.View.Apply(policy.Edit{Kind: policy.KindRemove, Items: gone}))(t)
	}
	r.All()
	must.Equal(t, pins(r.View), []string{"m2>m8"})
	must.Equal(t, r.Edits(), "cache_edit@4 m2, cache_edit@4 m4, remove@0, cache_edit@5 m2")
}

// What the client keeps to itself carries nothing.
func TestMicrocompactCachedCarrier(t *testing.T) {
	c := rounds(3)
	c.Prompt("and this")
	c.Attach("file", stagetest.Block(jsonl.KindAttachment, "attachment", ""))
	c.Play(`assistant say done`)
	r := stagetest.NewRun(t, c, stagetest.Start(t, defineMicrocompactCached(), cached(3, 2))).All()
	must.Equal(t, pins(r.View), []string{"m2>m7"})
}

// Two stages in the payload: the server's own clearing and lifting leaves the client's deletions alone, and neither
// is counted twice.
func TestMicrocompactCachedBesideClearToolUses(t *testing.T) {
	clearing, _ := stagetest.Registry(t, anthropic.Family().Stages...).Lookup("clear_tool_uses")
	p := clearing.Params.(*anthropic.ClearToolUses)
	p.Trigger, p.Keep, p.ClearAtLeast = policy.Trigger{Type: policy.TriggerToolUses, Value: 3}, 2, 0
	c := stagetest.Uses(6)
	c.Play(`prompt more; assistant say done`)
	r := stagetest.NewRun(t, c, stagetest.Start(t, clearing, p), stagetest.Start(t, defineMicrocompactCached(), cached(6, 5)))
	var off []int
	r.Each = func(k int) {
		off = append(off, r.View.Tokens()-r.View.PayloadTokens())
		if k == 6 { // under the trigger again: 3 uses
			must.Get(r.View.Apply(policy.Edit{Kind: policy.KindRemove, Items: []policy.ItemID{3, 4, 5, 6, 7, 8}}))(t)
		}
	}
	r.All()
	// Over 3 uses all but 2 are cleared, 92 tokens each; the deletion of the first takes the other 8 off.
	must.Equal(t, off, []int{0, 0, 0, 0, 184, 276, 376, 100}, "taken off the payload")
	edits := r.View.Edits()
	last := edits[len(edits)-1]
	must.Say(t, "server_keep 2", last.Kind, last.Target.Item)
	must.Equal(t, pins(r.View), []string{"m2>m12"})
}
