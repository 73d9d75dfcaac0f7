package claude

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
	"github.com/ctxkit/ctxkit/policy/view"
)

// sents runs a conversation and lists what each request held; warned takes what the stage warns of.
func sents(t *testing.T, c *stagetest.Convo, p *Snip, more ...stagetest.Named) (list, warned []string) {
	t.Helper()
	r := stagetest.NewRun(t, c, append([]stagetest.Named{stagetest.Start(t, defineSnip(), p)}, more...)...)
	r.Warned = func(line int, message string) { warned = append(warned, fmt.Sprintf("%d: %s", line, message)) }
	r.Each = func(int) {
		list = append(list, sent(r))
		for _, v := range view.CheckAPI(r.View) {
			t.Errorf("request %d: message %d: %s", len(list), v.Item, v.Message)
		}
	}
	r.All()
	return list, warned
}

// uuids whose short ids are abc123 and def456.
const (
	abc123 = "053a4ff8-d100-4000-8000-000000000000"
	def456 = "06caac2a-2d00-4000-8000-000000000000"
)

// TestSnipExample is the worked example of the pipeline analysis: Turn 1 goes, toolu_01 and toolu_02 with it, and
// [id:def456] is not touched.
func TestSnipExample(t *testing.T) {
	c := stagetest.NewConvo()
	c.Messages[c.Prompt("帮我找一下项目里所有的 TODO,我想集中处理一下")].UUID = abc123
	c.Play(`
assistant say "好的,我用 Grep 搜索一下。" use toolu_01 Grep
answers result toolu_01 "src/auth/login.ts:42: // TODO: handle refresh token"
assistant say "我打开 login.ts 看一下那个 refresh token 的 TODO 具体场景。" use toolu_02 Read
answers result toolu_02 "<login.ts 全文,约 4KB>"
`)
	c.Messages[c.Prompt("算了先别搞 TODO 了,线上登录报 500 的 bug 更紧急,先修这个")].UUID = def456
	c.Play(`
assistant say "理解,TODO 先放下。登录 500 我查一下最近的错误日志。" use toolu_03 Bash
answers result toolu_03 "<日志 tail 输出>"
`)
	at := c.Assistant(stagetest.Use("toolu_04", "Snip"))
	c.Play(`answers result toolu_04 ok; assistant say done`)
	call := c.Snips(at, 0, 0)
	call.Reason = "用户已改方向放弃 TODO 调研,原轮次的 Grep 结果与 login.ts 全文与当前 bug 修复无关"

	r := stagetest.NewRun(t, c, stagetest.Start(t, defineSnip(), nil))
	var got []string
	r.Each = func(int) { got = append(got, sent(r)) }
	r.All()
	before := abc123 + "/[id:abc123] m1 m2 m3 m4 " + def456 + "/[id:def456] m6 m7"
	must.Equal(t, got[3], before, "before\n got")
	if want := def456 + "/[id:def456] m6 m7 m8 m9"; got[4] != want {
		t.Errorf("after\n got %s\nwant %s", got[4], want)
	}
	edits := r.View.Edits()
	e := edits[len(edits)-1]
	if e.Kind != policy.KindRemove || e.Request != 5 || e.Trigger != "model" || e.Reason != call.Reason || !slices.Equal(e.Items, []policy.ItemID{0, 1, 2, 3, 4}) {
		t.Errorf("edit %+v", e)
	}
	// The tag is on the copy sent, and counted; raw is what was typed.
	tag := r.View.Tag(5)
	if n := policy.RoundQuarter(len("\n[id:def456]")); r.View.Weight(5) != (stagetest.Quarter{Conv: c.Conversation}).Block(5, 0)+n || n != 3 {
		t.Errorf("the tagged prompt weighs %d", r.View.Weight(5))
	}
	if text := c.Texts[policy.Target{Item: 5}]; strings.Contains(text, "[id:") || tag.Text != "\n[id:def456]" {
		t.Errorf("raw %q, tag %q", text, tag.Text)
	}
	for id := range r.View.Items {
		if m := r.View.Message(id); (r.View.Tag(id) != nil) != (m.Class == session.ClassPrompt) {
			t.Errorf("message %d: tag %v", id, r.View.Tag(id))
		}
	}
}

