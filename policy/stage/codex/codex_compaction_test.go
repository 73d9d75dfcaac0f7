package codex

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

func codex(t testing.TB, set string, args ...any) stagetest.Named {
	t.Helper()
	def := defineCodexCompaction()
	def.Params = stagetest.Params(t, def, "summary: [{fixed: 500}]")
	return stagetest.Start(t, def, set, args...)
}

// lastUsed is the response of a request of so many tokens.
func lastUsed(c *stagetest.Convo, tokens int) policy.Response {
	q := c.Requests[len(c.Requests)-1]
	return policy.Response{Known: true, Message: policy.ItemID(q.Message), Usage: jsonl.Usage{Input: tokens - 300, CacheRead: 200, Output: 100}}
}

func TestCodexCompactionLimit(t *testing.T) {
	must.Rows(t, `
# name | window | total | change | want
one below                           | 200000 | 179999 | ""                  | false
at 90 %                             | 200000 | 180000 | ""                  | true
above                               | 200000 | 180001 | ""                  | true
the window of the source, one below | 272000 | 244799 | ""                  | false
the window of the source            | 272000 | 244800 | ""                  | true
rounded down                        | 999    | 899    | ""                  | true
rounded down, one below             | 999    | 898    | ""                  | false
a limit lowers it                   | 200000 | 150000 | token_limit: 150000 | true
a limit lowers it, one below        | 200000 | 149999 | token_limit: 150000 | false
a limit does not raise it           | 200000 | 180000 | token_limit: 190000 | true
another share, one below            | 200000 | 99999  | percent: 50         | false
another share                       | 200000 | 100000 | percent: 50         | true
`, func(_ string, window, total int, change string, theWant bool) {
		c := stagetest.Talk(`prompt go; assistant say done; prompt x*400000  # not in the history yet`)
		r := stagetest.NewRun(t, c, codex(t, change))
		r.Join()
		r.Window, r.Last = window, lastUsed(c, total)
		r.Fire(policy.Prepare, 1, policy.Context{})
		want := "m0-m2"
		if theWant {
			want = "m0 summary m2" // the summary before the prompt that begins the turn
		}
		must.Equal(t, r.Order(), want)
	})
}

// In a turn the results that have just joined count, and go.
func TestCodexCompactionInTurn(t *testing.T) {
	text := strings.Repeat("x", 394)
	// {"type":"function_call_output","call_id":"a","output":"…"}
	weight := (len(`{"type":"function_call_output","call_id":"a","output":""}`) + len(text) + 3) / 4
	for total, want := range map[int]string{
		180000 - weight - 1: "m0-m2", 180000 - weight: "m0 summary", 180000: "m0 summary",
	} {
		c := stagetest.Talk(`prompt go; assistant use a Read; answers result a %q`, text)
		r := stagetest.NewRun(t, c, codex(t, ""))
		r.Join()
		r.Last = lastUsed(c, total)
		r.Fire(policy.Prepare, 1, policy.Context{})
		must.Equal(t, r.Order(), want, total, weight)
	}
	// Characters that JSON escapes, and those of more bytes, count as they are written.
	fixed := len(`{"type":"function_call_output","call_id":"a","output":""}`)
	must.Rows(t, `
""        | 0
abc       | 3
"a\nb"    | 4
"\n\n\n"  | 6
é         | 2
日本語       | 9
"a\u0001" | 7
`, func(text string, bytes int) {
		want := (fixed + bytes + 3) / 4
		c := stagetest.Talk(`prompt go; assistant use a Read`)
		at := c.Answers(stagetest.Result("a", text))
		must.Equal(t, codexTokens(stagetest.NewRun(t, c).View, policy.ItemID(at), formLocal), want, text)
	})
}

// A prompt that was queued while a tool ran stays, what stands before the last result does not.
func TestCodexCompactionQueued(t *testing.T) {
	c := stagetest.Talk(`prompt go; assistant use a Read use b Read; answers result a x`)
	c.Messages[c.Prompt("and this")].Marks |= session.Queued
	c.Play(`answers result b y`)
	c.Messages[c.Prompt("and that")].Marks |= session.Queued
	c.Play(`meta say "a reminder"`)
	r := stagetest.NewRun(t, c, codex(t, ""))
	r.Join()
	r.Last = lastUsed(c, 180000)
	r.Fire(policy.Prepare, 1, policy.Context{})
	must.Equal(t, r.Order(), "m0 m3 summary m5-m6")
}

