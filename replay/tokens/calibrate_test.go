package tokens_test

import (
	"encoding/base64"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// round are rates that make round figures: 4 characters of prose and 2 of tool input and output a token.
func round() tokens.CountedModel {
	r := tokens.TokenRates{tokens.Output: 1, tokens.Wide: 1, tokens.Images: 1, tokens.ToolUses: 12, tokens.Results: 8}
	for m := range r {
		switch m := tokens.Measure(m); m {
		case tokens.TextChars, tokens.ThinkingChars, tokens.PromptChars, tokens.NoteChars, tokens.AttachedChars, tokens.SignatureChars:
			r[m] = 0.25
		case tokens.EditInput, tokens.BashInput, tokens.OtherInput, tokens.ReadChars, tokens.BashChars, tokens.SearchChars, tokens.EditChars, tokens.OtherChars, tokens.JSONChars:
			r[m] = 0.5
		}
	}
	return tokens.CountedModel{Tokenizer: "old", Rates: &r, Client: policy.RecorderOf("claude-code", stage.Families())}
}

func calibrate(t *testing.T, conv *session.Conversation, model tokens.CountedModel) *tokens.Calibration {
	t.Helper()
	c := must.Get(tokens.Calibrate(conv, model))(t)
	return c
}

// said is a conversation of the messages; assistant messages answer requests.
func said(messages ...session.Message) *session.Conversation {
	conv := &session.Conversation{Messages: messages}
	for m := range messages {
		if messages[m].Role == session.Assistant {
			conv.Requests = append(conv.Requests, session.APICall{N: len(conv.Requests) + 1, Message: m})
		}
	}
	if len(conv.Requests) > 0 {
		conv.Model = messages[conv.Requests[0].Message].Model
	}
	return conv
}

// prompt is a user message of n characters: n/4 tokens by round.
func prompt(n int) session.Message {
	return session.Message{Class: session.ClassPrompt, Blocks: []session.Block{block(jsonl.ContentBlock{Kind: jsonl.KindText, Text: chars(n)})}}
}

// answer is a response of 400 characters, 100 tokens by round, to a request with that much context.
func answer(context int) session.Message {
	m := prompt(400)
	m.Role, m.Class, m.HasUsage = session.Assistant, session.ClassResponse, context > 0
	m.Model, m.Version, m.Usage = "claude-opus-4-6", "2.1.50", jsonl.Usage{Input: 10, CacheRead: context - 10, Output: 100}
	return m
}

// three is two spans of 3,000 estimated tokens each: the first grew by 3,600, the second by growth.
func three(growth int) *session.Conversation {
	return said(prompt(4000), answer(20000), prompt(11600), answer(23600), prompt(11600), answer(23600+growth), prompt(4000))
}

// TestLearning: which spans teach, and what their blocks then weigh.
func TestLearning(t *testing.T) {
	lone := calibrate(t, three(-1), round()) // the first span alone teaches
	must.Rows(t, `
# name | what the second span grew by | weight of its blocks, if it teaches | what is another in the record, as JSON; in the last response; in the result
both teach                      | 6000  | 6000 | {} | {} | {}
another client version teaches  | 6000  | 6000 | {} | {"version": "2.1.49"} | {}
a model switch                  | 6000  | 0    | {} | {"model": "claude-opus-4-5"} | {}
a compaction                    | 6000  | 0    | {"boundaries": [{"trigger": "auto", "before": 4, "summary": -1, "request": 3}]} | {} | {}
a microcompaction               | 6000  | 0    | {"micro": [{"before": 4, "request": 3}]} | {} | {}
a lost result                   | 6000  | 0    | {} | {} | {"lost": true}
a drop                          | -2001 | 0    | {} | {} | {}
a fall too small to tell        | -1    | 0    | {} | {} | {}
no growth                       | 0     | 0    | {} | {} | {}
`, func(name string, growth, want int, record, response, result string) {
		conv := three(growth)
		must.JSON(t, record, conv)
		must.JSON(t, response, &conv.Messages[5])
		must.JSON(t, result, &conv.Messages[4])
		spans, _ := tokens.Spans(conv, tokens.CountedModel{})
		if len(spans) != 2 || !spans[0].Learn || spans[1].Learn != (want > 0) {
			t.Fatalf("spans are %+v", spans)
		}
		c := calibrate(t, conv, round())
		if got := c.Message(1) + c.Message(2); got < 3599 || got > 3601 {
			t.Errorf("%s: the first span weighs %d, want 3,600", name, got)
		}
		if want == 0 {
			want = lone.Message(3) + lone.Message(4)
		}
		if got := c.Message(3) + c.Message(4); got < want-1 || got > want+1 {
			t.Errorf("%s: the second span weighs %d, want %d", name, got, want)
		}
		must.Equal(t, c.Recorded, true, name)
	})
	if r := round().Rates[tokens.PromptChars]; lone.Rates[tokens.PromptChars] <= r || lone.Rates[tokens.PromptChars] >= 1.2*r {
		t.Errorf("the session's rate is %v: want it between %v and what the span says, %v", lone.Rates[tokens.PromptChars], r, 1.2*r)
	}
}

// TestShareLimits: what a span grew by is its blocks' only where these can weigh that much: 0.4 to 2.5 times what the
// rates say.
func TestShareLimits(t *testing.T) {
	for growth, want := range map[int]float64{30000: 2.5, 100: 0.4} {
		c := calibrate(t, three(growth), round())
		by := float64(c.Message(4)) / (11600 * c.Rates[tokens.PromptChars])
		if math.Abs(by-want) > 0.01 {
			t.Errorf("growth %d: %v times what the rates say, want %v", growth, by, want)
		}
	}
}

// TestToldOutput: where output tokens are right the response weighs these, and
// what else joined has the rest.
func TestToldOutput(t *testing.T) {
	must.Rows(t, `
# name | output tokens | only the start of the response is counted | the response weighs them, and what goes around a response
final                          | 300 | false | true
as the response began          | 300 | true  | false
as little as the text can be   | 64  | false | true
less than the text can be      | 63  | false | false
`, func(name string, output int, start, told bool) {
		conv := said(prompt(4000), answer(20000), prompt(11600), answer(23600), prompt(400))
		if conv.Messages[1].Usage.Output = output; start {
			conv.Messages[1].Marks = session.StartOnly
		}
		c := calibrate(t, conv, round())
		must.Equal(t, c.Message(1) == int(math.Round(float64(output)*c.Rates[tokens.Output]+c.Rates[tokens.Responses])), told, name, output)
		if got := c.Message(1) + c.Message(2); got < 3599 || got > 3601 {
			t.Errorf("%s: the span weighs %d, want 3,600", name, got)
		}
	})
}

// TestClearedThinking: a model whose thinking is cleared as the next turn begins has grown by it less than by its
// blocks.
func TestClearedThinking(t *testing.T) {
	talk := func() *session.Conversation {
		conv := said(prompt(4000), answer(20000), prompt(11600), answer(23000))
		conv.Messages[1].Blocks = append([]session.Block{block(jsonl.ContentBlock{Kind: jsonl.KindThinking, Text: chars(2400), Signature: 4000})}, conv.Messages[1].Blocks...)
		return conv
	}
	model := round()
	kept := calibrate(t, talk(), model)
	model.ClearsThinking = func(string) bool { return true }
	cleared := calibrate(t, talk(), model)
	if got := kept.Message(1) + kept.Message(2); got < 2999 || got > 3001 {
		t.Errorf("thinking kept: the span weighs %d, want 3,000", got)
	}
	if got, want := cleared.Message(1)+cleared.Message(2), 3000+int(2400*cleared.Rates[tokens.ThinkingChars]); got < want-3 || got > want+3 {
		t.Errorf("thinking cleared: the span weighs %d, want %d", got, want)
	}
	conv := talk()
	conv.Messages[1].Blocks[0].Text = chars(16000)
	conv.Messages[3].Usage.CacheRead = 17500 - 10
	for drops, clears := range []bool{1: false, 0: true} {
		model.ClearsThinking = func(string) bool { return clears }
		if got := calibrate(t, conv, model).Drops; len(got) != drops || drops > 0 && got[0].Cause != tokens.Unexplained {
			t.Errorf("thinking cleared %v: %+v", clears, got)
		}
	}
	model.ClearsThinking = func(string) bool { return true }
	meter := tokens.NewMeter(talk(), model)
	spans, _ := tokens.Spans(talk(), model)
	if _, gone, _ := meter.Next(&spans[0]); len(gone) != 1 || gone[0] != (policy.Target{Item: 1}) {
		t.Errorf("cleared: %v", gone)
	}
}

// TestUnknownUsage: a response without usage lies inside a span; without any the densities stand.
func TestUnknownUsage(t *testing.T) {
	c := calibrate(t, said(answer(20000), prompt(5600), answer(0), prompt(5600), answer(23600)), round())
	if got := c.Message(0) + c.Message(1) + c.Message(2) + c.Message(3); got < 3599 || got > 3601 {
		t.Errorf("the span weighs %d, want 3,600", got)
	}
	c = calibrate(t, said(prompt(4000), answer(0), prompt(4000), answer(0)), round())
	if c.Recorded || c.Rates != *round().Rates || c.Message(0) != 1000 || c.Message(1) != 100 {
		t.Errorf("recorded %v, rates %v, weights %d %d", c.Recorded, c.Rates, c.Message(0), c.Message(1))
	}
}

// TestDrops: what is said of a fall.
func TestDrops(t *testing.T) {
	must.Rows(t, `
# name | growth | what is another in both responses; in the second | what is said, and whether every view shares it
2,000             | -2000  | {} | {} | "" | false
2,001             | -2001  | {} | {} | no line says why | true
a model switch    | -2001  | {} | {"model": "claude-opus-5", "version": "2.1.60"} | model switch from claude-opus-4-6 to claude-opus-5 | true
a client version  | -2001  | {} | {"version": "2.1.60"} | client version 2.1.50 to 2.1.60 | true
a microcompaction | -16000 | {"version": "2.1.24"} | {} | unrecorded microcompaction | false
not of 2.1.25     | -16000 | {"version": "2.1.25"} | {} | no line says why | true
not of 15,999     | -15999 | {"version": "2.1.24"} | {} | no line says why | true
not below 135,000 | -16000 | {"version": "2.1.24", "usage": {"output": 99}} | {} | no line says why | true
`, func(name string, growth int, both, second, want string, shared bool) {
		conv := said(prompt(4000), answer(134900), prompt(4000), answer(134900+growth))
		must.JSON(t, both, &conv.Messages[1])
		must.JSON(t, both, &conv.Messages[3])
		must.JSON(t, second, &conv.Messages[3])
		var drops []tokens.Drop
		if want != "" {
			drops = []tokens.Drop{{Request: 2, Tokens: -growth, Cause: want, Shared: shared}}
		}
		must.Equal(t, calibrate(t, conv, round()).Drops, drops, name)
	})
	conv := said(prompt(4000), answer(134900), prompt(4000), answer(20000))
	conv.Boundaries = []session.Boundary{{Trigger: "auto", Before: 2, Summary: -1, Request: 2}}
	if drops := calibrate(t, conv, round()).Drops; len(drops) > 0 {
		t.Errorf("a compaction is told as a drop: %+v", drops)
	}
}

// TestBlocks is the weight of each kind of block where nothing is learned.
func TestBlocks(t *testing.T) {
	must.Rows(t, `
text                        | {"type": "text", "text": 400} | 100
thinking with text          | {"type": "thinking", "text": 400, "signature": 9000} | 100
tool_use                    | {"type": "tool_use", "name": "Read", "json": 176} | 100
image                       | {"type": "image", "json": 90000} | 1500
document                    | {"type": "document", "json": 90000} | 1500
tool_result                 | {"type": "tool_result", "text": 200} | 108
tool_result with images     | {"type": "tool_result", "text": 200, "parts": [{"type": "image"}, {"type": "image"}]} | 3108
redacted thinking: its data | {"type": "redacted_thinking", "text": 400, "json": 900} | 100
unknown: its JSON           | {"type": "unknown", "json": 200} | 100
`, func(name string, s told, want int) {
		conv := said(session.Message{Role: session.Assistant, Blocks: []session.Block{s.block()}})
		must.Equal(t, calibrate(t, conv, round()).Block(0, 0), want, name)
	})
}

// TestHiddenThinking: thinking without text weighs what the record has of it.
func TestHiddenThinking(t *testing.T) {
	must.Rows(t, `
# name | usage | signature | want
recorded thinking tokens; the others share the rest, 579 | {"output": 900, "thinking": 321} | 1000 | 321
output that nothing else explains | {"output": 900} | 1000 | 750
output that the text explains | {"output": 150} | 1900 | 0
output that cannot be: the signature | {"output": 10} | 1450 | 300
a short signature | {"output": 10} | 250 | 0
`, func(name string, usage jsonl.Usage, signature, want int) {
		m := answer(20000) // 100 tokens of text
		m.Version = "2.1.228"
		m.Blocks = append([]session.Block{block(jsonl.ContentBlock{Kind: jsonl.KindThinking, Signature: signature})}, m.Blocks...)
		m.Blocks = append(m.Blocks, block(jsonl.ContentBlock{Kind: jsonl.KindToolUse, Name: "Read", JSON: chars(76)})) // 50
		m.Usage.Output, m.Usage.Thinking = usage.Output, usage.Thinking
		c := calibrate(t, said(m), round())
		must.Equal(t, c.Block(0, 0), want, name)
		text, call := 100, 50
		if usage.Thinking > 0 {
			text, call = 386, 193
		}
		if c.Block(0, 1) != text || c.Block(0, 2) != call {
			t.Errorf("%s: the others are %d and %d", name, c.Block(0, 1), c.Block(0, 2))
		}
	})
}

// TestSeveralHidden: thinking without text in several blocks shares what the rest leaves by the length of the
// signatures.
func TestSeveralHidden(t *testing.T) {
	m := answer(20000) // 100 tokens of text
	m.Version, m.Usage.Output = "2.1.228", 700
	for _, n := range []int{1000, 2000} {
		m.Blocks = append(m.Blocks, block(jsonl.ContentBlock{Kind: jsonl.KindThinking, Signature: 250 + n}))
	}
	c := calibrate(t, said(m), round())
	must.Say(t, "100 200 400", c.Block(0, 0), c.Block(0, 1), c.Block(0, 2))
}

// TestSummedUp: thinking whose text is a summary weighs what the signature holds beyond it.
func TestSummedUp(t *testing.T) {
	model := round()
	model.Rates[tokens.SummedUpChars] = 0.2
	must.Rows(t, `
0    | 300
250  | 300
1850 | 300
2850 | 500
`, func(signature, want int) {
		conv := said(session.Message{Role: session.Assistant, Blocks: []session.Block{block(jsonl.ContentBlock{Kind: jsonl.KindThinking, Text: chars(1200), Signature: signature})}})
		must.Equal(t, calibrate(t, conv, model).Block(0, 0), want, signature)
	})
}

// TestReadBack: an offloaded result weighs its file, and its stub what was sent; both on the scale of the span.
func TestReadBack(t *testing.T) {
	result := session.Message{Class: session.ClassToolResult, Blocks: []session.Block{
		block(jsonl.ContentBlock{Kind: jsonl.KindToolResult, ID: "t1", IsString: true, Text: chars(5784)}),
	}}
	result.Blocks[0].Offload = &session.Offload{Text: chars(59984)}
	conv := said(prompt(4000), answer(20000), result, answer(23600))
	c := calibrate(t, conv, round())
	stub := policy.Content{Kind: jsonl.KindToolResult, Length: chars(5784), Ref: &policy.Target{Item: 2}, Stub: true}
	sent := c.Content(&stub)
	if got := c.Message(1) + sent; got < 3599 || got > 3601 {
		t.Errorf("the response and the stub weigh %d, want 3,600", got)
	}
	around, rate := c.Rates[tokens.Results], c.Rates[tokens.OtherChars]
	want := float64(sent) * (around + 59984*rate) / (around + 5784*rate)
	if got := float64(c.Block(2, 0)); math.Abs(got-want) > 10 {
		t.Errorf("the file weighs %v, want %v", got, want)
	}
	text := policy.Content{Kind: jsonl.KindText, Length: chars(4000)}
	if got, want := c.Content(&text), int(math.Round(4000*c.Rates[tokens.NoteChars])); got != want {
		t.Errorf("a text a policy puts in weighs %d, want %d", got, want)
	}
}

// TestLostWeight: results lost at a boundary weigh what the boundary knows beyond the last response and what came
// after it.
func TestLostWeight(t *testing.T) {
	lost := session.Message{Class: session.ClassToolResult, Lost: true, Blocks: []session.Block{block(jsonl.ContentBlock{Kind: jsonl.KindToolResult, ID: "t2", IsString: true})}}
	result := session.Message{Class: session.ClassToolResult, Blocks: []session.Block{block(jsonl.ContentBlock{Kind: jsonl.KindToolResult, ID: "t1", IsString: true, Text: chars(4000)})}}
	must.Rows(t, `
# name | tokens | before | want
what is known is 30,100 and 1,000 of the other result | 35000 | 4 | 3900
one token more than is known | 31101 | 4 | 1
no more than is known        | 31100 | 4 | 0
none recorded                | 0     | 4 | 0
the boundary stands elsewhere | 35000 | 5 | 0
`, func(name string, tokens, before, want int) {
		conv := said(prompt(4000), answer(30000), result, lost, prompt(400), answer(20000))
		conv.Boundaries = []session.Boundary{{Trigger: "auto", PreTokens: tokens, Before: before, Summary: 4, Request: 2}}
		conv.Messages[4].RecordOnly = true
		c := calibrate(t, conv, round())
		must.Equal(t, c.Lost[3], want, name)
		weight := want
		if weight == 0 {
			weight = 8 // what goes around any result
		}
		must.Equal(t, c.Message(3), weight, name)
	})
}

// TestEarlier: what stands in for the history before the file is what the first request had in context beyond the
// overhead and the lines.
func TestEarlier(t *testing.T) {
	earlier := session.Message{Class: session.ClassMeta, Marks: session.Earlier, Blocks: []session.Block{block(jsonl.ContentBlock{Kind: jsonl.KindText})}}
	must.Rows(t, `
100000 | 80200
19801  | 1
19800  | 0
10000  | 0
`, func(context, want int) {
		must.Equal(t, calibrate(t, said(earlier, prompt(4000), answer(context)), round()).Message(0), want, context)
	})
	// A later fall that every view shares was overhead till then.
	conv := said(earlier, prompt(4000), answer(100000), prompt(4000), answer(90000))
	if got, want := calibrate(t, conv, round()).Message(0), 100000-10000-tokens.DefaultOverhead-1000; got != want {
		t.Errorf("before a drop: %d, want %d", got, want)
	}
}

// TestImages: an image weighs what the documented formula says of its size, whatever stands before it in its file,
// and is read off the session's file.
func TestImages(t *testing.T) {
	var lines strings.Builder
	want := map[string]int{}
	files := imageFiles(t)
	long := append([]byte{0xff, 0xe1, 0xea, 0x60}, make([]byte, 60000-2)...) // a segment of 60,000 bytes
	files["jpeg behind a long segment"] = append(append([]byte{0xff, 0xd8}, long...), files["jpeg"][2:]...)
	for name, data := range files {
		block := `{"type":"image","source":{"type":"base64","media_type":"image/x","data":"` + base64.StdEncoding.EncodeToString(data) + `"}}`
		w, h, ok := tokens.ImageSize(data)
		if !ok {
			t.Fatalf("%s has no size", name)
		}
		for i, content := range []string{`[` + block + `]`, `[{"type":"tool_result","tool_use_id":"` + name + `","content":[` + block + `]}]`} {
			id := fmt.Sprint(name, i)
			want[id] = tokens.ImageCost(w, h, false)
			if i == 1 {
				want[id] += 8 // what goes around a result
			}
			fmt.Fprintf(&lines, `{"type":"user","uuid":%q,"message":{"role":"user","content":%s}}`+"\n", id, content)
		}
	}
	for id, source := range map[string]string{
		"url": `{"type":"url","url":"https://example.com/a.png"}`, "broken": `{"type":"base64","data":"!!!!"}`, "cut": `{"type":"base64","data":"iVBORw0KGgo="}`,
	} {
		want[id] = 1500
		fmt.Fprintf(&lines, `{"type":"user","uuid":%q,"message":{"role":"user","content":[{"type":"image","source":%s}]}}`+"\n", id, source)
	}
	file := must.Get(session.LoadReader("images", strings.NewReader(lines.String()), session.LoadOptions{}))(t)
	defer file.Close()
	c := calibrate(t, file.Main, round())
	for m := range file.Main.Messages {
		id := file.Main.Messages[m].UUID
		must.Equal(t, c.Message(m), want[id], id)
		delete(want, id)
	}
	if len(want) > 0 {
		t.Errorf("no message for %v", want)
	}
}
