package gemini

import (
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

// TestMaskingHeldBack: what a condition kept from being masked is proposed again.
func TestMaskingHeldBack(t *testing.T) {
	p := *defineGeminiMasking().Params.(*GeminiMasking)
	p.Protect, p.Minimum = 1000, 1000
	c := stagetest.Talk(`prompt go`)
	for _, id := range []string{"a", "b", "c"} {
		c.Play(`call %q Read 10000`, id)
	}
	c.Play(`assistant say done`)
	r := stagetest.NewRun(t, c)
	r.Join()
	s := stagetest.Start(t, defineGeminiMasking(), &p).Stage
	var counts []int
	for range 2 { // the edits of the first are not applied
		edits := must.Get(s.Run(&policy.Context{Moment: policy.Prepare, View: r.View, Conv: r.C.Conversation, Texts: r.Texts, Window: 200000}))(t)
		counts = append(counts, len(edits))
	}
	if counts[0] == 0 || counts[1] != counts[0] {
		t.Errorf("proposed %d results", counts)
	}
}

// TestCompressionAgain: a prompt that waits beside a result when the history cannot be split is in the next one.
func TestCompressionAgain(t *testing.T) {
	p := *defineGeminiCompression().Params.(*GeminiCompression)
	p.Summary = policy.SummaryChoices{{Kind: policy.SummaryFixed, Tokens: 50}}
	c := stagetest.Talk(`prompt x*400000; call a Read 40000; prompt more  # typed while the tool ran`)
	n := len(c.Messages)
	c.Play(`call b Read 10000`)
	r := stagetest.NewRun(t, c, stagetest.Start(t, defineGeminiCompression(), &p))
	r.Window = 100000
	r.Last = policy.Response{Known: true, Usage: jsonl.Usage{Input: 90000, Output: 100}}
	for m := range c.Messages {
		if m == n {
			r.Fire(policy.Prepare, 1, policy.Context{})
			if got := r.Edits(); len(got) > 0 {
				t.Errorf("%v at the first request", got)
			}
		}
		r.View.Join(m)
	}
	r.Fire(policy.Prepare, 2, policy.Context{})
	if len(r.Edits()) == 0 {
		t.Error("nothing was compressed at the second request")
	}
}

// TestMaskingRestored: a result that was replaced, and then shows a part of its text again, can be masked.
func TestMaskingRestored(t *testing.T) {
	p := *defineGeminiMasking().Params.(*GeminiMasking)
	p.Protect, p.Minimum = 1000, 1000
	c := stagetest.Talk(`prompt go`)
	at := c.Call("a", "Read", 10000)
	c.Play(`call b Read 10000; assistant say done`)
	r := stagetest.NewRun(t, c)
	r.Join()
	s := stagetest.Start(t, defineGeminiMasking(), &p).Stage
	target := policy.Target{Item: policy.ItemID(at)}
	part := policy.NewContent(jsonl.KindToolResult, strings.Repeat("x", 8000))
	part.Partial = true
	gone := policy.NewContent(jsonl.KindToolResult, "[gone]")
	for i, e := range []policy.Edit{{Kind: policy.KindClear, Target: target, New: &gone}, {Kind: policy.KindTruncate, Target: target, New: &part}} {
		e.Stage = "other"
		must.Get(r.View.Apply(e))(t)
		edits := must.Get(s.Run(&policy.Context{Moment: policy.Prepare, View: r.View, Conv: r.C.Conversation, Texts: r.Texts, Window: 200000}))(t)
		must.Equal(t, len(edits), 1+i, i+1)
	}
}
