package opencode_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/policy/stage/opencode"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

var claude = opencode.Model{ProviderID: "anthropic", ID: "claude", Limit: opencode.Limit{Context: 200000, Output: 64000}}

func modelJSON(v opencode.Version, s *session, m opencode.Model, o opencode.ModelOptions) string {
	data, err := json.Marshal(v.ToModelMessages(s.messages, m, o))
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func TestModelMessages(t *testing.T) {
	image := opencode.Part{Type: opencode.PartFile, MIME: "image/png", URL: "data:image/png;base64,AA"}
	document := opencode.Part{Type: opencode.PartFile, MIME: "application/pdf", Filename: pointer("a.pdf"), URL: "data:application/pdf;base64,BB"}
	reasoning := opencode.Part{Type: opencode.PartReasoning, Text: "think", Metadata: []byte(`{"anthropic":{"signature":"S"}}`)}
	step := opencode.Part{Type: opencode.PartStepStart}
	withMedia := call("read", "")
	withMedia.State.Attachments = []opencode.Part{image, document}
	interrupted := call("bash", "")
	interrupted.State = opencode.State{Status: opencode.StatusError, Error: "stopped", Metadata: []byte(`{"interrupted":true,"output":"so far"}`)}
	other := claude
	other.ID = "other"
	imagesOnly := claude
	imagesOnly.ToolResultMedia = opencode.ImagesOnly

	const toolCall = `{"type":"tool-call","toolCallId":"call","toolName":"read","input":{}}`
	for _, test := range []struct {
		about         string
		build         func(*session)
		model         opencode.Model
		options       opencode.ModelOptions
		pinned, newer string // newer "": the same
	}{
		{
			about: "user texts: ignored, empty, files",
			build: func(s *session) {
				hidden := text("hidden")
				hidden.Ignored = true
				s.user(text("a"), hidden, text(""), image, opencode.Part{Type: opencode.PartFile, MIME: "text/plain"})
			},
			pinned: `[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":""},{"type":"file","mediaType":"image/png","data":"data:image/png;base64,AA"}]}]`,
			newer:  `[{"role":"user","content":[{"type":"text","text":"a"},{"type":"file","mediaType":"image/png","data":"data:image/png;base64,AA"}]}]`,
		},
		{
			about:   "media stripped for a compaction",
			build:   func(s *session) { s.user(image, document) },
			options: opencode.ModelOptions{StripMedia: true},
			pinned:  `[{"role":"user","content":[{"type":"text","text":"[Attached image/png: file]"},{"type":"text","text":"[Attached application/pdf: a.pdf]"}]}]`,
		},
		{
			about: "messages that say nothing",
			build: func(s *session) {
				s.user()
				s.user(opencode.Part{Type: "agent"})
				s.assistant("stop", step)
				s.assistant("stop", text("x")).Info.Error = &opencode.MessageError{Name: "UnknownError"}
				s.assistant("stop", reasoning).Info.Error = &opencode.MessageError{Name: opencode.AbortedError}
				s.assistant("stop", text("y")).Info.Error = &opencode.MessageError{Name: opencode.AbortedError}
			},
			pinned: `[{"role":"assistant","content":[{"type":"text","text":"y"}]}]`,
		},
		{
			about:  "a subtask",
			build:  func(s *session) { s.user(opencode.Part{Type: opencode.PartSubtask}) },
			pinned: `[{"role":"user","content":[{"type":"text","text":"The following tool was executed by the user"}]}]`,
		},
		{
			about: "blocks, and signed reasoning",
			build: func(s *session) { s.assistant("stop", step, reasoning, call("read", "r"), step, text("")) },
			pinned: `[{"role":"assistant","content":[{"type":"reasoning","text":"think","providerOptions":{"anthropic":{"signature":"S"}}},` + toolCall + `]},` +
				`{"role":"tool","content":[{"type":"tool-result","toolCallId":"call","toolName":"read","output":{"type":"text","value":"r"}}]},` +
				`{"role":"assistant","content":[{"type":"text","text":""}]}]`,
			newer: `[{"role":"assistant","content":[{"type":"reasoning","text":"think","providerOptions":{"anthropic":{"signature":"S"}}},` + toolCall + `]},` +
				`{"role":"tool","content":[{"type":"tool-result","toolCallId":"call","toolName":"read","output":{"type":"text","value":"r"}}]},` +
				`{"role":"assistant","content":[{"type":"text","text":" "}]}]`,
		},
		{
			about: "another model's reasoning",
			build: func(s *session) {
				s.assistant("stop", reasoning, opencode.Part{Type: opencode.PartReasoning, Text: " "}, text("x"))
			},
			model:  other,
			pinned: `[{"role":"assistant","content":[{"type":"reasoning","text":"think"},{"type":"reasoning","text":" "},{"type":"text","text":"x"}]}]`,
			newer:  `[{"role":"assistant","content":[{"type":"text","text":"think"},{"type":"text","text":"x"}]}]`,
		},
		{
			about: "media in a tool result",
			build: func(s *session) { s.assistant("stop", withMedia) },
			pinned: `[{"role":"assistant","content":[` + toolCall + `]},{"role":"tool","content":[{"type":"tool-result","toolCallId":"call","toolName":"read","output":` +
				`{"type":"content","value":[{"type":"text","text":""},{"type":"media","mediaType":"image/png","data":"AA"},{"type":"media","mediaType":"application/pdf","data":"BB"}]}}]}]`,
			newer: `[{"role":"assistant","content":[` + toolCall + `]},{"role":"tool","content":[{"type":"tool-result","toolCallId":"call","toolName":"read","output":` +
				`{"type":"content","value":[{"type":"media","mediaType":"image/png","data":"AA"},{"type":"media","mediaType":"application/pdf","data":"BB"}]}}]}]`,
		},
		{
			about: "media the provider cannot take there",
			build: func(s *session) { s.assistant("stop", withMedia) },
			model: imagesOnly,
			pinned: `[{"role":"assistant","content":[` + toolCall + `]},{"role":"tool","content":[{"type":"tool-result","toolCallId":"call","toolName":"read","output":` +
				`{"type":"content","value":[{"type":"text","text":""},{"type":"media","mediaType":"image/png","data":"AA"},{"type":"media","mediaType":"application/pdf","data":"BB"}]}}]}]`,
			newer: `[{"role":"assistant","content":[` + toolCall + `]},{"role":"tool","content":[{"type":"tool-result","toolCallId":"call","toolName":"read","output":` +
				`{"type":"content","value":[{"type":"media","mediaType":"image/png","data":"AA"}]}}]},` +
				`{"role":"user","content":[{"type":"text","text":"Attached media from tool result:"},{"type":"file","mediaType":"application/pdf","filename":"a.pdf","data":"data:application/pdf;base64,BB"}]}]`,
		},
		{
			about: "an interrupted call with stored output",
			build: func(s *session) { s.assistant("stop", interrupted) },
			pinned: `[{"role":"assistant","content":[{"type":"tool-call","toolCallId":"call","toolName":"bash"}]},` +
				`{"role":"tool","content":[{"type":"tool-result","toolCallId":"call","toolName":"bash","output":{"type":"error-text","value":"stopped"}}]}]`,
			newer: `[{"role":"assistant","content":[{"type":"tool-call","toolCallId":"call","toolName":"bash"}]},` +
				`{"role":"tool","content":[{"type":"tool-result","toolCallId":"call","toolName":"bash","output":{"type":"text","value":"so far"}}]}]`,
		},
		{
			about: "outputs cut for a compaction",
			build: func(s *session) {
				p := call("bash", "")
				p.State = opencode.State{Status: opencode.StatusCompleted, Output: "ab😀cd"}
				s.assistant("stop", p)
			},
			options: opencode.ModelOptions{ToolOutputMaxChars: 4},
			pinned: `[{"role":"assistant","content":[{"type":"tool-call","toolCallId":"call","toolName":"bash"}]},` +
				`{"role":"tool","content":[{"type":"tool-result","toolCallId":"call","toolName":"bash","output":{"type":"text","value":"ab😀\n[Tool output truncated for compaction: omitted 2 chars]"}}]}]`,
		},
	} {
		var s session
		test.build(&s)
		if test.model.ID == "" {
			test.model = claude
		}
		for _, v := range opencode.Versions() {
			want := test.newer
			if v.Name == "pinned" || want == "" {
				want = test.pinned
			}
			stagetest.Same(t, want, modelJSON(v, &s, test.model, test.options), v.Name, test.about)
		}
	}
}

// TestModelMessageSize pins the JSON that tail sizes are taken from: numbers and escapes as JavaScript writes them.
func TestModelMessageSize(t *testing.T) {
	for input, want := range map[string]string{
		`{"b":1.0,"a":[1e3,-0,1E-7,0.000001,123456789012345678901234]}`: `{"a":[1000,0,1e-7,0.000001,1.2345678901234569e+23],"b":1}`,
		`{"n":1e21,"m":1e20,"i":1e999,"x":9007199254740993}`:            `{"i":null,"m":100000000000000000000,"n":1e+21,"x":9007199254740992}`,
		`"\u2028<&>\u0001\b\f\n\r\t\"\\\/é"`:                            "\"\u2028<&>\\u0001\\b\\f\\n\\r\\t\\\"\\\\/é\"",
		` { "a" : [ true , false , null , [ ] , { } ] } `:               `{"a":[true,false,null,[],{}]}`,
	} {
		var s session
		p := call("t", "")
		p.State.Input = []byte(input)
		s.assistant("stop", p)
		data, err := opencode.V1_18_34().ToModelMessages(s.messages, claude, opencode.ModelOptions{})[0].MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		_, got, _ := strings.Cut(string(data), `"input":`)
		stagetest.Same(t, want+"}]}", got, input, want)
	}
}

func TestTailSizes(t *testing.T) {
	var s session
	s.assistant("stop", text("before any prompt"))
	s.user(text("12345"))
	s.assistant("stop", text("done"))
	s.assistant("stop") // says nothing: not sent
	s.user(text("last"))
	want := []opencode.Turn{
		{Start: 1, End: 4, ID: "msg_0002", Tokens: opencode.EstimateText(
			`[{"role":"user","content":[{"type":"text","text":"12345"}]},{"role":"assistant","content":[{"type":"text","text":"done"}]}]`)},
		{Start: 4, End: 5, ID: "msg_0005", Tokens: opencode.EstimateText(`[{"role":"user","content":[{"type":"text","text":"last"}]}]`)},
	}
	if diff := cmp.Diff(want, opencode.V1_18_34().TailSizes(s.messages, claude)); diff != "" {
		t.Error(diff)
	}
}

// TestTailSizeOfManyMessages has so many messages in a turn that the commas between them count.
func TestTailSizeOfManyMessages(t *testing.T) {
	var s session
	s.user(text("go"))
	for range 40 {
		s.assistant("tool-calls", call("bash", "x"))
	}
	v := opencode.V1_18_3()
	data, err := json.Marshal(v.ToModelMessages(s.messages, claude, opencode.ModelOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := v.TailSizes(s.messages, claude)[0].Tokens, opencode.EstimateText(string(data)); got != want {
		t.Errorf("a turn of 81 model messages: %d tokens, want %d", got, want)
	}
}

func TestTailBudget(t *testing.T) {
	for usable, want := range map[int][2]int{
		0: {2000, 2000}, 7999: {2000, 2000}, 8003: {2000, 2000}, 8004: {2001, 2001}, 31999: {7999, 7999},
		32000: {8000, 8000}, 32004: {8000, 8001}, 60003: {8000, 15000}, 168000: {8000, 15000},
	} {
		limit := opencode.Limit{Context: usable + 32000, Output: 32000}
		for i, v := range opencode.Versions()[1:] {
			stagetest.Same(t, want[i], v.TailBudget(limit, opencode.Config{}), v.Name, usable)
			cfg := opencode.Config{Compaction: opencode.CompactionConfig{PreserveRecentTokens: pointer(7)}}
			stagetest.Same(t, 7, v.TailBudget(limit, cfg), v.Name)
		}
	}
}

func TestSelectTail(t *testing.T) {
	// Four turns of a prompt and two answers; every size is a multiple of 4 units, so nothing is rounded.
	var s session
	for range 4 {
		s.user(text("1234567"))
		s.assistant("tool-calls", text("12"))
		s.assistant("stop", text("12"))
	}
	v3, v34 := opencode.V1_18_3(), opencode.V1_18_34()
	turn := v34.TailSizes(s.messages, claude)[0].Tokens
	answer := opencode.EstimateText(`[{"role":"assistant","content":[{"type":"text","text":"12"}]}]`)
	answers := opencode.EstimateText(`[{"role":"assistant","content":[{"type":"text","text":"12"}]},{"role":"assistant","content":[{"type":"text","text":"12"}]}]`)
	for _, test := range []struct {
		about   string
		version opencode.Version
		budget  int
		turns   *int
		want    string
	}{
		{"1.1.36 keeps none", opencode.Pinned(), 10 * turn, nil, ""},
		{"nothing fits", v34, answer - 1, nil, ""},
		{"the last answer fits exactly", v34, answer, nil, "msg_0012"},
		{"both answers but one token", v34, answers - 1, nil, "msg_0012"},
		{"both answers fit exactly", v34, answers, nil, "msg_0011"},
		{"a turn but one token", v34, turn - 1, nil, "msg_0011"},
		{"a turn fits exactly", v34, turn, nil, "msg_0010"},
		{"a turn and an answer", v34, turn + answer, nil, "msg_0009"},
		{"two turns", v34, 2 * turn, nil, "msg_0007"},
		{"three turns", v34, 3 * turn, nil, "msg_0004"},
		{"three turns, but two are the limit", v3, 3 * turn, nil, "msg_0007"},
		{"three turns, one configured", v34, 3 * turn, pointer(1), "msg_0010"},
		{"three turns, three configured", v3, 3 * turn, pointer(3), "msg_0004"},
		{"no turn configured", v34, 3 * turn, pointer(0), ""},
		{"the whole history fits", v34, 4 * turn, nil, ""},
	} {
		cfg := opencode.Config{Compaction: opencode.CompactionConfig{PreserveRecentTokens: &test.budget, TailTurns: test.turns}}
		got := test.version.SelectTail(s.messages, claude, cfg)
		stagetest.Same(t, test.want, got.ID, test.about)
		if got.ID == "" != (got.Start == len(s.messages)) {
			t.Errorf("%s: tail %+v", test.about, got)
		}
	}
}

func TestTailHistory(t *testing.T) {
	var s session
	s.user(text("one"))
	s.assistant("stop", text("done"))
	s.user(opencode.Part{Type: opencode.PartCompaction})
	s.assistant("stop", text("summary")).Info.Summary = true
	s.user(text("two"))
	s.user(opencode.Part{Type: opencode.PartCompaction})
	failed := s.assistant("error", text("no summary"))
	failed.Info.Summary, failed.Info.Error = true, &opencode.MessageError{Name: "UnknownError"}
	asked := s.user(opencode.Part{Type: opencode.PartCompaction})
	var got []string
	for _, m := range opencode.TailHistory(s.messages, asked.Info.ID) {
		got = append(got, m.Info.ID)
	}
	if diff := cmp.Diff([]string{"msg_0001", "msg_0002", "msg_0005", "msg_0006", "msg_0007"}, got); diff != "" {
		t.Error(diff)
	}
}