func TestCodexCompactionUserTokens(t *testing.T) {
	must.Rows(t, `
# name | bytes | want | cut
all fit                    | [20000, 28000, 32000] | m0 m2 m4 summary | ""
one byte over              | [20001, 28000, 32000] | m0 m2 m4 summary | 10000+1+10000
the definition's example   | [20000, 32000, 36000] | m0 m2 m4 summary | 6000+2000+6000
nothing left for the first | [20000, 44000, 36000] | m2 m4 summary    | ""
one token left             | [20000, 43996, 36000] | m0 m2 m4 summary | 2+4999+2
the newest alone           | [10, 10, 80000]       | m4 summary       | ""
the newest is too long     | [10, 10, 80005]       | m4 summary       | 40000+2+40000
a text of one byte is a token | [39996, 1, 40000]     | m0 m2 m4 summary | ""
a text of one byte is a token, one over | [39997, 1, 40000]     | m0 m2 m4 summary | 19998+1+19998
an empty one stays behind  | [4, 0, 4]             | m0 m4 summary    | ""
`, func(name string, bytes []int, want, theCut string) {
		t.Run(name, func(t *testing.T) {
			c := stagetest.NewConvo()
			for _, n := range bytes {
				c.Play(`prompt x*%d; assistant say done`, n)
			}
			r := stagetest.NewRun(t, c, codex(t, ""))
			r.Join()
			r.Fire(policy.Manual, 3, policy.Context{})
			must.Equal(t, r.Order(), want)
			cut := ""
			for _, e := range r.View.Edits() {
				if e.Kind == policy.KindTruncate {
					before, rest, _ := strings.Cut(e.New.Text, "…")
					n, behind, _ := strings.Cut(rest, " tokens truncated…")
					cut = lengths(before) + "+" + n + "+" + lengths(behind)
				}
			}
			must.Equal(t, cut, theCut, "cut to")
		})
	})
}

func lengths(s string) string { return strconv.Itoa(len(s)) }

// The source's own cases of truncate_text, in bytes.
func TestCodexTruncate(t *testing.T) {
	for _, tt := range []struct {
		text  string
		limit int
		want  string
	}{
		{"example output", 4, "ex…3 tokens truncated…ut"},
		{"example output", 40, "example output"},
		{"this is an example of a long output that should be truncated", 20, "this is an…10 tokens truncated… truncated"},
		{"this is an example of a long output that should be truncated\nalso some other line", 40, "this is an example o…11 tokens truncated…also some other line"},
		{"😀😀😀😀😀😀😀😀😀😀\nsecond line with text\n", 32, "😀😀😀😀…8 tokens truncated… line with text\n"},
		{"😀abc😀", 10, "😀a…1 tokens truncated…c😀"},
		{"😀😀😀😀😀", 2, "…5 tokens truncated…"},
		{"😀😀😀😀😀", 14, "😀…2 tokens truncated…😀"},
		{"abcdef", 6, "abcdef"}, {"abcdef", 5, "ab…1 tokens truncated…def"},
		{"a\xff\xfeb", 3, "a…1 tokens truncated…\xfeb"},
	} {
		must.Equal(t, codexTruncate(tt.text, tt.limit), tt.want, tt.text, tt.limit)
	}
}

// Of a prompt in several texts the first that does not fit is cut, what is behind it goes.
func TestCodexCompactionBlocks(t *testing.T) {
	must.Rows(t, `
100 | m0 summary
30  | m0 summary
10  | m0 summary
5   | m0 summary
`, func(tokens int, want string) {
		c := stagetest.NewConvo()
		at := c.User(session.ClassPrompt, stagetest.Say(strings.Repeat("a", 20)), stagetest.Say(strings.Repeat("b", 200)), stagetest.Block(jsonl.KindImage, "image", ""))
		c.Play(`assistant say done`)
		r := stagetest.NewRun(t, c, codex(t, "user_tokens: %v", tokens))
		r.Join()
		r.Fire(policy.Manual, 1, policy.Context{})
		must.Equal(t, r.Order(), want, tokens)
		must.Equal(t, r.Block(at, 0), "", tokens)
		if got, want := strings.Count(r.Block(at, 1), "b"), map[int]int{30: 4*30 - 20, 10: 4*10 - 20}[tokens]; got != want {
			t.Errorf("%d tokens: %d characters of the larger text, want %d", tokens, got, want)
		}
	})
}

