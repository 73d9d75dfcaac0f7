package compare_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/exact"
	"github.com/ctxkit/ctxkit/replay/price"
)

// draw makes values of all kinds.
type draw struct{ *rand.Rand }

func (d draw) text() string {
	return []string{"", "a", "/home/dev/it's", "\xff\xfe", "\x00", "\x00\"a\"", "<&>\u2028", "名", "line\nbreak"}[d.IntN(9)]
}

func (d draw) decimal() exact.Decimal {
	if d.IntN(4) == 0 {
		return exact.Decimal{}
	}
	n := []int64{0, 1, -1, 10, 1200, -1 << 63, 1<<63 - 1, int64(d.Uint64())}[d.IntN(8)]
	return exact.Of(n, d.IntN(exact.MaxPlaces+1))
}

func list[T any](d draw, one func() T) []T {
	if d.IntN(4) == 0 {
		return nil
	}
	out := make([]T, d.IntN(3))
	for i := range out {
		out[i] = one()
	}
	return out
}

func (d draw) warning() session.Warning {
	return session.Warning{File: d.text(), Line: d.IntN(9), Code: session.Code(d.text()[:0]), Message: d.text(), More: d.IntN(3)}
}

func (d draw) origin() compare.Origin {
	return compare.Origin{Session: d.text(), Agent: d.text(), File: d.text(), Malformed: d.IntN(3)}
}

func (d draw) session(policies int) compare.ComparedSession {
	s := compare.ComparedSession{
		Origin: d.origin(), Model: d.text(), Version: d.text(), Project: d.text(), Repository: d.text(), Unpriced: list(d, d.text),
		Cache: replay.CacheEqual, Flags: list(d, func() compare.Flag { return compare.FlagMidway }),
		Rereads: replay.Rereads{Files: d.IntN(9), Tokens: d.IntN(9), Carried: d.IntN(9)}, Input: d.text(),
		Selection: compare.Selection{
			Agent: d.text(), Leaf: d.text(), Tokens: d.text(), Model: d.text(), Window: d.text(), Overhead: d.text(), Cache: d.text(),
			Tries: list(d, func() policy.Try { return policy.Try{Stage: d.text(), Text: d.text()} }), Env: d.IntN(2) == 0,
		},
	}
	if d.IntN(2) == 0 {
		s.Converted = &replay.Conversion{Source: d.text(), Models: list(d, func() replay.ConvertedModel {
			return replay.ConvertedModel{Model: d.text(), Requests: d.IntN(9), Ratio: d.decimal(), To: d.decimal(), From: d.decimal()}
		})}
	}
	for range policies {
		p := &policy.Policy{Name: d.text(), Version: d.text(), Chosen: d.text(), Older: d.IntN(2) == 0, Truth: policy.TruthOwn, Recorded: d.IntN(2) == 0}
		if d.IntN(2) == 0 {
			p.Score = &policy.Score{Conversations: 1, Free: d.IntN(9), Fitted: &policy.Score{Alarms: 2}, Prunes: &policy.PruneScore{Same: 3}}
		}
		s.Policies = append(s.Policies, p)
		var v compare.Values
		for range compare.Names() {
			v = append(v, d.decimal())
		}
		s.Values = append(s.Values, v)
		s.Breaks = append(s.Breaks, list(d, func() replay.StageCost {
			c := replay.StageCost{Stage: d.text()}
			if d.IntN(2) == 0 {
				c.Breaks = price.USD{Nano: int64(d.Uint64()), Known: true}
			}
			return c
		}))
		s.Apart = append(s.Apart, d.IntN(99))
		s.Series = append(s.Series, list(d, func() int { return d.IntN(1e6) }))
	}
	return s
}

// rows are those of one shard of so many inputs of which it has some.
func (d draw) rows(policies, inputs, shard, shards int) *compare.Rows {
	r := &compare.Rows{
		Build: "v1", Options: map[string]string{"cache": "equal"}, Inputs: inputs, Names: "n", Shard: shard, Shards: shards,
		Warnings: list(d, d.warning), Late: list(d, d.warning),
	}
	for i := range policies {
		r.Policies = append(r.Policies, compare.RowsPolicy{Name: fmt.Sprint("p", i), Digest: d.text()[:0]})
	}
	for i := shard - 1; i < inputs; i += shards {
		o := compare.InputRows{Input: i}
		switch d.IntN(4) {
		case 0:
			o.Failed = "cannot be read \xff"
		case 1:
			o.Empty = []compare.Origin{d.origin()}
		}
		for range d.IntN(3) {
			o.Warnings = append(o.Warnings, d.warning())
		}
		for n := d.IntN(3); n > 0 || o.Failed == "" && o.Empty == nil && o.Sessions == nil; n-- {
			o.Sessions = append(o.Sessions, d.session(policies))
		}
		r.Outcomes = append(r.Outcomes, o)
	}
	return r
}

