package claude

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
)

func auto(t testing.TB, set string, args ...any) stagetest.Named {
	t.Helper()
	def := defineAutocompact()
	def.Params = stagetest.Params(t, def, "summary: [{fixed: 5000}]")
	return stagetest.Start(t, def, set, args...)
}

func TestAutocompactThreshold(t *testing.T) {
	first := DefaultWindow()
	late := DefaultWindow()
	late.ReserveCap = 20000
	off := DefaultWindow()
	off.AutoCompact = false
	half := DefaultWindow()
	half.PctOverride = "35"
	tests := []struct {
		name    string
		w       Window
		context int
		used    int
		change  string
		want    bool
	}{
		{"154,999", first, 200000, 154999, "", false},
		{"155,000", first, 200000, 155000, "", true},
		{"155,001", first, 200000, 155001, "", true},
		{"166,999", late, 200000, 166999, "", false},
		{"167,000", late, 200000, 167000, "", true},
		{"966,999 of 1M", late, 1000000, 966999, "", false},
		{"967,000 of 1M", late, 1000000, 967000, "", true},
		{"35 %: 58,798", half, 200000, 58798, "", false},
		{"35 %: 58,799", half, 200000, 58799, "", true},
		{"switched off", off, 200000, 199999, "", false},
		{"not enabled", first, 200000, 199999, "enabled: false", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := stagetest.Uses(3)
			r := usage(stagetest.NewRun(t, c, auto(t, tt.change)), tt.used, 100)
			*limits(r) = fixed(tt.w.Resolve(policy.Circumstances{Window: tt.context, MaxOutput: 0}))
			r.All()
			if got := r.View.Epoch() > 0; got != tt.want {
				t.Fatalf("compacted: %t, want %t", got, tt.want)
			}
			if !tt.want {
				return
			}
			e := r.View.Edits()[0]
			if e.Trigger != "auto" || e.Detail["pre_tokens"] != tt.used || e.Call == nil || e.Call.Kind != "compaction" {
				t.Errorf("%+v", e)
			}
			if ids := r.View.IDs(); len(ids) != 2 { // the summary and what was answered to it
				t.Errorf("items %v", ids)
			}
		})
	}
}

func TestAutocompactManual(t *testing.T) {
	must.Rows(t, `
replay | summarize@3
ignore | ""
`, func(manual, want string) {
		r := stagetest.NewRun(t, stagetest.Uses(3), auto(t, "manual: %v, enabled: false", manual))
		r.Manual = map[int]bool{2: true}
		must.Equal(t, r.All().Edits(), want, manual)
	})
	// There is nothing to compact before the first message.
	r := stagetest.NewRun(t, stagetest.Uses(1), auto(t, ""))
	r.Fire(policy.Manual, 0, policy.Context{})
	if r.Edits() != "" {
		t.Errorf("an empty view: %v", r.Edits())
	}
}

// What the client sent after its own compaction comes with the recorded summary, and only with that.
// The newest rounds stay, each a response, the results of its calls and what else follows it, with what the client
// attaches behind them. A response in several messages is one.
func TestAutocompactKeepRecent(t *testing.T) {
	must.Rows(t, `
0 | summary file a
1 | summary m5-m7 file a
2 | summary m3-m7 file a
9 | summary m1-m7 file a  # there are not so many
`, func(keep int, want string) {
		c := stagetest.Talk(`
prompt go  # m0
call a Read 400  # m1, m2
call b Read 400  # m3, m4
assistant say done  # m5
`)
		c.Add(session.Message{Role: session.User}) // m6, such as an attachment
		c.Play(`
prompt more  # m7
assistant say done
`)
		r := stagetest.NewRun(t, c, auto(t, "keep_recent: %v", keep))
		content := policy.NewContent(jsonl.KindText, "a summary")
		r.Record.Content = &content
		r.Record.Tail = []policy.Synthetic{{Role: "user", Label: "file a", Attached: true, Contents: []policy.Content{content}}}
		c.Boundaries = []session.Boundary{stagetest.BoundaryAt(1)}
		c.Boundaries[0].Request = 4
		for _, p := range r.Stages {
			p.Stage.(*autocompact).Summary = policy.SummaryChoices{{Kind: policy.SummaryRecorded}}
		}
		for m := range 8 {
			r.View.Join(m)
		}
		r.Fire(policy.Manual, 3, policy.Context{Asked: &policy.ManualCompaction{Recorded: 0}})
		must.Equal(t, r.Order(), want, keep)
	})
}

