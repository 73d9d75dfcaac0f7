package replay_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
)

// chain is a session of these messages, each under the one before.
func chain(t *testing.T, messages ...string) *session.Conversation {
	t.Helper()
	var b strings.Builder
	parent := "null"
	for i, m := range messages {
		role, content, _ := strings.Cut(m, " ")
		id := ""
		if role == "assistant" {
			id = fmt.Sprintf(`"id":"m%d","model":"claude-opus-4-5",`, i)
		}
		fmt.Fprintf(&b, `{"type":%q,"uuid":"u%d","parentUuid":%s,"sessionId":"s","version":"2.1.19","message":{%s"role":%q,"content":[%s]}}`+"\n", role, i, parent, id, role, content)
		parent = fmt.Sprintf(`"u%d"`, i)
	}
	f := must.Get(session.LoadReader("test", strings.NewReader(b.String()), session.LoadOptions{}))(t)
	t.Cleanup(func() { f.Close() })
	return f.Main
}

func said(s string) string { return fmt.Sprintf(`{"type":"text","text":%q}`, s) }
func used(id string) string {
	return fmt.Sprintf(`{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"tool_use","id":%q,"name":"Read","input":{}}`, id)
}
func result(id string) string {
	return fmt.Sprintf(`{"type":"tool_result","tool_use_id":%q,"content":"a result"}`, id)
}

// timed is a stage that makes these edits before the requests they name.
type timed struct {
	edits []policy.Edit
}

func (s *timed) Run(c *policy.Context) ([]policy.Edit, error) {
	var due []policy.Edit
	for _, e := range s.edits {
		if e.Request == c.Request {
			due = append(due, e)
		}
	}
	return due, nil
}

// scripted is a policy whose stage makes the edits of a text, parted by ", ", before the requests that begin them: a kind, messages, and the
// text of "put", which clears the result, or the word "keeping" and the messages that stay behind a summary.
func scripted(t *testing.T, memory policy.Memory, text string) policy.StageConfig {
	var edits []policy.Edit
	for one := range strings.SplitSeq(text, ", ") {
		f := strings.Fields(one)
		if len(f) == 0 {
			continue
		}
		e := policy.Edit{Kind: policy.EditKind(f[1])}
		must.JSON(t, f[0], &e.Request)
		var items []policy.ItemID
		for _, word := range f[2:] {
			if n, err := strconv.Atoi(word); err == nil {
				items = append(items, policy.ItemID(n))
			}
		}
		switch e.Kind {
		case policy.KindRemove:
			e.Items = items
		case policy.KindSummarize:
			e.Keep, e.Insert = items, []policy.Synthetic{{Role: "user", Summary: true, Contents: []policy.Content{policy.NewContent(jsonl.KindText, "so far")}}}
		case policy.KindClear:
			e.Target, e.New = policy.Target{Item: items[0]}, new(policy.NewContent(jsonl.KindToolResult, f[3]))
		default:
			e.Target = policy.Target{Item: items[0]}
		}
		edits = append(edits, e)
	}
	return policy.StageConfig{Definition: policy.Definition{
		Name: "script", Moments: policy.Prepare, Memory: memory, Params: &struct{}{},
		New: func(any) (policy.Stage, error) { return &timed{edits}, nil },
	}}
}

