package cmd

import (
	"testing"
	"time"
)

func TestMoment(t *testing.T) {
	now := time.Date(2026, 1, 20, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		text string
		end  bool
		want string // "": an error
	}{
		{"2026-01-31", false, "2026-01-31T00:00:00Z"},
		{"2026-01-31", true, "2026-01-31T23:59:59Z"},
		{"2026-01-31T12:00:00+02:00", true, "2026-01-31T12:00:00+02:00"},
		{"90min", true, "2026-01-20T10:30:00Z"},
		{"12h", false, "2026-01-20T00:00:00Z"},
		{"7d", false, "2026-01-13T12:00:00Z"},
		{"2w", false, "2026-01-06T12:00:00Z"},
		{"20000min", false, "2026-01-06T14:40:00Z"},
		{"999999h", false, "1911-12-23T21:00:00Z"},
		{"99999d", false, "1752-04-07T12:00:00Z"},
		{"9999999d", false, ""}, {"-1d", false, ""}, {"7", false, ""}, {"yesterday", false, ""}, {"2026-02-30", false, ""},
	} {
		got, err := moment("--since", c.text, now, nil, c.end)
		if (err != nil) != (c.want == "") || err == nil && got.Format(time.RFC3339) != c.want {
			t.Errorf("%s: %v, %v; want %s", c.text, got, err, c.want)
		}
	}
}
