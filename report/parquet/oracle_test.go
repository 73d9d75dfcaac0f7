//go:build ci

package parquet_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	upstream "github.com/parquet-go/parquet-go"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/report/parquet"
)

// write writes rows and returns the file.
func write(t *testing.T, rows [][]parquet.Cell) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := parquet.NewWriter(&b, "rows", "ctxkit.rows/v1", columns)
	for _, row := range rows {
		if err == nil {
			err = w.Write(row)
		}
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// read reads a file with parquet-go: each row as text, and how many row groups there are.
func read(t *testing.T, data []byte) (rows []string, groups int) {
	t.Helper()
	f := must.Get(upstream.OpenFile(bytes.NewReader(data), int64(len(data))))(t)
	for _, g := range f.RowGroups() {
		r := g.Rows()
		buf := make([]upstream.Row, 100)
		for {
			n, err := r.ReadRows(buf)
			for _, row := range buf[:n] {
				rows = append(rows, rowText(row))
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		must.Do(t, r.Close())
	}
	must.Equal(t, int64(len(rows)), f.NumRows())
	return rows, len(f.RowGroups())
}

func rowText(row upstream.Row) string {
	var s []string
	for _, v := range row {
		s = append(s, fmt.Sprintf("%q", v.String()))
	}
	return strings.Join(s, " ")
}

// randomRows are rows, and what is read of each.
func randomRows(n int, rnd *rand.Rand) (rows [][]parquet.Cell, want []string) {
	texts := []string{"", "a", "née", "a\xffb", "\x00", strings.Repeat("long ", 300)}
	for i := range n {
		x, opt := rnd.Int64()-rnd.Int64(), func() bool { return rnd.IntN(3) > 0 }
		row := []parquet.Cell{parquet.OfInt(x)}
		w := []string{fmt.Sprint(x)}
		add := func(known bool, v parquet.Cell, text string) {
			if !known {
				v, text = parquet.Cell{}, "<null>"
			}
			row, w = append(row, v), append(w, text)
		}
		at := time.Unix(rnd.Int64N(1e10), 123456789)
		name := texts[rnd.IntN(len(texts))]
		usd, _ := parquet.OfDecimal(int64(i) * 1_000_000_007)
		add(opt(), parquet.OfInt(i), fmt.Sprint(i))
		add(opt(), parquet.OfDouble(float64(i)/4), fmt.Sprint(float64(i)/4))
		add(true, parquet.OfBool(i%3 == 0), fmt.Sprint(i%3 == 0))
		add(opt(), parquet.OfBool(true), "true")
		add(true, parquet.OfText(name), strings.ToValidUTF8(name, "\uFFFD"))
		add(opt(), parquet.OfText(fmt.Sprint("word", i)), fmt.Sprint("word", i))
		add(false, parquet.Cell{}, "")
		add(opt(), parquet.OfTime(at), fmt.Sprint(at.UnixMicro()))
		add(opt(), usd, fmt.Sprint(int64(i)*1_000_000_007))
		for j := range w {
			w[j] = fmt.Sprintf("%q", w[j])
		}
		rows, want = append(rows, row), append(want, strings.Join(w, " "))
	}
	return rows, want
}

// TestRoundTrip holds that parquet-go reads what was written: no row, part of a row group, and several.
func TestRoundTrip(t *testing.T) {
	must.Rows(t, `
0     | 0
1     | 1
9     | 1
1000  | 1
32768 | 1
32769 | 2
`, func(n, groups int) {
		rows, want := randomRows(n, rand.New(rand.NewPCG(1, uint64(n))))
		data := write(t, rows)
		got, n := read(t, data)
		if len(got) != len(want) || n != groups {
			t.Fatalf("%d rows in %d groups, want %d in %d", len(got), n, len(want), groups)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("row %d:\n%s\nwant\n%s", i, got[i], want[i])
			}
		}
		if !bytes.Equal(data, write(t, rows)) {
			t.Errorf("%d rows: two files of the same rows differ", len(rows))
		}
	})
}

// TestLongTexts holds that a row group ends early where its texts are long.
func TestLongTexts(t *testing.T) {
	rows, _ := randomRows(40, rand.New(rand.NewPCG(1, 1)))
	for i := range rows {
		rows[i][6] = parquet.OfText(strings.Repeat(fmt.Sprint(i), 1<<20))
	}
	if got, groups := read(t, write(t, rows)); len(got) != len(rows) || groups < 3 {
		t.Errorf("%d rows in %d groups", len(got), groups)
	}
}

func TestSchema(t *testing.T) {
	data := write(t, nil)
	f := must.Get(upstream.OpenFile(bytes.NewReader(data), int64(len(data))))(t)
	const want = `message rows {
	required int64 n (INT(64,true));
	optional int64 maybe (INT(64,true));
	optional double x;
	required boolean yes;
	optional boolean perhaps;
	required binary name (STRING);
	optional binary word (STRING);
	optional binary never (STRING);
	optional int64 at (TIMESTAMP(isAdjustedToUTC=true,unit=MICROS));
	optional int64 usd (DECIMAL(18,9));
}`
	must.Equal(t, f.Schema().String(), want)
	if v, _ := f.Lookup("schema"); v != "ctxkit.rows/v1" {
		t.Errorf("schema %q", v)
	}
}

func FuzzTexts(f *testing.F) {
	f.Add("a", "b\xff", int64(1))
	f.Add("", "\x00", int64(math.MinInt64))
	f.Fuzz(func(t *testing.T, a, b string, n int64) {
		rows, _ := randomRows(3, rand.New(rand.NewPCG(1, 1)))
		rows[0][5], rows[1][5], rows[2][0] = parquet.OfText(a), parquet.OfText(b), parquet.OfInt(n)
		got, _ := read(t, write(t, rows))
		for i, text := range []string{a, b} {
			if want := fmt.Sprintf("%q", strings.ToValidUTF8(text, "\uFFFD")); !strings.Contains(got[i], want) || !utf8.ValidString(got[i]) {
				t.Errorf("%q is read as %s", text, got[i])
			}
		}
	})
}
