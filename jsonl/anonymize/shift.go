package anonymize

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// shift moves the times of a session; 0 leaves them.
type shift time.Duration

// ShiftTimes moves all times of the session. It is called before anything is noted.
func (a *Anonymizer) ShiftTimes(by time.Duration) { a.shift = shift(by) }

// text moves a time that is written as RFC 3339 has it, in the form that it has.
func (by shift) text(s string) string {
	t, err := time.Parse(time.RFC3339, s)
	if by == 0 || err != nil {
		return s
	}
	layout := "2006-01-02T15:04:05Z07:00"
	if strings.HasSuffix(s, "00:00") {
		layout = "2006-01-02T15:04:05-07:00"
	}
	if _, fraction, ok := strings.Cut(s, "."); ok {
		digits := strings.IndexAny(fraction, "Z+-")
		layout = strings.Replace(layout, "05", "05."+strings.Repeat("0", digits), 1)
	}
	return t.Add(time.Duration(by)).Format(layout)
}

// The seconds of the epoch between which a number is taken for a time: 2017 to 2099.
const (
	firstSecond = 1_500_000_000
	lastSecond  = 4_100_000_000
)

// number moves a time that is seconds or milliseconds of the epoch. Any other number stays.
func (by shift) number(s string) string {
	whole, fraction, cut := strings.Cut(s, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	unit := int64(time.Second)
	if n >= firstSecond*1000 {
		unit = int64(time.Millisecond)
	}
	if second := n * unit / int64(time.Second); by == 0 || err != nil || n > lastSecond*1000 || second < firstSecond || second > lastSecond {
		return s
	}
	s = strconv.FormatInt(n+int64(by)/unit, 10)
	if cut {
		s += "." + fraction
	}
	return s
}

// id moves the time that an id begins with: milliseconds in a UUID of version 7, 4,096ths of them in ids of OpenCode, whose
// sessions count downwards.
func (by shift) id(start string) string {
	ms := time.Duration(by).Milliseconds()
	hex := func(digits string, move int64) string {
		n, _ := strconv.ParseInt(digits, 16, 64) // a pattern has matched it
		return fmt.Sprintf("%012x", (n+move)&(1<<48-1))
	}
	switch kind, digits, ok := strings.Cut(start, "_"); {
	case kind == "ses":
		return kind + "_" + hex(digits, -ms<<12)
	case ok:
		return kind + "_" + hex(digits, ms<<12)
	}
	moved := hex(start[:8]+start[9:13], ms)
	return moved[:8] + "-" + moved[8:] + start[13:]
}
