package report

import (
	"bytes"
	"io"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/category"
	"github.com/ctxkit/ctxkit/replay/stats"
)

// statsSample is the stats of a conversation with n files, results, turns and repeated texts.
func statsSample(n int) *stats.SessionStats {
	s := sampled[*stats.SessionStats]("stats")
	s.Files, s.Results, s.Turns, s.Repeated = s.Files[:n], s.Results[:n], s.Turns[:n], stats.Repeated{Results: n, Tokens: 700 * n, Groups: s.Repeated.Groups[:n]}
	return s
}

func TestStats(t *testing.T) {
	long, other, empty := statsSample(MostStats+3), statsSample(2), sampled[*stats.SessionStats]("stats-empty")
	other.Session, other.Agent, other.Sent = "s-2", "a1", 3_000_000
	for name, list := range map[string][]*stats.SessionStats{"one": {long}, "several": {long, other, empty}, "empty": {empty}} {
		inFormats(t, "stats", "stats-"+name, ListFormats, func(w io.Writer, f Format) error {
			return Stats(w, list, policy.Use{}, Layout{Format: f, Hints: Hints{All: "--all shows them"}})
		})
	}
}

// TestStatsFit holds that no line is wider than the layout says.
func TestStatsFit(t *testing.T) {
	for _, w := range []int{60, 80, 100, 160} {
		for _, list := range [][]*stats.SessionStats{{statsSample(12)}, {statsSample(3), statsSample(4)}} {
			var b bytes.Buffer
			must.Do(t, Stats(&b, list, policy.Use{}, Layout{Width: w}))
			fits(t, b.String(), w)
		}
	}
}

// TestContentPicture holds that the picture has 10 rows of 10 cells whatever fills the window, and that no two categories
// look alike without colour.
func TestContentPicture(t *testing.T) {
	marks := map[string]category.Name{freeMark: "free"}
	for _, c := range category.All() {
		if was := marks[contentMarks[c]]; was != "" || contentMarks[c] == "" || contentNames[c] == "" {
			t.Errorf("%s looks like %s: %q", c, was, contentMarks[c])
		}
		marks[contentMarks[c]] = c
	}
	for _, window := range []int{0, 1, 90_000, 200_000, 1_000_000} {
		s := statsSample(0)
		s.Window = window
		cells := 0
		for _, l := range contentPicture(newPage(&bytes.Buffer{}, Layout{}), s)[:10] {
			for i, r := range []rune(l) {
				if i%2 == 0 && i < 19 && marks[string(r)] != "" {
					cells++
				}
			}
		}
		must.Equal(t, cells, 100, window)
	}
}
