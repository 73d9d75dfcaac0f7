package jsonl

import (
	"time"

	"github.com/ctxkit/ctxkit/jsonl/scan"
)

// time is an RFC 3339 time, zero where the value is not one.
func (d *decoder) time(m *scan.Members) (t time.Time) {
	s, ok := d.quoted(m)
	if !ok {
		return t
	}
	if t.UnmarshalText(s) != nil { // stricter than Parse, but it does not allocate
		t, _ = time.Parse(time.RFC3339, string(s))
	}
	return t.UTC() // not the zone of this machine
}
