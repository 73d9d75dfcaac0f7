package price

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/ctxkit/ctxkit/replay/cache"
)

// USD is an amount of money. It is not known, rather than zero, for a model that no table lists.
type USD struct {
	Dollars float64
	Known   bool
}

// IsZero reports whether the amount is not known: it is then left out of JSON.
func (u USD) IsZero() bool { return !u.Known }

// Add adds what is known of another amount.
func (u *USD) Add(o USD) {
	if o.Known {
		*u = USD{u.Dollars + o.Dollars, true}
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

// Cost is the cost of one request. Above the long-context tier the whole request is billed by it, cache reads and the
// output included.
func (m *Model) Cost(in cache.Split, output int) USD {
	r := &m.Rates
	if t := m.Tier; t != nil && in.Input() > t.Above {
		r = &t.Rates
	}
	n := float64(in.Uncached)*r.Input + float64(in.Write5m)*r.CacheWrite5m + float64(in.Write1h)*r.CacheWrite1h +
		float64(in.Read)*r.CacheRead + float64(output)*r.Output
	return USD{Dollars: n / 1e6, Known: true}
}