func TestCodexCompactionSummary(t *testing.T) {
	must.Rows(t, `
# name | choices | want
an outline is one text             | outline      | 1
a stand-in has the words before it | {fixed: 500} | 2
`, func(name, choices string, want int) {
		c := stagetest.Talk(`prompt go; assistant say done`)
		r := stagetest.NewRun(t, c, codex(t, "summary: [%v]", choices))
		r.Join()
		r.Fire(policy.Manual, 1, policy.Context{})
		got := r.View.Edits()[0].Insert[0]
		if got.Role != "user" || len(got.Contents) != want || !strings.HasPrefix(got.Contents[0].Text, "Another language model started to solve this problem") {
			t.Errorf("%s: %+v", name, got)
		}
	})
	must.Equal(t, len(codexSummaryPrefix), 400)
}

// What does not fit the window goes, the oldest first, a call with its results.
func TestCodexCompactionOverflow(t *testing.T) {
	// The prompt 1 token, each round 4 + 100.
	must.Rows(t, `
# over | dropped | sent
0   | 0 | 0
1   | 1 | 1
2   | 2 | 105
105 | 2 | 105
106 | 3 | 209
-1  | 0 | 0
`, func(over, dropped, sent int) {
		c := stagetest.Talk(`prompt go`)
		for range 6 {
			c.Call(strconv.Itoa(len(c.Messages)), "Read", 400)
		}
		r := stagetest.NewRun(t, c, codex(t, "prompt_tokens: 50"))
		r.Overhead = 700
		r.Join()
		whole := r.View.Tokens() + 50
		r.Window = whole + 700 - over
		r.Fire(policy.Manual, 6, policy.Context{})
		e := r.View.Edits()[0]
		if e.Call.Retries != dropped || whole-e.Call.Input != sent {
			t.Errorf("%d over: %d dropped, %d tokens of them; want %d and %d", over, e.Call.Retries, whole-e.Call.Input, dropped, sent)
		}
		must.Equal(t, strings.Contains(e.Reason, "too long"), (dropped > 0), over, e.Reason)
	})
}

// What stays in each form: of two turns, the first with a call and a remark beside it, and a prompt.
func TestCodexCompactionForms(t *testing.T) {
	must.Rows(t, `
# form | inTurn | want
local     | false | m1 m5 summary context m7
remote_v1 | false | m1 m4-m6 summary context m7
remote_v2 | false | m1 m5 summary context m7
remote_v2 | true  | m1 m5 context m7 summary
remote_v1 | true  | m1 m4-m6 context m7 summary
local     | true  | m1 m5 context m7 summary
`, func(form string, inTurn bool, want string) {
		c := stagetest.Talk(`
meta say "# AGENTS.md instructions"; prompt go; assistant say "let me see" use a Read; answers result a x
assistant think hm say done; prompt "and now"; assistant say done; prompt "once more"
`)
		if inTurn {
			c.Play(`assistant use b Read; answers result b x`)
		}
		r := stagetest.NewRun(t, c, codex(t, "form: %v", form))
		r.Join()
		r.Last = lastUsed(c, 180000)
		r.Fire(policy.Prepare, 1, policy.Context{})
		must.Equal(t, r.Order(), want, form, inTurn)
		summary := slices.Concat(r.View.Edits()[0].Insert, r.View.Edits()[0].Tail)
		for i := range summary {
			if n := len(summary[i].Contents); summary[i].Summary && (n == 1) != (form != formLocal) {
				t.Errorf("%s: a summary of %d parts", form, n)
			}
		}
		if call := r.View.Edits()[0].Call; (call.Prefix == "session") != (form != formLocal) {
			t.Errorf("%s: %+v", form, call)
		}
	})
}

