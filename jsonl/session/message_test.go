package session_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// TestMessage: a message holds what it was made of and changed to.
func TestMessage(t *testing.T) {
	of := func(m session.Message) session.MessageData {
		return session.MessageData{
			UUID: m.UUID(), UUIDs: m.UUIDs(), ID: m.ID(), Time: m.Time(), End: m.End(), Model: m.Model(), StopReason: m.StopReason(),
			Usage: m.Usage(), Window: m.Window(), Attachment: m.Attachment(), Effort: m.Effort(), Version: m.Version(),
		}
	}
	if diff := cmp.Diff(session.MessageData{}, of(session.Message{})); diff != "" {
		t.Errorf("an empty message:\n%s", diff)
	}
	wide := jsonl.Usage{Input: math.MaxInt32 + 1, Nano: 7, Iterations: &jsonl.Iterations{Rounds: jsonl.Spent{Calls: 2}}}
	const over = math.MaxInt32 + 1
	for _, d := range []session.MessageData{
		{},
		{Usage: jsonl.Usage{Input: over}}, {Usage: jsonl.Usage{CacheWrite: over}}, {Usage: jsonl.Usage{CacheRead: over}}, {Usage: jsonl.Usage{Output: over}},
		{Usage: jsonl.Usage{Write5m: over}}, {Usage: jsonl.Usage{Write1h: over}}, {Usage: jsonl.Usage{Thinking: over}}, {Usage: jsonl.Usage{Nano: 7}},
		{Usage: jsonl.Usage{CacheWrite: 5, Write5m: 5}}, {Usage: jsonl.Usage{CacheWrite: 5, Write1h: 5}}, {Usage: jsonl.Usage{CacheWrite: 5}},
		{Usage: jsonl.Usage{CacheWrite: 5, Write5m: 3, Write1h: 2}}, {Usage: jsonl.Usage{Write5m: 5}}, {Usage: jsonl.Usage{Write1h: 5}},
		{UUID: "earlier-x", Version: "2.1.50", Attachment: "file"},
		{UUID: "a", UUIDs: []string{"a", "01234567-89ab-cdef-0123-456789abcdef"}, Effort: "high", Window: 200_000},
		{ID: "msg_1", Model: "m", StopReason: "end_turn", Usage: jsonl.Usage{Input: 1, CacheWrite: 2, CacheRead: 3, Output: 4, Write5m: 5, Write1h: 6, Thinking: 7}},
		{Usage: wide, Time: time.Date(2026, 1, 15, 9, 0, 0, 123_456_789, time.UTC), End: time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)},
		{Time: time.Date(0, 1, 1, 0, 0, 0, 1, time.UTC), End: time.Date(0, 12, 31, 23, 59, 59, 999_999_999, time.UTC)},
	} {
		made := session.NewMessage(d)
		if diff := cmp.Diff(d, of(made)); diff != "" {
			t.Errorf("made:\n%s", diff)
		}
		if got := made.FirstUUID(); got != session.NewUUID(d.UUID) || got.String() != d.UUID {
			t.Errorf("the first uuid of %q is %q", d.UUID, got)
		}
		m := session.NewMessage(session.MessageData{UUID: "before", Usage: wide})
		m.Change(func(c *session.MessageData) { *c = d })
		if diff := cmp.Diff(d, of(m)); diff != "" {
			t.Errorf("changed:\n%s", diff)
		}
	}
}