func TestAutocompactRecorded(t *testing.T) {
	sum := policy.NewContent(jsonl.KindText, "what was done")
	file := policy.Synthetic{Role: "user", Label: "file", Contents: []policy.Content{sum}}
	for _, tt := range []struct {
		name    string
		summary *policy.Content
		want    int
	}{{"recorded", &sum, 3}, {"none recorded", nil, 2}} {
		t.Run(tt.name, func(t *testing.T) {
			c := stagetest.Uses(3)
			c.Boundaries = append(c.Boundaries, stagetest.BoundaryAt(7))
			c.Boundaries[0].Request = 4
			p := auto(t, "summary: [recorded, {fixed: 77}]")
			r := usage(stagetest.NewRun(t, c, p), 155000, 0)
			r.Record = stagetest.Recording{Content: tt.summary, Tail: []policy.Synthetic{file}}
			r.All()
			must.Equal(t, r.View.Len(), tt.want)
			if reason := r.View.Edits()[0].Reason; strings.Contains(reason, "line 7") != (tt.summary != nil) {
				t.Errorf("reason %q", reason)
			}
		})
	}
}

// A compaction never begins its own.
func TestAutocompactItself(t *testing.T) {
	must.Rows(t, `
""                | true
a1b2              | true
acompact-1        | false
asession_memory-1 | false
`, func(agent string, want bool) {
		c := stagetest.Uses(3)
		c.Agent = agent
		r := usage(stagetest.NewRun(t, c, auto(t, "")), 155000, 0).All()
		must.Equal(t, r.View.Epoch() > 0, want, agent)
	})
}

// A request that is too long drops its oldest rounds until the gap is covered.
func TestAutocompactTooLong(t *testing.T) {
	must.Rows(t, `
it fits  | 0 | 3 | 0
one over | 1 | 3 | 1
`, func(name string, excess, retries, want int) {
		t.Run(name, func(t *testing.T) {
			c := stagetest.Uses(9)
			r := stagetest.NewRun(t, c, auto(t, "ptl_retries: %v", retries))
			limits(r).Effective = 1257
			for m := range 19 {
				r.View.Join(m)
			}
			limits(r).Effective += r.View.Tokens() - excess
			r.Used = func(int) (int, int) { return 155000, 0 }
			r.Fire(policy.Prepare, 9, policy.Context{})
			call := r.View.Edits()[0].Call
			must.Equal(t, call.Retries, want)
			if want > 0 && call.Input > limits(r).Effective {
				t.Errorf("%d tokens are sent, %d fit", call.Input, limits(r).Effective)
			}
		})
	})
}