// snipConvo is three turns of a round each; the second calls Snip in a round of its own, third says what came before.
// Indexes: prompts 0, 4, 10.
func snipConvo(more ...stagetest.BlockText) *stagetest.Convo {
	c := stagetest.Talk(`
prompt one; assistant use t1 Read; answers result t1 x; assistant say done; prompt two; assistant use t2 Read
answers result t2 x
`)
	c.Assistant(append([]stagetest.BlockText{stagetest.Use("t3", "Snip")}, more...)...)
	answers := []stagetest.BlockText{stagetest.Result("t3", "ok")}
	for _, p := range more {
		answers = append(answers, stagetest.Result(p.ID, "x"))
	}
	c.Answers(answers...)
	c.Play(`assistant say done; prompt three; assistant say done; prompt four; assistant say done`)
	return c
}

const (
	snipAll   = "m0 m1 m2 m3 m4 m5 m6 m7 m8"
	snipThird = "m0 m1 m2 m3 m4 m5 m6 m7 m8 m9 m10"
)

// TestSnipTurns: which turn goes, and when.
func TestSnipTurns(t *testing.T) {
	for _, tt := range []struct {
		name   string
		named  []int
		change func(c *stagetest.Convo, call *session.SnipCall)
		want   []string // requests 5 (after the answer), 6 and 7
		warn   string
	}{
		{name: "a turn before", named: []int{0}, want: []string{"m4 m5 m6 m7 m8", "m4 m5 m6 m7 m8 m9 m10", "m4 m5 m6 m7 m8 m9 m10 m11 m12"}},
		{name: "its own, when it is over", named: []int{4}, want: []string{snipAll, "m0 m1 m2 m3 m10", "m0 m1 m2 m3 m10 m11 m12"}},
		{name: "both, each at its time", named: []int{0, 4}, want: []string{"m4 m5 m6 m7 m8", "m10", "m10 m11 m12"}},
		{name: "none", want: []string{snipAll, snipThird, snipThird + " m11 m12"}},
		{
			name: "refused", named: []int{0}, want: []string{snipAll, snipThird, snipThird + " m11 m12"},
			change: func(_ *stagetest.Convo, call *session.SnipCall) { call.Failed = true },
		},
		{
			name: "never answered", named: []int{0}, want: []string{snipAll, snipThird, snipThird + " m11 m12"},
			change: func(_ *stagetest.Convo, call *session.SnipCall) { call.Answered = -1 },
		},
		{
			name: "by two calls", named: []int{0}, want: []string{"m4 m5 m6 m7 m8", "m4 m5 m6 m7 m8 m9 m10", "m4 m5 m6 m7 m8 m9 m10 m11 m12"},
			change: func(c *stagetest.Convo, call *session.SnipCall) { c.SnipCalls = append(c.SnipCalls, *call) }, warn: "left the view before",
		},
		{
			name: "a queued prompt opens a turn", named: []int{0}, want: []string{"m3 m4 m5 m6 m7 m8", "m3 m4 m5 m6 m7 m8 m9 m10", "m3 m4 m5 m6 m7 m8 m9 m10 m11 m12"},
			change: func(c *stagetest.Convo, _ *session.SnipCall) {
				// m3 is said while the agent works: what was its answer goes.
				c.Messages[3] = session.Message{Class: session.ClassPrompt, Marks: session.Queued, Blocks: []session.Block{stagetest.Say("and this").Block}, UUID: "m3"}
				c.Requests = slices.Delete(c.Requests, 1, 2)
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := snipConvo()
			call := c.Snips(7, 0, tt.named...)
			if tt.change != nil {
				tt.change(c, call)
			}
			list, warned := sents(t, c, &Snip{})
			must.Equal(t, list[len(list)-3:], tt.want)
			if got := strings.Join(warned, "\n"); (tt.warn == "") != (got == "") || !strings.Contains(got, tt.warn) {
				t.Errorf("warned of %q, want %q", got, tt.warn)
			}
		})
	}
}

// TestSnipParallel: a call beside others waits for all of their answers, as the next request does, and takes none of
// them along.
func TestSnipParallel(t *testing.T) {
	c := snipConvo(stagetest.Use("t4", "Read"), stagetest.Use("t5", "Bash"))
	c.Snips(7, 0, 0)
	list, _ := sents(t, c, &Snip{})
	must.Equal(t, list[4], "m4 m5 m6 m7 m8", "sent")
}

