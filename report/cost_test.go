package report

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/report/golden"
)

func TestCosts(t *testing.T) {
	schema := compileSchemaAt(t, filepath.Join("..", "docs", "schemas", "cost.v1.json"))
	for name, tls := range map[string][]*replay.Timeline{"one": {sample(30)}, "several": {sample(30), sample(3)}, "none": {}, "empty": {sample(0)}, "hostile": {hostile()}} {
		var list []SessionCost
		for _, tl := range tls {
			list = append(list, CostOf(tl, bridgeOf(tl)))
		}
		for _, f := range ListFormats {
			var b bytes.Buffer
			if err := Costs(&b, list, policy.Use{}, Layout{Format: f}); err != nil {
				t.Fatal(err)
			}
			if s := b.String(); strings.ContainsAny(s, "\x1b\u202e") {
				t.Errorf("%s as %s lets control characters through", name, f)
			}
			if f == FormatJSON {
				if err := validate(schema, b.Bytes()); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			if name == "several" {
				golden.Check(t, filepath.Join("testdata", "cost."+string(f)), b.Bytes())
			}
		}
	}
}

// bridgeOf is a bridge with each step.
func bridgeOf(tl *replay.Timeline) *replay.Bridge {
	amount := func(n int64) price.USD { return price.USD{Nano: n, Known: true} }
	bill := replay.Bill{Calls: 7, Input: cache.Split{Read: 100_000, Write1h: 5000, Uncached: 12}, Output: 400, CostUSD: amount(1_234_567_891)}
	b := &replay.Bridge{
		Recorded: &replay.RecordedBill{Bill: bill, Models: []replay.ModelBill{{Model: tl.Model, Bill: bill}}, Requests: 7, Without: 1, Agents: 2},
		Cost:     tl.Totals.CostUSD, Steps: []replay.BridgeStep{},
	}
	for i, name := range replay.Steps() {
		b.Steps = append(b.Steps, replay.BridgeStep{Step: name, Calls: i % 3, USD: amount(int64(i-4) * 123_456_789)})
	}
	b.Simulated = amount(3_000_000_000)
	return b
}

func TestPrices(t *testing.T) {
	table, err := price.Default()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range ListFormats {
		var b bytes.Buffer
		if err := Prices(&b, table, Layout{Format: f}); err != nil {
			t.Fatal(err)
		}
		for _, m := range table.Models {
			if !strings.Contains(b.String(), m.ID) || !strings.Contains(strings.Join(strings.Fields(b.String()), " "), m.Source[:20]) {
				t.Errorf("%s: %s or its source is missing", f, m.ID)
			}
		}
		if f != FormatJSON {
			continue
		}
		// What is printed is read back as the same table.
		back, err := price.ReadFile("prices.json", b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		var again bytes.Buffer
		if err := Prices(&again, back, Layout{Format: f}); err != nil {
			t.Fatal(err)
		}
		if again.String() != b.String() {
			t.Error("the table that is read back is another")
		}
	}
}
