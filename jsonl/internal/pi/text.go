package pi

import (
	"encoding/json"
	"fmt"

	"github.com/ctxkit/ctxkit/jsonl/foreign"
)

// The texts around summaries. (messages.ts of pi-mono.)
const (
	summaryPrefix = "The conversation history before this point was compacted into the following summary:\n\n<summary>\n"
	summarySuffix = "\n</summary>"
	branchPrefix  = "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n"
	branchSuffix  = "</summary>"
)

// ran is what the model gets of a command of the user. (messages.ts of pi-mono.)
func ran(m *message) string {
	text := fmt.Sprintf("Ran `%s`\n", m.Command)
	if m.Output != "" {
		text += "```\n" + m.Output + "\n```"
	} else {
		text += "(no output)"
	}
	switch {
	case m.Cancelled:
		text += "\n\n(command cancelled)"
	case m.ExitCode != nil && *m.ExitCode != 0:
		text += fmt.Sprintf("\n\nCommand exited with code %d", *m.ExitCode)
	}
	if m.Truncated && m.FullPath != "" {
		text += fmt.Sprintf("\n\n[Output truncated. Full output: %s]", m.FullPath)
	}
	return text
}

// blocks are the blocks of a content: a string, or a list.
func blocks(raw json.RawMessage) []foreign.Block {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if text == "" {
			return nil
		}
		return []foreign.Block{foreign.Text(text)}
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	var out []foreign.Block
	for _, one := range list {
		var b block
		_ = json.Unmarshal(one, &b) // the readable part
		switch b.Type {
		case "text":
			if b.Text == "" {
				continue // it is not sent
			}
			out = append(out, foreign.Text(b.Text))
		case "thinking":
			out = append(out, foreign.Thinking(b.Thinking, b.Signature))
		case "toolCall":
			out = append(out, foreign.Call(b.ID, b.Name, b.Arguments))
		case "image":
			out = append(out, foreign.Picture(b.MIME, b.Data))
		default:
			out = append(out, foreign.Block{Type: b.Type, Source: one})
		}
	}
	return out
}