func TestFindings(t *testing.T) {
	conv := []string{
		"user " + said("go"), "assistant " + used("a"), "user " + result("a"), "assistant " + used("b"), "user " + result("b"),
		"assistant " + said("done"), "user " + said("more"), "assistant " + said("done"),
	}
	transcripts := map[string][]string{"whole": conv, "orphan": append([]string{"user " + result("x")}, conv...), "cut": slices.Concat(conv[:6], conv[7:])}
	memories := map[string]policy.Memory{"sticky": policy.Sticky, "stateless": policy.Stateless, "frozen": policy.Frozen}
	must.Rows(t, `
# name | transcript: whole, with an orphan result before it, or cut by a line | memory of the stage | its edits | edits of another stage before it | model
# A step a finding: its kind and rule, the request, the stage and the message.
nothing | whole | sticky | "" | "" | ""
a result cleared | whole | sticky | 3 clear 2 gone | "" | ""
a call removed without its result | whole | sticky | 3 remove 1 | "" | ""
	violation result_follows_use 3 script u2
a call removed before its result came | whole | sticky | 3 remove 0 1 2 | "" | ""
	violation first_is_user 3 script u3
the same again | whole | sticky | 3 clear 2 gone, 4 clear 2 gone | "" | ""
something else | whole | sticky | 3 clear 2 gone, 4 clear 2 went | "" | ""
	violation decisions_are_sticky 4 script u2
something else, by a stage without memory | whole | stateless | 3 clear 2 gone, 4 clear 2 went | "" | ""
fresh ones decided | whole | frozen | 2 clear 2 gone, 3 clear 4 gone | "" | ""
a frozen one touched | whole | frozen | 3 clear 2 gone | "" | ""
	violation decisions_are_sticky 3 script u2
sent again | whole | sticky | 3 server_clear 2, 4 server_keep 2 | "" | ""
	violation decisions_are_sticky 4 script u2
sent again by a server | whole | stateless | 3 server_clear 2, 4 server_keep 2 | "" | ""
sent again where another stage changed what comes before | whole | sticky | 3 server_clear 2, 4 server_keep 2 | 4 clear 2 gone | ""
sent again where another stage changed what comes behind | whole | sticky | 3 server_clear 2, 4 server_keep 2 | 4 clear 4 gone | ""
	violation decisions_are_sticky 4 script u2
sent again where another stage changed what comes before, earlier | whole | sticky | 3 server_clear 2, 4 server_keep 2 | 3 clear 2 gone | ""
	violation decisions_are_sticky 4 script u2
sent again after a compaction | whole | sticky | 3 server_clear 2, 4 server_keep 2 | 4 summarize keeping 1 2 3 4 5 6 | ""
before thinking that is preserved | whole | sticky | 3 clear 2 gone | "" | claude-opus-5-5
	preserved_thinking thinking_keeps_prefix 3 script u3
behind it | whole | sticky | 3 clear 4 gone | "" | claude-opus-5-5
a summary of all thinking | whole | sticky | 4 summarize keeping 6 | "" | claude-fable-5-1
a summary before some | whole | sticky | 4 summarize keeping 3 4 5 6 | "" | claude-fable-5-1
	preserved_thinking thinking_keeps_prefix 4 script u3
the transcript's own | orphan | sticky | "" | "" | ""
	transcript result_follows_use 1  u0
a response is last, because a line is lost | cut | sticky | "" | "" | ""
	transcript last_is_user 4  u5
the same, by edits of the policy | whole | sticky | 4 remove 6 | "" | ""
	violation last_is_user 4 script u5
the transcript's own and the policy's | orphan | sticky | 3 remove 2 | "" | ""
	transcript result_follows_use 1  u0
	violation result_follows_use 3 script u3
`, func(name, transcript, memory, edits, others, model string, want []string) {
		stages := []policy.StageConfig{scripted(t, policy.Sticky, others), scripted(t, memories[memory], edits)}
		stages[0].Definition.Name = "another"
		if others == "" {
			stages = stages[1:]
		}
		tl := must.Get(replay.Run(chain(t, transcripts[transcript]...), &policy.Policy{Name: "scripted", Window: policy.DefaultWindow(), Stages: stages}, replay.Options{Model: model}))(t)
		var got []string
		count := map[replay.FindingKind]int{}
		for _, f := range tl.Findings {
			got = append(got, fmt.Sprintf("%s %s %d %s %s", f.Kind, f.Rule, f.Request, f.Stage, f.Message))
			count[f.Kind]++
			if f.Text == "" || f.Line == 0 {
				t.Errorf("%+v", f)
			}
		}
		must.Equal(t, got, want, name)
		x := tl.Totals
		if x.Violations != count[replay.FindingViolation] || x.Transcript != count[replay.FindingTranscript] || x.Preserved != count[replay.FindingPreserved] {
			t.Errorf("totals %+v, findings %v", x, count)
		}
	})
}
