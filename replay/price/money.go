package price

import (
	"fmt"
	"math"
	"math/bits"
	"reflect"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/policy/strict"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/exact"
)

// nano is the number of digits after the point of an amount and of a price.
const nano = 9

// USD is an amount of money in billionths of a dollar. The cost of a model that no table lists is unknown, which is not
// the same as zero.
type USD struct {
	Nano  int64
	Known bool
}

// IsZero reports whether the amount is unknown, so that omitzero leaves unknown amounts out of JSON. A known amount of
// zero dollars is not left out.
func (u USD) IsZero() bool { return !u.Known }

// Add adds o to u if o is known. The sum is known if u or o is known. A sum too large for an int64 becomes the largest
// int64.
func (u *USD) Add(o USD) {
	if !o.Known {
		return
	}
	sum := u.Nano + o.Nano
	if o.Nano > 0 && sum < u.Nano {
		sum = math.MaxInt64
	}
	*u = USD{sum, true}
}

// AddUp adds every int and USD field of *from to the same field of *to, nested structs and arrays included. It leaves
// the other fields of *to as they are.
func AddUp[T any](to, from *T) { addUp(reflect.ValueOf(to).Elem(), reflect.ValueOf(from).Elem()) }

func addUp(to, from reflect.Value) {
	if usd, ok := to.Addr().Interface().(*USD); ok {
		usd.Add(from.Interface().(USD))
		return
	}
	switch to.Kind() {
	case reflect.Int:
		to.SetInt(to.Int() + from.Int())
	case reflect.Struct:
		for i := range to.NumField() {
			addUp(to.Field(i), from.Field(i))
		}
	case reflect.Array:
		for i := range to.Len() {
			addUp(to.Index(i), from.Index(i))
		}
	}
}

// Decimal returns the amount in dollars.
func (u USD) Decimal() exact.Decimal { return exact.Decimal{N: u.Nano, Places: nano, Known: u.Known} }

// String returns the amount in dollars with four decimals, or "-" for an unknown amount.
func (u USD) String() string {
	if !u.Known {
		return "-"
	}
	return u.Decimal().Text(4)
}

// MarshalJSON writes the amount in dollars, without rounding, or null for an unknown amount.
func (u USD) MarshalJSON() ([]byte, error) { return u.Decimal().MarshalJSON() }

// UnmarshalJSON reads what MarshalJSON writes.
func (u *USD) UnmarshalJSON(data []byte) error {
	n, known, err := readNano(data)
	*u = USD{n, known}
	return err
}

// readNano reads a number of dollars.
func readNano(data []byte) (n int64, known bool, err error) {
	var d exact.Decimal
	if err := d.UnmarshalJSON(data); err != nil || !d.Known {
		if err != nil {
			err = fmt.Errorf("an amount in dollars: %w", err)
		}
		return 0, false, err
	}
	n, ok := d.At(nano)
	if !ok {
		return 0, false, fmt.Errorf("%s dollars are too many, or have more than %d digits after the point", data, nano)
	}
	return n, true, nil
}

// Price is the price of a million tokens, in billionths of a dollar.
type Price int64

// Dollars returns the price in US dollars per million tokens.
func (p Price) Dollars() exact.Decimal { return exact.Of(int64(p), nano) }

// MarshalJSON writes the price in US dollars per million tokens, without rounding.
func (p Price) MarshalJSON() ([]byte, error) { return p.Dollars().MarshalJSON() }

// UnmarshalJSON reads what MarshalJSON writes.
func (p *Price) UnmarshalJSON(data []byte) error {
	n, _, err := readNano(data)
	*p = Price(n)
	return err
}

