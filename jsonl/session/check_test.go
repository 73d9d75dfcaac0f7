package session_test

import (
	"slices"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// balanced checks that every line is accounted for.
func balanced(t *testing.T, f *session.File) {
	t.Helper()
	if a := f.Main.Lines; !a.Balanced() {
		t.Errorf("lines do not balance: %d read, %d used, set aside %v", a.Read, a.Used, a.SetAside)
	}
}

// checkConversation checks what must be true of every conversation, whatever the file holds: no message twice, causal
// order, results right after their calls, requests numbered, indexes in range.
func checkConversation(t *testing.T, conv *session.Conversation) {
	t.Helper()
	lines, messages, calls, answered := map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
	requests := 0
	for i := range conv.Messages {
		m := &conv.Messages[i]
		for _, u := range m.UUIDs {
			if at, twice := lines[u]; twice {
				t.Errorf("message %d: line %s stands in message %d already", i, u, at)
			}
			lines[u] = i
		}
		if len(m.UUIDs) > 0 && m.UUIDs[0] != m.UUID {
			t.Errorf("message %d: uuid %s, first line %s", i, m.UUID, m.UUIDs[0])
		}
		if m.ID != "" {
			if at, twice := messages[m.ID]; twice {
				t.Errorf("message %d: message %s stands at %d already", i, m.ID, at)
			}
			messages[m.ID] = i
		}
		if m.Role == session.Assistant && !m.Synthetic && !m.Is(session.NoRequest) {
			requests++
			if requests > len(conv.Requests) || conv.Requests[requests-1] != (session.APICall{N: requests, Message: i}) {
				t.Errorf("message %d: not request %d", i, requests)
			}
		}
		for b := range m.Blocks {
			bl := &m.Blocks[b]
			switch bl.Kind {
			case jsonl.KindToolUse:
				if at, twice := calls[bl.ID]; twice && bl.ID != "" {
					t.Errorf("message %d: tool_use %s stands in message %d already", i, bl.ID, at)
				}
				calls[bl.ID] = i
			case jsonl.KindToolResult:
				if at, twice := answered[bl.ID]; twice && bl.ID != "" {
					t.Errorf("message %d: tool_use %s has its result in message %d already", i, bl.ID, at)
				}
				answered[bl.ID] = i
			}
		}
	}
	same(t, len(conv.Requests), requests)
	last := -1 // the last assistant message
	for i := range conv.Messages {
		if conv.Messages[i].Role == session.Assistant {
			last = i
		}
	}
	for id, at := range calls {
		r, ok := answered[id]
		switch {
		case !ok && at < last && id != "":
			t.Errorf("tool_use %s in message %d has no result", id, at)
		case ok && r < at:
			t.Errorf("tool_use %s in message %d has its result before it, in message %d", id, at, r)
		case ok:
			for k := at + 1; k < r; k++ {
				if conv.Messages[k].Role == session.Assistant {
					t.Errorf("tool_use %s in message %d: a response at %d stands before its result at %d", id, at, k, r)
				}
			}
		}
	}
	for k, b := range conv.Boundaries {
		if b.Before < 0 || b.Before > len(conv.Messages) || b.Summary >= len(conv.Messages) || b.Request < 1 || b.Request > len(conv.Requests)+1 {
			t.Errorf("boundary %d: out of range: %+v", k, b)
		}
		if k > 0 && b.Before < conv.Boundaries[k-1].Before {
			t.Errorf("boundary %d stands before the one before it", k)
		}
		if b.Summary >= 0 && (conv.Messages[b.Summary].Class != session.ClassSummary || !conv.Messages[b.Summary].RecordOnly) {
			t.Errorf("boundary %d: message %d is no summary", k, b.Summary)
		}
		for _, i := range b.Preserved {
			if i >= b.Before {
				t.Errorf("boundary %d: message %d was kept, but stands after it", k, i)
			}
		}
		if !slices.IsSorted(b.Attached) {
			t.Errorf("boundary %d: attached messages out of order: %v", k, b.Attached)
		}
		for _, i := range b.Attached {
			if !conv.Messages[i].RecordOnly || !conv.Messages[i].Is(session.Reattached) {
				t.Errorf("boundary %d: message %d leaves raw, but is not marked so", k, i)
			}
		}
	}
	checkEdits(t, conv)
}

// checkEdits checks what the client recorded of its edits: everything in range, in order, and no tool call parted
// from its result.
func checkEdits(t *testing.T, conv *session.Conversation) {
	t.Helper()
	last := -1
	place := func(what string, k, before, request int) {
		if before < 0 || before > len(conv.Messages) || request < 1 || request > len(conv.Requests)+1 {
			t.Errorf("%s %d: out of range: before %d, request %d", what, k, before, request)
		}
		if k > 0 && before < last {
			t.Errorf("%s %d stands before the one before it", what, k)
		}
		last = before
	}
	for k, s := range conv.Snips {
		place("snip", k, s.Before, s.Request)
		if !slices.Equal(s.Messages, conv.Rounds(s.Messages)) || s.Call >= len(conv.SnipCalls) {
			t.Errorf("snip %d: %+v", k, s)
		}
		for _, m := range s.Messages {
			if m >= s.Before {
				t.Errorf("snip %d removes message %d, which stands after it", k, m)
			}
		}
	}
	for k, c := range conv.SnipCalls {
		if k > 0 && c.Message < conv.SnipCalls[k-1].Message || c.Answered >= 0 && c.Answered <= c.Message {
			t.Errorf("snip call %d: %+v", k, c)
		}
		for _, p := range c.Prompts {
			if p >= c.Message || conv.Messages[p].Class != session.ClassPrompt {
				t.Errorf("snip call %d names message %d", k, p)
			}
		}
	}
	whole := func(what string, k, from, to, before int) {
		all := make([]int, 0, to-from+1)
		for m := from; m <= to; m++ {
			all = append(all, m)
		}
		if from < 0 || to < from || to >= before || !slices.Equal(all, conv.Rounds(all)) {
			t.Errorf("%s %d: the span %d to %d before %d is not whole", what, k, from, to, before)
		}
	}
	for k, c := range conv.Collapses {
		place("collapse", k, c.Before, c.Request)
		whole("collapse", k, c.From, c.To, c.Before)
	}
	for k, s := range conv.Snapshots {
		place("snapshot", k, s.Before, s.Request)
		for _, st := range s.Staged {
			whole("snapshot", k, st.From, st.To, s.Before)
		}
	}
	for k, r := range conv.Replaced {
		place("replacement", k, r.Before, r.Request)
		if r.Message >= r.Before || conv.Messages[r.Message].Blocks[r.Block].ID != r.ToolID || r.Text == "" {
			t.Errorf("replacement %d: %+v", k, r)
		}
	}
}
