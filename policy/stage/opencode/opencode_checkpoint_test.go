package opencode

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
	"github.com/ctxkit/ctxkit/policy/view"
)

var checkpointRules = []string{"2.0.3", "2.0.21"}

func checkpointing(rules string) *OpencodeCheckpoint {
	p := *defineOpencodeCheckpoint().Params.(*OpencodeCheckpoint)
	p.Rules, p.Summary = rules, policy.SummaryChoices{{Kind: policy.SummaryFixed, Tokens: 5000}}
	return &p
}

// Case 1 and 2: the last response's total and what came after it, results included, are compared with the limit.
func TestCheckpointDue(t *testing.T) {
	must.Rows(t, `
# name | usage | result | want
168,000               | {"CacheRead":160000,"CacheWrite":5000,"Input":1000,"Output":2000} | -1    | {"2.0.21":false,"2.0.3":true}
180,000 with a result | {"CacheRead":150000,"CacheWrite":20000,"Input":2,"Output":1000} | 35990 | {"2.0.21":true,"2.0.3":true}
179,999 with a result | {"CacheRead":150000,"CacheWrite":20000,"Input":2,"Output":1000} | 35989 | {"2.0.21":false,"2.0.3":true}
`, func(name string, usage jsonl.Usage, result int, want map[string]bool) {
		for _, rules := range checkpointRules {
			c := stagetest.Talk(`prompt "go on"`)
			if result < 0 {
				c.Play(`assistant say done; prompt x`)
			} else {
				c.Play(`assistant use a read; answers result a x*%d`, result)
			}
			r := stagetest.NewRun(t, c, stagetest.Start(t, defineOpencodeCheckpoint(), checkpointing(rules)))
			r.Join()
			r.Last, r.MaxOutput = policy.Response{Usage: usage, Known: true, Message: 1}, 64000
			r.Fire(policy.Prepare, 1, policy.Context{})
			must.Equal(t, r.View.Epoch() > 0, want[rules], name, rules)
		}
	})
}

// Case 3, and the table of section 10.
func TestCheckpointLimits(t *testing.T) {
	never := []int{-1, -1}
	for _, tt := range []struct {
		limit  modelLimit
		buffer int
		want   []int // by 2.0.3 and by 2.0.21
	}{
		{modelLimit{200000, 0, 64000}, unset, []int{168000, 180000}}, {modelLimit{1000000, 0, 128000}, unset, []int{968000, 900000}},
		{modelLimit{128000, 0, 16384}, unset, []int{108000, 112000}}, {modelLimit{32768, 0, 8192}, unset, []int{12768, 16768}},
		{modelLimit{20000, 0, 4096}, unset, []int{0, 18000}}, {modelLimit{}, unset, never}, {modelLimit{32768, 0, 8192}, 10000, []int{22768, 22768}},
		{modelLimit{400000, 272000, 128000}, unset, []int{252000, 244800}},
	} {
		for i, rules := range checkpointRules {
			p := checkpointing(rules)
			p.Buffer = tt.buffer
			got, ok := p.ceiling(tt.limit)
			if !ok {
				got = -1
			}
			must.Equal(t, got, tt.want[i], rules, tt)
		}
	}
}

// Case 4: the total is that of a response by the same provider from 2.0.21 on, and never that of an error.
func TestCheckpointAnchor(t *testing.T) {
	for _, failed := range []bool{false, true} {
		for i, rules := range checkpointRules {
			c := stagetest.Talk(`prompt x*400; assistant say one; prompt x*400; assistant say x*200`)
			c.Messages[3].Model = "gpt-6-sol"
			c.Play(`prompt x*40`)
			r := stagetest.NewRun(t, c)
			r.Join()
			stage := must.Get(defineOpencodeCheckpoint().New(checkpointing(rules)))(t)
			s := stage.(*opencodeCheckpoint)
			at := &policy.Context{View: r.View, Model: c.Messages[1].Model}
			s.sums.Follow(r.View)
			at.Last = policy.Response{Usage: jsonl.Usage{Input: 100, CacheRead: 9900, Output: 50}, Known: true, Message: 1}
			s.note(at)
			at.Last = policy.Response{Usage: jsonl.Usage{Input: 20000, Output: 100}, Known: true, Message: 3}
			if failed {
				at.Last.StopReason = "error"
			}
			s.note(at)
			want := []int{20110, 10210}[i]
			if failed {
				want = 10210
			}
			must.Equal(t, s.used(at), want, rules, failed)
		}
	}
}

// Case 5: without a response all is estimated; 1,550 are the system prompt and a tool.
func TestCheckpointNoUsage(t *testing.T) {
	c := stagetest.NewConvo()
	c.User(session.ClassPrompt, stagetest.Say(strings.Repeat("x", 12000)), stagetest.Block(jsonl.KindImage, "image", ""))
	r := stagetest.NewRun(t, c)
	r.View.Join(0)
	stage := must.Get(defineOpencodeCheckpoint().New(checkpointing("2.0.21")))(t)
	s := stage.(*opencodeCheckpoint)
	s.sums.Follow(r.View)
	must.Equal(t, s.used(&policy.Context{View: r.View, Overhead: 1550}), 6050)
}

