package parquet_test

import (
	"io"
	"math"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/report/parquet"
)

var columns = []parquet.Column{
	{Name: "n", Kind: parquet.Int}, {Name: "maybe", Kind: parquet.Int, Optional: true}, {Name: "x", Kind: parquet.Double, Optional: true},
	{Name: "yes", Kind: parquet.Bool}, {Name: "perhaps", Kind: parquet.Bool, Optional: true}, {Name: "name", Kind: parquet.Text},
	{Name: "word", Kind: parquet.Text, Optional: true}, {Name: "never", Kind: parquet.Text, Optional: true},
	{Name: "at", Kind: parquet.Time, Optional: true}, {Name: "usd", Kind: parquet.Decimal, Places: 9, Optional: true},
}

func TestRefusedRows(t *testing.T) {
	w := must.Get(parquet.NewWriter(io.Discard, "rows", "v1", columns))(t)
	if err := w.Write(make([]parquet.Cell, len(columns))); err == nil || err.Error() != "column n: null" {
		t.Errorf("a null: %v", err)
	}
	if err := w.Write(nil); err == nil || err.Error() != "a row of 0 values for 10 columns" {
		t.Errorf("no value: %v", err)
	}
	for n, want := range map[int64]bool{0: true, 1e18 - 1: true, 1e18: false, -1e18: false, 1 - 1e18: true, math.MinInt64: false} {
		if _, ok := parquet.OfDecimal(n); ok != want {
			t.Errorf("%d: %v", n, ok)
		}
	}
}
