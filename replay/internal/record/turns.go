package record

import (
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// typed returns the first message before request k (0-based) that the user typed after the response before it, or -1,
// and whether that follows results of tools: the client had sent these, and the response was lost.
func typed(conv *session.Conversation, k int) (prompt int, results bool) {
	if k == 0 {
		return 0, false
	}
	for m := conv.Requests[k-1].Message + 1; m < conv.Requests[k].Message; m++ {
		switch msg := &conv.Messages[m]; msg.Class {
		case session.ClassPrompt:
			return m, results && !msg.Is(session.Queued)
		case session.ClassToolResult:
			results = true
		case session.ClassInterrupt:
			return m, false
		}
	}
	return -1, false
}

// attachedFrom is the first of the attachments that end request k (0-based), or its response where there are none.
func attachedFrom(conv *session.Conversation, k int) int {
	m := conv.Requests[k].Message
	for m > 0 && conv.Messages[m-1].Class == session.ClassAttachment {
		m--
	}
	return m
}

// prompted reports whether a turn begins with request k (0-based).
func prompted(conv *session.Conversation, k int) bool {
	m, _ := typed(conv, k)
	return k > 0 && m >= 0 && conv.Messages[m].Class == session.ClassPrompt && !conv.Messages[m].Is(session.Queued)
}

// turnEnded reports whether the response before request k (0-based) ended its turn, and the user did not interrupt it.
func turnEnded(conv *session.Conversation, k int) bool {
	if k == 0 {
		return false
	}
	for m := conv.Requests[k-1].Message + 1; m < conv.Requests[k].Message; m++ {
		switch conv.Messages[m].Class {
		case session.ClassPrompt:
			return !conv.Messages[m].Is(session.Queued)
		case session.ClassToolResult, session.ClassInterrupt:
			return false
		}
	}
	return false
}
