package tokens_test

import (
	"strings"
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
	offloaded := block(jsonl.ContentBlock{Kind: jsonl.KindToolResult, Text: chars(400), Parts: []jsonl.Part{{Kind: jsonl.KindImage}}})
	offloaded.Offload = &session.Offload{Text: chars(4000)}
	image := jsonl.Part{Kind: jsonl.KindImage}
	text := func(n int) jsonl.Part { return jsonl.Part{Kind: jsonl.KindText, Text: chars(n)} }
	for _, tt := range []struct {
		name string
		b    session.Block
		want int
	}{
		{"no text", block(jsonl.ContentBlock{Kind: jsonl.KindText}), 0},
		{"one character", block(jsonl.ContentBlock{Kind: jsonl.KindText, Text: chars(1)}), 0},
		{"halves up", block(jsonl.ContentBlock{Kind: jsonl.KindText, Text: chars(2)}), 1},
		{"five characters", block(jsonl.ContentBlock{Kind: jsonl.KindText, Text: chars(5)}), 1},
		{"six characters", block(jsonl.ContentBlock{Kind: jsonl.KindText, Text: chars(6)}), 2},
		{"UTF-16 units, not bytes", block(jsonl.ContentBlock{Kind: jsonl.KindText, Text: jsonl.Measure(strings.Repeat("語", 8))}), 2},
		{"a pair of surrogates is two", block(jsonl.ContentBlock{Kind: jsonl.KindText, Text: jsonl.Measure("😀😀😀😀")}), 2},
		{"thinking", block(jsonl.ContentBlock{Kind: jsonl.KindThinking, Text: chars(40), Signature: 4000}), 10},
		{"thinking without text", block(jsonl.ContentBlock{Kind: jsonl.KindThinking, Signature: 4000}), 0},
		{"redacted thinking", block(jsonl.ContentBlock{Kind: jsonl.KindRedactedThinking, JSON: chars(80)}), 20},
		{"tool_use: name and input", block(jsonl.ContentBlock{Kind: jsonl.KindToolUse, Name: "Read", JSON: chars(38), Text: chars(999)}), 11},
		{"server_tool_use", block(jsonl.ContentBlock{Kind: jsonl.KindServerToolUse, Name: "web_search", JSON: chars(30)}), 10},
		{"image", block(jsonl.ContentBlock{Kind: jsonl.KindImage, JSON: chars(90000)}), 2000},
		{"document", block(jsonl.ContentBlock{Kind: jsonl.KindDocument, JSON: chars(90000)}), 2000},
		{"result, a string", block(jsonl.ContentBlock{Kind: jsonl.KindToolResult, IsString: true, Text: chars(402)}), 101},
		{"result, an array: each text by itself", block(jsonl.ContentBlock{Kind: jsonl.KindToolResult, Text: chars(4), Parts: []jsonl.Part{text(2), text(2)}}), 2},
		{"result, an array with images", block(jsonl.ContentBlock{Kind: jsonl.KindToolResult, Text: chars(40), Parts: []jsonl.Part{text(40), image, image}}), 4010},
		{"result, an empty array", block(jsonl.ContentBlock{Kind: jsonl.KindToolResult}), 0},
		{"result that is read back: the file", offloaded, 1000},
		{"unknown: its JSON", block(jsonl.ContentBlock{Kind: jsonl.KindUnknown, JSON: chars(120), Text: chars(8)}), 30},
		{"tool_reference: its JSON", block(jsonl.ContentBlock{Kind: jsonl.KindToolReference, JSON: chars(60)}), 15},
		{"attachment", block(jsonl.ContentBlock{Kind: jsonl.KindAttachment, Text: chars(516), JSON: chars(9000)}), 129},
	} {
		must.Equal(t, tokens.Estimate(&tt.b), tt.want, tt.name)
	}
}

// TestHeuristic: the table is the estimate of every block, and messages are sums of theirs.
func TestHeuristic(t *testing.T) {
	conv := &session.Conversation{Messages: []session.Message{
		{Blocks: []session.Block{block(jsonl.ContentBlock{Kind: jsonl.KindText, Text: chars(400)})}},
		{Blocks: []session.Block{
			block(jsonl.ContentBlock{Kind: jsonl.KindText, Text: chars(6)}),
			block(jsonl.ContentBlock{Kind: jsonl.KindText, Text: chars(6)}),
			block(jsonl.ContentBlock{Kind: jsonl.KindImage}),
		}},
		{},
		{Blocks: []session.Block{block(jsonl.ContentBlock{Kind: jsonl.KindText, Text: chars(40)})}},
	}}
	cal := must.Get(tokens.Calibrate(conv, tokens.CountedModel{Tokenizer: tokens.NewTokenizer}))(t)
	table := cal.Heuristic()
	for m, want := range []int{100, 2004, 0, 10} {
		must.Equal(t, table.Message(m), want, m)
		sum := 0
		for b := range conv.Messages[m].Blocks {
			if got, want := table.Block(m, b), tokens.Estimate(&conv.Messages[m].Blocks[b]); got != want {
				t.Errorf("block %d of message %d: %d, want %d", b, m, got, want)
			}
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
