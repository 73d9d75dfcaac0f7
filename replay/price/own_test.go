package price_test

import (
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay/price"
)

// TestOwnModels: what a user says of models holds over the table, one setting at a time. Without a price there is none.
func TestOwnModels(t *testing.T) {
	own := must.Get(price.ReadOwn("c.yaml", []byte(`
acme/Acme-1: {window: 256k, max_output: 32k, cache: automatic}
acme-2: {window: 100000, input: 1, output: 3, cache_read: 0.05}
claude-opus-5: {window: 300k}
gpt-5.4: {input: 9, output: 10}
`)))(t)
	base := price.Default()
	table := must.Get(base.With(own))(t)
	if _, ok := table.Find("acme-1"); ok {
		t.Error("a model without a price has one")
	}
	m, like, ok := table.FindLike("acme-1-20260101")
	must.Say(t, "true false 256000 32000 automatic 0", ok, like, m.Context, m.MaxOutput, m.Cache, m.Input)
	if m, ok := table.Find("acme-2"); !ok || m.Context != 100000 || m.CacheRead != usd/20 || m.CacheWrite5m != usd*5/4 || m.Output != 3*usd {
		t.Errorf("acme-2: %+v, %v", m, ok)
	}
	known, _ := base.Find("claude-opus-5")
	if m, _ := table.Find("claude-opus-5"); m.Context != 300000 || m.Input != known.Input || m.MaxOutput != known.MaxOutput || m.Fast == nil || m.Source != known.Source {
		t.Errorf("claude-opus-5: %+v", m)
	}
	if m, _ := table.Find("gpt-5.4"); m.Input != 9*usd || m.CacheRead != 9*usd/10 || m.Tier != nil || m.Context != 1050000 {
		t.Errorf("gpt-5.4: %+v", m)
	}
	if m, _ := base.Find("claude-opus-5"); m.Context != known.Context {
		t.Error("the table of the program has changed")
	}

	file := must.Get(price.ReadFile("p.json", []byte(`{"models": [{"id": "acme-1", "input": 2, "output": 2}, {"id": "acme-2", "input": 2, "output": 2, "context": 7000}]}`)))(t)
	over := file.Over(table)
	if m, _, _ := over.FindLike("acme-1"); m.Context != 256000 || m.Input != 2*usd {
		t.Errorf("a price from a file and a window from the settings: %+v", m)
	}
	if m, _, _ := over.FindLike("acme-2"); m.Context != 7000 {
		t.Errorf("a row of a file: %+v", m)
	}
}

func TestOwnModelsErrors(t *testing.T) {
	must.Rows(t, `
""                        | c.yaml:1:1: the file is empty: write {MODEL: {window: 256k}}
[]                        | "c.yaml:1:1: a list is not a "
a: 5                      | "c.yaml:1:4: models.a: "
a: {windw: 5}             | c.yaml:1:5: models.a: unknown key "windw": did you mean window?
a: {window: 0}            | c.yaml:1:13: models.a.window: 0 is out of range: give 1 or more
a: {window: big}          | "c.yaml:1:13: models.a.window: \"big\" is not a whole number: "
a: {cache: yes}           | c.yaml:1:12: models.a.cache: "yes" is not one of its values: use one of automatic, breakpoints, none
a: {input: -1, output: 1} | "c.yaml:1:12: models.a.input: -1 is out of range: "
a: {input: 1}             | c.yaml:1:4: models.a: only some of its prices: give input and output, or no price
a: {cache_read: 1}        | c.yaml:1:4: models.a: only some of its prices
"a: {window: 5}\nA: {window: 6}" | c.yaml:2:1: models: the model "A" is listed twice: keep one of them
"\"[1m]\": {window: 5}"   | "c.yaml:1:1: models: a model without a name: "
a: {max_output: 5}        | c.yaml:1:1: the model "a" is not in the table: give its window
a: {window: 5, input: 0.000000001, output: 1} | give cache_write_5m and cache_read
`, func(data, want string) {
		own, err := price.ReadOwn("c.yaml", []byte(data))
		if err == nil {
			_, err = price.Default().With(own)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n\t got %v\n\twant %s", data, err, want)
		}
	})
}