// plain has empty lists that say the same as none as none.
func plain(r compare.Rows) compare.Rows {
	if len(r.Warnings) == 0 {
		r.Warnings = nil
	}
	if len(r.Late) == 0 {
		r.Late = nil
	}
	return r
}

// TestRows holds that what is written is read as it was.
func TestRows(t *testing.T) {
	for seed := range uint64(200) {
		d := draw{rand.New(rand.NewPCG(seed, 1))}
		want := d.rows(1+d.IntN(3), d.IntN(4), 1, 1)
		var b bytes.Buffer
		must.Do(t, compare.WriteRows(&b, want))
		text := b.String()
		got, err := compare.ReadRows(&b)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		if !reflect.DeepEqual(plain(*got), plain(*want)) {
			t.Fatalf("seed %d:\ngot  %+v\nwant %+v\n%s", seed, got, want, text)
		}
	}
}

// FuzzReadRows reads anything: what is read is written, and read again, as it is.
func FuzzReadRows(f *testing.F) {
	for seed := range uint64(4) {
		var b bytes.Buffer
		must.Do(f, compare.WriteRows(&b, (draw{rand.New(rand.NewPCG(seed, 2))}).rows(1, 2, 1, 1)))
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, err := compare.ReadRows(bytes.NewReader(data))
		if err != nil {
			if !errors.As(err, new(*compare.RowsError)) {
				t.Errorf("%T: %v", err, err)
			}
			return
		}
		var b bytes.Buffer
		must.Do(t, compare.WriteRows(&b, rows))
		again, err := compare.ReadRows(&b)
		must.Say(t, "<nil> true", err, reflect.DeepEqual(plain(*again), plain(*rows)))
	})
}

// TestReadRowsErrors holds that what is no whole file of rows is refused at its line.
func TestReadRowsErrors(t *testing.T) {
	var b bytes.Buffer
	must.Do(t, compare.WriteRows(&b, (draw{rand.New(rand.NewPCG(7, 1))}).rows(2, 5, 1, 1)))
	good := strings.SplitAfter(b.String(), "\n")
	good = good[:len(good)-1]
	row := slices.IndexFunc(good, func(line string) bool { return strings.Contains(line, `"row":`) })
	if row < 0 || len(good) < 4 {
		t.Fatalf("%d lines, a row at %d", len(good), row)
	}
	must.Rows(t, `
# what is wrong | line: its number from 0, "row" or "last" | what of it, all where nothing is named | what it is then | what is said; LAST is the number of lines
no rows        | 0    | "" | {} | line 1: no rows of a comparison: the first line is none of ctxkit.rows/v1
next version   | 0    | rows/v1 | rows/v2 | line 1: no rows of a comparison
other figures  | 0    | "\"requests\"" | "\"asks\"" | line 1: the rows have other figures
unknown member | 0    | "\"build\"" | "\"built\"" | unknown field
shard          | 0    | "\"shard\":1" | "\"shard\":2" | line 1: shard 2 of 1
cut            | last | "" | "" | "the rows end too early: "
half a line    | last | HALF | "" | "line LAST: "
twice          | row  | TWICE | "" | there are more than
empty line     | 1    | "" | {"input":0} | line 2: want one of warning, failed, empty and row
input          | 1    | "" | {"input":5,"failed":"x"} | line 2: input 5 of 5
order          | last | "" | {"input":0,"failed":"x"} | input 0 is behind input
figures        | row  | "\"values\":[[" | "\"values\":[[\"1\"," | "values: "
policies       | row  | "\"apart\":[" | "\"apart\":[1," | apart: 3 of 2 policies
two values     | 1    | "\n" | " 1\n" | line 2: there is more on the line than one value
`, func(name, line, from, to, want string) {
		lines := slices.Clone(good)
		n, err := strconv.Atoi(line)
		if err != nil {
			n = map[string]int{"row": row, "last": len(good) - 1}[line]
		}
		switch s := lines[n]; {
		case from == "HALF":
			lines[n] = s[:len(s)/2]
		case from == "TWICE":
			lines[n] = s + s
		case from != "":
			must.Equal(t, strings.Contains(s, from), true, name)
			lines[n] = strings.Replace(s, from, to, 1)
		case to == "":
			lines[n] = ""
		default:
			lines[n] = to + "\n"
		}
		must.Fail(compare.ReadRows(strings.NewReader(strings.Join(lines, ""))))(t, strings.Replace(want, "LAST", strconv.Itoa(len(good)), 1), name)
	})
}

