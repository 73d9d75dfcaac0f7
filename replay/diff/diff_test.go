package diff_test

import (
	"encoding/json"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay/diff"
)

// flat weighs every block and content one token.
type flat struct{ conv *session.Conversation }

func (flat) Block(int, int) int          { return 1 }
func (w flat) Message(m int) int         { return len(w.conv.Messages[m].Blocks) }
func (flat) Content(*policy.Content) int { return 1 }

// said is a conversation of n messages of one block each, user and assistant in turn; results[i] says that message i
// is a tool result.
func said(n int) *session.Conversation {
	conv := &session.Conversation{}
	for i := range n {
		role := session.Role(i % 2)
		class := session.ClassPrompt
		if role == session.Assistant {
			class = session.ClassResponse
		}
		m := session.Message{UUID: string(rune('a' + i))}
		m.Role, m.Class, m.Line = role, class, i+1
		m.Blocks = []session.Block{{ContentBlock: jsonl.ContentBlock{Kind: jsonl.KindText, Type: "text", Text: jsonl.Measure("x")}}}
		conv.Messages = append(conv.Messages, m)
	}
	conv.IndexTools()
	return conv
}

func viewAt(t *testing.T, conv *session.Conversation, n int, edits ...policy.Edit) *view.View {
	t.Helper()
	v := view.New(conv, flat{conv}, nil)
	for m := range n {
		v.Join(m)
		for len(edits) > 0 && edits[0].Request == m+1 {
			edits[0].Stage, edits[0].Group = "s", m
			must.Get(v.Apply(edits[0]))(t)
			edits = edits[1:]
		}
	}
	return v
}

func put(at int, item policy.ItemID, text string) policy.Edit {
	c := policy.NewContent(jsonl.KindText, text)
	return policy.Edit{Request: at, Kind: policy.KindClear, Target: policy.Target{Item: item}, New: &c}
}

func summary(at int, label string, keep ...policy.ItemID) policy.Edit {
	return policy.Edit{Request: at, Kind: policy.KindSummarize, Keep: keep, Insert: []policy.Synthetic{
		{Role: "user", Label: label, Summary: true, Contents: []policy.Content{policy.NewContent(jsonl.KindText, label)}},
	}}
}

// rows is a diff in short: message, left status, right status, same or not.
func rows(d *diff.Diff) (out []string) {
	for _, m := range d.Messages {
		s := m.ID + " " + string(m.Left.Status) + " " + string(m.Right.Status)
		if m.Same {
			s += " ="
		}
		out = append(out, s)
	}
	return out
}