// Cases 6 to 10: which of the messages stay as text, by name and estimate.
func TestCheckpointTail(t *testing.T) {
	series := func(from, to, size int) (list []string) {
		for i := from; i <= to; i++ {
			list = append(list, fmt.Sprintf("A%d %d", i, size))
		}
		return list
	}
	for _, tt := range []struct {
		name  string
		list  []string
		again bool
		want  string // the first that stays
	}{
		{"6: from a prompt on", []string{"U1 1000", "A1 3000", "U2 500", "A2 9000", "U3 200", "A3 5000"}, false, "U2"},
		{"7: back to the prompt", []string{"U1 100", "A1 100", "U2 100", "A2 6000", "A3 6000", "A4 6000"}, false, "U2"},
		{"8: one prompt", append([]string{"U1 100"}, series(1, 20, 9000)...), false, ""},
		{"9: again, without a prompt", series(21, 30, 9000), true, "A21"},
		{"9: the first had no text", series(21, 30, 9000), false, ""},
		{"10: short", []string{"U1 100", "A1 100", "U2 100", "A2 100"}, false, "U2"},
		{"10: one exchange", []string{"U1 100", "A1 100"}, false, ""},
		{"a newer prompt after the start", append(append([]string{"U1 100"}, series(1, 3, 9000)...), "U2 10"), false, "U2"},
	} {
		var list []entry
		for _, word := range tt.list {
			name, size, n := "", 0, 0
			if n, _ = fmt.Sscanf(word, "%s %d", &name, &size); n != 2 {
				t.Fatal(word)
			}
			list = append(list, entry{user: name[0] == 'U', text: strings.Repeat("x", 4*size)})
		}
		got := ""
		if from := checkpointing("2.0.21").kept(list, tt.again); from < len(list) {
			got, _, _ = strings.Cut(tt.list[from], " ")
		}
		must.Equal(t, got, tt.want, tt.name)
	}
}

// Cases 8 to 12 in a view: the message that takes its place, the call behind it, what fails.
func TestCheckpointView(t *testing.T) {
	c := stagetest.Talk(`prompt a*400; assistant think hm say b use a read; answers result a c*1300; prompt d`)
	c.Attach("system", stagetest.Say("the date is another"))
	c.Play(`assistant say e`)
	texts := func(r *stagetest.Bench) (list []string) {
		for id := range r.View.Items {
			if s := r.View.Synthetic(id); s != nil {
				list = append(list, s.Role+": "+s.Contents[len(s.Contents)-1].Text)
			}
		}
		return list
	}
	r := stagetest.NewRun(t, c, stagetest.Start(t, defineOpencodeCheckpoint(), checkpointing("2.0.21")))
	r.Overhead = 1000
	r.Join()
	input := 1000 + 681
	for m := range 3 {
		input += r.View.Weight(policy.ItemID(m))
	}
	r.Fire(policy.Manual, 2, policy.Context{})
	want := []string{"user: \n</summary>\n\n<recent-context>\n[User]: d\n\n[Assistant]: e\n</recent-context>\n</conversation-checkpoint>"}
	must.Equal(t, texts(r), want)
	call := r.View.Edits()[0].Call
	if call.Output != 5000 || call.Input != input || call.Cut == nil || call.Cut.Item != 3 || call.Prefix != "session" || call.Prompt != 681 {
		t.Errorf("%+v, want input %d cut at 3", call, input)
	}
	if v := view.CheckAPI(r.View); v != nil {
		t.Error(v)
	}
	r.Fire(policy.Manual, 2, policy.Context{}) // nothing but the checkpoint
	if e := r.View.Edits()[1]; e.Kind != policy.KindFail {
		t.Errorf("%+v", e)
	}
}

// Case 12: outputs are cut by code points; a request over the window starts a compaction, a second does not.
func TestCheckpointCutAndOverflow(t *testing.T) {
	emoji, letters := strings.Repeat("\U0001F600", 1300), strings.Repeat("x", 2000)
	const mark = "\n[truncated]"
	for rules, want := range map[string][2]string{
		"2.0.3": {emoji, letters}, "2.0.21": {emoji[:4*1250] + mark, letters[:1250] + mark},
	} {
		p := checkpointing(rules)
		must.Equal(t, [2]string{p.cut(emoji), p.cut(letters)}, want, rules)
	}
	for _, auto := range []bool{true, false} {
		p := checkpointing("2.0.21")
		p.Auto = auto
		c := stagetest.Small(2)
		r := stagetest.NewRun(t, c, stagetest.Start(t, defineOpencodeCheckpoint(), p))
		r.Join()
		r.Overhead = 200001
		r.Last = policy.Response{Usage: jsonl.Usage{Input: 1000}, Known: true, Message: 1}
		r.Fire(policy.Prepare, 1, policy.Context{})
		r.Fire(policy.Prepare, 1, policy.Context{})
		must.Equal(t, len(r.View.Edits()), map[bool]int{true: 1}[auto], auto)
	}
}

// A request that is too large is sent as text from 2.0.21 on, below the limit, and once by 2.0.3.
func TestCheckpointTooLarge(t *testing.T) {
	must.Rows(t, `
# rules | kind | input
2.0.3  | fail      | 0
2.0.21 | summarize | 179958
`, func(rules string, kind policy.EditKind, input int) {
		c := stagetest.Talk(`prompt go`)
		for range 30 {
			c.Play(`assistant say x*36000`)
		}
		r := stagetest.NewRun(t, c, stagetest.Start(t, defineOpencodeCheckpoint(), checkpointing(rules)))
		r.MaxOutput = 64000
		r.Join()
		r.Fire(policy.Prepare, 1, policy.Context{})
		e := r.View.Edits()[0]
		if e.Kind != kind || e.Call != nil && e.Call.Input != input {
			t.Errorf("%s: %s %+v", rules, e.Kind, e.Call)
		}
	})
}