// The provider's second form keeps 64,000 tokens of user messages, its first all of them.
func TestCodexCompactionRetained(t *testing.T) {
	must.Rows(t, `
# limit | sizes | want
none  | [60000,60000,60000] | m0 m2 m4 summary
64000 | [1000,32000,31000]  | m0 m2 m4 summary
64000 | [1,32000,32000]     | m2 m4 summary
64000 | [5,1,70000]         | m4 summary
`, func(limit string, sizes []int, want string) {
		c := stagetest.NewConvo()
		for _, n := range sizes {
			c.Play(`prompt x*%d`, 4*n)
			c.Assistant(stagetest.Use(strconv.Itoa(len(c.Messages)), "Read"))
		}
		r := stagetest.NewRun(t, c, codex(t, "form: remote_v2, user_tokens: %v", limit))
		r.Join()
		r.Fire(policy.Manual, 3, policy.Context{})
		must.Equal(t, r.Order(), want, sizes)
	})
}

// Encrypted reasoning from before the last user message counts once more, Claude's thinking does not.
func TestCodexCompactionReasoning(t *testing.T) {
	must.Rows(t, `
# model | reasoning | total | want
gpt-5.5         | encrypted | 179000 | true
gpt-5.5         | encrypted | 178999 | false
gpt-5.5         | none      | 179999 | false
claude-opus-4-5 | encrypted | 179999 | false
`, func(model, reasoning string, total int, want bool) {
		c := stagetest.NewConvo()
		c.Model = model
		thought := stagetest.Think("")
		thought.Signature = (4*1000 + 650) * 4 / 3
		c.Prompt("go")
		c.Assistant(thought, stagetest.Say("done"))
		c.Prompt("and now") // the last user message
		c.Assistant(thought, stagetest.Say("done"))
		c.Prompt("once more") // begins a turn: not in the history
		r := stagetest.NewRun(t, c, codex(t, "reasoning: %v", reasoning))
		r.Join()
		r.Last = lastUsed(c, total)
		stage := codex(t, "reasoning: %v", reasoning).Stage.(*codexCompaction)
		parts := stage.Count(&policy.Context{View: r.View, Conv: c.Conversation, Model: model, Last: r.Last})
		r.Fire(policy.Prepare, 2, policy.Context{})
		if got := len(r.View.Edits()) > 0; got != want || (policy.Sum(parts) >= 180000) != want || len(parts) != 3 || parts[0].Tokens != total || parts[1].Tokens != 0 {
			t.Errorf("%s, %s, %d tokens: compacted %t, counted %+v", model, reasoning, total, got, parts)
		}
	})
}

// A client that was started again has only the reasoning whose encrypted form its file holds: the redacted part from
// before does not count.
func TestCodexReasoningReadBack(t *testing.T) {
	c := stagetest.NewConvo()
	c.Model = "gpt-5.5"
	redacted, kept := stagetest.Think(""), stagetest.Think("")
	kept.Signature = (4*1000 + 650) * 4 / 3
	c.Prompt("go")
	c.Assistant(redacted, kept, stagetest.Say("done"))
	c.Prompt("and now")
	c.Assistant(redacted, stagetest.Say("done"))
	c.Prompt("once more")
	for m := range c.Messages {
		c.Messages[m].Model, c.Messages[m].Usage.Thinking = c.Model, 1000
	}
	r := stagetest.NewRun(t, c)
	r.Join()
	stage := codex(t, "").Stage.(*codexCompaction)
	must.Rows(t, `
# restarts | tokens | estimated
null                        | 3476 | true
[{"Before":4}]              | 1000 | false
[{"Before":2}]              | 2238 | true
[{"Before":2},{"Before":9}] | 2238 | true
[{"Before":2},{"Before":4}] | 1000 | false
`, func(restarts []session.Restart, theTokens int, theEstimated bool) {
		c.Restarts = restarts
		tokens, estimated := stage.reasoning(&policy.Context{View: r.View, Conv: c.Conversation, Model: c.Model}, 0)
		if tokens != theTokens || estimated != theEstimated {
			t.Errorf("%+v: %d, estimated %t; want %d, %t", restarts, tokens, estimated, theTokens, theEstimated)
		}
	})
}

