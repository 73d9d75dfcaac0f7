package measure

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// CallInput is what a tool call asked for, of any client's tools (session.Conversation.AlikeInput).
type CallInput struct {
	Path     string // "" where it names no file or folder
	From, To int    // lines of a file; 0: from the first, to the last
	Command  string // of a tool that runs one
	Input    string // the whole input of a call that has neither a file nor a command, or searches; as recorded
}

// InputOf is the call behind a result; its members are empty where the call is not in the conversation, or its input is
// no JSON object of known form.
func InputOf(c *policy.Context, r *policy.Result) (*CallInput, error) {
	m, b, ok := c.Conv.ToolUse(r.ID)
	if !ok {
		return &CallInput{}, nil
	}
	call := policy.BlockOf(m, b)
	text, err := c.Texts.Recorded(call)
	if err != nil {
		return nil, fmt.Errorf("reading a tool's input: %w", err)
	}
	var in struct {
		FilePath      string `json:"file_path"`
		Notebook      string `json:"notebook_path"`
		Path          string
		Pattern       string
		Command       string
		Offset, Limit json.Number
		Start         json.Number   `json:"start_line"`
		End           json.Number   `json:"end_line"`
		Range         []json.Number `json:"view_range"`
	}
	if json.Unmarshal(c.Conv.AlikeInput(c.Conv.ToolName(r.ID), []byte(text)), &in) != nil {
		return &CallInput{}, nil
	}
	called := &CallInput{Path: cmp.Or(in.Path, in.FilePath, in.Notebook), From: number(in.Offset), Command: in.Command}
	if limit := number(in.Limit); limit > 0 {
		called.To = max(called.From, 1) + limit - 1
	}
	if len(in.Range) == 2 {
		in.Start = in.Range[0]
		in.End = in.Range[1]
	}
	called.From = cmp.Or(called.From, number(in.Start))
	called.To = cmp.Or(called.To, number(in.End))
	if in.Pattern != "" || called.Path == "" && called.Command == "" {
		called.Input = text
	}
	return called, nil
}

// number is a whole number of 1 or more, else 0.
func number(n json.Number) int {
	v, err := n.Int64()
	if err != nil || v < 1 || v > 1<<31 {
		return 0
	}
	return int(v)
}

// Whole reports whether the call asked for the whole file.
func (k *CallInput) Whole() bool { return k.From == 0 && k.To == 0 }

// LastResponse is the newest recorded response in view, -1 where there is none. No request has sent the results of
// later messages yet.
func LastResponse(v policy.View) policy.ItemID {
	for id := range v.Backward {
		if v.Message(id) != nil && v.Role(id) == session.Assistant {
			return id
		}
	}
	return -1
}
