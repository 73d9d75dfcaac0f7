package anonymize

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
)

// TestShiftTimes moves times of all forms, and nothing else.
func TestShiftTimes(t *testing.T) {
	by := shift(-25 * time.Hour)
	must.Rows(t, `
2026-01-02T03:04:05Z     | 2026-01-01T02:04:05Z
2026-01-02T03:04:05.678Z | 2026-01-01T02:04:05.678Z
2026-01-02T03:04:05.100+02:00 | 2026-01-01T02:04:05.100+02:00
2026-01-02T03:04:05.000000+00:00 | 2026-01-01T02:04:05.000000+00:00
2026-01-02               | 2026-01-02
user                     | user
`, func(in, want string) {
		if got := by.text(in); got != want || shift(0).text(in) != in {
			t.Errorf("%s is moved to %s, want %s", in, got, want)
		}
	})
	must.Rows(t, `
1767323045     | 1767233045
1767323045678  | 1767233045678
1767323045.25  | 1767233045.25
200000         | 200000
-1767323045    | -1767323045
1767323045e3   | 1767323045e3
17673230456789 | 17673230456789
`, func(in, want string) {
		same(t, want, by.number(in), in)
	})
	must.Rows(t, `
# in | want
01900000-0000-7  | 018ffaa2-b580-7
msg_fd0000001001 | msg_
ses_02ffffffefff | ses_
`, func(in, want string) {
		got := by.id(in)
		if back := shift(25 * time.Hour).id(got); back != in || got == in {
			t.Errorf("%s is moved to %s, and back to %s", in, got, back)
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s is moved to %s, want %s", in, got, want)
		}
	})

	a := New(nil, "seed")
	a.ShiftTimes(-25 * time.Hour)
	var out bytes.Buffer
	src, err := jsonl.OpenReader("x", strings.NewReader(`{"type":"user","uuid":"u","timestamp":"2026-01-02T03:04:05.678Z","message":{"role":"user","content":"2026-01-02T03:04:05.678Z"}}`+"\n"))
	if err == nil {
		err = a.Note(src, 1)
	}
	if err == nil {
		err = a.Write(src, "", 1, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, `"timestamp":"2026-01-01T02:04:05.678Z"`) || strings.Contains(text, "2026-01-02") {
		t.Error(text)
	}
	if first := a.Disclosure().First; first.Day() != 1 {
		t.Errorf("the first time is %v", first)
	}
}