// TestSnipAway: a turn that another stage took away, or a part of one.
func TestSnipAway(t *testing.T) {
	at := func(request int, e policy.Edit) stagetest.Named {
		return stagetest.Named{Def: policy.Definition{Name: "other", Moments: policy.Prepare}, Stage: does(func(c *policy.Context) []policy.Edit {
			if c.Request != request {
				return nil
			}
			return []policy.Edit{e}
		})}
	}
	folded := policy.Synthetic{Role: "user", Label: "collapsed", Contents: []policy.Content{{Kind: jsonl.KindText, Tokens: 5}}}
	for _, tt := range []struct {
		name string
		edit policy.Edit
		want string // request 5
		warn bool
	}{
		{"compacted away", policy.Edit{Kind: policy.KindSummarize, Insert: []policy.Synthetic{folded}}, "synthetic m5 m6 m7 m8", true},
		{"collapsed", policy.Edit{Kind: policy.KindCollapse, Items: []policy.ItemID{0, 1, 2, 3}, Insert: []policy.Synthetic{folded}}, "synthetic m4 m5 m6 m7 m8", true},
		{"a part collapsed: it may stand for more", policy.Edit{Kind: policy.KindCollapse, Items: []policy.ItemID{1, 2, 3}, Insert: []policy.Synthetic{folded}}, "synthetic m4 m5 m6 m7 m8", false},
		{"a part removed", policy.Edit{Kind: policy.KindRemove, Items: []policy.ItemID{1, 2, 3}}, "m4 m5 m6 m7 m8", false},
		{"the next prompt removed: an answer would come first", policy.Edit{Kind: policy.KindRemove, Items: []policy.ItemID{4}}, "m0 m1 m2 m3 m5 m6 m7 m8", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := snipConvo()
			c.Snips(7, 0, 0)
			list, warned := sents(t, c, &Snip{}, at(3, tt.edit))
			must.Equal(t, list[4], tt.want, "sent")
			must.Equal(t, len(warned) > 0, tt.warn, warned)
		})
	}
}

// does is a stage that does as told.
type does func(c *policy.Context) []policy.Edit

func (d does) Run(c *policy.Context) ([]policy.Edit, error) { return d(c), nil }

// TestSnipRecordOnly: what only the record holds is no part of a turn, and no prompt.
func TestSnipRecordOnly(t *testing.T) {
	c := snipConvo()
	c.Messages[2].RecordOnly = true // nobody's
	c.Messages[1].Blocks = []session.Block{stagetest.Say("done").Block}
	c.Snips(7, 0, 0)
	list, _ := sents(t, c, &Snip{})
	must.Say(t, "m4 m5 m6 m7 m8 m0 m1", list[4], list[1])
}

// TestSnipTags: prompts are tagged once, as they come; nothing else is.
func TestSnipTags(t *testing.T) {
	c := stagetest.Talk(`meta say caveat; prompt one; assistant use t1 Read; answers result t1 x say "beside it"`)
	c.Messages[c.Prompt("queued")].Marks |= session.Queued
	c.Play(`assistant say done`)
	c.User(session.ClassInterrupt, stagetest.Say("[Request interrupted by user]"))
	c.User(session.ClassCommand, stagetest.Say("<command-name>/cost</command-name>"))
	c.Add(session.Message{Role: session.User, Class: session.ClassPrompt}) // without content
	c.Play(`prompt two; assistant say done`)
	r := stagetest.NewRun(t, c, stagetest.Start(t, defineSnip(), nil)).All()
	var got []string
	for _, e := range r.View.Edits() {
		must.Say(t, "tag -1", e.Kind, e.Target.Block)
		got = append(got, fmt.Sprintf("%d: %s %s", e.Request, c.Messages[e.Target.Item].UUID, e.New.Text))
	}
	want := []string{
		"1: m1 \n[id:" + jsonl.ShortID("m1") + "]", "2: m4 \n[id:" + jsonl.ShortID("m4") + "]",
		"3: m8 \n[id:" + jsonl.ShortID("m8") + "]", "3: m9 \n[id:" + jsonl.ShortID("m9") + "]",
	}
	must.Equal(t, got, want)
	// Without tags the view is what it was, and calls are carried out.
	c = snipConvo()
	c.Snips(7, 0, 0)
	if list, _ := sents(t, c, &Snip{Tag: false}); list[4] != "m4 m5 m6 m7 m8" {
		t.Errorf("sent %s", list[4])
	}
}