// A request of 272,698 tokens that is left after three retries fails in a window of 200,000: the view stays, nothing is
// billed, and the next request tries again until the breaker opens. A new prompt closes it.
func TestAutocompactFails(t *testing.T) {
	c := stagetest.Talk(`prompt go`)
	round := func(k, tokens int) { c.Call(fmt.Sprint("t", k), "Read", 4*(tokens-4)) } // the call is 4 of them
	for k := range 19 {                                                               // a fifth at a time: 4, 3 and 2 of the first rounds are dropped
		round(k, 24000)
	}
	round(19, 272698-1257-13-10*24000) // the prompt, and the note where the dropped rounds were
	for k := range 5 {
		round(20+k, 10)
	}
	c.Play(`prompt again; assistant say done`)
	must.Rows(t, `
# retries | most | size | tries | reason
3 | 0 | 272698 | 6 | the compaction request of 272,698 tokens does not fit 168,000 after 3 retries: it fails
3 | 3 | 272698 | 4 | the compaction request of 272,698 tokens does not fit 168,000 after 3 retries: it fails
1 | 0 | 392698 | 6 | after 1 retry: it fails
0 | 2 | 488686 | 3 | does not fit 168,000: it fails
`, func(retries, most, size, tries int, reason string) {
		r := stagetest.NewRun(t, c, auto(t, "ptl_retries: %v, ptl_gap: unknown, max_failures: %v", retries, most))
		r.Used = func(k int) (int, int) { return 100000 + 55000*(k/20), 0 } // the threshold at the twenty-first request
		r.All()
		edits := r.View.Edits()
		if len(edits) == 0 {
			t.Fatalf("%+v: nothing was tried", retries)
		}
		if len(edits) != tries || r.View.Epoch() > 0 {
			t.Errorf("%+v: %d tries, %d compactions", retries, len(edits), r.View.Epoch())
		}
		for i, e := range edits {
			if e.Kind != policy.KindFail || e.Call != nil || i == 0 && (e.Detail["input_tokens"] != size || !strings.Contains(e.Reason, reason)) {
				t.Errorf("%+v: try %d is %s, %s %+v", retries, i+1, e.Kind, e.Reason, e.Detail)
			}
			must.Equal(t, most > 0 && i == most-1, strings.HasSuffix(e.Reason, fmt.Sprintf(", the last of %d tries", most)), retries, e.Reason)
		}
	})
}

// A compaction's own request holds the messages as they were before this request's microcompaction, with a prefix of its
// own without images and what an earlier one re-injected.
func TestAutocompactRequest(t *testing.T) {
	picture := stagetest.Block(jsonl.KindImage, "image", strings.Repeat("i", 4000))
	must.Rows(t, `
# name | prefix | want
its own prefix | own     | 10257
the session's  | session | 18957
`, func(name, prefix string, want int) {
		t.Run(name, func(t *testing.T) {
			c := stagetest.NewConvo()
			c.User(session.ClassPrompt, stagetest.Say(strings.Repeat("x", 4*9000)), picture)
			c.Play(`assistant say ok`)
			r := stagetest.NewRun(t, c, auto(t, "prefix: %v", prefix))
			r.Overhead = 700
			r.View.Join(0)
			must.Get(r.View.Apply(policy.Edit{Kind: policy.KindAttach, Insert: []policy.Synthetic{{
				Role: "user", Attached: true, Contents: []policy.Content{{Kind: jsonl.KindText, Tokens: 5000}},
			}}}))(t)
			r.Used = func(int) (int, int) { return 155000, 0 }
			r.Fire(policy.Prepare, 0, policy.Context{})
			edits := r.View.Edits()
			if call := edits[len(edits)-1].Call; call == nil || call.Input != want {
				t.Errorf("the call: %+v, want input %d", call, want)
			}
		})
	})
}

// What the request leaves out anyway does not count when rounds are dropped.
func TestAutocompactDropsWhatIsSent(t *testing.T) {
	c := stagetest.NewConvo()
	c.User(session.ClassPrompt, stagetest.Say(strings.Repeat("x", 400)), stagetest.Block(jsonl.KindImage, "image", strings.Repeat("i", 40000)))
	c.Play(`assistant say y*400; prompt z*400; assistant say w*400`)
	r := stagetest.NewRun(t, c, auto(t, "prompt_tokens: 1000"))
	for m := range 4 {
		r.View.Join(m)
	}
	limits(r).Effective = 1395 // 400 and the prompt are sent: 5 too many
	r.Used = func(int) (int, int) { return 155000, 0 }
	r.Fire(policy.Prepare, 2, policy.Context{})
	edits := r.View.Edits()
	// The first round, 300 without its image, goes; the marker's 13 come.
	call := edits[len(edits)-1].Call
	must.Say(t, "1 1113", call.Retries, call.Input)
}

