package opencode_test

import (
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/policy/stage/opencode"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

func TestTruncateLimits(t *testing.T) {
	lines := func(n int) string { return strings.TrimSuffix(strings.Repeat("x\n", n), "\n") }
	for _, test := range []struct {
		about   string
		text    string
		cut     bool
		removed int
		unit    string
	}{
		{"empty", "", false, 0, ""},
		{"1,999 lines", lines(1999), false, 0, ""},
		{"2,000 lines", lines(2000), false, 0, ""},
		{"2,001 lines", lines(2001), true, 1, "lines"},
		{"2,000 lines and a line end", lines(2000) + "\n", true, 1, "lines"},
		{"51,199 bytes", strings.Repeat("x", 51199), false, 0, ""},
		{"51,200 bytes", strings.Repeat("x", 51200), false, 0, ""},
		{"51,201 bytes", strings.Repeat("x", 51201), true, 51201, "bytes"},
		{"51,200 bytes in two lines", strings.Repeat("x", 51198) + "\nx", false, 0, ""},
		{"51,201 bytes in two lines", strings.Repeat("x", 51198) + "\nxx", true, 3, "bytes"},
		{"25,600 characters of two bytes", strings.Repeat("é", 25600), false, 0, ""},
		{"25,601 characters of two bytes", strings.Repeat("é", 25601), true, 51202, "bytes"},
		{"2,001 lines, of which 2,000 fit exactly", strings.Repeat("x", 51200-2*1999) + strings.Repeat("\nx", 1999) + "\ny", true, 1, "lines"},
		{"both limits, bytes first", strings.Repeat(strings.Repeat("x", 99)+"\n", 2001), true, 2001*100 - 51199, "bytes"},
	} {
		got := opencode.Truncate(test.text, opencode.DefaultTruncateLimits(), opencode.TruncateOptions{Path: "/out"})
		if got.Cut != test.cut || got.Removed != test.removed || got.Unit != test.unit {
			t.Errorf("%s: cut %t, %d %s; want %t, %d %s", test.about, got.Cut, got.Removed, got.Unit, test.cut, test.removed, test.unit)
		}
		if !got.Cut && got.Content != test.text {
			t.Errorf("%s: the content changed", test.about)
		}
	}
}

func TestTruncateText(t *testing.T) {
	const hint = "The tool call succeeded but the output was truncated. Full output saved to: /out\n"
	limits := opencode.TruncateLimits{MaxLines: 2, MaxBytes: 100}
	for _, test := range []struct {
		options opencode.TruncateOptions
		want    string
	}{
		{opencode.TruncateOptions{Path: "/out"}, "a\nb\n\n...1 lines truncated...\n\n" + hint + opencode.TruncatedAdvice},
		{opencode.TruncateOptions{Path: "/out", Task: true}, "a\nb\n\n...1 lines truncated...\n\n" + hint + opencode.TruncatedTaskAdvice},
		{opencode.TruncateOptions{Path: "/out", Tail: true}, "...1 lines truncated...\n\n" + hint + opencode.TruncatedAdvice + "\n\nb\nc"},
	} {
		stagetest.Same(t, test.want, opencode.Truncate("a\nb\nc", limits, test.options).Content, test.options)
	}
}

func TestConfiguredTruncateLimits(t *testing.T) {
	cfg := opencode.Config{ToolOutput: opencode.ToolOutputConfig{MaxLines: pointer(10)}}
	for _, v := range opencode.Versions() {
		want := opencode.TruncateLimits{MaxLines: 10, MaxBytes: 51200}
		if v.Name == "pinned" {
			want.MaxLines = 2000
		}
		stagetest.Same(t, want, v.TruncateLimits(cfg), v.Name)
	}
}
