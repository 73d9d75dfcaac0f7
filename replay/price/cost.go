package price

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/ctxkit/ctxkit/replay/cache"
)

// USD is an amount of money that may not be known: what a model costs that no
// table lists is no amount, not zero.
type USD struct {
	Dollars float64
	Known   bool
}

// IsZero reports whether the amount is not known: it is then left out of JSON.
func (u USD) IsZero() bool { return !u.Known }

// Add adds what is known of another amount.
func (u *USD) Add(o USD) {
	if o.Known {
		u.Dollars += o.Dollars
		u.Known = true
	}
}

// String is the amount with four decimals, or a dash.
func (u USD) String() string {
	if !u.Known {
		return "-"
	}
	return strconv.FormatFloat(u.Dollars, 'f', 4, 64)
}

// MarshalJSON is the amount with at most six decimals, or null.
func (u USD) MarshalJSON() ([]byte, error) {
	if !u.Known {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, math.Round(u.Dollars*1e6)/1e6, 'f', -1, 64), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (u *USD) UnmarshalJSON(data []byte) error {
	*u = USD{}
	if string(data) == "null" {
		return nil
	}
	if err := json.Unmarshal(data, &u.Dollars); err != nil {
		return fmt.Errorf("an amount in dollars: %w", err)
	}
	u.Known = true
	return nil
}

// rates are what a million tokens of each class cost.
type rates struct{ input, write5m, write1h, read, output float64 }

// ratesFor are the model's rates for a request with so many tokens of input:
// where that is above the long-context tier, the whole request is billed by it,
// what is read from the cache and the output included.
func (m *Model) ratesFor(input int) rates {
	if t := m.Tier; t != nil && input > t.Above {
		return rates{t.Input, t.CacheWrite5m, t.CacheWrite1h, t.CacheRead, t.Output}
	}
	return rates{m.Input, m.CacheWrite5m, m.CacheWrite1h, m.CacheRead, m.Output}
}

// Cost is what one request costs: its input by how it is billed, and its output.
func (m *Model) Cost(in cache.Split, output int) USD {
	r := m.ratesFor(in.Input())
	n := float64(in.Uncached)*r.input + float64(in.Write5m)*r.write5m + float64(in.Write1h)*r.write1h +
		float64(in.Read)*r.read + float64(output)*r.output
	return USD{Dollars: n / 1e6, Known: true}
}
