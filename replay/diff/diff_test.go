package diff_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
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
	must.Rows(t, `
# name | edits of the left view | of the right | the rows; synthetic-1 is what an edit made
nothing | "" | "" | a kept kept =, b kept kept =, c kept kept =, d kept kept =
cleared | "" | 2 clear 1 gone | a kept kept =, b kept cleared, c kept kept =, d kept kept =
removed | "" | 3 remove 1 2 | a kept kept =, b kept removed, c kept removed, d kept kept =
what was summarised stands before its summary | "" | 3 summarize 2 so far | a kept summarised, b kept summarised, synthetic-1 absent added, c kept kept =, d kept kept =
a span's placeholder | "" | 3 collapse 0 1 span | a kept collapsed, b kept collapsed, synthetic-1 absent added, c kept kept =, d kept kept =
an attachment | "" | 4 attach file | a kept kept =, b kept kept =, c kept kept =, d kept kept =, synthetic-1 absent added
the server's own | "" | 3 server_clear 0 | a kept cleared, b kept kept =, c kept kept =, d kept kept =
a cache edit | "" | 3 cache_edit 0 | a kept dropped, b kept kept =, c kept kept =, d kept kept =
a tag | "" | 3 tag 2 tag | a kept kept =, b kept kept =, c kept tagged, d kept kept =
two policies, the same edit | 2 clear 1 gone | 3 clear 1 gone | a kept kept =, b cleared cleared =, c kept kept =, d kept kept =
two policies, another edit | 2 clear 1 gone | 3 clear 1 went | a kept kept =, b cleared cleared, c kept kept =, d kept kept =
two summaries alike | 3 summarize 2 so far | 4 summarize 3 so far | a summarised summarised =, b summarised summarised =, c kept summarised, synthetic-1 added added =, d kept kept =
two summaries | 3 summarize 2 one | 3 summarize 2 two | a summarised summarised =, b summarised summarised =, synthetic-1 added absent, synthetic-1 absent added, c kept kept =, d kept kept =
only the left compacts | 4 summarize 3 one | "" | a summarised kept, b summarised kept, c summarised kept, synthetic-1 added absent, d kept kept =
`, func(name, left, right, want string) {
		conv := said(4)
		d := must.Get(diff.Compare(viewAt(t, conv, 4, edited(t, left)...), viewAt(t, conv, 4, edited(t, right)...)))(t)
		must.Equal(t, strings.Join(rows(d), ", "), want, name)
		before, after, messages := 0, 0, 0
		for _, r := range d.Stat() {
			before, after, messages = before+r.Before, after+r.After, messages+r.Messages
		}
		must.Equal(t, [...]int{before, after, messages}, [...]int{d.Before, d.After, len(d.Messages)}, name)
	})
}

func TestBetween(t *testing.T) {
	must.Rows(t, `
# name | edits | the first that differs | rows
it only grew | "" | null | a kept kept =, b kept kept =, c kept kept =, d absent said
edited before | 3 clear 1 gone | null | a kept kept =, b cleared cleared =, c kept kept =, d absent said
edited since | 4 clear 1 gone | {"message": "b", "line": 2, "about": "text", "change": {"status": "cleared", "tokens": 1, "stage": "s"}, "prefix_tokens": 1, "sent_tokens": 3} | a kept kept =, b kept cleared, c kept kept =, d absent said
by the server | 4 server_clear 1 | {"message": "b", "line": 2, "about": "text", "change": {"status": "cleared", "stage": "s", "server": true}, "prefix_tokens": 1, "sent_tokens": 3} | a kept kept =, b kept cleared, c kept kept =, d absent said
a cache edit keeps the prefix | 4 cache_edit 1 | null | a kept kept =, b kept dropped, c kept kept =, d absent said
compacted since | 4 summarize 3 so far | {"message": "a", "line": 1, "about": "prompt", "block": -1, "change": {"status": "summarised", "stage": "s"}, "sent_tokens": 3} | a kept summarised, b kept summarised, c kept summarised, synthetic-1 absent added, d absent said
the same summary as before | 3 summarize 2 so far | null | a summarised summarised =, b summarised summarised =, synthetic-1 added added =, c kept kept =, d absent said
an early message removed | 4 remove 0 | {"message": "a", "line": 1, "about": "prompt", "block": -1, "change": {"status": "removed", "stage": "s"}, "sent_tokens": 3} | a kept removed, b kept kept =, c kept kept =, d absent said
`, func(name, text string, first *diff.First, want string) {
		conv := said(4)
		edits := edited(t, text)
		earlier := slices.DeleteFunc(slices.Clone(edits), func(e policy.Edit) bool { return e.Request == 4 })
		d := must.Get(diff.Between(viewAt(t, conv, 3, earlier...), viewAt(t, conv, 4, edits...)))(t)
		if d.First != nil {
			d.First.Side.Request = 0
		}
		must.Equal(t, d.First, first, name)
		must.Equal(t, strings.Join(rows(d), ", "), want, name)
	})
}

// edited are edits in words: the message before which it is, the kind, the item, and the text that it puts in.
func edited(t *testing.T, text string) (edits []policy.Edit) {
	for _, one := range strings.Split(text, ", ") {
		f := strings.Fields(one)
		if len(f) == 0 {
			continue
		}
		at := must.Get(strconv.Atoi(f[0]))(t)
		var items []policy.ItemID
		for len(f) > 2 {
			id, err := strconv.Atoi(f[2])
			if err != nil {
				break
			}
			items, f = append(items, policy.ItemID(id)), slices.Delete(f, 2, 3)
		}
		e := policy.Edit{Request: at, Kind: policy.EditKind(f[1])}
		label := strings.Join(f[2:], " ")
		c := policy.NewContent(jsonl.KindText, label)
		switch made := []policy.Synthetic{{Role: "user", Label: label, Summary: true, Contents: []policy.Content{c}}}; e.Kind {
		case policy.KindSummarize:
			e.Keep, e.Insert = items, made
		case policy.KindRemove:
			e.Items = items
		case policy.KindCollapse:
			e.Items, e.Insert = items, made
		case policy.KindAttach:
			e.Insert = made
		case policy.KindCacheEdit:
			e.Target, e.Carrier = policy.Target{Item: items[0]}, 2
		case policy.KindServerClear:
			e.Target = policy.Target{Item: items[0]}
		case policy.KindTag:
			e.Target, e.New = policy.Target{Item: items[0], Block: policy.WholeItem}, &c
		default:
			e = put(at, items[0], label)
		}
		edits = append(edits, e)
	}
	return edits
}

func TestMarks(t *testing.T) {
	conv := said(4)
	v := viewAt(t, conv, 4, edited(t, "2 clear 0 gone, 2 clear 1 gone, 3 summarize 2 so far, 4 tag 2 tag")...)
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