// TestMergeRows holds that shards in any order are the whole, and what is refused.
func TestMergeRows(t *testing.T) {
	const inputs = 7
	seeded := func(seed uint64) draw { return draw{rand.New(rand.NewPCG(seed, 3))} }
	whole := seeded(1).rows(2, inputs, 1, 1)
	for i := range whole.Outcomes { // sessions differ by name
		for s := range whole.Outcomes[i].Sessions {
			whole.Outcomes[i].Sessions[s].Session = fmt.Sprint("s", i, s)
		}
	}
	shard := func(n, of int) compare.NamedRows {
		part := *whole
		part.Shard, part.Shards, part.Outcomes = n, of, nil
		for i, o := range whole.Outcomes {
			if i%of == n-1 {
				part.Outcomes = append(part.Outcomes, o)
			}
		}
		return compare.NamedRows{Name: fmt.Sprint(n, ".rows"), Rows: &part}
	}
	whole.Late = compare.SortedOnce(whole.Late)
	for of := 1; of <= inputs+2; of++ {
		var list []compare.NamedRows
		for _, n := range seeded(uint64(of)).Perm(of) {
			list = append(list, shard(n+1, of))
		}
		got, err := compare.MergeRows(list)
		if err != nil || !reflect.DeepEqual(plain(*got), plain(*whole)) {
			t.Errorf("%d shards: %v\n%+v\n%+v", of, err, got, whole)
		}
	}
	other := func(name string, change func(r *compare.Rows)) compare.NamedRows {
		r := *shard(1, 1).Rows
		change(&r)
		return compare.NamedRows{Name: name, Rows: &r}
	}
	unnamed := other("b", func(r *compare.Rows) { r.Names, r.Inputs, r.Outcomes = "m", 1, seeded(9).rows(2, 1, 1, 1).Outcomes })
	both, err := compare.MergeRows([]compare.NamedRows{shard(1, 1), unnamed})
	if err != nil || both.Inputs != inputs+1 || len(both.Outcomes) != inputs+1 || both.Outcomes[inputs].Input != inputs {
		t.Errorf("two folders: %v, %+v", err, both)
	}
	for want, list := range map[string][]compare.NamedRows{
		"there are no rows": nil,
		"1.rows: of the 3 shards of its inputs, 2 is missing":       {shard(1, 3), shard(3, 3)},
		"1.rows: 11 of 12 shards of its inputs are missing":         {shard(1, 12)},
		"1.rows: 1.rows has the same sessions, shard 1 of 2":        {shard(1, 2), shard(1, 2)},
		"2.rows: shard 2 of 3, but 1.rows is shard 1 of 2":          {shard(1, 2), shard(2, 3)},
		"b: the build is v2, but v1 in 1.rows":                      {shard(1, 1), other("b", func(r *compare.Rows) { r.Build = "v2" })},
		"b: the policies are p1, p0, but p0, p1 in 1.rows":          {shard(1, 1), other("b", func(r *compare.Rows) { r.Policies = []compare.RowsPolicy{{Name: "p1"}, {Name: "p0"}} })},
		"b: the policy p1 is another than in 1.rows":                {shard(1, 1), other("b", func(r *compare.Rows) { r.Policies = []compare.RowsPolicy{{Name: "p0"}, {Name: "p1", Digest: "d"}} })},
		"b: the option cache is own, but equal in 1.rows":           {shard(1, 1), other("b", func(r *compare.Rows) { r.Options = map[string]string{"cache": "own"} })},
		"b: the option window is 1000, but not given in 1.rows":     {shard(1, 1), other("b", func(r *compare.Rows) { r.Options = map[string]string{"cache": "equal", "window": "1000"} })},
		"is in 1.rows as well: leave one out":                       {shard(1, 1), other("b", func(r *compare.Rows) { r.Names = "m" })},
		"b: there are rows of 6 of 7 inputs: the rows are damaged":  {other("b", func(r *compare.Rows) { r.Outcomes = r.Outcomes[:6] })},
		"b: 1 of the 7 inputs are not there once: the rows are dam": {other("b", func(r *compare.Rows) { r.Outcomes = slices.Concat(r.Outcomes[:6], r.Outcomes[5:6]) })},
	} {
		must.Fail(compare.MergeRows(list))(t, want)
	}
}
