package names_test

import (
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/names"
)

func TestEach(t *testing.T) {
	long := strings.Repeat("a", names.Max-1)
	for _, tt := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"the conversation is about something", nil},
		{"read internal/stock/ledger_test.go, then", []string{"internal/stock/ledger_test.go", "ledger_test.go"}},
		{"a.b/c.d/e.f", []string{"a.b/c.d/e.f"}},
		{"parseHeader parse_header ParseHTTPs", []string{"parseHeader", "parse_header", "ParseHTTPs"}},
		{"query.ts", nil},                      // 8 bytes
		{"querier.ts", []string{"querier.ts"}}, // 10
		{"querie.ts", nil},                     // 9
		{"2026-01-25 1234567890", nil},         // no letter
		{"toolu_01ABC. (toolu_01ABC)", []string{"toolu_01ABC", "toolu_01ABC"}},
		{"./--querier.ts--/.", []string{"querier.ts"}},
		{long + "1", []string{long + "1"}},
		{long + "12", nil},
	} {
		var got []string
		names.Each(tt.text, func(w string) { got = append(got, w) })
		must.Equal(t, got, tt.want, tt.text)
	}
	if names.Hash("a") == names.Hash("b") || names.Hash("") != 14695981039346656037 {
		t.Error("Hash")
	}
}