// compactionCall is the compaction's own request, also one that fails, where excess tokens of it do not fit (negative:
// are free), and the edit's reason.
func compactionCall(t *testing.T, c *stagetest.Convo, st stagetest.Named, overhead, excess int) (call *policy.Call, limit int, reason string) {
	t.Helper()
	p := st.Stage.(*autocompact)
	r := stagetest.NewRun(t, c, st)
	r.Overhead = overhead
	r.Join()
	whole := r.View.Tokens() + p.PromptTokens
	if p.Prefix == "session" {
		whole += overhead
	}
	limits(r).Effective = whole - excess
	limit = limits(r).Effective
	r.Used = func(int) (int, int) { return 155000, 0 }
	r.Fire(policy.Prepare, len(c.Requests), policy.Context{})
	e := r.View.Edits()[0]
	if e.Kind == policy.KindFail {
		e.Call = &policy.Call{Input: e.Detail["input_tokens"], Retries: e.Detail["retries"]}
	}
	return e.Call, limit, e.Reason
}

// The marker that replaces what was dropped is of 13 tokens, more than a round is: with the first drop it makes a
// second necessary unless that left room.
func TestAutocompactRetries(t *testing.T) {
	must.Rows(t, `
# name | rounds | excess | retries | want | sent | reason
one is free                  | 20 | -1  | 3 | 0 | -1 | ""
it fits exactly              | 20 | 0   | 3 | 0 | 0  | ""
one over, 9 dropped and 13 put in, then 9 | 20 | 1   | 3 | 2 | -5 | ; too long, 2 retries
a round over                 | 20 | 10  | 3 | 2 | -5 | ; too long, 2 retries
a round and one over: two go | 20 | 11  | 3 | 2 | -4 | ; too long, 2 retries
many rounds over             | 20 | 100 | 3 | 2 | -5 | ; too long, 2 retries
as often as it is wanted     | 20 | 10  | 2 | 2 | -5 | ; too long, 2 retries
once less                    | 20 | 10  | 1 | 1 | 13 | " after 1 retry: it fails"
no retries, it fits          | 20 | 0   | 0 | 0 | 0  | ""
no retries                   | 20 | 10  | 0 | 0 | 10 | : it fails
the last round is not dropped | 2  | 15  | 3 | 1 | 18 | " after 1 retry: it fails"
three rounds, two dropped one by one | 3  | 10  | 3 | 2 | 4  | " after 2 retries: it fails"
there is one round           | 1  | 1   | 3 | 0 | 1  | : it fails
`, func(name string, rounds, excess, retries, want, sent int, theReason string) {
		for _, prefix := range []string{"own", "session"} {
			t.Run(name+", "+prefix, func(t *testing.T) {
				p := auto(t, "ptl_retries: %v, prefix: %v", retries, prefix)
				call, limit, reason := compactionCall(t, stagetest.Small(rounds), p, 700, excess)
				if call.Retries != want || call.Input-limit != sent {
					t.Errorf("%d retries, %d over the limit; want %d and %d", call.Retries, call.Input-limit, want, sent)
				}
				_, after, _ := strings.Cut(reason, "a placeholder of 5000 tokens")
				if sent > 0 {
					_, after, _ = strings.Cut(reason, fmt.Sprintf("does not fit %s", policy.Thousands(limit)))
				}
				must.Equal(t, after, theReason, reason)
			})
		}
	})
}

