package claude

import (
	"slices"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
	"github.com/ctxkit/ctxkit/policy/view"
)

func TestMicrocompactTimeGap(t *testing.T) {
	must.Rows(t, `
59m         | ""  | ""
60m         | ""  | ""
60m0.001s   | ""  | clear@8 m2
2h          | a1  | ""  # in a subagent
`, func(gap, agent, want string) {
		c := stagetest.NewConvo()
		c.Agent = agent
		c.Prompt("go")
		for i := range 6 { // five are kept
			c.Play(`call %d Read 1000`, i)
		}
		answered := c.Messages[c.Assistant(stagetest.Say("done"))].Time
		c.Play(`prompt "and now"; assistant say done`)
		r := stagetest.NewRun(t, c, stagetest.Start(t, defineMicrocompactTime(), nil))
		r.At = map[int]time.Time{7: answered.Add(must.Get(time.ParseDuration(gap))(t))}
		must.Equal(t, r.All().Edits(), want, gap)
	})
}

// The five-level analysis' example: three results, keepRecent 2, 70 minutes.
func TestMicrocompactTimeExample(t *testing.T) {
	p := &MicrocompactTime{Enabled: true, Gap: time.Hour, KeepRecent: 2, Tools: compactable()}
	c := stagetest.Talk(`
prompt "帮我了解一下这个项目的结构\n[id:abc123]"
assistant say 我先看看目录。 use toolu_01 Glob
`)
	first := c.Answers(stagetest.Result("toolu_01", "src/index.ts\nsrc/auth/login.ts\nsrc/api/user.ts\n... 共 147 个文件 ..."))
	c.Play(`assistant say 读一下入口文件。 use toolu_02 Read`)
	second := c.Answers(stagetest.Result("toolu_02", "import { createApp } from './app'\nimport { loadConfig } from './config'\n... <完整 4KB 源码> ..."))
	c.Play(`assistant say "再扫一下 config 相关的定义。" use toolu_03 Grep`)
	third := c.Answers(stagetest.Result("toolu_03", "src/config.ts:12: export function loadConfig() {\nsrc/config.ts:34: return loadConfig()\n... 共 8 处匹配 ..."))
	at := c.Messages[c.Assistant(stagetest.Say("项目结构大致是单入口 + 按模块分的 config/auth/api 三块。你想先深入哪一块?"))].Time
	c.Play(`prompt "那就从 auth 模块开始\n[id:def456]"; assistant say 好的`)
	r := stagetest.NewRun(t, c, stagetest.Start(t, defineMicrocompactTime(), p))
	r.At = map[int]time.Time{4: at.Add(70 * time.Minute)}
	r.All()
	must.Equal(t, r.Shown(first), "[Old tool result content cleared]", "toolu_01")
	if r.Shown(second) != "" || r.Shown(third) != "" || len(r.View.Edits()) != 1 {
		t.Errorf("edits %v: want that of toolu_01 alone", r.Edits())
	}
	if v := view.CheckAPI(r.View); v != nil {
		t.Errorf("%v", v)
	}
}

func TestMicrocompactTimeChoice(t *testing.T) {
	p := &MicrocompactTime{Enabled: true, Gap: time.Hour, KeepRecent: 1, Tools: []string{"Read", "mcp__*"}}
	c := stagetest.Talk(`prompt go`)
	other := c.Call("a", "Task", 1000)
	mcp := c.Call("b", "mcp__db__q", 1000)
	c.Play(`assistant use c Read`)
	cleared := c.Answers(stagetest.Result("c", ClearedText))
	c.Play(`assistant use d Read use e Read`)
	// The answers of parallel calls come in any order; the calls' order counts.
	late := c.Answers(stagetest.Result("e", "second"))
	early := c.Answers(stagetest.Result("d", "first"))
	array := c.Call("f", "Read", 10)
	c.Messages[array].Blocks[0] = stagetest.Results("f", "text", stagetest.Image).Block
	c.Play(`assistant say done`)
	r := stagetest.NewRun(t, c, stagetest.Start(t, defineMicrocompactTime(), p))
	// Requests 5 and 6 follow long pauses; at the first, d and c are old and e is kept.
	r.At = map[int]time.Time{4: c.Messages[early].Time.Add(2 * time.Hour), 5: c.Messages[array].Time.Add(2 * time.Hour)}
	r.All()
	want := "clear@5 m4, clear@5 m9, clear@6 m8"
	must.Equal(t, r.Edits(), want)
	for _, m := range []int{other, cleared, array} {
		must.Equal(t, r.Shown(m), "", m)
	}
	must.Say(t, "[Old tool result content cleared] [Old tool result content cleared]", r.Shown(mcp), r.Shown(late))
	d := r.View.Edits()[0].Detail
	must.Say(t, "2 235", d["compacted_ids"], d["tokens_saved"])
}

// Without an assistant message in view there is no gap to measure.
func TestMicrocompactTimeNobodyAnswered(t *testing.T) {
	c := stagetest.Talk(`prompt go; call a Read 1000; assistant say done`)
	r := stagetest.NewRun(t, c, stagetest.Start(t, defineMicrocompactTime(), &MicrocompactTime{Enabled: true, Tools: compactable()}))
	for m := range 3 {
		r.View.Join(m)
	}
	must.Get(r.View.Apply(policy.Edit{Kind: policy.KindSummarize, Keep: []policy.ItemID{0, 2}}))(t)
	n := len(r.View.Edits())
	r.Fire(policy.Prepare, 1, policy.Context{Now: stagetest.Midday.Add(100 * time.Hour)})
	must.Equal(t, len(r.View.Edits()), n)
}

func TestMicrocompactTimeRestarts(t *testing.T) {
	p := &MicrocompactTime{Enabled: true, Gap: time.Hour, KeepRecent: 0, Tools: compactable()}
	c := stagetest.Talk(`prompt go`)
	a := c.Call("a", "Read", 1000)
	b := c.Call("b", "Read", 1000)
	c.Play(`assistant say done`)
	r := stagetest.NewRun(t, c, stagetest.Start(t, defineMicrocompactTime(), p))
	r.At = map[int]time.Time{1: c.Messages[a].Time.Add(2 * time.Hour), 2: c.Messages[b].Time.Add(2 * time.Hour)}
	r.Each = func(k int) {
		if k == 1 { // a rebuild that keeps everything
			keep := r.View.IDs()
			must.Get(r.View.Apply(policy.Edit{Kind: policy.KindSummarize, Keep: slices.Clone(keep)}))(t)
		}
	}
	r.All()
	must.Equal(t, r.Edits(), "clear@2 m2, summarize@0, clear@3 m4")
}

func TestMicrocompactTimeKeepRecent(t *testing.T) {
	must.Rows(t, `
4 | ""             | ""
5 | ""             | ""
6 | ""             | clear@8 m2
7 | ""             | clear@9 m2, clear@9 m4
1 | keep_recent: 1 | ""
1 | keep_recent: 0 | clear@3 m2
0 | keep_recent: 0 | ""
`, func(results int, set, want string) {
		c := stagetest.Talk(`prompt go`)
		for i := range results {
			c.Play(`call %v Read 400`, i)
		}
		answered := c.Messages[c.Assistant(stagetest.Say("done"))].Time
		c.Play(`prompt "and now"; assistant say done`)
		r := stagetest.NewRun(t, c, stagetest.Start(t, defineMicrocompactTime(), set))
		r.At = map[int]time.Time{results + 1: answered.Add(2 * time.Hour)}
		must.Equal(t, r.All().Edits(), want, results, set)
	})
}
