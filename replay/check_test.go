package replay_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
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

func scripted(memory policy.Memory, edits ...policy.Edit) *policy.Policy {
	return &policy.Policy{Name: "scripted", Window: policy.DefaultWindow(), Stages: []policy.StageConfig{{Definition: policy.Definition{
		Name: "script", Moments: policy.Prepare, Memory: memory, Params: &struct{}{},
		New: func(any) (policy.Stage, error) { return &timed{edits}, nil },
	}}}}
}

// with puts another stage before a policy's.
func with(p *policy.Policy, edits ...policy.Edit) *policy.Policy {
	other := scripted(policy.Sticky, edits...).Stages[0]
	other.Definition.Name = "another"
	p.Stages = append([]policy.StageConfig{other}, p.Stages...)
	return p
}

// twoStages runs the stage of b before that of a.
func twoStages(a, b *policy.Policy) *policy.Policy {
	b.Stages[0].Definition.Name = "other"
	a.Stages = append(b.Stages, a.Stages...)
	return a
}

func TestFindings(t *testing.T) {
	conv := []string{
		"user " + said("go"), "assistant " + used("a"), "user " + result("a"), "assistant " + used("b"), "user " + result("b"),
		"assistant " + said("done"), "user " + said("more"), "assistant " + said("done"),
	}
	put := func(request int, item policy.ItemID, text string) policy.Edit {
		c := policy.NewContent(jsonl.KindToolResult, text)
		return policy.Edit{Request: request, Kind: policy.KindClear, Target: policy.Target{Item: item}, New: &c}
	}
	keep := policy.Edit{Request: 4, Kind: policy.KindServerKeep, Target: policy.Target{Item: 2}}
	clearing := policy.Edit{Request: 3, Kind: policy.KindServerClear, Target: policy.Target{Item: 2}}
	type finding struct {
		Kind    replay.FindingKind
		Rule    view.Invariant
		Request int
		Stage   string
		Message string
	}
	for _, tt := range []struct {
		name     string
		messages []string
		pol      *policy.Policy
		model    string
		want     []finding
	}{
		{"nothing", conv, scripted(policy.Sticky), "", nil},
		{"a result cleared", conv, scripted(policy.Sticky, put(3, 2, "gone")), "", nil},
		{"a call removed without its result", conv, scripted(policy.Sticky, policy.Edit{Request: 3, Kind: policy.KindRemove, Items: []policy.ItemID{1}}), "",
			[]finding{{replay.FindingViolation, view.ResultFollowsUse, 3, "script", "u2"}}},
		{"a call removed before its result came", conv, scripted(policy.Sticky, policy.Edit{Request: 3, Kind: policy.KindRemove, Items: []policy.ItemID{0, 1, 2}}), "",
			[]finding{{replay.FindingViolation, view.FirstIsUser, 3, "script", "u3"}}},
		{"the same again", conv, scripted(policy.Sticky, put(3, 2, "gone"), put(4, 2, "gone")), "", nil},
		{"something else", conv, scripted(policy.Sticky, put(3, 2, "gone"), put(4, 2, "went")), "",
			[]finding{{replay.FindingViolation, view.DecisionsSticky, 4, "script", "u2"}}},
		{"something else, by a stage without memory", conv, scripted(policy.Stateless, put(3, 2, "gone"), put(4, 2, "went")), "", nil},
		{"fresh ones decided", conv, scripted(policy.Frozen, put(2, 2, "gone"), put(3, 4, "gone")), "", nil},
		{"a frozen one touched", conv, scripted(policy.Frozen, put(3, 2, "gone")), "",
			[]finding{{replay.FindingViolation, view.DecisionsSticky, 3, "script", "u2"}}},
		{"sent again", conv, scripted(policy.Sticky, clearing, keep), "", []finding{{replay.FindingViolation, view.DecisionsSticky, 4, "script", "u2"}}},
		{"sent again where another stage edits", conv, twoStages(scripted(policy.Sticky, clearing, keep), scripted(policy.Sticky, put(4, 2, "gone"))), "", nil},
		{"sent again by a server", conv, scripted(policy.Stateless, clearing, keep), "", nil},
		{"sent again where another stage changed what comes before", conv, with(scripted(policy.Sticky, clearing, keep), put(4, 2, "gone")), "", nil},
		{"sent again where another stage changed what comes behind", conv, with(scripted(policy.Sticky, clearing, keep), put(4, 4, "gone")), "",
			[]finding{{replay.FindingViolation, view.DecisionsSticky, 4, "script", "u2"}}},
		{"sent again where another stage changed what comes before, earlier", conv, with(scripted(policy.Sticky, clearing, keep), put(3, 2, "gone")), "",
			[]finding{{replay.FindingViolation, view.DecisionsSticky, 4, "script", "u2"}}},
		{"sent again after a compaction", conv, with(scripted(policy.Sticky, clearing, keep), policy.Edit{
			Request: 4, Kind: policy.KindSummarize, Keep: []policy.ItemID{1, 2, 3, 4, 5, 6},
			Insert: []policy.Synthetic{{Role: "user", Summary: true, Contents: []policy.Content{policy.NewContent(jsonl.KindText, "so far")}}},
		}), "", nil},
		{"before thinking that is preserved", conv, scripted(policy.Sticky, put(3, 2, "gone")), "claude-opus-5-5",
			[]finding{{replay.FindingPreserved, view.ThinkingKeepsPrefix, 3, "script", "u3"}}},
		{"behind it", conv, scripted(policy.Sticky, put(3, 4, "gone")), "claude-opus-5-5", nil},
		{"a summary of all thinking", conv, scripted(policy.Sticky, policy.Edit{
			Request: 4, Kind: policy.KindSummarize, Keep: []policy.ItemID{6},
			Insert: []policy.Synthetic{{Role: "user", Summary: true, Contents: []policy.Content{policy.NewContent(jsonl.KindText, "so far")}}},
		}), "claude-fable-5-1", nil},
		{"a summary before some", conv, scripted(policy.Sticky, policy.Edit{
			Request: 4, Kind: policy.KindSummarize, Keep: []policy.ItemID{3, 4, 5, 6},
			Insert: []policy.Synthetic{{Role: "user", Summary: true, Contents: []policy.Content{policy.NewContent(jsonl.KindText, "so far")}}},
		}), "claude-fable-5-1", []finding{{replay.FindingPreserved, view.ThinkingKeepsPrefix, 4, "script", "u3"}}},
		{"the transcript's own", append([]string{"user " + result("x")}, conv...), scripted(policy.Sticky), "",
			[]finding{{replay.FindingTranscript, view.ResultFollowsUse, 1, "", "u0"}}},
		{"a response is last, because a line is lost", slices.Concat(conv[:6], conv[7:]), scripted(policy.Sticky), "",
			[]finding{{replay.FindingTranscript, view.LastIsUser, 4, "", "u5"}}},
		{"the same, by edits of the policy", conv, scripted(policy.Sticky, policy.Edit{Request: 4, Kind: policy.KindRemove, Items: []policy.ItemID{6}}), "",
			[]finding{{replay.FindingViolation, view.LastIsUser, 4, "script", "u5"}}},
		{"the transcript's own and the policy's", append([]string{"user " + result("x")}, conv...), scripted(policy.Sticky, policy.Edit{Request: 3, Kind: policy.KindRemove, Items: []policy.ItemID{2}}), "",
			[]finding{{replay.FindingTranscript, view.ResultFollowsUse, 1, "", "u0"}, {replay.FindingViolation, view.ResultFollowsUse, 3, "script", "u3"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tl := must.Get(replay.Run(chain(t, tt.messages...), tt.pol, replay.Options{Model: tt.model}))(t)
			var got []finding
			count := map[replay.FindingKind]int{}
			for _, f := range tl.Findings {
				got = append(got, finding{f.Kind, f.Rule, f.Request, f.Stage, f.Message})
				count[f.Kind]++
				if f.Text == "" || f.Line == 0 {
					t.Errorf("%+v", f)
				}
			}
			must.Equal(t, got, tt.want)
			x := tl.Totals
			if x.Violations != count[replay.FindingViolation] || x.Transcript != count[replay.FindingTranscript] || x.Preserved != count[replay.FindingPreserved] {
				t.Errorf("totals %+v, findings %v", x, count)
			}
		})
	}
}
