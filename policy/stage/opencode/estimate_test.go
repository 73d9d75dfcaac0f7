package opencode_test

import (
	"testing"

	"github.com/ctxkit/ctxkit/policy/stage/opencode"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

func TestEstimate(t *testing.T) {
	for n, want := range map[int]int{
		-1: 0, 0: 0, 1: 0, 2: 1, 3: 1, 4: 1, 5: 1, 6: 2, 9: 2, 10: 3,
		79997: 19999, 79998: 20000, 80001: 20000, 80002: 20001, 160001: 40000, 160002: 40001,
	} {
		stagetest.Same(t, want, opencode.Estimate(n), n)
	}
}

func TestUTF16Len(t *testing.T) {
	for s, want := range map[string]int{
		"": 0, "abc": 3, "é": 1, "e\u0301": 2, "漢字": 2, "\uFFFD": 1, "\uFFFF": 1,
		"\U00010000": 2, "😀": 2, "🇫🇷": 4, "👨\u200d👩\u200d👧\u200d👦": 11, "a\xffb": 3,
	} {
		stagetest.Same(t, want, opencode.UTF16Len(s), s)
	}
}
