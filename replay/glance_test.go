package replay

import (
	"slices"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

func TestGlance(t *testing.T) {
	at := time.Date(2026, 1, 15, 9, 0, 0, 0, time.UTC)
	message := func(minutes, lasts int, model string, read int) session.Message {
		begin := at.Add(time.Duration(minutes) * time.Minute)
		m := session.Message{Time: begin, End: begin.Add(time.Duration(lasts) * time.Minute), Model: model, Usage: jsonl.Usage{CacheRead: read}}
		m.HasUsage = read > 0
		return m
	}
	conversation := func(boundaries int, messages ...session.Message) *session.Conversation {
		c := &session.Conversation{Messages: messages, Boundaries: make([]session.Boundary, boundaries)}
		for i := range messages {
			c.Requests = append(c.Requests, session.APICall{N: i + 1, Message: i})
			m := &messages[i]
			c.Charges = append(c.Charges, session.Charge{Model: m.Model, Request: i + 1, Calls: 1, Usage: m.Usage, HasUsage: m.HasUsage})
		}
		return c
	}
	// Pauses of 5, 10 and 2 minutes; the second response takes 10 itself.
	main := conversation(1, message(0, 0, "claude-opus-4-5", 1000000), message(5, 10, "claude-opus-4-5", 3000000),
		message(25, 0, "nobody-knows", 2000000), message(27, 0, "claude-opus-4-5", 0))
	agent := conversation(2, message(0, 0, "claude-haiku-4-5", 9000000))
	g := GlanceAt(main, []*session.Conversation{agent}, nil)
	must.Say(t, "4 3000000 2000000 1 1 1 600", g.Requests, g.PeakContext, g.LastContext, g.Compactions, g.Without, g.Unpriced, g.Idle)
	if want := at.Add(27 * time.Minute); !g.Ended.Equal(want) {
		t.Errorf("ended at %s, want %s", g.Ended, want)
	}
	// 4,000,000 at 0.50 and 9,000,000 at 0.10 dollars a million.
	must.Equal(t, g.CostUSD.Decimal().Text(2), "2.90")
	if want := []string{"claude-haiku-4-5", "claude-opus-4-5", "nobody-knows"}; !slices.Equal(g.Models, want) {
		t.Errorf("models %q", g.Models)
	}
}
