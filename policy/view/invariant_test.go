package view

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// flat weighs every block and content one token.
type flat struct{ conv *session.Conversation }

func (flat) Block(int, int) int          { return 1 }
func (w flat) Message(m int) int         { return len(w.conv.Messages[m].Blocks) }
func (flat) Content(*policy.Content) int { return 1 }

// message is a hand-made message: "u:text", blocks separated by spaces.
func message(role session.Role, blocks ...session.Block) session.Message {
	return session.Message{Role: role, Blocks: blocks}
}

func textBlock(s string) session.Block {
	return session.NewBlock(jsonl.ContentBlock{Kind: jsonl.KindText, Text: jsonl.Measure(s)})
}

func idBlock(k jsonl.Kind, id string) session.Block {
	return session.NewBlock(jsonl.ContentBlock{Kind: k, ID: id, Name: "Read", Text: jsonl.Measure("x"), JSON: jsonl.Measure("x")})
}

// seen is a view of the messages, all joined.
func seen(messages ...session.Message) *View {
	conv := &session.Conversation{Messages: messages}
	conv.IndexTools()
	v := New(conv, flat{conv}, nil)
	for m := range messages {
		v.Join(m)
	}
	return v
}

func TestCheckAPI(t *testing.T) {
	hi, ok := textBlock("hi"), textBlock("ok")
	use := func(id string) session.Block { return idBlock(jsonl.KindToolUse, id) }
	res := func(id string) session.Block { return idBlock(jsonl.KindToolResult, id) }
	thinking := idBlock(jsonl.KindThinking, "")
	unsent := session.NewBlock(jsonl.ContentBlock{Kind: jsonl.KindAttachment})
	user := func(b ...session.Block) session.Message { return message(session.User, b...) }
	asst := func(b ...session.Block) session.Message { return message(session.Assistant, b...) }
	new := policy.NewContent(jsonl.KindText, "")
	tests := []struct {
		name     string
		messages []session.Message
		edits    []policy.Edit
		want     []Violation
	}{
		{"nothing", nil, nil, nil},
		{"one round", []session.Message{user(hi), asst(use("a")), user(res("a")), asst(ok)}, nil, nil},
		{"an open call at the end", []session.Message{user(hi), asst(use("a"))}, nil, nil},
		{"parallel results in two messages", []session.Message{user(hi), asst(use("a")), asst(use("b")), user(res("b")), user(res("a")), asst(ok)}, nil, nil},
		{"an answer and a prompt in one message", []session.Message{user(hi), asst(use("a")), user(res("a")), user(hi), asst(ok)}, nil, nil},
		{"an unsent attachment first", []session.Message{user(unsent), user(hi)}, nil, nil},
		{"assistant first", []session.Message{asst(ok), user(hi)}, nil, []Violation{{Item: 0, Message: "the first message is the assistant's"}}},
		{"no result", []session.Message{user(hi), asst(use("a"), use("b")), user(res("b")), asst(ok)}, nil, []Violation{{Item: 1, Message: "the tool_use a has no result in the message after it"}}},
		{"no result, a prompt last", []session.Message{user(hi), asst(use("a")), user(hi)}, nil, []Violation{{Item: 1, Message: "the tool_use a has no result in the message after it"}}},
		{"no call", []session.Message{user(hi), asst(ok), user(res("a"))}, nil, []Violation{{Item: 2, Message: "the tool_result of a has no tool_use in the message before it"}}},
		{"an answer too late", []session.Message{user(hi), asst(use("a")), user(hi), asst(ok), user(res("a"))}, nil, []Violation{
			{Item: 1, Message: "the tool_use a has no result in the message after it"},
			{Item: 4, Message: "the tool_result of a has no tool_use in the message before it"},
		}},
		{"two answers", []session.Message{user(hi), asst(use("a")), user(res("a"), res("a"))}, nil, []Violation{{Item: 2, Message: "the tool_use a has two results"}}},
		{"one id twice", []session.Message{user(hi), asst(use("a"), use("a")), user(res("a"))}, nil, []Violation{{Item: 1, Message: "two calls in one message have the id a"}}},
		{"a result the assistant gives", []session.Message{user(hi), asst(use("a"), res("a"))}, nil, []Violation{{Item: 1, Message: "the tool_result of a has no tool_use in the message before it"}}},
		{"no blocks", []session.Message{user(hi), asst(hi), user()}, nil, []Violation{{Item: 2, Message: "a message without content"}}},
		{"a response that failed", []session.Message{user(hi), asst(), user(hi)}, nil, nil},
		{"an empty text", []session.Message{user(textBlock("")), asst(ok)}, nil, []Violation{{Item: 0, Message: "an empty text"}}},
		{"a text emptied", []session.Message{user(hi), asst(ok)}, []policy.Edit{{Kind: policy.KindTruncate, Target: policy.Target{Item: 1, Block: 0}, New: &new}}, []Violation{{Item: 1, Message: "an empty text"}}},
		{"a summary without text", nil, []policy.Edit{{Kind: policy.KindSummarize, Insert: []policy.Synthetic{{Role: "user", Contents: []policy.Content{{Kind: jsonl.KindText, Tokens: 5}}}}}}, nil},
		{"an empty summary", nil, []policy.Edit{{Kind: policy.KindSummarize, Insert: []policy.Synthetic{{Role: "user", Contents: []policy.Content{{Kind: jsonl.KindText}}}}}}, []Violation{{Item: -1, Message: "an empty text"}}},
		{"a call removed", []session.Message{user(hi), asst(use("a")), user(res("a"))}, []policy.Edit{{Kind: policy.KindRemove, Items: []policy.ItemID{1}}}, []Violation{{Item: 2, Message: "the tool_result of a has no tool_use in the message before it"}}},
		{"thinking of the last loop changed", []session.Message{user(hi), asst(thinking, use("a")), user(res("a"))}, []policy.Edit{{Kind: policy.KindClear, Target: policy.Target{Item: 1, Block: 0}, New: &new}}, []Violation{{Item: 1, Message: "thinking of the last tool loop was changed"}}},
		{"cleared by the server", []session.Message{user(hi), asst(thinking, use("a")), user(res("a"))}, []policy.Edit{{Kind: policy.KindServerClear, Target: policy.Target{Item: 1, Block: 0}}}, nil},
		{"older thinking changed", []session.Message{user(hi), asst(thinking, use("a")), user(res("a")), asst(ok), user(hi)}, []policy.Edit{{Kind: policy.KindClear, Target: policy.Target{Item: 1, Block: 0}, New: &new}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := seen(tt.messages...)
			for _, e := range tt.edits {
				if _, err := v.Apply(e); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(tt.want, CheckAPI(v), cmpopts.IgnoreFields(Violation{}, "Rule")); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}
