package jsonl

import (
	"time"

	"github.com/ctxkit/ctxkit/jsonl/scan"
)

// time is an RFC 3339 time, zero where the value is none.
func (d *decoder) time(m *scan.Members) time.Time {
	s, ok := d.quoted(m)
	if !ok {
		return time.Time{}
	}
	if t, ok := utc(s); ok {
		return t
	}
	t, err := time.Parse(time.RFC3339, string(s))
	if err != nil {
		return time.Time{}
	}
	return t.UTC() // not the zone this machine is in
}

// utc reads the form that clients write, 2006-01-02T15:04:05.999Z. It refuses
// whatever needs a closer look.
func utc(s []byte) (time.Time, bool) {
	if len(s) < 20 || s[4] != '-' || s[7] != '-' || s[10] != 'T' || s[13] != ':' || s[16] != ':' || s[len(s)-1] != 'Z' {
		return time.Time{}, false
	}
	year := 100*two(s, 0) + two(s, 2)
	month, day := two(s, 5), two(s, 8)
	hour, minute, second := two(s, 11), two(s, 14), two(s, 17)
	if year < 0 || month < 1 || month > 12 || day < 1 || day > 28 ||
		hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59 {
		return time.Time{}, false
	}
	nanos := 0
	if len(s) > 20 {
		fraction := s[20 : len(s)-1]
		if s[19] != '.' || len(fraction) == 0 || len(fraction) > 9 {
			return time.Time{}, false
		}
		for i := range 9 {
			digit := byte('0')
			if i < len(fraction) {
				digit = fraction[i]
			}
			if digit-'0' > 9 {
				return time.Time{}, false
			}
			nanos = 10*nanos + int(digit-'0')
		}
	}
	return time.Date(year, time.Month(month), day, hour, minute, second, nanos, time.UTC), true
}

// two is the number of the two digits at s[i], far below zero if they are not.
func two(s []byte, i int) int {
	if s[i]-'0' > 9 || s[i+1]-'0' > 9 {
		return -1 << 20
	}
	return 10*int(s[i]-'0') + int(s[i+1]-'0')
}
