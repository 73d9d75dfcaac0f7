package sweep

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/strict"
)

// Axis is one parameter and the values it takes.
type Axis struct {
	Key    string   // stage.param
	Values []string // as a policy file writes them
}

// ParseAxis reads stage.param=A,B,C or stage.param=A..B[:STEP]. A range has numbers (whole ones
// also as 40k or 1.5M) or of durations, both ends included; without a step it has five values, evenly spaced and, for whole
// numbers, rounded.
func ParseAxis(text string) (Axis, error) {
	key, values, ok := strings.Cut(text, "=")
	a := Axis{Key: strings.TrimSpace(key)}
	if !ok || a.Key == "" || !strings.Contains(a.Key, ".") && a.Key != policy.ThresholdKey {
		return a, fmt.Errorf("%q: want STAGE.PARAM=A..B[:STEP] or STAGE.PARAM=A,B,C, or threshold in place of STAGE.PARAM", text)
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
	depth := 0
	from := 0
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

// number is a kind of numbers that a range can have.
type number struct {
	name  string
	parse func(s string) (float64, error)
	text  func(x float64) string
}

func numbers() []number {
	return []number{
		{"whole number", whole, func(x float64) string { return strconv.Itoa(int(math.Floor(x + 0.5))) }},
		// 12 digits: 0.1+0.2 is 0.3 here.
		{"number", decimal, func(x float64) string { return strconv.FormatFloat(x, 'g', 12, 64) }},
		{"duration", duration, func(x float64) string { return time.Duration(x).String() }},
	}
}

func rangeValues(from, to, step string) ([]string, error) {
	problem := fmt.Errorf("%s..%s is no range of numbers or durations", from, to)
	for _, kind := range numbers() {
		a, errA := kind.parse(from)
		b, errB := kind.parse(to)
		if errA != nil || errB != nil || math.IsInf(b-a, 0) {
			continue
		}
		by := (b - a) / rangeSteps
		if step != "" {
			var err error
			if by, err = kind.parse(step); err != nil {
				problem = fmt.Errorf("the step %q is no %s", step, kind.name)
				continue
			}
		}
		if b < a || step != "" && by <= 0 {
			return nil, errors.New("the range is empty or its step is not over 0")
		}
		n := 0.0
		if b > a {
			n = math.Floor((b-a)/by + 1e-9)
		}
		if n >= MaxPoints {
			return nil, fmt.Errorf("more than %d values", MaxPoints)
		}
		var values []string
		for i := range int(n) + 1 {
			if v := kind.text(a + float64(i)*by); i == 0 || v != values[len(values)-1] {
				values = append(values, v)
			}
		}
		return values, nil
	}
	return nil, problem
}

// whole reads a whole number as a policy file takes it for tokens, but that m behind one is minutes.
func whole(s string) (float64, error) {
	n, ok := strict.ParseCount(s)
	if !ok || strings.HasSuffix(s, "m") {
		return 0, strconv.ErrSyntax
	}
	return float64(n), nil
}

func decimal(s string) (float64, error) {
	x, err := strconv.ParseFloat(s, 64)
	if err == nil && (math.IsNaN(x) || math.IsInf(x, 0)) {
		err = strconv.ErrRange
	}
	return x, err
}

func duration(s string) (float64, error) {
	d, err := time.ParseDuration(s)
	return float64(d), err
}
