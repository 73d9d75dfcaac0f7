package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
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
	return session.Block{ContentBlock: jsonl.ContentBlock{Kind: jsonl.KindText, Text: jsonl.Measure(s)}}
}

func idBlock(k jsonl.Kind, id string) session.Block {
	return session.Block{ContentBlock: jsonl.ContentBlock{Kind: k, ID: id, Name: "Read", Text: jsonl.Measure("x"), JSON: jsonl.Measure("x")}}
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
	blocks := map[string]session.Block{
		"hi": textBlock("hi"), "ok": textBlock("ok"), "text:": textBlock(""), "thinking": idBlock(jsonl.KindThinking, ""),
		"unsent": {ContentBlock: jsonl.ContentBlock{Kind: jsonl.KindAttachment}},
	}
	for _, id := range []string{"a", "b"} {
		blocks["use:"+id], blocks["res:"+id] = idBlock(jsonl.KindToolUse, id), idBlock(jsonl.KindToolResult, id)
	}
	empty := policy.NewContent(jsonl.KindText, "")
	// A row is a name, messages, an edit, and the messages of the view that are wrong.
	for row := range strings.Lines(`nothing | "" | "" | ""
one round | user hi, asst use:a, user res:a, asst ok | "" | ""
an open call at the end | user hi, asst use:a | "" | ""
parallel results in two messages | user hi, asst use:a, asst use:b, user res:b, user res:a, asst ok | "" | ""
an answer and a prompt in one message | user hi, asst use:a, user res:a, user hi, asst ok | "" | ""
an unsent attachment first | user unsent, user hi | "" | ""
assistant first | asst ok, user hi | "" | 0 the first message is the assistant's
no result | user hi, asst use:a use:b, user res:b, asst ok | "" | 1 the tool_use a has no result in the message after it
no result, a prompt last | user hi, asst use:a, user hi | "" | 1 the tool_use a has no result in the message after it
no call | user hi, asst ok, user res:a | "" | 2 the tool_result of a has no tool_use in the message before it
an answer too late | user hi, asst use:a, user hi, asst ok, user res:a | "" | 1 the tool_use a has no result in the message after it; 4 the tool_result of a has no tool_use in the message before it
two answers | user hi, asst use:a, user res:a res:a | "" | 2 the tool_use a has two results
one id twice | user hi, asst use:a use:a, user res:a | "" | 1 two calls in one message have the id a
a result the assistant gives | user hi, asst use:a res:a | "" | 1 the tool_result of a has no tool_use in the message before it
no blocks | user hi, asst hi, user | "" | 2 a message without content
a response that failed | user hi, asst, user hi | "" | ""
an empty text | user text:, asst ok | "" | 0 an empty text
a text emptied | user hi, asst ok | truncate 1 | 1 an empty text
a summary without text | "" | summarize | ""
an empty summary | "" | summarize empty | -1 an empty text
a call removed | user hi, asst use:a, user res:a | remove 1 | 2 the tool_result of a has no tool_use in the message before it
thinking of the last loop changed | user hi, asst thinking use:a, user res:a | clear 1 | 1 thinking of the last tool loop was changed
cleared by the server | user hi, asst thinking use:a, user res:a | server_clear 1 | ""
older thinking changed | user hi, asst thinking use:a, user res:a, asst ok, user hi | clear 1 | ""
`) {
		cells := strings.Split(strings.ReplaceAll(strings.TrimSpace(row), `""`, ""), " | ")
		t.Run(cells[0], func(t *testing.T) {
			var messages []session.Message
			for text := range strings.SplitSeq(cells[1], ", ") {
				if said := strings.Fields(text); len(said) > 0 {
					m := message(map[string]session.Role{"user": session.User, "asst": session.Assistant}[said[0]])
					for _, b := range said[1:] {
						m.Blocks = append(m.Blocks, blocks[b])
					}
					messages = append(messages, m)
				}
			}
			v := seen(messages...)
			if edit := strings.Fields(cells[2]); len(edit) > 0 {
				e := policy.Edit{Kind: policy.EditKind(edit[0]), Target: policy.Target{Item: 1}, New: &empty}
				switch e.Kind {
				case policy.KindSummarize:
					content := policy.Content{Kind: jsonl.KindText}
					if len(edit) == 1 {
						content.Tokens = 5
					}
					e = policy.Edit{Kind: e.Kind, Insert: []policy.Synthetic{{Role: "user", Contents: []policy.Content{content}}}}
				case policy.KindRemove:
					e = policy.Edit{Kind: e.Kind, Items: []policy.ItemID{1}}
				case policy.KindServerClear:
					e.New = nil
				}
				must.Get(v.Apply(e))(t)
			}
			var got []string
			for _, x := range CheckAPI(v) {
				got = append(got, fmt.Sprint(x.Item, " ", x.Message))
			}
			same(t, strings.TrimSpace(cells[3]), strings.Join(got, "; "))
		})
	}
}