func TestCompare(t *testing.T) {
	for _, tt := range []struct {
		name        string
		left, right []policy.Edit
		want        []string
	}{
		{"nothing", nil, nil, []string{"a kept kept =", "b kept kept =", "c kept kept =", "d kept kept ="}},
		{"cleared", nil, []policy.Edit{put(2, 1, "gone")}, []string{"a kept kept =", "b kept cleared", "c kept kept =", "d kept kept ="}},
		{"removed", nil, []policy.Edit{{Request: 3, Kind: policy.KindRemove, Items: []policy.ItemID{1, 2}}}, []string{"a kept kept =", "b kept removed", "c kept removed", "d kept kept ="}},
		{"what was summarised stands before its summary", nil, []policy.Edit{summary(3, "so far", 2)}, []string{"a kept summarised", "b kept summarised", "synthetic-1 absent added", "c kept kept =", "d kept kept ="}},
		{"a span's placeholder", nil, []policy.Edit{{Request: 3, Kind: policy.KindCollapse, Items: []policy.ItemID{0, 1}, Insert: summary(0, "span").Insert}},
			[]string{"a kept collapsed", "b kept collapsed", "synthetic-1 absent added", "c kept kept =", "d kept kept ="}},
		{"an attachment", nil, []policy.Edit{{Request: 4, Kind: policy.KindAttach, Insert: summary(0, "file").Insert}}, []string{"a kept kept =", "b kept kept =", "c kept kept =", "d kept kept =", "synthetic-1 absent added"}},
		{"the server's own", nil, []policy.Edit{{Request: 3, Kind: policy.KindServerClear, Target: policy.Target{Item: 0}}}, []string{"a kept cleared", "b kept kept =", "c kept kept =", "d kept kept ="}},
		{"a cache edit", nil, []policy.Edit{{Request: 3, Kind: policy.KindCacheEdit, Target: policy.Target{Item: 0}, Carrier: 2}}, []string{"a kept dropped", "b kept kept =", "c kept kept =", "d kept kept ="}},
		{"a tag", nil, []policy.Edit{{Request: 3, Kind: policy.KindTag, Target: policy.Target{Item: 2, Block: -1}, New: put(0, 0, "tag").New}}, []string{"a kept kept =", "b kept kept =", "c kept tagged", "d kept kept ="}},
		{"two policies, the same edit", []policy.Edit{put(2, 1, "gone")}, []policy.Edit{put(3, 1, "gone")}, []string{"a kept kept =", "b cleared cleared =", "c kept kept =", "d kept kept ="}},
		{"two policies, another edit", []policy.Edit{put(2, 1, "gone")}, []policy.Edit{put(3, 1, "went")}, []string{"a kept kept =", "b cleared cleared", "c kept kept =", "d kept kept ="}},
		{"two summaries alike", []policy.Edit{summary(3, "so far", 2)}, []policy.Edit{summary(4, "so far", 3)},
			[]string{"a summarised summarised =", "b summarised summarised =", "c kept summarised", "synthetic-1 added added =", "d kept kept ="}},
		{"two summaries", []policy.Edit{summary(3, "one", 2)}, []policy.Edit{summary(3, "two", 2)},
			[]string{"a summarised summarised =", "b summarised summarised =", "synthetic-1 added absent", "synthetic-1 absent added", "c kept kept =", "d kept kept ="}},
		{"only the left compacts", []policy.Edit{summary(4, "one", 3)}, nil, []string{"a summarised kept", "b summarised kept", "c summarised kept", "synthetic-1 added absent", "d kept kept ="}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conv := said(4)
			d := must.Get(diff.Compare(viewAt(t, conv, 4, tt.left...), viewAt(t, conv, 4, tt.right...)))(t)
			must.Equal(t, rows(d), tt.want)
			before, after, messages := 0, 0, 0
			for _, r := range d.Stat() {
				before, after, messages = before+r.Before, after+r.After, messages+r.Messages
			}
			if before != d.Before || after != d.After || messages != len(d.Messages) {
				t.Errorf("the rows come to %d, %d and %d messages, the views to %d, %d and %d", before, after, messages, d.Before, d.After, len(d.Messages))
			}
		})
	}
}

