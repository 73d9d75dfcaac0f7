package stage

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

func TestMicrocompactTimeGap(t *testing.T) {
	tests := []struct {
		name  string
		gap   time.Duration
		agent string
		want  []string
	}{
		{"59 minutes", 59 * time.Minute, "", nil},
		{"60 minutes", time.Hour, "", nil},
		{"60 minutes and 1 ms", time.Hour + time.Millisecond, "", []string{"clear@8 m2"}},
		{"in a subagent", 2 * time.Hour, "a1", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newConvo()
			c.Agent = tt.agent
			c.prompt("go")
			for _, id := range []string{"a", "b", "c", "d", "e", "f"} { // five are kept
				c.call(id, "Read", 1000)
			}
			answered := c.Messages[c.assistant(say("done"))].Time
			c.prompt("and now")
			c.assistant(say("done"))
			r := newRun(t, c, start(t, defineMicrocompactTime(), nil))
			r.at = map[int]time.Time{7: answered.Add(tt.gap)}
			if diff := cmp.Diff(tt.want, r.all().edits()); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// The five-level analysis' example: three results, keepRecent 2, 70 minutes.
func TestMicrocompactTimeExample(t *testing.T) {
	p := &MicrocompactTime{Gap: time.Hour, KeepRecent: 2, Tools: compactable()}
	c := newConvo()
	c.prompt("帮我了解一下这个项目的结构\n[id:abc123]")
	c.assistant(say("我先看看目录。"), use("toolu_01", "Glob"))
	first := c.answers(result("toolu_01", "src/index.ts\nsrc/auth/login.ts\nsrc/api/user.ts\n... 共 147 个文件 ..."))
	c.assistant(say("读一下入口文件。"), use("toolu_02", "Read"))
	second := c.answers(result("toolu_02", "import { createApp } from './app'\nimport { loadConfig } from './config'\n... <完整 4KB 源码> ..."))
	c.assistant(say("再扫一下 config 相关的定义。"), use("toolu_03", "Grep"))
	third := c.answers(result("toolu_03", "src/config.ts:12: export function loadConfig() {\nsrc/config.ts:34: return loadConfig()\n... 共 8 处匹配 ..."))
	at := c.Messages[c.assistant(say("项目结构大致是单入口 + 按模块分的 config/auth/api 三块。你想先深入哪一块?"))].Time
	c.prompt("那就从 auth 模块开始\n[id:def456]")
	c.assistant(say("好的"))
	r := newRun(t, c, start(t, defineMicrocompactTime(), p))
	r.at = map[int]time.Time{4: at.Add(70 * time.Minute)}
	r.all()
	if got := r.shown(first); got != "[Old tool result content cleared]" {
		t.Errorf("toolu_01: %q", got)
	}
	if r.shown(second) != "" || r.shown(third) != "" || len(r.view.Edits()) != 1 {
		t.Errorf("edits %v: want that of toolu_01 alone", r.edits())
	}
	if v := view.CheckAPI(r.view); v != nil {
		t.Errorf("%v", v)
	}
}

func TestMicrocompactTimeChoice(t *testing.T) {
	p := &MicrocompactTime{Gap: time.Hour, KeepRecent: 1, Tools: []string{"Read", "mcp__*"}}
	c := newConvo()
	c.prompt("go")
	other := c.call("a", "Task", 1000)
	mcp := c.call("b", "mcp__db__q", 1000)
	c.assistant(use("c", "Read"))
	cleared := c.answers(result("c", ClearedText))
	c.assistant(use("d", "Read"), use("e", "Read"))
	// The answers of parallel calls come in any order; the calls' order counts.
	late := c.answers(result("e", "second"))
	early := c.answers(result("d", "first"))
	array := c.call("f", "Read", 10)
	c.Messages[array].Blocks[0] = results("f", "text", image).Block
	c.assistant(say("done"))
	r := newRun(t, c, start(t, defineMicrocompactTime(), p))
	// Requests 5 and 6 follow long pauses; at the first, d and c are old and e is kept.
	r.at = map[int]time.Time{4: c.Messages[early].Time.Add(2 * time.Hour), 5: c.Messages[array].Time.Add(2 * time.Hour)}
	r.all()
	want := []string{"clear@5 m4", "clear@5 m9", "clear@6 m8"}
	if diff := cmp.Diff(want, r.edits()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for _, m := range []int{other, cleared, array} {
		if r.shown(m) != "" {
			t.Errorf("message %d was touched", m)
		}
	}
	if r.shown(mcp) != ClearedText || r.shown(late) != ClearedText {
		t.Error("a compactable result was left")
	}
	if d := r.view.Edits()[0].Detail; d["compacted_ids"] != 2 || d["tokens_saved"] != 250-8+(1-8) {
		t.Errorf("detail %v", d)
	}
}

// Without an assistant message in view there is no gap to measure.
func TestMicrocompactTimeNobodyAnswered(t *testing.T) {
	c := newConvo()
	c.prompt("go")
	c.call("a", "Read", 1000)
	c.assistant(say("done"))
	r := newRun(t, c, start(t, defineMicrocompactTime(), &MicrocompactTime{Tools: compactable()}))
	for m := range 3 {
		r.view.Join(m)
	}
	if _, err := r.view.Apply(policy.Edit{Kind: policy.KindSummarize, Keep: []policy.ItemID{0, 2}}); err != nil {
		t.Fatal(err)
	}
	n := len(r.view.Edits())
	r.fire(policy.Prepare, 1, policy.Context{Now: midday.Add(100 * time.Hour)})
	if len(r.view.Edits()) != n {
		t.Errorf("edits %v", r.edits()[n:])
	}
}

func TestMicrocompactTimeRestarts(t *testing.T) {
	p := &MicrocompactTime{Gap: time.Hour, KeepRecent: 0, Tools: compactable()}
	c := newConvo()
	c.prompt("go")
	a := c.call("a", "Read", 1000)
	b := c.call("b", "Read", 1000)
	c.assistant(say("done"))
	r := newRun(t, c, start(t, defineMicrocompactTime(), p))
	r.at = map[int]time.Time{1: c.Messages[a].Time.Add(2 * time.Hour), 2: c.Messages[b].Time.Add(2 * time.Hour)}
	r.each = func(k int) {
		if k == 1 { // a rebuild that keeps everything
			keep := r.view.IDs()
			if _, err := r.view.Apply(policy.Edit{Kind: policy.KindSummarize, Keep: slices.Clone(keep)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.all()
	if diff := cmp.Diff([]string{"clear@2 m2", "summarize@0", "clear@3 m4"}, r.edits()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
