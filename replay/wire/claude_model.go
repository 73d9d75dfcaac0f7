package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/price"
)

// answer is the sent content of a response: of another model than the one that is asked newer clients leave out the signed
// thinking, and older ones send a plan without what they wrote into its call.
func (f *claudeFrame) answer(id policy.ItemID, blocks []BodyBlock) []BodyBlock {
	if m := f.Message(id); m != nil && f.OwnThinking && !m.Synthetic && m.Model != f.asked() {
		blocks = slices.DeleteFunc(blocks, isSigned)
	}
	for i := range blocks {
		if b := &blocks[i]; f.NoPlan && b.Type == "tool_use" && f.unchanged(b.Source) {
			b.JSON = withoutPlan(b.JSON)
		}
	}
	return blocks
}

// isSigned reports whether a block is thinking that only the model that wrote it can read.
func isSigned(b BodyBlock) bool {
	var thinking struct{ Signature string }
	return b.Type == "redacted_thinking" || b.Type == "thinking" && json.Unmarshal(b.JSON, &thinking) == nil && thinking.Signature != ""
}

// withoutPlan leaves out of a call of ExitPlanMode what the client wrote into it for its own record.
func withoutPlan(js []byte) []byte {
	var call struct {
		Name  string
		Input json.RawMessage
	}
	var input map[string]json.RawMessage
	if json.Unmarshal(js, &call) != nil || call.Name != "ExitPlanMode" || json.Unmarshal(call.Input, &input) != nil {
		return js
	}
	at := bytes.Index(js, slices.Concat([]byte(`"input":`), call.Input))
	n := len(input)
	delete(input, "plan")
	delete(input, "planFilePath")
	if at < 0 || len(input) == n {
		return js
	}
	at += len(`"input":`)
	return slices.Concat(js[:at], appendValue(nil, input), js[at+len(call.Input):])
}

// systemTurns reports whether the model that is asked takes messages of the system role between others: by the
// snapshots of prompts that were made for it, else by its generation.
func (f *claudeFrame) systemTurns() bool {
	if f.turns == nil {
		turns := f.findTurns()
		f.turns = &turns
	}
	return *f.turns
}

func (f *claudeFrame) findTurns() bool {
	last := ""
	known := map[string]bool{}
	turns := map[string]bool{}
	for m := range f.conv.Messages {
		msg := &f.conv.Messages[m]
		switch {
		case msg.Role == session.Assistant && !msg.Synthetic:
			last = msg.Model
		case msg.Attachment == "prompt_snapshot" && last != "":
			if s := msg.Blocks[0].Sent; s.Turns != session.TurnsUnknown {
				known[last] = true
				turns[last] = s.Turns == session.TurnsSystem
			}
		}
	}
	if asked := f.asked(); known[asked] {
		return turns[asked]
	}
	return laterThan48(f.asked())
}

// asked is the model that is asked: that of the next response, else of the last one.
func (f *claudeFrame) asked() string {
	if f.model == "" {
		for m := range f.conv.Messages {
			if msg := &f.conv.Messages[m]; msg.Role == session.Assistant && !msg.Synthetic {
				if f.model = msg.Model; m >= f.Joined() {
					break
				}
			}
		}
		f.model = cmp.Or(f.model, f.conv.Model)
	}
	return f.model
}

// laterThan48 reports whether a model is a Claude of generation 4.8 or later, the first that takes such messages. What
// follows "@" or "[" is its date or its window.
func laterThan48(model string) bool {
	if !price.Anthropic(model) {
		return false
	}
	if end := strings.IndexAny(model, "@["); end >= 0 {
		model = model[:end]
	}
	var numbers []int
	for _, part := range strings.Split(model, "-") {
		if n, err := strconv.Atoi(part); err == nil && n < 100 {
			numbers = append(numbers, n)
		}
	}
	return slices.Compare(numbers, []int{4, 8}) >= 0
}
