package cline

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

// truncations are Cline's own answers: scripts/oracle/cline.
//
//go:embed testdata/truncation.json
var truncations []byte

type clineMessage struct {
	Role   string
	Blocks []struct {
		Type, ID, Path, Text string
		Pad                  int
	}
}

// conversation is a generated conversation as sessions have it.
func conversation(messages []clineMessage) *stagetest.Convo {
	c := stagetest.NewConvo()
	for _, m := range messages {
		var blocks []stagetest.BlockText
		class := session.ClassPrompt
		for _, b := range m.Blocks {
			text := b.Text + strings.Repeat("x", b.Pad)
			switch b.Type {
			case "tool_use":
				tool, input := "Bash", `{"command":"ls"}`
				if b.Path != "" {
					tool, input = "Read", fmt.Sprintf(`{"file_path":%q}`, b.Path)
				}
				blocks = append(blocks, stagetest.Calling(b.ID, tool, input))
			case "tool_result":
				blocks = append(blocks, stagetest.Result(b.ID, text))
				class = session.ClassToolResult
			default:
				blocks = append(blocks, stagetest.Say(text))
			}
		}
		if m.Role == "assistant" {
			c.Assistant(blocks...)
		} else {
			c.User(class, blocks...)
		}
	}
	return c
}

// sent lists the messages in view as the cases do: adjacent ones of one role are one; a block is where it was
// recorded, or what took its place.
func sent(r *stagetest.Bench) (list []string) {
	role := session.Role(0)
	for id := range r.View.Items {
		var words []string
		for b := range r.View.Blocks(id) {
			t := policy.Target{Item: id, Block: b}
			raw, c := r.View.Raw(t), r.View.Replacement(t)
			switch {
			case raw.Kind == jsonl.KindToolUse:
				words = append(words, "use "+raw.ID)
			case c == nil:
				words = append(words, fmt.Sprintf("%d.%d", id, b))
			case c.Text == truncatedNotice:
				words = append(words, "notice")
			case c.Text == resultMissing:
				words = append(words, "missing "+raw.ID)
			case strings.HasSuffix(c.Text, "\n"+duplicateRead):
				words = append(words, "again "+raw.ID)
			default:
				words = append(words, c.Text)
			}
		}
		said := strings.Join(words, " ")
		if r.View.Role(id) == role && len(list) > 0 {
			list[len(list)-1] += " " + said
			continue
		}
		role, list = r.View.Role(id), append(list, said)
	}
	return list
}

func TestClineTruncationOracle(t *testing.T) {
	var list []struct {
		Window   int
		Messages []clineMessage
		Used     []int
		Sent     [][]string
	}
	must.Do(t, json.Unmarshal(truncations, &list))
	compared, again, stayed := 0, 0, 0
	for number, tt := range list {
		c := conversation(tt.Messages)
		c.Play(`assistant say done`)
		r := stagetest.NewRun(t, c, stagetest.Start(t, defineClineTruncation(), nil))
		r.Window = tt.Window
		r.Each = func(k int) {
			r.Last.Usage = jsonl.Usage{Input: tt.Used[k]}
			if tt.Sent[k] == nil || t.Failed() {
				return
			}
			compared++
			again += strings.Count(strings.Join(tt.Sent[k], " "), "again")
			got := sent(r)
			if len(got) > 2 && strings.HasPrefix(got[2], "again") && strings.HasPrefix(tt.Sent[k][2], "missing") { // it stays as it is
				got[2] = strings.Replace(got[2], "again", "missing", 1)
				stayed++
			}
			must.Equal(t, got, tt.Sent[k], number, k+1)
		}
		r.All()
	}
	t.Logf("%d conversations, %d requests, %d reads replaced in them; %d hold a read that stays replaced", len(list), compared, again, stayed)
}