// TestSnipTrials: snips that were never made.
func TestSnipTrials(t *testing.T) {
	for _, tt := range []struct {
		name string
		ids  []SnipTrial
		want map[int]string // by request
	}{
		{"by uuid", []SnipTrial{{"m0", 3}}, map[int]string{2: "m0 m1 m2", 3: "m4", 4: "m4 m5 m6"}},
		{"by id", []SnipTrial{{jsonl.ShortID("m0"), 4}}, map[int]string{3: "m0 m1 m2 m3 m4", 4: "m4 m5 m6"}},
		{"two at once", []SnipTrial{{"m0", 6}, {"m4", 6}}, map[int]string{5: snipAll, 6: "m10"}},
		{"one after the other", []SnipTrial{{"m4", 7}, {"m0", 6}}, map[int]string{6: "m4 m5 m6 m7 m8 m9 m10", 7: "m10 m11 m12"}},
		{"a turn that is worked in waits", []SnipTrial{{"m4", 4}}, map[int]string{5: snipAll, 6: "m0 m1 m2 m3 m10"}},
		{"twice", []SnipTrial{{"m0", 3}, {jsonl.ShortID("m0"), 5}}, map[int]string{3: "m4", 5: "m4 m5 m6 m7 m8"}},
		{"one that is not there", []SnipTrial{{"zzzzzz", 3}}, map[int]string{5: snipAll}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			list, _ := sents(t, snipConvo(), &Snip{IDs: tt.ids})
			for n, want := range tt.want {
				must.Equal(t, list[n-1], want, n)
			}
		})
	}
}

// TestSnipStart: a trial that cannot be made is refused before anything is.
func TestSnipStart(t *testing.T) {
	c := snipConvo()
	c.IndexTools()
	for trial, want := range map[SnipTrial]string{
		{"m0", 3}:                               "",
		{jsonl.ShortID("m4"), 4}:                "",
		{"zzzzzz", 3}:                           `no prompt has the id "zzzzzz": give one of ` + jsonl.ShortID("m0") + " (line 0), " + jsonl.ShortID("m4"),
		{"m1", 3}:                               `no prompt has the id "m1"`,
		{"m0", 8}:                               "there is no request 8 to snip m0 before: the session has 7",
		{"m4", 2}:                               "the prompt m4, line 0, comes after request 2",
		{"m12", 7}:                              "the turn of m12, line 0, lasts to the end",
		{"[id:" + jsonl.ShortID("m0") + "]", 7}: "",
	} {
		st := stagetest.Start(t, defineSnip(), &Snip{IDs: []SnipTrial{trial}}).Stage.(policy.Starter)
		err := st.Start(c.Conversation)
		var refused *policy.Error
		if want == "" && err != nil || want != "" && (!errors.As(err, &refused) || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", trial, err, want)
		}
	}
	empty := stagetest.Talk(`assistant say hello`)
	err := stagetest.Start(t, defineSnip(), &Snip{IDs: []SnipTrial{{"m0", 1}}}).Stage.(policy.Starter).Start(empty.Conversation)
	if err == nil || !strings.Contains(err.Error(), "it has no prompts") {
		t.Errorf("no prompts: %v", err)
	}
}

// TestSnipTrialNotation: ID@REQUEST, several ids with commas.
func TestSnipTrialNotation(t *testing.T) {
	must.Rows(t, `
# text | want
abc123@5             | abc123@5
abc123,def456@12     | abc123@12 def456@12
" abc123 , def456@1" | abc123@1 def456@1
053a4ff8-d100-4000-8000-000000000000@5 | 053a4ff8-d100-4000-8000-000000000000@5
""                   | ""
abc123               | ""
abc123@              | ""
@5                   | ""
abc123,@5            | ""
abc123@0             | ""
abc123@-1            | ""
abc123@x             | ""
a@b@5                | ""
`, func(text string, want string) {
		got, err := ParseSnipTrials(text)
		if (err == nil) != (want != "") || strings.Trim(fmt.Sprint(got), "[]") != want {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	})
	var one SnipTrial
	for _, plain := range []any{nil, 5, true, "abc123", "a,b@5", []any{"a@5"}} {
		if err := one.DecodeParam(plain); err == nil {
			t.Errorf("%v is taken as %v", plain, one)
		}
	}
	if err := one.DecodeParam("abc123@5"); err != nil || one.EncodeParam() != "abc123@5" {
		t.Errorf("%v, %v", one, err)
	}
}

// sent lists what a request holds: the uuids of messages, with their tags.
func sent(r *stagetest.Bench) string {
	var list []string
	for id := range r.View.Items {
		s := "synthetic"
		if m := r.View.Message(id); m != nil {
			s = m.UUID
		}
		if tag := r.View.Tag(id); tag != nil {
			s += strings.ReplaceAll(tag.Text, "\n", "/")
		}
		list = append(list, s)
	}
	return strings.Join(list, " ")
}
