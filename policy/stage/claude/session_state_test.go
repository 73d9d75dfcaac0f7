package claude

import (
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
	"github.com/ctxkit/ctxkit/policy/view"
)

// TestPostCompactOthers: each attachment where its condition holds.
func TestPostCompactOthers(t *testing.T) {
	must.Rows(t, `
# name | story | what is attached
nothing                    | ""    | ""
a plan                     | ExitPlanMode {"plan":"do this"} > ok | <plan: do this>
a plan the user sent back  | assistant calling p ExitPlanMode "{\"plan\":\"do this\"}"; answers failing p no | <plan: do this>
a plan's file              | Write {"file_path":"/h/.claude/plans/a.md","content":"first\n"} > ok; Edit {"file_path":"/h/.claude/plans/a.md","old_string":"first","new_string":"then"} > ok; ExitPlanMode {"x":1} > ok | "<plan: then\n>"
a newer plan               | Write {"file_path":"/h/.claude/plans/a.md","content":"first"} > ok; ExitPlanMode {"plan":"second"} > ok | <plan: second>
plan mode                  | EnterPlanMode {} > ok | <plan mode>
plan mode, left            | EnterPlanMode {} > ok; ExitPlanMode {} > ok | ""
plan mode, announced       | attach plan_mode "" | <plan mode>
plan mode, announced and left | attach plan_mode ""; attach plan_mode_exit "" | ""
skills, the last one first | Skill {"skill":"a"} > ok; Skill {"command":"b"} > ok; meta say "the text of b"; Skill {"skill":"a"} > ok | "<invoked skills: a, b>; <skill: b>\nthe text of b"
a skill by a command       | meta say "HEAD/s/review\n\n#R" | "<invoked skills: review>; <skill: review>\nHEAD/s/review\n\n#R"
an agent at work           | Task {LOOK} > LAUNCHED; Task {"description":"wait for"} > done | "<task status>\n- ae499f1: look: running"
an agent that is done      | Agent {LOOK} > LAUNCHED; NOTICE | ""
an agent asked after       | Task {LOOK} > LAUNCHED; TaskOutput {"task_id":"ae499f1"} > <task_id>ae499f1</task_id>\n<status>running</status> | "<task status>\n- ae499f1: look: running"
an agent asked after when done | Task {LOOK} > LAUNCHED; TaskOutput {"task_id":"ae499f1"} > <task_id>ae499f1</task_id>\n<status>completed</status> | ""
an agent stopped           | Task {LOOK} > LAUNCHED; TaskStop {"task_id":"ae499f1"} > ok | ""
listings                   | attach mcp_instructions_delta "use it so"; attach agent_listing_delta "- general"; attach deferred_tools_delta "WebSearch\nLSP" | "<deferred tools>\nWebSearch\nLSP; <agent listing>\n- general; <mcp instructions>\nuse it so"
tasks and todos            | TaskCreate {"subject":"one"} > Task #7 created; TaskUpdate {"taskId":"7","status":"completed"} > ok; TaskCreate {"subject":"two"} > Task #8 created; TodoWrite {"todos":[{"content":"old","status":"pending"}]} > ok; TodoWrite {"todos":[{"content":"a","status":"completed"},{"content":"b","status":"in_progress"}]} > ok | "<tasks>\n- task #7: one: completed\n- task #8: two: pending; <todos>\n- [x] a\n- [ ] b"
`, func(name, story, want string) {
		words := strings.NewReplacer("HEAD", skillHead, "LOOK", `"description":"look","run_in_background":true`, "LAUNCHED", `Async agent launched successfully.\nagentId: ae499f1 (internal ID)`)
		c := stagetest.Talk(`prompt go; assistant say so`)
		switch before, _, notice := strings.Cut(story, "; NOTICE"); {
		case notice:
			works(c, words.Replace(before))
			c.Play(`meta say "<task-notification>\n<task-id>ae499f1</task-id>\n<status>completed</status>"`)
		case story != "":
			works(c, words.Replace(story))
		}
		c.Play(`prompt on; assistant say done`)
		var got []string
		for _, m := range compactedAt(t, c, len(c.Requests), "attachments: [files, plan, skills, plan_mode, task_status, deferred_tools, agent_listing, mcp_instructions, hooks, tasks, todos, team]", nil) {
			got = append(got, strings.Join(m, "; "))
		}
		must.Equal(t, strings.Join(got, "; "), words.Replace(want), name)
	})
}

