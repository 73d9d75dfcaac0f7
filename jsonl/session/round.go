package session

import (
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
)

// resultOf is the position of a tool call's result: message and block index.
func (conv *Conversation) resultOf(id string) (message, block int, ok bool) {
	call, _, ok := conv.ToolUse(id)
	if !ok {
		return 0, 0, false
	}
	for m := call + 1; m < len(conv.Messages) && conv.Messages[m].Role == User; m++ {
		for b, bl := range blocksOf(conv.Messages[m].Blocks, jsonl.KindToolResult) {
			if bl.ID == id {
				return m, b, true
			}
		}
	}
	return 0, 0, false
}

// Rounds completes a list of messages so that no tool call is separated from its result. For each message with tool
// calls it adds the messages with their results; for each message with results it adds the message with their calls. It
// returns sorted, distinct indexes.
func (conv *Conversation) Rounds(messages []int) []int {
	in := make(map[int]bool, len(messages))
	var list []int
	add := func(m int) {
		if !in[m] {
			in[m] = true
			list = append(list, m)
		}
	}
	for _, m := range messages {
		add(m)
	}
	for k := 0; k < len(list); k++ { // add extends the list
		called := map[string]bool{}
		for b := range conv.Messages[list[k]].Blocks {
			switch bl := &conv.Messages[list[k]].Blocks[b]; bl.Kind {
			case jsonl.KindToolUse:
				called[bl.ID] = true
			case jsonl.KindToolResult:
				if call, _, ok := conv.ToolUse(bl.ID); ok {
					add(call)
				}
			}
		}
		for m := list[k] + 1; len(called) > 0 && m < len(conv.Messages) && conv.Messages[m].Role == User; m++ {
			for _, bl := range blocksOf(conv.Messages[m].Blocks, jsonl.KindToolResult) {
				if called[bl.ID] {
					add(m)
					delete(called, bl.ID)
				}
			}
		}
	}
	slices.Sort(list)
	return list
}

// widen extends the span of messages from..to to whole rounds.
func (conv *Conversation) widen(from, to int) (int, int) {
	var ends []int
	for m := from; m <= to; m++ {
		if ends = append(ends, m); conv.Messages[m].Role == Assistant {
			break
		}
	}
	for m := to; m > from; m-- {
		if ends = append(ends, m); conv.Messages[m].Role == Assistant {
			break
		}
	}
	ends = conv.Rounds(ends)
	return min(from, ends[0]), max(to, ends[len(ends)-1])
}

// NextPrompt returns the index of the first user prompt after message m, or len(Messages) if there is none.
func (conv *Conversation) NextPrompt(m int) int {
	for m++; m < len(conv.Messages) && conv.Messages[m].Class != ClassPrompt; m++ {
	}
	return m
}

// Turn returns the indexes of the messages from a prompt up to the next prompt, without RecordOnly messages. If the
// next prompt was queued, results of the turn's calls can come after it; Turn includes them.
func (conv *Conversation) Turn(prompt int) []int {
	list := []int{prompt}
	next := conv.NextPrompt(prompt)
	for m := prompt + 1; m < next; m++ {
		if !conv.Messages[m].RecordOnly {
			list = append(list, m)
		}
	}
	return conv.Rounds(list)
}
