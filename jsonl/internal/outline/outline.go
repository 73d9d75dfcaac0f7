// Package outline writes a session as lines for the tests of readers.
package outline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// Load reads the session at a path. Each of its lines has to be used or set aside.
func Load(t *testing.T, path string) *session.File {
	t.Helper()
	f := must.Get(session.Load(path, session.LoadOptions{}))(t)
	t.Cleanup(func() { f.Close() })
	if !f.Main.Lines.Balanced() {
		t.Errorf("%s: lines do not balance: %+v", path, f.Main.Lines)
	}
	return f
}

// Of is a conversation as a list: each message's class, blocks and usage with its cost, and where it was compacted.
func Of(t *testing.T, conv *session.Conversation) (out []string) {
	t.Helper()
	for m := range conv.Messages {
		for i := range conv.Boundaries {
			if b := &conv.Boundaries[i]; b.Before == m {
				out = append(out, fmt.Sprintf("compacted %s at %d, summary %d, keeps %v", b.Trigger, b.PreTokens, b.Summary, b.Preserved))
			}
		}
		msg := &conv.Messages[m]
		line := fmt.Sprintf("%d %s", m, msg.Class)
		for b := range msg.Blocks {
			line += fmt.Sprintf(" %s %q", msg.Blocks[b].Type, strings.TrimSpace(msg.Blocks[b].Name+" "+must.Get(conv.Text(m, b))(t)))
		}
		switch u := msg.Usage; {
		case msg.HasUsage:
			line += fmt.Sprintf(" [%d+%d+%d -> %d, %d nano]", u.Input, u.CacheRead, u.CacheWrite, u.Output, u.Nano)
		case msg.Is(session.OutputOnly):
			line += fmt.Sprintf(" (%d)", u.Output)
		}
		out = append(out, strings.Replace(line, ", 0 nano", "", 1))
	}
	return out
}

// Same fails a test whose result is not the one that is wanted; of says what it belongs to.
func Same[T any](t testing.TB, want, got T, of ...any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%v: -want +got\n%s", of, diff)
	}
}