// TestPostCompactTwice: what does not come from messages since the last compaction is attached after each.
func TestPostCompactTwice(t *testing.T) {
	c := stagetest.Talk(`prompt go`)
	works(c, `Skill {"skill":"a"} > ok; TodoWrite {"todos":[{"content":"x","status":"pending"}]} > ok; assistant say one; prompt on; assistant say two`)
	n := len(c.Requests)
	got := compactedAt(t, c, n, "attachments: [todos, skills, team]", func(r *stagetest.Bench) {
		r.Used = func(k int) (int, int) {
			if k >= n-2 {
				return 155000, 0
			}
			return 0, 0
		}
	})
	must.Equal(t, got, [][]string{{"<todos>\n- [ ] x"}, {"<invoked skills: a>"}})
}

// lines is a session as a client records it: attachments say what is announced, what is withdrawn, and what a hook
// said.
const announcing = `{"type":"attachment","uuid":"h","parentUuid":null,"timestamp":"2026-05-01T10:00:00Z","version":"2.1.210","sessionId":"s","attachment":{"type":"hook_additional_context","content":["be brief"],"hookName":"SessionStart","hookEvent":"SessionStart"}}
{"type":"attachment","uuid":"i","parentUuid":"h","timestamp":"2026-05-01T10:00:00Z","version":"2.1.210","sessionId":"s","attachment":{"type":"hook_success","content":"not this","hookName":"PreToolUse:Bash","hookEvent":"PreToolUse"}}
{"type":"attachment","uuid":"a","parentUuid":"i","timestamp":"2026-05-01T10:00:00Z","version":"2.1.210","sessionId":"s","attachment":{"type":"deferred_tools_delta","addedNames":["A","B","C"],"addedLines":["A: one","B: two","C: three"],"removedNames":[]}}
{"type":"user","uuid":"u","parentUuid":"a","timestamp":"2026-05-01T10:00:01Z","version":"2.1.210","sessionId":"s","message":{"role":"user","content":"hello"}}
{"type":"attachment","uuid":"b","parentUuid":"u","timestamp":"2026-05-01T10:00:02Z","version":"2.1.210","sessionId":"s","attachment":{"type":"deferred_tools_delta","addedNames":["D"],"addedLines":["D: four"],"removedNames":["B"]}}
{"type":"attachment","uuid":"c","parentUuid":"b","timestamp":"2026-05-01T10:00:02Z","version":"2.1.210","sessionId":"s","attachment":{"type":"agent_listing_delta","addedTypes":["x"],"addedLines":["- x: does"],"removedTypes":[],"isInitial":true}}
{"type":"assistant","uuid":"r","parentUuid":"c","timestamp":"2026-05-01T10:00:03Z","version":"2.1.210","sessionId":"s","message":{"id":"msg","role":"assistant","model":"claude-opus-4-5","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{"input_tokens":5,"output_tokens":5}}}
`

// TestPostCompactAnnounced: a listing is attached as far as no message in view announces it, less what was withdrawn.
func TestPostCompactAnnounced(t *testing.T) {
	f := must.Get(session.LoadReader("s.jsonl", strings.NewReader(announcing), session.LoadOptions{}))(t)
	defer f.Close()
	conv := f.Main
	w := stagetest.Quarter{Conv: conv}
	must.Rows(t, `
# name | keep | want
nothing kept           | null                 | ["<deferred tools>\nA: one\nC: three\nD: four", "<agent listing>\n- x: does", "be brief"]
the second change kept | ["b"]                | ["<deferred tools>\nA: one\nC: three", "<agent listing>\n- x: does", "be brief"]
all kept               | ["h", "a", "b", "c"] | null
`, func(name string, theKeep, want []string) {
		v := view.New(conv, w, w)
		for m := range conv.Messages {
			v.Join(m)
		}
		var keep []policy.ItemID
		for m := range conv.Messages {
			for _, uuid := range theKeep {
				if conv.Messages[m].UUID == uuid {
					keep = append(keep, policy.ItemID(m))
				}
			}
		}
		must.Get(v.Apply(policy.Edit{Request: 1, Kind: policy.KindSummarize, Keep: keep, Insert: []policy.Synthetic{{Role: "user", Summary: true, Contents: []policy.Content{{Kind: jsonl.KindText, Tokens: 5}}}}}))(t)
		edits, err := stagetest.Start(t, definePostCompact(), nil).Stage.Run(&policy.Context{Moment: policy.Prepare, Request: 1, View: v, Conv: conv, Texts: v})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range edits {
			if e, err = v.Apply(e); err != nil {
				t.Fatal(err)
			}
			for i := range e.Insert {
				text := must.Get(v.Text(policy.Target{Item: e.Insert[i].ID}))(t)
				got = append(got, text)
			}
		}
		must.Equal(t, got, want, name)
	})
}
