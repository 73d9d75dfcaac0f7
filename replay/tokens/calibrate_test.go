package tokens_test

import (
	"math"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// round are densities that make round figures.
var round = tokens.Density{Prose: 4, Tool: 2}

// said is a conversation of the messages; assistant messages answer requests.
func said(messages ...session.Message) *session.Conversation {
	conv := &session.Conversation{Messages: messages}
	for m := range messages {
		if messages[m].Role == session.Assistant {
			conv.Requests = append(conv.Requests, session.Request{N: len(conv.Requests) + 1, Message: m})
		}
	}
	if len(conv.Requests) > 0 {
		conv.Model = messages[conv.Requests[0].Message].Model
	}
	return conv
}

// prompt is a user message of n characters: n/4 tokens by round.
func prompt(n int) session.Message {
	return session.Message{Class: session.ClassPrompt, Blocks: []session.Block{block(jsonl.Block{Kind: jsonl.KindText, Text: chars(n)})}}
}

// answer is a response of 400 characters, 100 tokens by round, to a request
// with that much context.
func answer(context int) session.Message {
	m := prompt(400)
	m.Role, m.Class, m.Model, m.Version = session.Assistant, session.ClassResponse, "claude-opus-4-6", "2.1.50"
	m.Usage, m.HasUsage = jsonl.Usage{Input: 10, CacheRead: context - 10, Output: 100}, context > 0
	return m
}

// three is two spans of 3,000 estimated tokens each: the first grew by 3,600,
// the second by growth.
func three(growth int) *session.Conversation {
	return said(prompt(4000), answer(20000), prompt(11600), answer(23600), prompt(11600), answer(23600+growth), prompt(4000))
}

// TestLearning: which spans teach, and what their blocks then weigh.
func TestLearning(t *testing.T) {
	type figures struct {
		first, span1, span2, last int // weight of the four prompts: 1,000, 2,900, 2,900 and 1,000 estimated
		ratio                     float64
	}
	unlearned := figures{1200, 3480, 3480, 1200, 1.2} // from the first span alone
	for _, tt := range []struct {
		name   string
		growth int
		change func(*session.Conversation)
		want   figures
	}{
		{name: "both teach", growth: 6000, want: figures{1600, 3480, 5800, 1600, 1.6}},
		{name: "a model switch", growth: 6000, want: unlearned, change: func(c *session.Conversation) { c.Messages[5].Model = "claude-opus-4-5" }},
		{name: "a compaction", growth: 6000, want: unlearned, change: func(c *session.Conversation) {
			c.Boundaries = []session.Boundary{{Trigger: "auto", Before: 4, Summary: -1, Request: 3}}
		}},
		{name: "a microcompaction", growth: 6000, want: unlearned, change: func(c *session.Conversation) {
			c.Micro = []session.Microcompaction{{Before: 4, Request: 3}}
		}},
		{name: "a lost result", growth: 6000, want: unlearned, change: func(c *session.Conversation) { c.Messages[4].Lost = true }},
		{name: "a drop", growth: -2001, want: unlearned},
		{name: "a fall too small to tell", growth: -1, want: unlearned},
		{name: "no growth", growth: 0, want: unlearned},
		{name: "another client version teaches", growth: 6000, want: figures{1600, 3480, 5800, 1600, 1.6}, change: func(c *session.Conversation) { c.Messages[5].Version = "2.1.51" }},

		// Outside 0.3 to 3 a span is left out of the ratio, and its factor is
		// clamped to 0.4 to 2.5 times the ratio.
		{name: "a ratio just inside", growth: 8999, want: figures{2100, 3480, 8699, 2100, 12599 / 6000.0}},
		{name: "a ratio just outside", growth: 9000, want: figures{1200, 3480, 8700, 1200, 1.2}},
		{name: "clamped above", growth: 30000, want: figures{1200, 3480, 8700, 1200, 1.2}},
		{name: "clamped below", growth: 300, want: figures{1200, 3480, 1392, 1200, 1.2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conv := three(tt.growth)
			if tt.change != nil {
				tt.change(conv)
			}
			c := tokens.Calibrate(conv, round)
			got := figures{c.Message(0), c.Message(2), c.Message(4), c.Message(6), c.Ratio}
			if math.Abs(got.ratio-tt.want.ratio) < 1e-9 {
				got.ratio = tt.want.ratio
			}
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
			if !c.Recorded {
				t.Error("no recorded usage")
			}
		})
	}
}

// TestSmallSpans: spans of 200 estimated tokens or less do not count for the
// ratio, and without more than 2,000 tokens of spans it is 1; their blocks
// share the true growth all the same.
func TestSmallSpans(t *testing.T) {
	for _, tt := range []struct {
		name    string
		conv    *session.Conversation
		ratio   float64
		message int
		want    int
	}{
		{"200 tokens", said(answer(20000), prompt(11600), answer(23600), prompt(400), answer(24000)), 1.2, 3, 200},
		{"201 tokens", said(answer(20000), prompt(11600), answer(23600), prompt(404), answer(24002)), 4002 / 3201.0, 3, 202},
		{"2,000 tokens in all", said(answer(20000), prompt(7600), answer(23000), prompt(4000)), 1, 3, 1000},
		{"the span of it", said(answer(20000), prompt(7600), answer(23000), prompt(4000)), 1, 1, 2850},
		{"2,001 tokens in all", said(answer(20000), prompt(7604), answer(23000), prompt(8004)), 3000 / 2001.0, 3, 3000},
	} {
		c := tokens.Calibrate(tt.conv, round)
		if math.Abs(c.Ratio-tt.ratio) > 1e-9 || c.Message(tt.message) != tt.want {
			t.Errorf("%s: ratio %v and %d, want %v and %d", tt.name, c.Ratio, c.Message(tt.message), tt.ratio, tt.want)
		}
	}
}

// TestUnknownUsage: a response without usage lies inside a span; without any
// the densities stand.
func TestUnknownUsage(t *testing.T) {
	c := tokens.Calibrate(said(answer(20000), prompt(5600), answer(0), prompt(5600), answer(23600)), round)
	if c.Ratio != 1.2 || c.Message(1) != 1680 || c.Message(2) != 120 || c.Message(3) != 1680 {
		t.Errorf("ratio %v, weights %d %d %d", c.Ratio, c.Message(1), c.Message(2), c.Message(3))
	}
	c = tokens.Calibrate(said(prompt(4000), answer(0), prompt(4000), answer(0)), round)
	if c.Recorded || c.Ratio != 1 || c.Message(0) != 1000 || c.Message(1) != 100 {
		t.Errorf("recorded %v, ratio %v, weights %d %d", c.Recorded, c.Ratio, c.Message(0), c.Message(1))
	}
}

// TestDrops: what is said of a fall.
func TestDrops(t *testing.T) {
	const fell = 16000
	for _, tt := range []struct {
		name   string
		growth int
		change func(p, q *session.Message)
		want   string // "": no drop
		shared bool
	}{
		{name: "2,000", growth: -2000},
		{name: "2,001", growth: -2001, want: "no line says why", shared: true},
		{name: "a model switch", growth: -2001, want: "model switch from claude-opus-4-6 to claude-opus-5", shared: true, change: func(p, q *session.Message) { q.Model, q.Version = "claude-opus-5", "2.1.60" }},
		{name: "a client version", growth: -2001, want: "client version 2.1.50 to 2.1.60", shared: true, change: func(p, q *session.Message) { q.Version = "2.1.60" }},
		{name: "a microcompaction", growth: -fell, want: tokens.Unrecorded, change: func(p, q *session.Message) { p.Version, q.Version = "2.1.24", "2.1.24" }},
		{name: "not of 2.1.25", growth: -fell, want: "no line says why", shared: true, change: func(p, q *session.Message) { p.Version, q.Version = "2.1.25", "2.1.25" }},
		{name: "not of 15,999", growth: -fell + 1, want: "no line says why", shared: true, change: func(p, q *session.Message) { p.Version, q.Version = "2.1.24", "2.1.24" }},
		{name: "not below 135,000", growth: -fell, want: "no line says why", shared: true, change: func(p, q *session.Message) {
			p.Version, q.Version = "2.1.24", "2.1.24"
			p.Usage.Output--
		}},
	} {
		conv := said(prompt(4000), answer(134900), prompt(4000), answer(134900+tt.growth))
		if tt.change != nil {
			tt.change(&conv.Messages[1], &conv.Messages[3])
		}
		drops := tokens.Calibrate(conv, round).Drops
		switch {
		case tt.want == "" && len(drops) == 0:
		case tt.want == "" || len(drops) != 1:
			t.Errorf("%s: %+v", tt.name, drops)
		case drops[0] != (tokens.Drop{Request: 2, Tokens: -tt.growth, Cause: tt.want, Shared: tt.shared}):
			t.Errorf("%s: %+v, want %q", tt.name, drops[0], tt.want)
		}
	}
	conv := said(prompt(4000), answer(134900), prompt(4000), answer(20000))
	conv.Boundaries = []session.Boundary{{Trigger: "auto", Before: 2, Summary: -1, Request: 2}}
	if drops := tokens.Calibrate(conv, round).Drops; len(drops) > 0 {
		t.Errorf("a compaction is told as a drop: %+v", drops)
	}
}

// TestDensity is the estimate before calibration.
func TestDensity(t *testing.T) {
	ascii := jsonl.Measure(strings.Repeat("a", 3910)) // 3.4 x 2.3 x 500
	for _, tt := range []struct {
		name      string
		tokenizer string
		kind      jsonl.Kind
		n         jsonl.Metrics
		want      float64
	}{
		{"prose", "old", jsonl.KindText, ascii, 3910 / 3.4},
		{"prose", "new", jsonl.KindText, ascii, 3910 / 2.5},
		{"prose", "", jsonl.KindText, ascii, 3910 / 3.4},
		{"thinking", "old", jsonl.KindThinking, ascii, 3910 / 3.4},
		{"attachment", "old", jsonl.KindAttachment, ascii, 3910 / 3.4},
		{"tool output", "old", jsonl.KindToolResult, ascii, 3910 / 2.87},
		{"tool output", "new", jsonl.KindToolResult, ascii, 1700},
		{"tool input", "old", jsonl.KindToolUse, ascii, 3910 / 2.87},
		{"tool input", "new", jsonl.KindServerToolUse, ascii, 1700},
		{"unknown", "new", jsonl.KindUnknown, ascii, 1700},
		{"Chinese", "old", jsonl.KindText, jsonl.Measure(strings.Repeat("語", 100)), 100},
		{"Chinese", "new", jsonl.KindToolResult, jsonl.Measure(strings.Repeat("語", 100)), 100},
		{"Chinese and ASCII", "old", jsonl.KindText, jsonl.Measure(strings.Repeat("語", 100) + strings.Repeat("a", 340)), 200},
		{"two bytes", "old", jsonl.KindText, jsonl.Measure(strings.Repeat("é", 68)), 34 + 10},
		{"nothing", "old", jsonl.KindText, jsonl.Metrics{}, 0},
	} {
		if got := tokens.DensityFor(tt.tokenizer).Tokens(tt.kind, tt.n); math.Abs(got-tt.want) > 1e-6 {
			t.Errorf("%s, %q tokenizer: %v, want %v", tt.name, tt.tokenizer, got, tt.want)
		}
	}
}

// TestBlocks is the weight of each kind of block where nothing is learned.
func TestBlocks(t *testing.T) {
	image := jsonl.Part{Kind: jsonl.KindImage}
	for _, tt := range []struct {
		name string
		b    jsonl.Block
		want int
	}{
		{"text", jsonl.Block{Kind: jsonl.KindText, Text: chars(400)}, 100},
		{"thinking with text", jsonl.Block{Kind: jsonl.KindThinking, Text: chars(400), Signature: 9000}, 100},
		{"tool_use", jsonl.Block{Kind: jsonl.KindToolUse, Name: "Read", JSON: chars(172)}, 100},
		{"image", jsonl.Block{Kind: jsonl.KindImage, JSON: chars(90000)}, 1500},
		{"document", jsonl.Block{Kind: jsonl.KindDocument, JSON: chars(90000)}, 1500},
		{"tool_result", jsonl.Block{Kind: jsonl.KindToolResult, Text: chars(200)}, 108},
		{"tool_result with images", jsonl.Block{Kind: jsonl.KindToolResult, Text: chars(200), Parts: []jsonl.Part{image, image}}, 3108},
		{"redacted thinking: its JSON", jsonl.Block{Kind: jsonl.KindRedactedThinking, JSON: chars(400)}, 100},
		{"unknown: its JSON", jsonl.Block{Kind: jsonl.KindUnknown, JSON: chars(200)}, 100},
	} {
		conv := said(session.Message{Role: session.Assistant, Blocks: []session.Block{block(tt.b)}})
		if got := tokens.Calibrate(conv, round).Block(0, 0); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

// TestHiddenThinking: thinking without text weighs what the record has of it.
func TestHiddenThinking(t *testing.T) {
	for _, tt := range []struct {
		name      string
		usage     jsonl.Usage
		signature int
		want      int
	}{
		{"recorded thinking tokens", jsonl.Usage{Output: 900, Thinking: 321}, 1000, 321},
		{"output that nothing else explains", jsonl.Usage{Output: 900}, 1000, 750},
		{"output that the text explains: the signature", jsonl.Usage{Output: 150}, 1900, 300},
		{"a short signature", jsonl.Usage{Output: 10}, 300, 0},
	} {
		m := answer(20000) // 100 tokens of text
		m.Blocks = append([]session.Block{block(jsonl.Block{Kind: jsonl.KindThinking, Signature: tt.signature})}, m.Blocks...)
		m.Blocks = append(m.Blocks, block(jsonl.Block{Kind: jsonl.KindToolUse, Name: "Read", JSON: chars(72)})) // 50
		m.Usage.Output, m.Usage.Thinking = tt.usage.Output, tt.usage.Thinking
		c := tokens.Calibrate(said(m), round)
		if got := c.Block(0, 0); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
		if c.Block(0, 1) != 100 || c.Block(0, 2) != 50 {
			t.Errorf("%s: the others are %d and %d", tt.name, c.Block(0, 1), c.Block(0, 2))
		}
	}
}

// TestReadBack: an offloaded result weighs its file, and its stub what was
// sent; both on the scale of the span.
func TestReadBack(t *testing.T) {
	result := session.Message{Class: session.ClassToolResult, Blocks: []session.Block{
		{Block: jsonl.Block{Kind: jsonl.KindToolResult, ID: "t1", IsString: true, Text: chars(5784)}, Offload: &session.Offload{Text: chars(59984)}},
	}}
	conv := said(prompt(4000), answer(20000), result, answer(23600))
	c := tokens.Calibrate(conv, round)
	// The span's estimate is 100 + 2,892 + 8 = 3,000, the growth 3,600.
	if got := c.Block(2, 0); got != 36000 {
		t.Errorf("the file weighs %d, want 36,000", got)
	}
	stub := policy.Content{Kind: jsonl.KindToolResult, Length: chars(5784), Ref: &policy.Target{Item: 2}, Stub: true}
	if got := c.Content(&stub); got != 3480 {
		t.Errorf("the stub weighs %d, want 3,480", got)
	}
	if got := c.Message(1); got != 120 {
		t.Errorf("the response weighs %d, want 120", got)
	}
	text := policy.Content{Kind: jsonl.KindText, Length: chars(4000)}
	if got := c.Content(&text); got != 1200 {
		t.Errorf("a text a policy puts in weighs %d, want 1,200", got)
	}
}

// TestLostWeight: results lost at a boundary weigh what the boundary knows
// beyond the last response and what came after it.
func TestLostWeight(t *testing.T) {
	lost := session.Message{Class: session.ClassToolResult, Lost: true, Blocks: []session.Block{block(jsonl.Block{Kind: jsonl.KindToolResult, ID: "t2", IsString: true})}}
	result := session.Message{Class: session.ClassToolResult, Blocks: []session.Block{block(jsonl.Block{Kind: jsonl.KindToolResult, ID: "t1", IsString: true, Text: chars(4000)})}}
	for _, tt := range []struct {
		name   string
		tokens int
		before int
		want   int
	}{
		{"what is known is 30,100 and 1,000 of the other result", 35000, 4, 3900},
		{"one token more than is known", 31101, 4, 1},
		{"no more than is known", 31100, 4, 0},
		{"none recorded", 0, 4, 0},
		{"the boundary stands elsewhere", 35000, 5, 0},
	} {
		conv := said(prompt(4000), answer(30000), result, lost, prompt(400), answer(20000))
		conv.Boundaries = []session.Boundary{{Trigger: "auto", PreTokens: tt.tokens, Before: tt.before, Summary: 4, Request: 2}}
		conv.Messages[4].RecordOnly = true
		c := tokens.Calibrate(conv, round)
		if c.Lost[3] != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, c.Lost[3], tt.want)
		}
		weight := tt.want
		if weight == 0 {
			weight = 8 // what goes around any result
		}
		if got := c.Message(3); got != weight {
			t.Errorf("%s: weighs %d, want %d", tt.name, got, weight)
		}
	}
}

// TestEarlier: what stands in for the history before the file is what the
// first request had in context beyond the overhead and the lines.
func TestEarlier(t *testing.T) {
	earlier := session.Message{Class: session.ClassMeta, Earlier: true, Blocks: []session.Block{block(jsonl.Block{Kind: jsonl.KindText})}}
	for context, want := range map[int]int{100000: 100000 - tokens.DefaultOverhead - 1000, 19801: 1, 19800: 0, 10000: 0} {
		if got := tokens.Calibrate(said(earlier, prompt(4000), answer(context)), round).Message(0); got != want {
			t.Errorf("context %d: %d, want %d", context, got, want)
		}
	}
	// A later fall that every view shares was overhead till then.
	conv := said(earlier, prompt(4000), answer(100000), prompt(4000), answer(90000))
	if got, want := tokens.Calibrate(conv, round).Message(0), 100000-10000-tokens.DefaultOverhead-1000; got != want {
		t.Errorf("before a drop: %d, want %d", got, want)
	}
}
