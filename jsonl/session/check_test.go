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

// checkConversation checks what must be true of every conversation, whatever
// the file holds: no message twice, causal order, results right after their
// calls, requests numbered, indexes in range.
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
		if m.Role == session.Assistant && !m.Synthetic {
			requests++
			if requests > len(conv.Requests) || conv.Requests[requests-1] != (session.Request{N: requests, Message: i}) {
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
	if requests != len(conv.Requests) {
		t.Errorf("%d requests, %d responses", len(conv.Requests), requests)
	}
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
			if !conv.Messages[i].RecordOnly {
				t.Errorf("boundary %d: message %d leaves raw, but is not marked so", k, i)
			}
		}
	}
}
