package session_test

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/session"
)

// TestRecordedRequests: a request whose line is repeated counts once.
func TestRecordedRequests(t *testing.T) {
	const lines = `{"type":"user","uuid":"u1","sessionId":"s","message":{"role":"user","content":"hello"}}
{"type":"api-request","id":"a","base":null,"keep":0,"tail":[]}
{"type":"api-request","id":"b","base":"a","keep":0,"tail":[]}
{"type":"api-request","id":"a","base":null,"keep":0,"tail":[]}
`
	f := loadText(t, lines, session.LoadOptions{})
	if got, want := f.Main.Lines.Recorded, (session.RequestTally{Of: 2, Whole: 2}); got != want {
		t.Errorf("recorded requests: got %+v, want %+v", got, want)
	}
}