// A request to the provider that exceeds the window leaves the newest results out.
func TestCodexCompactionRemoteOverflow(t *testing.T) {
	must.Rows(t, `
0   | 0
1   | 100
100 | 100
101 | 200
`, func(over, want int) {
		c := stagetest.Uses(6)
		r := stagetest.NewRun(t, c, codex(t, "form: remote_v2"))
		r.Overhead = 700
		r.Join()
		whole := r.View.Tokens() + 700
		r.Window = whole - over
		r.Fire(policy.Manual, 6, policy.Context{})
		call := r.View.Edits()[0].Call
		if whole-call.Input != want || (call.Cut != nil) != (over > 0) {
			t.Errorf("%d over: %d left out, cut at %v; want %d", over, whole-call.Input, call.Cut, want)
		}
	})
}

// Encrypted reasoning from before the last user message counts: by its length, or by the reasoning tokens where it was
// taken out of the recording.
func TestCodexReasoning(t *testing.T) {
	signed := func(n int) session.Block {
		return session.Block{ContentBlock: jsonl.ContentBlock{Kind: jsonl.KindThinking, Signature: n}}
	}
	for _, tt := range []struct {
		name   string
		model  string
		tokens int
		blocks []session.Block
		want   float64
	}{
		{"no reasoning", "gpt-5.5", 100, nil, 0},
		{"by its length", "gpt-5.5", 100, []session.Block{signed(4000)}, 588},
		{"shorter than what is around it", "gpt-5.5", 100, []session.Block{signed(800)}, 0},
		{"redacted", "gpt-5.5", 100, []session.Block{signed(0)}, 126.5},
		{"two items", "gpt-5.4", 100, []session.Block{signed(0), signed(0)}, 129.5},
		{"of another family", "gpt-5.6-sol", 100, []session.Block{signed(0)}, 147},
		{"of another provider", "deepseek-v3.2", 100, []session.Block{signed(0)}, 0},
	} {
		m := session.Message{Model: tt.model, Usage: jsonl.Usage{Thinking: tt.tokens}}
		m.Role, m.Blocks = session.Assistant, tt.blocks
		recorded, estimated := reasoningOf(&m)
		if math.Abs(recorded+estimated-tt.want) > 1e-9 || (estimated == 0) != (tt.want == 0 || tt.blocks[0].Signature > 0) {
			t.Errorf("%s: %g recorded, %g estimated; want %g", tt.name, recorded, estimated, tt.want)
		}
	}
}

func TestClearsReasoning(t *testing.T) {
	must.Rows(t, `
gpt-5                | true
gpt-5-mini           | true
openai/gpt-5.3-codex | true
gpt-5.4-mini         | true
gpt-5.5              | true
gpt-5.6-sol          | false
gpt-5.10             | false
gpt-4o               | false
gpt-50               | false
gpt-5.55             | false
claude-opus-4-5      | false
""                   | false
`, func(model string, want bool) {
		must.Equal(t, clearsReasoning(model), want, model)
	})
}

// A turn with a model of another compaction hash begins with a compaction, however little is used.
func TestCodexCompactionModelChange(t *testing.T) {
	must.Rows(t, `
# name | from | to | change | want
of another hash  | gpt-5.6-sol | gpt-5.4-mini    | model_change: compact | true
of the same      | gpt-5.6-sol | gpt-6-sol       | model_change: compact | false
the same model   | gpt-5.5     | gpt-5.5         | model_change: compact | false
without a hash   | gpt-5.5     | gpt-5.2         | model_change: compact | false
of another maker | gpt-5.5     | claude-opus-5-5 | model_change: compact | false
before 0.145     | gpt-5.6-sol | gpt-5.4-mini    | ""                    | false
`, func(_, from, to, change string, theWant bool) {
		c := stagetest.Talk(`prompt go; assistant say done; prompt more; assistant say ok`)
		c.Messages[1].Model, c.Messages[3].Model = from, to
		r := stagetest.NewRun(t, c, codex(t, change))
		r.Window = 272000
		r.View.Join(0)
		r.Fire(policy.Prepare, 0, policy.Context{})
		r.View.Join(1)
		r.View.Join(2)
		r.Last = policy.Response{Known: true, Message: 1, Usage: jsonl.Usage{Input: 20000}}
		r.Fire(policy.Prepare, 1, policy.Context{})
		want := "m0-m2"
		if theWant {
			want = "m0 summary m2"
		}
		must.Equal(t, r.Order(), want)
	})
}

