package condition

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy/strict"
)

func TestHolds(t *testing.T) {
	at := Situation{Tokens: 90000, Window: 200000, Usable: 180000, Used: 0.5, Idle: 7, Cold: true, Turn: 3, Request: 40, Payback: math.Inf(1), TokensFreed: 0}
	numbers := map[string]float64{"limit": 0.4}
	must.Rows(t, `
true                       | true
false                      | false
cold                       | true
not cold                   | false
"!cold || used > 0.8"      | false
used > limit               | true
used > limit * 2           | false
tokens >= 90000 and tokens <= 90000 | true
request == 40 && turn != 4 | true
-turn < 0                  | true
(tokens + 1000) / usable > 0.5 | true
used * 100 >= 50           | true
payback <= 20              | false
payback > 1e308            | true
tokens / tokens_freed > 1  | true  # infinite
tokens_freed / tokens_freed == 1 | false
tokens_freed / tokens_freed != 1 | true  # not a number
cold == true               | true
1 / 0 > 5                  | true
used > .4                  | true
tokens > 80_000            | true
`, func(text string, want bool) {
		c, err := Compile(text, numbers)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			return
		}
		test := c.Test()
		test.Situation = at
		for range 2 {
			must.Both(test.Holds())(t, want, nil, text)
		}
	})
}

func TestCompileErrors(t *testing.T) {
	must.Rows(t, `
# text | want
""                     | :1:1: the condition is empty: write an expression
clod || used > 0.8     | :1:1: unknown variable "clod": did you mean cold?
cold || usd > 0.8      | :1:9: unknown variable "usd": did you mean used?
"cold ||\n  usd > 0.8" | :2:3: unknown variable "usd"
used > limt            | :1:8: unknown variable "limt": did you mean limit?
tokens                 | :1:1: the condition is a number: compare it, such as tokens > 100000
cold > 3               | :1:6: invalid operation: > (mismatched types boolean and number): compare numbers with numbers
cold || used >         | :1:14: unexpected end: close what is open
used > 0.8)            | :1:11: unexpected token
used > 'a'             | :1:8: a text has no place in a condition
max(used, 1) > 0       | has no place in a condition
"all([1], \u0023 > 0)" | ""
cold ? true : false    | this has no place in a condition
cold?:0                | this has no place
let x = 1; x > 0       | has no place in a condition
request % 5 == 0       | :1:9: % has no place in a condition
2 ** 3 > 1             | :1:3: ** has no place
1 in 1..1000000000     | has no place
cold ?? true           | ?? has no place
payback < 20 points    | unexpected token "points": write it like
cold = true            | unexpected token "=": write ==
tokens > 100,000       | unexpected token ",": write a number like 100000
tokens > 100k          | write a number like 100000
used > 80%             | unexpected end: write a share like 0.8
(used > 0.8            | unexpected end: close what is open
request > 5 AND cold   | unexpected token "AND": write it like
used.x > 1             | has no place
$env.Used > 1          | unknown variable "$env"
{(*2000}               | the condition has 2000 bytes
{cold||*150}cold       | the condition has more than 200 parts
`, func(text, want string) {
		_, err := Compile(text, map[string]float64{"limit": 0.8})
		var own *strict.Error
		if err == nil || !strings.Contains(err.Error(), want) || !errors.As(err, &own) || own.Line < 1 || own.Column < 1 {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	})
}

func TestDecided(t *testing.T) {
	must.Rows(t, `
true            | true
false           | false
1 > 2           | false
cold            | ""
"cold || true"  | true
cold && false   | false
used > 80       | false
used >= 0       | true
used > 0.8      | ""
request > 0     | true
tokens < 0      | false
not (used > 80) | true
limit > 1       | false
used > limit    | ""
tokens - 5 > 3  | ""
0 / 0 > 1       | ""
payback >= 0    | true
window == -1    | false
2 * 3 == 6      | true
`, func(text, want string) {
		c, err := Compile(text, map[string]float64{"limit": 0.8})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			return
		}
		got := ""
		if value, ok := c.Decided(); ok {
			got = map[bool]string{true: "true", false: "false"}[value]
		}
		must.Equal(t, got, want, text)
	})
}

func TestVariables(t *testing.T) {
	names := map[string]bool{}
	for _, v := range Variables() {
		if v.Name == "" || v.Doc == "" || names[v.Name] || v.Truth != (v.Unit == "") {
			t.Errorf("%+v", v)
		}
		names[v.Name] = true
		text := v.Name
		if !v.Truth {
			text += " > 1"
		}
		if c, err := Compile(text, nil); err != nil || !c.Uses(v.Name) || c.NeedsEdits() != v.Edits {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// FuzzCondition holds that whatever compiles is evaluated without an error, to the same value twice, and that a value
// that is decided beforehand is the one that comes out where all variables are in their usual ranges.
func FuzzCondition(f *testing.F) {
	for _, text := range []string{"cold || used > 0.8", "payback <= 20", "1/0 > tokens", "cold ? used : 1", "cold?:0", "a > 1 and not cold", "-(-1) == 1", "0/0 != 0/0", "not not cold", "1 < 2 == true"} {
		f.Add(text, 1.0, 0.5, true)
	}
	f.Fuzz(func(t *testing.T, text string, a, b float64, cold bool) {
		c, err := Compile(text, map[string]float64{"a": a})
		if err != nil {
			var own *strict.Error
			if !errors.As(err, &own) {
				t.Fatalf("%q: %v is no error with a place", text, err)
			}
			return
		}
		test := c.Test()
		share := math.Abs(math.Mod(b, 1))
		if math.IsNaN(share) {
			share = 0
		}
		for _, v := range []Situation{
			{Cold: cold, Request: 1},
			{Cold: cold, Tokens: share * 2e5, Window: 2e5, Usable: 18e4, Used: share, Request: 3, Payback: math.Inf(1)},
			{Cold: !cold, Tokens: 1, Used: 1, Idle: math.Inf(1), Request: 1e6, TokensFreed: -5, TurnStart: true},
		} {
			test.Situation = v
			first, err := test.Holds()
			again, err2 := test.Holds()
			if err != nil || err2 != nil || first != again {
				t.Fatalf("%q: %v, %v; %v, %v", text, first, err, again, err2)
			}
			if value, ok := c.Decided(); ok && value != first && !math.IsNaN(a) {
				t.Fatalf("%q is said to be always %v, and is %v with %+v", text, value, first, v)
			}
		}
		odd := Situation{Used: b, Tokens: b, Payback: b, TokensFreed: b, Idle: b, Request: b}
		test.Situation = odd
		if _, err := test.Holds(); err != nil {
			t.Fatalf("%q with %+v: %v", text, odd, err)
		}
	})
}
