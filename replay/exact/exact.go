// Package exact holds decimal numbers as integers, so that sums and comparisons have the same result on every machine.
package exact

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/pattern"
)

// Decimal is the number N / 10^Places. The zero value is not a known number.
type Decimal struct {
	N      int64
	Places int // 0 to MaxPlaces
	Known  bool
}

// MaxPlaces is the most digits after the point.
const MaxPlaces = 15

// Whole is a whole number.
func Whole[T int | int64](n T) Decimal { return Decimal{N: int64(n), Known: true} }

// Of is n / 10^places.
func Of(n int64, places int) Decimal { return Decimal{n, places, true} }

var form = pattern.New(`^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,2})?$`)

// Parse reads a decimal number, which may have an exponent. ok is false for what is none, and for one that is too
// large or has too many digits after the point.
func Parse(s string) (d Decimal, ok bool) {
	if d, ok := short(s); ok {
		return d, true
	}
	return parse(s)
}

// mostDigits is how many digits an int64 always has room for.
const mostDigits = 18

// short reads the usual form: digits and a point between them, with neither sign nor exponent.
func short(s string) (d Decimal, ok bool) {
	if s == "" || len(s) > mostDigits+1 {
		return Decimal{}, false
	}
	whole, part, pointed := strings.Cut(s, ".")
	digits := len(whole) + len(part)
	part = strings.TrimRight(part, "0")
	if whole == "" || digits > mostDigits || pointed && digits == len(whole) || len(part) > MaxPlaces {
		return Decimal{}, false
	}
	for _, text := range []string{whole, part} {
		for i := range len(text) {
			if text[i] < '0' || text[i] > '9' {
				return Decimal{}, false
			}
			d.N = 10*d.N + int64(text[i]-'0')
		}
	}
	return Of(d.N, len(part)), true
}

// parse is Parse without short.
func parse(s string) (d Decimal, ok bool) {
	if !form().MatchString(s) {
		return Decimal{}, false
	}
	r, ok := new(big.Rat).SetString(s)
	ten := big.NewRat(10, 1)
	for places := 0; ok && places <= MaxPlaces; places++ {
		switch {
		case r.IsInt() && r.Num().IsInt64():
			return Of(r.Num().Int64(), places), true
		case r.IsInt():
			return Decimal{}, false
		}
		r.Mul(r, ten)
	}
	return Decimal{}, false
}