// Where images count, a message with images is left its newest parts that fit, and nothing older stays. An image is 1,844
// tokens. The cases are those of Codex' own tests.
func TestCodexCompactionImages(t *testing.T) {
	image := stagetest.Block(jsonl.KindImage, "image", "")
	text := func(tokens int) stagetest.BlockText { return stagetest.Say(strings.Repeat("x", 4*tokens)) }
	for _, tt := range []struct {
		name   string
		images string
		tokens int
		parts  []stagetest.BlockText // of the second of three user messages; the others have a token
		order  string
		gone   string // the blocks of it that are not sent
		cut    int    // bytes that a text of it keeps
	}{
		{"free", "free", 2, []stagetest.BlockText{image}, "m2 m4 summary", "", 0},
		{"one fits", "count", 1845, []stagetest.BlockText{image}, "m2 m4 summary", "", 0},
		{"one is too large, nothing older stays", "count", 1844, []stagetest.BlockText{image}, "m4 summary", "", 0},
		{"the older image goes", "count", 1 + 1844 + 5, []stagetest.BlockText{image, text(4), image}, "m2 m4 summary", "0", 0},
		{"what is before an image that goes", "count", 1 + 1844, []stagetest.BlockText{text(4), image, image, text(1)}, "m2 m4 summary", "2 1 0", 0},
		{"a text is cut", "count", 1 + 1844 + 2, []stagetest.BlockText{text(9), text(40), image}, "m2 m4 summary", "0", 8},
	} {
		c := stagetest.NewConvo()
		c.User(session.ClassPrompt, text(1))
		c.Play(`assistant say done`)
		at := c.User(session.ClassPrompt, tt.parts...)
		c.Play(`assistant say done`)
		c.User(session.ClassPrompt, text(1))
		c.Play(`assistant say done`)
		r := stagetest.NewRun(t, c, codex(t, "form: remote_v2, images: %v, user_tokens: %v", tt.images, tt.tokens))
		r.Join()
		r.Fire(policy.Manual, 3, policy.Context{})
		var gone []string
		cut := 0
		for _, e := range r.View.Edits() {
			switch {
			case e.Kind != policy.KindTruncate || e.Target.Item != policy.ItemID(at):
			case e.New.Gone:
				gone = append(gone, strconv.Itoa(e.Target.Block))
			default:
				cut = strings.Count(e.New.Text, "x")
			}
		}
		if got := r.Order(); got != tt.order || strings.Join(gone, " ") != tt.gone || cut != tt.cut {
			t.Errorf("%s: %s, gone %v, cut to %d; want %s, %s, %d", tt.name, got, gone, cut, tt.order, tt.gone, tt.cut)
		}
	}
}

// A new context begins past the limit by the buffer, below 95 % of the window; nothing is asked for, nothing stays but what a
// turn begins with.
func TestCodexCompactionNewContext(t *testing.T) {
	must.Rows(t, `
272000  | 0     | 244800
272000  | 10000 | 254800
272000  | 16384 | 258400
1000000 | 16384 | 916384
`, func(window, buffer, want int) {
		must.Equal(t, codex(t, "form: new_context, buffer: %v", buffer).Stage.(*codexCompaction).limit(window), want, window)
	})
	for _, turn := range []string{"m3", ""} {
		c := stagetest.Talk(`meta say <environment_context>here</environment_context>; prompt go; assistant use a Read`)
		if turn == "" {
			c.Play(`answers result a x`)
		} else {
			c.Prompt("and now")
		}
		r := stagetest.NewRun(t, c, codex(t, "form: new_context"))
		r.Join()
		r.Last = lastUsed(c, 190000)
		r.Fire(policy.Prepare, 1, policy.Context{})
		if got := r.Order(); got != strings.TrimSpace("context "+turn) || r.View.Edits()[0].Call != nil {
			t.Errorf("%s, %+v", got, r.View.Edits()[0])
		}
	}
}
