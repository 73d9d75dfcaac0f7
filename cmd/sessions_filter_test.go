package cmd

import (
	"testing"
	"time"
)

func TestMoment(t *testing.T) {
	now := time.Date(2026, 1, 20, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		text string
		day  time.Duration
		want string // "": an error
	}{
		{"2026-01-31", 0, "2026-01-31T00:00:00Z"},
		{"2026-01-31", time.Hour, "2026-01-31T01:00:00Z"},
		{"2026-01-31T12:00:00+02:00", time.Hour, "2026-01-31T12:00:00+02:00"},
		{"90min", time.Hour, "2026-01-20T10:30:00Z"},
		{"12h", 0, "2026-01-20T00:00:00Z"},
		{"7d", 0, "2026-01-13T12:00:00Z"},
		{"2w", 0, "2026-01-06T12:00:00Z"},
		{"20000min", 0, "2026-01-06T14:40:00Z"},
		{"999999h", 0, "1911-12-23T21:00:00Z"},
		{"99999d", 0, "1752-04-07T12:00:00Z"},
		{"9999999d", 0, ""}, {"-1d", 0, ""}, {"7", 0, ""}, {"yesterday", 0, ""}, {"2026-02-30", 0, ""},
	} {
		got, err := moment("--since", c.text, now, c.day)
		if (err != nil) != (c.want == "") || err == nil && got.Format(time.RFC3339) != c.want {
			t.Errorf("%s: %v, %v; want %s", c.text, got, err, c.want)
		}
	}
}
