package tokens_test

import (
	"fmt"
	"strings"
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
	classes := map[string]session.Class{"prompt": session.ClassPrompt, "compacts": session.ClassPrompt, "result": session.ClassToolResult, "note": session.ClassMeta, "interrupt": session.ClassInterrupt, "command": session.ClassCommand}
	must.Rows(t, `
# name | messages, "thinks" of the agent; those of version 2 of the client end in a 2
# A step a request: the message that answers it, its model, the thinking that is left out, and what is back.
a tool loop keeps it, a prompt ends the turn | prompt thinks result thinks prompt thinks result thinks
	1 old [] []
	3 old [] []
	5 old [[1 0] [3 0]] []
	7 old [] []
a model that takes all | prompt thinks prompt thinks
	1 new [] []
	3 new [] []
notes, interrupts and commands end no turn | prompt thinks note interrupt command thinks
	1 old [] []
	5 old [] []
a prompt of the record alone ends none | prompt thinks compacts thinks
	1 old [] []
	3 old [] []
another model | prompt thinks prompt thinks prompt thinks
	1 old [] []
	3 old [[1 0]] []
	5 new [] [[1 0]]
and back | prompt thinks prompt thinks result thinks
	1 new [] []
	3 new [] []
	5 old [[1 0]] []
a client that asks to keep it, from its next version on | prompt thinks prompt thinks prompt2 thinks2 prompt thinks
	1 old [] []
	3 old [[1 0]] []
	5 old [] [[1 0]]
	7 old [[3 0] [1 0] [5 0]] []
`, func(name, messages string, steps []string) {
		conv := &session.Conversation{}
		for _, word := range strings.Fields(messages) {
			word, second := strings.CutSuffix(word, "2")
			m := session.Message{Role: session.User, Class: classes[word], RecordOnly: word == "compacts"}
			if word == "thinks" {
				m = session.Message{Role: session.Assistant, Class: session.ClassResponse, Blocks: []session.Block{
					block(jsonl.ContentBlock{Kind: jsonl.KindThinking}), block(jsonl.ContentBlock{Kind: jsonl.KindText}),
				}}
			}
			if second {
				m.Version = "2"
			}
			conv.Messages = append(conv.Messages, m)
		}
		th := tokens.NewThinking(conv, tokens.CountedModel{
			ClearsThinking: func(model string) bool { return model == "old" },
			Client:         &policy.Recorder{Version: func(v string) policy.ClientVersion { return policy.ClientVersion{KeepsThinking: v == "2"} }},
		})
		for _, step := range steps {
			var at int
			var model string
			must.Get(fmt.Sscan(step, &at, &model))(t)
			left, back := th.Request(at, model)
			must.Equal(t, fmt.Sprint(at, " ", model, " ", figures(left), " ", figures(back)), step, name)
		}
	})
}

// figures are the figures of targets.
func figures(targets []policy.Target) (list [][2]int) {
	for _, t := range targets {
		list = append(list, [2]int{int(t.Item), t.Block})
	}
	return list
}
