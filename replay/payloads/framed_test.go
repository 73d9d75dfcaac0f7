package payloads

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/requests"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/wire"
)

// bodyOf is a body of messages, each its role's first letter and its texts: "u:a|b". Blocks are of items in order.
// "!" marks a block, "=N:" names another item, "-" one that is no block of it.
func bodyOf(messages ...string) *wire.Body {
	b := &wire.Body{}
	item := policy.ItemID(0)
	for _, m := range messages {
		role, texts, _ := strings.Cut(m, ":")
		msg := wire.BodyMessage{Role: map[string]session.Role{"u": session.User, "a": session.Assistant, "s": session.System}[role]}
		for _, text := range strings.Split(texts, "|") {
			block := wire.BodyBlock{Type: "text"}
			if rest, ok := strings.CutPrefix(text, "!"); ok {
				text, block.CacheControl = rest, &wire.CacheControl{Type: "ephemeral"}
			}
			if rest, ok := strings.CutPrefix(text, "-"); ok {
				text, block.Source = rest, policy.Target{Item: item, Block: wire.Whole}
			} else {
				if len(text) > 2 && text[0] == '=' {
					item, text = policy.ItemID(text[1]-'0'), text[3:]
				}
				block.Source.Item = item
				item++
			}
			block.JSON, _ = json.Marshal(map[string]string{"type": "text", "text": text})
			msg.Blocks = append(msg.Blocks, block)
		}
		b.Messages = append(b.Messages, msg)
	}
	return b
}

func sentOf(messages ...string) *requests.SentBody {
	s := &requests.SentBody{Params: []requests.Param{{Name: "model", Value: []byte(`"m"`)}, {Name: "thinking", Value: []byte(`{}`)}}}
	for _, m := range bodyOf(messages...).Messages {
		msg := requests.Message{Role: m.Role.String()}
		for _, b := range m.Blocks {
			block := requests.Block{JSON: b.JSON}
			if b.CacheControl != nil {
				block.Mark = []byte(`{"type":"ephemeral"}`)
			}
			msg.Blocks = append(msg.Blocks, block)
		}
		s.Messages = append(s.Messages, msg)
	}
	return s
}

func textOfBody(s *requests.SentBody) string {
	var list []string
	for i := range s.Messages {
		var texts []string
		for _, b := range s.Messages[i].Blocks {
			var block struct {
				Text string
				Mark any `json:"cache_control"`
			}
			_ = json.Unmarshal(b.Append(nil), &block)
			if block.Mark != nil {
				block.Text = "!" + block.Text
			}
			texts = append(texts, block.Text)
		}
		list = append(list, s.Messages[i].Role[:1]+":"+strings.Join(texts, "|"))
	}
	return strings.Join(list, " ")
}

func TestFramed(t *testing.T) {
	list := strings.Fields
	must.Rows(t, `
# name | sent | rebuilt | other | want
no edit | u:R|a a:b u:c|!left | u:a a:b u:!c | u:a a:b u:!c | u:R|a a:b u:c|!left
replaced | u:R|a a:b u:c|left s:now | u:a a:b u:c | u:a a:b u:X | u:R|a a:b u:X|left s:now
removed | u:R|a a:b u:c|left a:d | u:a a:b u:c a:d | u:a a:b|=3:d | u:R|a a:b|d
not sent | u:a a:b | u:a|x a:b | u:a|x a:b | u:a a:b
placeholder | u:R|a a:b | u:-hole|a a:b | u:-hole|=9:S a:=1:b | u:R|S a:b
compacted | u:a a:b u:c a:d u:!e | u:a a:b u:c a:d u:!e | u:=9:sum u:=4:!e | u:sum u:!e
kept of the record | u:sum a:d | u:=8:sum a:=3:d | u:a a:b u:c a:d | u:a a:b u:c a:d
two of one role | u:a u:b | u:a|b | u:a|b | u:a u:b
joined | u:a a:b u:c | u:a a:b u:c | u:a|=2:c | u:a|c
mark moved | u:a a:b u:!c | u:a a:b u:!c | u:a a:!b u:c | u:a a:!b u:c
a message of words | s:w u:a s:v a:b | u:a a:b | u:a a:b | s:w u:a s:v a:b
`, func(name, theSent, rebuilt, theOther, want string) {
		sent := sentOf(list(theSent)...)
		other := bodyOf(list(theOther)...)
		Framed(sent, bodyOf(list(rebuilt)...), other)
		must.Equal(t, textOfBody(sent), want, name)
		if got := (&wire.Body{Messages: other.Messages}); textOfBody(&requests.SentBody{Messages: sent.Messages}) != want || len(got.Messages) != len(sent.Messages) {
			t.Errorf("%s: %d messages with places, want %d", name, len(got.Messages), len(sent.Messages))
		}
	})
}

// Parameters are those that were sent, but for those that the policy or a flag sets.
func TestFramedParams(t *testing.T) {
	sent := sentOf("u:a")
	other := bodyOf("u:a")
	other.Model, other.Edits, other.Automatic = "n", []any{map[string]string{"type": "clear"}}, true
	Framed(sent, bodyOf("u:a"), other)
	var got []string
	for _, p := range sent.Params {
		got = append(got, p.Name+"="+string(p.Value))
	}
	want := `thinking={} model="n" context_management={"edits":[{"type":"clear"}]} cache_control={"type":"ephemeral"}`
	must.Equal(t, strings.Join(got, " "), want)
}
