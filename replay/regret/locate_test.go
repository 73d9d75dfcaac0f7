package regret

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// TestHoldAgain: of blocks with one text the first holds what is read again, and none from its last use on.
func TestHoldAgain(t *testing.T) {
	n := sought{at: 5}
	for _, c := range [][2]int{{1, 1}, {1, 1}, {1, 2}, {3, 3}, {5, 5}, {6, 6}} {
		must.Equal(t, n.holdAgain(c[0], c[1]), c[1] < n.at, n.at)
	}
	must.Equal(t, n.holders, []int{1, 3})
}

// TestNotices: no notice of a file that has not changed is passed over.
func TestNotices(t *testing.T) {
	for _, raw := range []string{
		`"` + session.UnchangedFile + `. The content"`, `"Wasted call — file unchanged since your last Read."`, `"\u0046ile unchanged since last read"`, `["array"]`,
	} {
		if !mayBeNotice([]byte(raw)) {
			t.Errorf("%s is no notice", raw)
		}
	}
	for _, raw := range []string{`"     1→package a"`, `""`} {
		if mayBeNotice([]byte(raw)) {
			t.Errorf("%s may be a notice", raw)
		}
	}
}