// Where the gap is not reported a fifth of the rounds that are left goes, one at the least: 2 of 10, then 1 of 8; 1
// of 9; 1 of 4; 3 of 15, then 2 of 12.
func TestAutocompactUnknownGap(t *testing.T) {
	const marker = 13
	must.Rows(t, `
10 | 0  | 3 | 0 | 0
10 | 1  | 3 | 1 | 2
10 | 60 | 1 | 1 | 2
10 | 60 | 2 | 2 | 3
10 | 60 | 3 | 3 | 4
10 | 60 | 9 | 7 | 8
9  | 60 | 1 | 1 | 1
4  | 60 | 1 | 1 | 1
15 | 60 | 2 | 2 | 5
2  | 60 | 3 | 1 | 1
1  | 60 | 3 | 0 | 0
`, func(rounds, excess, retries, want, dropped int) {
		p := auto(t, "ptl_retries: %v, ptl_gap: unknown", retries)
		call, limit, _ := compactionCall(t, stagetest.Small(rounds), p, 0, excess)
		left := excess - 9*dropped
		if dropped > 0 {
			left += marker - 1
		}
		if call.Retries != want || call.Input-limit != left {
			t.Errorf("%+v: %d retries, %d over the limit, want %d", rounds, call.Retries, call.Input-limit, left)
		}
	})
}

// A round that covers the gap and the marker with it is one retry.
func TestAutocompactMarkerCovered(t *testing.T) {
	must.Rows(t, `
# excess | retries | sent
88 | 1 | 0  # the first round, of 101, leaves room for exactly the marker
89 | 2 | -103
87 | 1 | -1
`, func(excess, retries, sent int) {
		c := stagetest.Talk(`prompt go; call a Read %d  # 1 + 4 + 96`, 4*96)
		for i := range 6 {
			c.Play(`call %v Read 400`, i)
		}
		call, limit, _ := compactionCall(t, c, auto(t, ""), 0, excess)
		if call.Retries != retries || call.Input-limit != sent {
			t.Errorf("%d over: %d retries, %d over the limit; want %d and %d", excess, call.Retries, call.Input-limit, retries, sent)
		}
	})
}

// What the session's prefix adds counts against the limit, once.
func TestAutocompactPrefixLimit(t *testing.T) {
	must.Rows(t, `
# excess: of view and prompt alone, over the limit
# input: over view and prompt, where nothing is dropped
own     | 0    | 0   | false
own     | 1    | 0   | true
session | -700 | 700 | false
session | -701 | 700 | false
session | -699 | 700 | true
`, func(prefix string, excess, input int, tooBig bool) {
		c := stagetest.Small(20)
		p := auto(t, "prefix: %v, ptl_retries: 0", prefix)
		r := stagetest.NewRun(t, c, p)
		r.Overhead = 700
		r.Join()
		alone := r.View.Tokens() + 1257
		limits(r).Effective = alone - excess
		r.Used = func(int) (int, int) { return 155000, 0 }
		r.Fire(policy.Prepare, 20, policy.Context{})
		e := r.View.Edits()[0]
		switch {
		case (e.Kind == policy.KindFail) != tooBig:
			t.Errorf("%s, %d over: %s, %q", prefix, excess, e.Kind, e.Reason)
		case tooBig:
			must.Equal(t, e.Detail["input_tokens"], alone+input, prefix, e.Detail)
		case e.Call.Input != alone+input || e.Call.Prompt != 1257 || e.Call.Prefix != prefix:
			t.Errorf("%s: %+v, want input %d", prefix, e.Call, alone+input)
		}
	})
}

func TestAutocompactPrompts(t *testing.T) {
	for _, prompt := range []int{1257, 1286} { // of claude-code-2.1.19 and claude-code-2.1
		call, _, _ := compactionCall(t, stagetest.Small(20), auto(t, "prompt_tokens: %d", prompt), 700, 0)
		if whole := 1 + 20*9; call.Prompt != prompt || call.Input != whole+prompt {
			t.Errorf("%+v, want prompt %d and input %d", call, prompt, whole+prompt)
		}
	}
}
