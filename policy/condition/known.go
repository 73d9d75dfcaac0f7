package condition

import "math"

// known is what is known of a part of an expression before it is evaluated: a boolean value, or the range of a number.
type known struct {
	known     bool // of a boolean value: it is true
	truth     bool
	number    bool
	low, high float64
}

func exactly(x float64) known { return known{number: true, low: x, high: x} }

// range_ is what is known of a variable.
func (v *Variable) range_() known {
	if v.Truth {
		return known{}
	}
	k := known{number: true, low: math.Inf(-1), high: math.Inf(1)}
	if v.low != nil {
		k.low = *v.low
	}
	if v.high != nil {
		k.high = *v.high
	}
	return k
}

func unary(op string, x known) known {
	switch op {
	case "-":
		return known{number: x.number, low: -x.high, high: -x.low}
	case "+":
		return x
	}
	return known{known: x.known, truth: !x.truth}
}

func binary(op string, a, b known) known {
	switch op {
	case "&&", "and":
		return known{known: a.known && b.known || a.known && !a.truth || b.known && !b.truth, truth: a.known && a.truth && b.known && b.truth}
	case "||", "or":
		return known{known: a.known && b.known || a.known && a.truth || b.known && b.truth, truth: a.known && a.truth || b.known && b.truth}
	}
	if !a.number || !b.number {
		return known{}
	}
	switch op {
	case "<":
		return below(a, b, a.high < b.low, a.low >= b.high)
	case "<=":
		return below(a, b, a.high <= b.low, a.low > b.high)
	case ">":
		return below(a, b, a.low > b.high, a.high <= b.low)
	case ">=":
		return below(a, b, a.low >= b.high, a.high < b.low)
	case "==", "!=":
		apart := a.high < b.low || a.low > b.high
		same := a.low == a.high && b.low == b.high && a.low == b.low
		return known{known: apart || same, truth: same == (op == "==")}
	}
	if a.low != a.high || b.low != b.high {
		return known{number: op == "+" || op == "-", low: math.Inf(-1), high: math.Inf(1)}
	}
	x := a.low
	y := b.low
	switch op {
	case "+":
		x += y
	case "-":
		x -= y
	case "*":
		x *= y
	case "/":
		x /= y
	default:
		return known{}
	}
	if math.IsNaN(x) {
		return known{}
	}
	return exactly(x)
}

// below is a comparison that is true, or false, or open. A number that is nothing but its own limit decides nothing where
// the limit is infinite.
func below(a, b known, yes, no bool) known {
	if math.IsInf(a.low, 0) && math.IsInf(a.high, 0) || math.IsInf(b.low, 0) && math.IsInf(b.high, 0) {
		return known{}
	}
	return known{known: yes || no, truth: yes}
}
