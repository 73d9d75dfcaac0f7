package replay

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// turning is a session whose model changes at every request, from one of which the server leaves the thinking of earlier
// turns out to one of which it does not: each request changes all the thinking before it.
func turning(t *testing.T, turns int) *session.Conversation {
	t.Helper()
	var b strings.Builder
	last := "null"
	for i := range turns {
		model := []string{"claude-opus-4-1-20250805", "claude-opus-4-5-20251101"}[i%2]
		fmt.Fprintf(&b, `{"uuid":"u%d","parentUuid":%s,"type":"user","timestamp":"2026-01-15T09:00:00.000Z","version":"2.1.37","message":{"role":"user","content":"next %d"}}`+"\n", i, last, i)
		fmt.Fprintf(&b, `{"uuid":"a%d","parentUuid":"u%d","type":"assistant","timestamp":"2026-01-15T09:00:05.000Z","version":"2.1.37","message":{"id":"m%d","role":"assistant","model":%q,"stop_reason":"end_turn","usage":{"input_tokens":3,"cache_read_input_tokens":%d,"output_tokens":20},"content":[{"type":"thinking","thinking":"so many steps to take","signature":"c2ln"},{"type":"text","text":"done"}]}}`+"\n", i, i, i, model, 20000+40*i)
		last = fmt.Sprintf(`"a%d"`, i)
	}
	f := must.Get(session.LoadReader("turning", strings.NewReader(b.String()), session.LoadOptions{}))(t)
	t.Cleanup(func() { f.Close() })
	return f.Main
}

// TestEditsAreBounded holds that neither the record of a session nor a replay makes more edits than allowed, and that
// the record keeps those of the client alone.
func TestEditsAreBounded(t *testing.T) {
	const turns = 60
	conv := turning(t, turns)
	r := must.Get(NewRecordWith(conv, RecordOptions{}))(t)
	none := &policy.Policy{Name: "none"}
	tl := must.Get(r.Replay(none, Options{}))(t)
	made := 0
	for _, e := range tl.Events {
		made += len(e.Targets)
	}
	if made < turns*turns/4 {
		t.Fatalf("%d edits: the session does not do what it is for", made)
	}
	must.Equal(t, len(r.record.Acts.Edits), len(r.record.Acts.Notes))
	var over *jsonl.LimitError
	if _, err := NewRecordWith(conv, RecordOptions{MostEdits: int64(made) - 1}); !errors.As(err, &over) || over.Name != "edits" {
		t.Errorf("a record of %d edits where %d are allowed: %v", made, made-1, err)
	}
	if _, err := NewRecordWith(conv, RecordOptions{MostEdits: int64(made)}); err != nil {
		t.Errorf("a record of %d edits where as many are allowed: %v", made, err)
	}
	r.record.MostEdits = 10
	if _, err := r.Replay(none, Options{}); !errors.As(err, &over) || !strings.Contains(err.Error(), "at request ") {
		t.Errorf("a replay of %d edits where 10 are allowed: %v", made, err)
	}
}