// ReadNode reads a price in a user's table. A price with more digits than a Price can hold is an error.
func (p *Price) ReadNode(r *strict.Decoder, n *strict.Node, key string) {
	size, number := strict.Number(n)
	d, _ := exact.Parse(strings.ReplaceAll(n.Value, "_", ""))
	x, ok := d.At(nano)
	switch {
	case !number:
		r.Report(n, key+": "+strict.KindName(n)+" is not a number", "write digits, such as 0.5")
	case size < 0:
		r.Report(n, key+": "+n.Value+" is out of range", "give 0 or more")
	case size > strict.MaxNumber:
		r.Report(n, key+": "+n.Value+" is out of range", fmt.Sprintf("give %d or less", strict.MaxNumber))
	case !ok:
		r.Report(n, key+": "+n.Value+" has too many digits to be counted exactly", fmt.Sprintf("give at most %d after the point", nano))
	}
	*p = Price(x)
}

// On returns the model with the prices that it had on a day, or with its latest prices for the zero time.
func (m *Model) On(day time.Time) *Model {
	if day.IsZero() || m.Earlier == nil {
		return m
	}
	text := day.UTC().Format(time.DateOnly)
	for i := range m.Earlier {
		if e := &m.Earlier[i]; text <= e.Until {
			then := *m
			then.Rates = e.Rates
			then.Tier = e.Tier
			return &then
		}
	}
	return m
}

// Unreleased reports whether day is before the day of the model's release. It is false for the zero time and for a
// model whose release day is unknown.
func (m *Model) Unreleased(day time.Time) bool {
	return !day.IsZero() && day.UTC().Format(time.DateOnly) < m.Released
}

// RatesFor returns the prices of a request. The argument is the number of input tokens of the request, cached ones
// included.
func (m *Model) RatesFor(input int) Rates {
	if t := m.Tier; t != nil && input > t.Above {
		return t.Rates
	}
	return m.Rates
}

// Cost returns the cost of one request. If the request has more input tokens than the field Above of the model's Tier,
// the prices of the tier apply to all its tokens, cache reads and output included.
func (m *Model) Cost(in cache.Split, output int) USD {
	r := m.RatesFor(in.Input())
	return r.Cost(in, output)
}

// Cost returns the cost of tokens. It is exact if every price is a whole number of billionths of a dollar per token, as
// nearly all prices of the embedded table are; otherwise it is rounded once, half up.
func (r *Rates) Cost(in cache.Split, output int) USD {
	var high, low uint64 // of a millionth of the sum
	for i, tokens := range [...]int{in.Uncached, in.Write5m, in.Write1h, in.Read, output} {
		h, l := bits.Mul64(uint64(max(tokens, 0)), uint64(max(*r.each()[i], 0)))
		var carry uint64
		low, carry = bits.Add64(low, l, 0)
		high, _ = bits.Add64(high, h, carry)
	}
	return USD{quotient(high, low, 1_000_000), true}
}

// each is the prices of uncached input, writes for five minutes and for an hour, reads, and output.
func (r *Rates) each() [5]*Price {
	return [...]*Price{&r.Input, &r.CacheWrite5m, &r.CacheWrite1h, &r.CacheRead, &r.Output}
}

// unit is a factor of 1, in billionths.
const unit = 1_000_000_000

// times is the rates times a factor in billionths.
func (r Rates) times(factor Price) Rates {
	for _, p := range r.each() {
		*p = Price(product(int64(*p), int64(factor), unit))
	}
	return r
}

// product is a*b/by, rounded half up. Both are at least 0.
func product(a, b int64, by uint64) int64 {
	high, low := bits.Mul64(uint64(a), uint64(b))
	return quotient(high, low, by)
}

// quotient is a number of 128 bits divided, rounded half up; the largest there is where it is more than an amount can be.
func quotient(high, low, by uint64) int64 {
	low, carry := bits.Add64(low, by/2, 0)
	if high += carry; high >= by/2 {
		return math.MaxInt64
	}
	n, _ := bits.Div64(high, low, by)
	return int64(n)
}

// Share returns nano*n/of, rounded half up, for 0 <= n <= of. Both nano and the result are amounts in billionths of a
// dollar.
func Share(nano int64, n, of int) int64 { return product(max(nano, 0), int64(n), uint64(of)) }
