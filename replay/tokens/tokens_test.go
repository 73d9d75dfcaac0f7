package tokens_test

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// chars is a text of n ASCII characters.
func chars(n int) jsonl.Metrics { return jsonl.Metrics{UTF16: n, Bytes: n, JSON: n + 2} }

func block(b jsonl.ContentBlock) session.Block { return session.Block{ContentBlock: b} }

// TestEstimate is the client's own arithmetic, kind by kind.
func TestEstimate(t *testing.T) {
	must.Rows(t, `
no text                 | {"type": "text"} | 0
one character           | {"type": "text", "text": 1} | 0
halves up               | {"type": "text", "text": 2} | 1
five characters         | {"type": "text", "text": 5} | 1
six characters          | {"type": "text", "text": 6} | 2
UTF-16 units, not bytes | {"type": "text", "said": "語語語語語語語語"} | 2
a pair of surrogates is two | {"type": "text", "said": "😀😀😀😀"} | 2
thinking                | {"type": "thinking", "text": 40, "signature": 4000} | 10
thinking without text   | {"type": "thinking", "signature": 4000} | 0
redacted thinking       | {"type": "redacted_thinking", "json": 80} | 20
tool_use: name and input | {"type": "tool_use", "name": "Read", "json": 38, "text": 999} | 11
server_tool_use         | {"type": "server_tool_use", "name": "web_search", "json": 30} | 10
image                   | {"type": "image", "json": 90000} | 2000
document                | {"type": "document", "json": 90000} | 2000
result, a string        | {"type": "tool_result", "string": true, "text": 402} | 101
result, an array: each text by itself | {"type": "tool_result", "text": 4, "parts": [{"type": "text", "text": 2}, {"type": "text", "text": 2}]} | 2
result, an array with images | {"type": "tool_result", "text": 40, "parts": [{"type": "text", "text": 40}, {"type": "image"}, {"type": "image"}]} | 4010
result, an empty array  | {"type": "tool_result"} | 0
result that is read back: the file | {"type": "tool_result", "text": 400, "parts": [{"type": "image"}], "file": 4000} | 1000
unknown: its JSON       | {"type": "unknown", "json": 120, "text": 8} | 30
tool_reference: its JSON | {"type": "tool_reference", "json": 60} | 15
attachment              | {"type": "attachment", "text": 516, "json": 9000} | 129
`, func(name string, s told, want int) {
		b := s.block()
		must.Equal(t, tokens.Estimate(&b), want, name)
	})
}

// TestHeuristic: the table is the estimate of every block, and messages are sums of theirs.
func TestHeuristic(t *testing.T) {
	var list [][]told
	must.JSON(t, `[[{"type": "text", "text": 400}], [{"type": "text", "text": 6}, {"type": "text", "text": 6}, {"type": "image"}], [], [{"type": "text", "text": 40}]]`, &list)
	conv := &session.Conversation{Messages: make([]session.Message, len(list))}
	for m := range list {
		for _, b := range list[m] {
			conv.Messages[m].Blocks = append(conv.Messages[m].Blocks, b.block())
		}
	}
	cal := must.Get(tokens.Calibrate(conv, tokens.CountedModel{Tokenizer: tokens.NewTokenizer}))(t)
	table := cal.Heuristic()
	for m, want := range []int{100, 2004, 0, 10} {
		must.Equal(t, table.Message(m), want, m)
		sum := 0
		for b := range conv.Messages[m].Blocks {
			must.Equal(t, table.Block(m, b), tokens.Estimate(&conv.Messages[m].Blocks[b]), m, b)
			sum += table.Block(m, b)
		}
		must.Equal(t, sum, want, m)
	}
	for _, tt := range []struct {
		name string
		c    policy.Content
		want int
	}{
		{"a text", policy.NewContent(jsonl.KindText, "abcdef"), 2},
		{"a fixed weight", policy.Content{Tokens: 5000, Length: chars(8), Ref: &policy.Target{Item: 1}}, 5000},
		{"a recorded block", policy.Content{Ref: &policy.Target{Item: 1, Block: 2}, Length: chars(8)}, 2000},
		{"a recorded stub", policy.Content{Ref: &policy.Target{Item: 0}, Stub: true, Length: chars(80)}, 20},
	} {
		must.Equal(t, table.Content(&tt.c), tt.want, tt.name)
	}
}

// told is a block in short: its type, and so many characters of text, JSON and signature.
type told struct {
	Type, Name, Said      string // Said: the text itself
	Text, JSON, Signature int
	String                bool
	Parts                 []told
	File                  int // of the file that a result was saved to
}

// kinds are the kinds of the types in short.
func kinds() map[string]jsonl.Kind {
	return map[string]jsonl.Kind{
		"text": jsonl.KindText, "thinking": jsonl.KindThinking, "redacted_thinking": jsonl.KindRedactedThinking, "tool_use": jsonl.KindToolUse, "server_tool_use": jsonl.KindServerToolUse, "image": jsonl.KindImage,
		"document": jsonl.KindDocument, "tool_result": jsonl.KindToolResult, "tool_reference": jsonl.KindToolReference, "attachment": jsonl.KindAttachment, "unknown": jsonl.KindUnknown,
	}
}

func (s told) block() session.Block {
	length := func(n int) (m jsonl.Metrics) {
		if n > 0 {
			m = chars(n)
		}
		return m
	}
	b := session.Block{ContentBlock: jsonl.ContentBlock{Kind: kinds()[s.Type], Name: s.Name, Text: length(s.Text), JSON: length(s.JSON), Signature: s.Signature, IsString: s.String}}
	if s.Said != "" {
		b.Text = jsonl.Measure(s.Said)
	}
	for _, p := range s.Parts {
		b.Parts = append(b.Parts, jsonl.Part{Kind: kinds()[p.Type], Text: length(p.Text)})
	}
	if s.File > 0 {
		b.Offload = &session.Offload{Text: chars(s.File)}
	}
	return b
}
