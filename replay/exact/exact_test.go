package exact_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay/exact"
)

func TestText(t *testing.T) {
	must.Rows(t, `
# in | want | two
0                   | 0                   | 0.00
-0                  | 0                   | 0.00
1.50                | 1.5                 | 1.50
-0.005              | -0.005              | -0.01
0.0049              | 0.0049              | 0.00
.5                  | 0.5                 | 0.50
+2.                 | 2                   | 2.00
1e3                 | 1000                | 1000.00
12e-4               | 0.0012              | 0.00
9223372036854775807 | 9223372036854775807 | 9223372036854775807.00
0.000000000000001   | 0.000000000000001   | 0.00
0.0000000000000001  | ""                  | ""
9223372036854775808 | ""                  | ""
1e99                | ""                  | ""
""                  | ""                  | ""
.                   | ""                  | ""
1/2                 | ""                  | ""
0x1                 | ""                  | ""
1_0                 | ""                  | ""
nan                 | ""                  | ""
1e                  | ""                  | ""
`, func(in, want, two string) {
		d, ok := exact.Parse(in)
		if ok != (want != "") || d.String() != want || ok && d.Text(2) != two {
			t.Errorf("%q is %q, %q (%v), want %q, %q", in, d, d.Text(2), ok, want, two)
		}
	})
}

func TestArithmetic(t *testing.T) {
	d := func(s string) exact.Decimal {
		x, ok := exact.Parse(s)
		if !ok {
			t.Fatalf("%q is no number", s)
		}
		return x
	}
	var unknown exact.Decimal
	for _, tt := range []struct {
		what      string
		got, want exact.Decimal
	}{
		{"sum", d("0.1").Add(d("0.25")), d("0.35")}, {"difference", d("1").Sub(d("1.5")), d("-0.5")},
		{"of what is not known", d("1").Add(unknown), unknown}, {"too large", exact.Whole(int64(math.MaxInt64)).Add(d("1")), unknown},
		{"ratio", exact.Ratio(d("2"), d("3"), 3), d("0.667")}, {"below zero", exact.Ratio(d("-2"), d("3"), 1), d("-0.7")},
		{"half away from zero", exact.Ratio(d("-1"), d("8"), 2), d("-0.13")}, {"by nothing", exact.Ratio(d("1"), d("0"), 2), unknown},
		{"times", d("0.3").Times(3), d("0.9")}, {"too many times", d("1e15").Times(1e15), unknown}, {"tenth", d("1.5").Tenth(), d("0.15")},
		{"rounded", d("-1.25").Round(1), d("-1.3")},
	} {
		if tt.got.Cmp(tt.want) != 0 || tt.got.Known != tt.want.Known {
			t.Errorf("%s: %v, want %v", tt.what, tt.got, tt.want)
		}
	}
	if unknown.Cmp(d("-5")) >= 0 || d("2.50").Cmp(exact.Of(25, 1)) != 0 || d("1e9").Cmp(d("0.000000001")) <= 0 {
		t.Error("numbers are out of order")
	}
	must.Say(t, "true false", d("2").Within(d("0.02"), d("-100")), d("2.000000001").Within(d("0.02"), d("100")))
	must.Both(exact.Of(2500, 3).At(1))(t, 25, true)
	if _, ok := d("2.55").At(1); ok {
		t.Error("a digit was lost")
	}
	if _, ok := d("1e15").At(9); ok {
		t.Error("a number that is too large was taken")
	}
}

func TestJSON(t *testing.T) {
	type doc struct {
		A exact.Decimal `json:"a,omitzero"`
	}
	must.Rows(t, `
{"a":0.10} | {"a":0.1}
{"a":1e2}  | {"a":100}
{"a":null} | {}
{}         | {}
`, func(in, want string) {
		var x doc
		if err := json.Unmarshal([]byte(in), &x); err != nil {
			t.Errorf("%s: %v", in, err)
		}
		if out, err := json.Marshal(x); err != nil || string(out) != want {
			t.Errorf("%s: %s, %v, want %s", in, out, err, want)
		}
	})
	for _, in := range []string{`{"a":"1"}`, `{"a":1e400}`, `{"a":{}}`, `{"a":0.00000000000000000001}`} {
		if json.Unmarshal([]byte(in), &doc{}) == nil {
			t.Errorf("%s is taken", in)
		}
	}
}
