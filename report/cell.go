package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/pattern"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/exact"
	"github.com/ctxkit/ctxkit/replay/price"
)

// pair is a cell that text and CSV print differently.
type pair struct{ text, csv any }

// number is a formatted number: tables align it to the right.
type number string

// clock is a time that tables print by a layout, in the time zone of the page, and CSV in full.
type clock struct {
	time.Time
	layout string
}

// decimal is a number that tables round to a number of places and CSV does not.
type decimal struct {
	x      float64
	places int
}

// orDash returns a cell that is empty in CSV and a dash in tables if s is empty.
func orDash(s string) pair {
	return pair{cmp.Or(s, "-"), s}
}

// cellText returns a cell as text and Markdown print it.
func cellText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case int:
		return thousands(v)
	case decimal:
		return places(v.x, v.places)
	case time.Time:
		return timeText(v, "2006-01-02 15:04", nil)
	case clock:
		return timeText(v.Time, v.layout, v.Location())
	case pair:
		return cellText(v.text)
	}
	return fmt.Sprint(v)
}

// isNumber reports whether a cell makes its column a column of numbers.
func isNumber(v any) bool {
	switch v := v.(type) {
	case int, number, decimal, price.USD:
		return true
	case pair:
		return isNumber(v.text)
	}
	return false
}

// cellCSV returns a cell as CSV prints it: numbers without rounding and separators, times in RFC 3339, what is
// unknown as an empty cell.
func cellCSV(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case int:
		return strconv.Itoa(v)
	case decimal:
		return unrounded(v.x)
	case time.Time:
		return timeText(v, time.RFC3339Nano, nil)
	case clock:
		return cellCSV(v.Time)
	case exact.Decimal:
		return v.String()
	case price.USD:
		return v.Decimal().String()
	case pair:
		return cellCSV(v.csv)
	}
	return csvText(fmt.Sprint(v))
}

// csvText cleans a text and keeps spreadsheets from reading it as a formula, some of which do so behind spaces and with
// wide signs, and CI systems from reading the line as a command.
func csvText(s string) string {
	s = Clean(s)
	begin := strings.TrimSpace(s)
	if _, err := strconv.ParseFloat(s, 64); err != nil && len(s) > 1 && (formulaSign().MatchString(begin) || strings.HasPrefix(begin, "::")) {
		return "'" + s
	}
	return s
}

var formulaSign = pattern.New(`^[=+\-@＝＋－＠]`)

// phrase formats as fmt.Sprintf does, with each argument as tables print it.
func phrase(format string, args ...any) string {
	for i := range args {
		args[i] = cellText(args[i])
	}
	return fmt.Sprintf(format, args...)
}

// phraseIf returns a phrase if ok, else "".
func phraseIf(ok bool, format string, args ...any) string {
	return either(ok, phrase(format, args...), "")
}

// either returns a if ok, else b.
func either[T any](ok bool, a, b T) T {
	if ok {
		return a
	}
	return b
}

// timeText formats a time in a zone, nil is UTC; the zero time is "".
func timeText(t time.Time, layout string, zone *time.Location) string {
	return either(t.IsZero(), "", t.In(cmp.Or(zone, time.UTC)).Format(layout))
}

func unrounded(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

func places(x float64, n int) string { return strconv.FormatFloat(x, 'f', n, 64) }

func thousands(n int) string { return policy.Thousands(n) }

// short formats n in at most four characters: 950, 12K, 1.2M.
func short(n int) string {
	switch {
	case n < 1000:
		return strconv.Itoa(n)
	case n < 10_000 && n%1000 != 0:
		return strings.TrimSuffix(places(float64(n)/1e3, 1), ".0") + "K"
	case n < 999_500:
		return strconv.Itoa((n+500)/1000) + "K"
	case n < 9_950_000 && n%1_000_000 != 0:
		return strings.TrimSuffix(places(float64(n)/1e6, 1), ".0") + "M"
	}
	return strconv.Itoa((n+500_000)/1_000_000) + "M"
}

// percent formats part/whole in percent, with one decimal.
func percent(part, whole int) string {
	if whole == 0 {
		return "0.0 %"
	}
	return strings.Replace(places(100*float64(part)/float64(whole), 1), "-0.0", "0.0", 1) + " %"
}

// byCount returns the keys of m, the largest count first, then by name.
func byCount(m map[string]int) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return cmp.Or(cmp.Compare(m[b], m[a]), cmp.Compare(a, b))
	})
}

// count formats n things: "1 result", "2,000 results", "3 files".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return thousands(n) + " " + noun + either(strings.HasSuffix(noun, "s"), "es", "s")
}

// fileSize formats a number of bytes: 512 B, 12.3 kB, 4.5 MB.
func fileSize[N int | int64](n N) string {
	x := float64(n)
	unit := 0
	for ; x >= 1e3 && unit < 3; unit++ {
		x /= 1e3
	}
	return places(x, min(unit, 1)) + []string{" B", " kB", " MB", " GB"}[unit]
}
