package sweep

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Axis is one parameter and the values it takes.
type Axis struct {
	Key    string   // stage.param
	Values []string // as a policy file writes them
}

// ParseAxis reads stage.param=A,B,C or stage.param=A..B[:STEP]. A range is of
// numbers (k and M behind a whole one allowed) or of durations, both ends
// included; without a step it has five values, evenly spaced and, for whole
// numbers, rounded.
func ParseAxis(text string) (Axis, error) {
	key, values, ok := strings.Cut(text, "=")
	a := Axis{Key: strings.TrimSpace(key)}
	if !ok || a.Key == "" || !strings.Contains(a.Key, ".") {
		return a, fmt.Errorf("%q: want STAGE.PARAM=A..B[:STEP] or STAGE.PARAM=A,B,C", text)
	}
	from, to, isRange := strings.Cut(values, "..")
	if !isRange {
		for _, v := range splitValues(values) {
			v = strings.TrimSpace(v)
			if v == "" || slices.Contains(a.Values, v) {
				return a, fmt.Errorf("%q: a value is empty or given twice", text)
			}
			a.Values = append(a.Values, v)
		}
		return a, nil
	}
	to, step, _ := strings.Cut(to, ":")
	var err error
	if a.Values, err = rangeValues(strings.TrimSpace(from), strings.TrimSpace(to), strings.TrimSpace(step)); err != nil {
		return a, fmt.Errorf("%q: %w", text, err)
	}
	return a, nil
}

// splitValues splits at commas outside of brackets.
func splitValues(s string) []string {
	var out []string
	depth, from := 0, 0
	for i, c := range s {
		switch c {
		case '[', '{', '(':
			depth++
		case ']', '}', ')':
			depth--
		case ',':
			if depth == 0 {
				out = append(out, s[from:i])
				from = i + 1
			}
		}
	}
	return append(out, s[from:])
}

// rangeSteps is how many steps a range without one has.
const rangeSteps = 4

func rangeValues(from, to, step string) ([]string, error) {
	for _, kind := range []func(a, b, step string) ([]string, bool, error){wholeRange, decimalRange, durationRange} {
		if values, ok, err := kind(from, to, step); ok {
			return values, err
		}
	}
	return nil, fmt.Errorf("%s..%s is no range of numbers or durations", from, to)
}

func wholeRange(from, to, step string) ([]string, bool, error) {
	a, okA := whole(from)
	b, okB := whole(to)
	s, okS := whole(step)
	if !okA || !okB || step != "" && !okS {
		return nil, false, nil
	}
	if b < a || step != "" && s <= 0 {
		return nil, true, fmt.Errorf("the range is empty or its step is not over 0")
	}
	var values []string
	if step == "" {
		for i := range rangeSteps + 1 {
			v := strconv.Itoa(a + int(math.Round(float64(b-a)*float64(i)/rangeSteps)))
			if !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
		return values, true, nil
	}
	if (b-a)/s >= MaxPoints {
		return nil, true, fmt.Errorf("more than %d values", MaxPoints)
	}
	for x := a; x <= b; x += s {
		values = append(values, strconv.Itoa(x))
	}
	return values, true, nil
}

// whole reads a whole number with an optional k or M behind it.
func whole(s string) (int, bool) {
	unit := 1
	switch {
	case strings.HasSuffix(s, "k"):
		s, unit = s[:len(s)-1], 1000
	case strings.HasSuffix(s, "M"):
		s, unit = s[:len(s)-1], 1_000_000
	}
	n, err := strconv.Atoi(s)
	return n * unit, err == nil && n > -1<<40 && n < 1<<40
}

func decimalRange(from, to, step string) ([]string, bool, error) {
	a, errA := strconv.ParseFloat(from, 64)
	b, errB := strconv.ParseFloat(to, 64)
	if errA != nil || errB != nil || math.IsNaN(a-b) || math.IsInf(a-b, 0) {
		return nil, false, nil
	}
	s, n := (b-a)/rangeSteps, float64(rangeSteps)
	if step != "" {
		var err error
		if s, err = strconv.ParseFloat(step, 64); err != nil {
			return nil, true, fmt.Errorf("the step %q is no number", step)
		}
		n = math.Floor((b-a)/s + 1e-9)
	}
	if b < a || !(s > 0) && b > a {
		return nil, true, fmt.Errorf("the range is empty or its step is not over 0")
	}
	if !(n < MaxPoints) {
		return nil, true, fmt.Errorf("more than %d values", MaxPoints)
	}
	var values []string
	for i := range int(n) + 1 {
		// 12 digits: 0.1+0.2 is 0.3 here.
		v := strconv.FormatFloat(a+float64(i)*s, 'g', 12, 64)
		if !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values, true, nil
}

func durationRange(from, to, step string) ([]string, bool, error) {
	a, errA := time.ParseDuration(from)
	b, errB := time.ParseDuration(to)
	if errA != nil || errB != nil {
		return nil, false, nil
	}
	s := (b - a) / rangeSteps
	if step != "" {
		var err error
		if s, err = time.ParseDuration(step); err != nil {
			return nil, true, fmt.Errorf("the step %q is no duration", step)
		}
	}
	if b < a || s <= 0 && b > a {
		return nil, true, fmt.Errorf("the range is empty or its step is not over 0")
	}
	if a == b {
		return []string{a.String()}, true, nil
	}
	if (b-a)/s >= MaxPoints {
		return nil, true, fmt.Errorf("more than %d values", MaxPoints)
	}
	var values []string
	for x := a; x <= b; x += s {
		values = append(values, x.String())
	}
	return values, true, nil
}
