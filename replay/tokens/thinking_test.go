package tokens_test

import (
	"fmt"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// TestThinking: the server leaves out the thinking of earlier turns from the next prompt on, for models that are sent
// that of the current turn alone, and takes it again for others.
func TestThinking(t *testing.T) {
	said := func(class session.Class) session.Message { return session.Message{Role: session.User, Class: class} }
	thinks := session.Message{Role: session.Assistant, Class: session.ClassResponse, Blocks: []session.Block{
		block(jsonl.ContentBlock{Kind: jsonl.KindThinking}), block(jsonl.ContentBlock{Kind: jsonl.KindText}),
	}}
	prompt, result := said(session.ClassPrompt), said(session.ClassToolResult)
	compacts := prompt
	compacts.RecordOnly = true
	of := func(version string, m session.Message) session.Message { m.Version = version; return m }
	type request struct {
		at    int
		model string
		want  string // what is left out and what is back
	}
	for _, tt := range []struct {
		name     string
		messages []session.Message
		requests []request
	}{
		{
			"a tool loop keeps it, a prompt ends the turn",
			[]session.Message{prompt, thinks, result, thinks, prompt, thinks, result, thinks},
			[]request{{1, "old", "[] []"}, {3, "old", "[] []"}, {5, "old", "[[1 0] [3 0]] []"}, {7, "old", "[] []"}},
		},
		{"a model that takes all", []session.Message{prompt, thinks, prompt, thinks}, []request{{1, "new", "[] []"}, {3, "new", "[] []"}}},
		{
			"notes, interrupts and commands end no turn",
			[]session.Message{prompt, thinks, said(session.ClassMeta), said(session.ClassInterrupt), said(session.ClassCommand), thinks},
			[]request{{1, "old", "[] []"}, {5, "old", "[] []"}},
		},
		{"a prompt of the record alone ends none", []session.Message{prompt, thinks, compacts, thinks}, []request{{1, "old", "[] []"}, {3, "old", "[] []"}}},
		{
			"another model",
			[]session.Message{prompt, thinks, prompt, thinks, prompt, thinks},
			[]request{{1, "old", "[] []"}, {3, "old", "[[1 0]] []"}, {5, "new", "[] [[1 0]]"}},
		},
		{
			"and back",
			[]session.Message{prompt, thinks, prompt, thinks, result, thinks},
			[]request{{1, "new", "[] []"}, {3, "new", "[] []"}, {5, "old", "[[1 0]] []"}},
		},
		{
			"a client that asks to keep it, from its next version on",
			[]session.Message{prompt, thinks, prompt, thinks, of("2", prompt), of("2", thinks), prompt, thinks},
			[]request{{1, "old", "[] []"}, {3, "old", "[[1 0]] []"}, {5, "old", "[] [[1 0]]"}, {7, "old", "[[3 0] [1 0] [5 0]] []"}},
		},
	} {
		conv := &session.Conversation{Messages: tt.messages}
		th := tokens.NewThinking(conv, tokens.CountedModel{
			ClearsThinking: func(model string) bool { return model == "old" },
			Client:         &policy.Recorder{Version: func(v string) policy.ClientVersion { return policy.ClientVersion{KeepsThinking: v == "2"} }},
		})
		for _, r := range tt.requests {
			left, back := th.Request(r.at, r.model)
			must.Equal(t, fmt.Sprint(figures(left), figures(back)), r.want, tt.name, r.at)
		}
	}
}

// figures are the figures of targets.
func figures(targets []policy.Target) (list [][2]int) {
	for _, t := range targets {
		list = append(list, [2]int{int(t.Item), t.Block})
	}
	return list
}