// String is the number with the digits it needs; "" where it is not known.
func (d Decimal) String() string {
	if !d.Known {
		return ""
	}
	s := d.digits(d.Places)
	if d.Places > 0 {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// digits writes the number with n digits after the point, at least as many as it has.
func (d Decimal) digits(places int) string {
	s := strconv.FormatInt(d.N, 10)
	sign := s[:len(s)-len(strings.TrimLeft(s, "-"))]
	s = strings.Repeat("0", max(d.Places+1-len(s)+len(sign), 0)) + s[len(sign):]
	at := len(s) - d.Places
	if places == 0 {
		return sign + s
	}
	return sign + s[:at] + "." + s[at:] + strings.Repeat("0", places-d.Places)
}

// Digits is the number with all of its digits after the point, from which FromDigits makes the same Decimal; "" where
// it is not known.
func (d Decimal) Digits() string {
	if !d.Known {
		return ""
	}
	return d.digits(d.Places)
}

// FromDigits reads what Digits writes. ok is false for anything else.
func FromDigits(s string) (d Decimal, ok bool) {
	if s == "" {
		return Decimal{}, true
	}
	places := 0
	digits := s
	if whole, part, point := strings.Cut(s, "."); point {
		places = len(part)
		digits = whole + part
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if d = Of(n, places); err != nil || places > MaxPlaces || d.Digits() != s {
		return Decimal{}, false
	}
	return d, true
}

// Text is the number with n digits after the point, rounded half away from zero.
func (d Decimal) Text(places int) string { return d.Round(places).digits(places) }

// Round is the number with at most n digits after the point, rounded half away from zero.
func (d Decimal) Round(places int) Decimal {
	if d.Places <= places {
		return d
	}
	by := pow10(d.Places - places)
	return Decimal{divide(d.N, by), places, d.Known}
}

// At is N for n digits after the point; ok is false where the number has more, is too large, or is not known.
func (d Decimal) At(places int) (n int64, ok bool) {
	for d.Places > places && d.N%10 == 0 {
		d.N /= 10
		d.Places -= 1
	}
	if d.Places > places {
		return 0, false
	}
	n, ok = times(d.N, pow10(places-d.Places))
	return n, ok && d.Known
}

// divide is n / by, rounded half away from zero. by is above 0.
func divide(n, by int64) int64 {
	q := n / by
	r := n % by
	switch {
	case r >= by-r:
		q++
	case -r >= by+r:
		q--
	}
	return q
}

// Ratio is n / by with n digits after the point, rounded half away from zero; not known where by is 0.
func Ratio(n, by Decimal, places int) Decimal {
	if !n.Known || !by.Known || by.N == 0 {
		return Decimal{}
	}
	q := new(big.Rat).Quo(n.rat(), by.rat())
	q.Mul(q, new(big.Rat).SetInt64(pow10(places)))
	num := new(big.Int).Set(q.Num())
	half := new(big.Int).Rsh(q.Denom(), 1)
	if num.Sign() < 0 {
		num.Sub(num, half)
	} else {
		num.Add(num, half)
	}
	if num.Quo(num, q.Denom()); !num.IsInt64() {
		return Decimal{}
	}
	return Of(num.Int64(), places)
}

func pow10(n int) int64 {
	by := int64(1)
	for range n {
		by *= 10
	}
	return by
}

func (d Decimal) rat() *big.Rat { return big.NewRat(d.N, pow10(d.Places)) }

// Cmp is -1, 0 or 1 as a is below, equal to or above b. What is not known is below all others.
func (d Decimal) Cmp(o Decimal) int {
	switch {
	case d.Known != o.Known:
		return cmp.Compare(b2i(d.Known), b2i(o.Known))
	case d.Places == o.Places:
		return cmp.Compare(d.N, o.N)
	}
	return d.rat().Cmp(o.rat())
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Add is the sum; it is not known where one of both is not, or where it is too large.
func (d Decimal) Add(o Decimal) Decimal {
	if !d.Known || !o.Known {
		return Decimal{}
	}
	a := d
	b := o
	if a.Places < b.Places {
		a, b = b, a
	}
	n, ok := times(b.N, pow10(a.Places-b.Places))
	sum := a.N + n
	if !ok || (sum > a.N) != (n > 0) && n != 0 {
		return Decimal{}
	}
	return Of(sum, a.Places)
}

// Sub is the difference; it is not known where one of both is not.
func (d Decimal) Sub(o Decimal) Decimal { return d.Add(o.Neg()) }

// Times is n times the number; it is not known where that is too large.
func (d Decimal) Times(n int64) Decimal {
	x, ok := times(d.N, n)
	if !ok || !d.Known {
		return Decimal{}
	}
	return Of(x, d.Places)
}

// Tenth is a tenth of the number.
func (d Decimal) Tenth() Decimal { return Decimal{d.N, d.Places + 1, d.Known} }

// Neg is the number with the other sign.
func (d Decimal) Neg() Decimal {
	d.N = -d.N
	return d
}

// Abs is the number without its sign.
func (d Decimal) Abs() Decimal {
	if d.N < 0 {
		return d.Neg()
	}
	return d
}

// Within reports whether d is at most share of the size of o.
func (d Decimal) Within(share, o Decimal) bool {
	if d.Places == o.Places {
		a, okA := times(d.N, pow10(share.Places))
		b, okB := times(o.Abs().N, share.N)
		if okA && okB {
			return a <= b
		}
	}
	return d.rat().Cmp(new(big.Rat).Mul(share.rat(), o.Abs().rat())) <= 0
}

// times is a * b.
func times(a, b int64) (int64, bool) {
	if a == 0 || b == 0 {
		return 0, true
	}
	c := a * b
	return c, c/b == a && !(a == math.MinInt64 && b == -1) && !(b == math.MinInt64 && a == -1)
}

// Float is the number for a picture or a column, not for a sum.
func (d Decimal) Float() float64 {
	if !d.Known {
		return math.NaN()
	}
	return float64(d.N) / float64(pow10(d.Places))
}

// IsZero reports whether the number is not known: it is then left out of JSON.
func (d Decimal) IsZero() bool { return !d.Known }

// MarshalJSON is the number with the digits it needs, or null.
func (d Decimal) MarshalJSON() ([]byte, error) {
	if !d.Known {
		return []byte("null"), nil
	}
	return []byte(d.String()), nil
}

// UnmarshalJSON reads a number exactly, or null. data is valid JSON.
func (d *Decimal) UnmarshalJSON(data []byte) error {
	*d = Decimal{}
	if string(data) == "null" {
		return nil
	}
	if len(data) == 0 || !strings.ContainsRune("-0123456789", rune(data[0])) {
		return &json.UnmarshalTypeError{Value: "other than a number", Type: reflect.TypeFor[Decimal]()}
	}
	var ok bool
	if *d, ok = Parse(string(data)); !ok {
		return fmt.Errorf("the number %s has too many digits", data)
	}
	return nil
}