func TestBetween(t *testing.T) {
	drop := policy.Edit{Request: 4, Kind: policy.KindCacheEdit, Target: policy.Target{Item: 1}, Carrier: 2}
	clear := policy.Edit{Request: 4, Kind: policy.KindServerClear, Target: policy.Target{Item: 1}}
	for _, tt := range []struct {
		name  string
		edits []policy.Edit
		want  *diff.First
		rows  []string
	}{
		{"it only grew", nil, nil, []string{"a kept kept =", "b kept kept =", "c kept kept =", "d absent said"}},
		{"edited before", []policy.Edit{put(3, 1, "gone")}, nil, []string{"a kept kept =", "b cleared cleared =", "c kept kept =", "d absent said"}},
		{"edited since", []policy.Edit{put(4, 1, "gone")}, &diff.First{Message: "b", Line: 2, About: "text", Side: diff.Side{Status: diff.Cleared, Tokens: 1, Stage: "s"}, Prefix: 1, Sent: 3},
			[]string{"a kept kept =", "b kept cleared", "c kept kept =", "d absent said"}},
		{"by the server", []policy.Edit{clear}, &diff.First{Message: "b", Line: 2, About: "text", Side: diff.Side{Status: diff.Cleared, Stage: "s", Server: true}, Prefix: 1, Sent: 3},
			[]string{"a kept kept =", "b kept cleared", "c kept kept =", "d absent said"}},
		{"a cache edit keeps the prefix", []policy.Edit{drop}, nil, []string{"a kept kept =", "b kept dropped", "c kept kept =", "d absent said"}},
		{"compacted since", []policy.Edit{summary(4, "so far", 3)}, &diff.First{Message: "a", Line: 1, About: "prompt", Block: -1, Side: diff.Side{Status: diff.Summarised, Stage: "s"}, Sent: 3},
			[]string{"a kept summarised", "b kept summarised", "c kept summarised", "synthetic-1 absent added", "d absent said"}},
		{"the same summary as before", []policy.Edit{summary(3, "so far", 2)}, nil, []string{"a summarised summarised =", "b summarised summarised =", "synthetic-1 added added =", "c kept kept =", "d absent said"}},
		{"an early message removed", []policy.Edit{{Request: 4, Kind: policy.KindRemove, Items: []policy.ItemID{0}}}, &diff.First{Message: "a", Line: 1, About: "prompt", Block: -1, Side: diff.Side{Status: diff.Removed, Stage: "s"}, Sent: 3},
			[]string{"a kept removed", "b kept kept =", "c kept kept =", "d absent said"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conv := said(4)
			for i := range tt.edits {
				tt.edits[i].Reason = ""
			}
			d := must.Get(diff.Between(viewAt(t, conv, 3, before(tt.edits, 4)...), viewAt(t, conv, 4, tt.edits...)))(t)
			if d.First != nil {
				d.First.Side.Request = 0
			}
			must.Equal(t, d.First, tt.want)
			must.Equal(t, rows(d), tt.rows)
		})
	}
}

// before is the edits made before message n.
func before(edits []policy.Edit, n int) (out []policy.Edit) {
	for _, e := range edits {
		if e.Request < n {
			out = append(out, e)
		}
	}
	return out
}

func TestMarks(t *testing.T) {
	conv := said(4)
	v := viewAt(t, conv, 4, put(2, 0, "gone"), put(2, 1, "gone"), summary(3, "so far", 2), policy.Edit{Request: 4, Kind: policy.KindTag, Target: policy.Target{Item: 2, Block: -1}, New: put(0, 0, "tag").New})
	want := []diff.Mark{
		{Before: 2, Request: 2, Stage: "s", Kind: policy.KindClear, Edits: 2, TokensBefore: 2, TokensAfter: 2},
		{Before: 3, Request: 3, Stage: "s", Kind: policy.KindSummarize, Edits: 1, TokensBefore: 3, TokensAfter: 2, Head: "c", Tail: "c"},
	}
	must.Equal(t, diff.Marks(v), want)
	// One mark holds a restart and what was not read back.
	gone := put(3, 0, "")
	gone.Trigger, gone.New = policy.TriggerRestart, &policy.Content{Gone: true}
	v = viewAt(t, conv, 4, policy.Edit{Request: 3, Kind: policy.KindRestart, Trigger: policy.TriggerRestart, Reason: "why"},
		policy.Edit{Request: 3, Kind: policy.KindRemove, Trigger: policy.TriggerRestart, Items: []policy.ItemID{1}}, gone, put(4, 2, "cut"))
	want = []diff.Mark{
		{Before: 3, Request: 3, Stage: "s", Kind: policy.KindRestart, Reason: "why", Edits: 2, TokensBefore: 2, TokensAfter: 0},
		{Before: 4, Request: 4, Stage: "s", Kind: policy.KindClear, Edits: 1, TokensBefore: 1, TokensAfter: 1},
	}
	must.Equal(t, diff.Marks(v), want)
}

// A block in whose place nothing stands is told from one of no text.
func TestEditsGone(t *testing.T) {
	gone := put(2, 0, "")
	gone.New = &policy.Content{Kind: jsonl.KindToolUse, Gone: true}
	edits := diff.Edits(viewAt(t, said(2), 2, gone, put(2, 1, "")), 0)
	js, err := json.Marshal([]*diff.EditText{edits[0].New, edits[1].New})
	if want := `[{"type":"tool_use","gone":true},{"type":"text"}]`; err != nil || string(js) != want {
		t.Errorf("%s, %v; want %s", js, err, want)
	}
}
