package backtest

import (
	"slices"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay"
)

// TestAuthorOf: sessions of one home folder are one author's, whatever the project.
func TestAuthorOf(t *testing.T) {
	for _, tt := range []struct{ cwd, repository, want string }{
		{"/home/ann/work/a", "x/a", "/home/ann"},
		{"/home/ann", "", "/home/ann"},
		{"/Users/bo/b/c", "", "/Users/bo"},
		{`C:\Users\Cy\src`, "", `C:\Users\Cy`},
		{"/mnt/c/Users/Cy/src", "", "/mnt/c/Users/Cy"},
		{"/root/x", "", "/root"},
		{"/rooted/x", "", "/rooted/x"},
		{"/workspace/x", "o/x", "o/x"},
		{"", "", "/sessions"},
	} {
		c := &session.Conversation{CWD: tt.cwd, Repository: tt.repository, Path: "/sessions/s.jsonl"}
		if got := authorOf(c); got != tt.want {
			t.Errorf("%q, %q: %q, want %q", tt.cwd, tt.repository, got, tt.want)
		}
	}
}

// TestByAuthor: each author's sessions are summed up, the author of most sessions first.
func TestByAuthor(t *testing.T) {
	one := func(author string, near, naive int) *SessionScore {
		return &SessionScore{Author: author, Usage: UsageScore{Requests: 10, Near: near, NaiveNear: naive, Broken: 2, Kind: 1}}
	}
	s := Sum("p", []*SessionScore{one("b", 9, 8), one("a", 7, 6), one("b", 10, 7), {Author: "none"}})
	s.SetLeast(10)
	must.Do(t, s.SetBar("read_within_5", 86))
	s.ByAuthor()
	if len(s.Authors) != 2 {
		t.Fatalf("%+v", s.Authors)
	}
	b, a := s.Authors[0], s.Authors[1]
	if b.Author != "b" || b.Sessions != 2 || b.Requests != 20 || b.Near != 19 || b.NaiveNear != 15 || b.Kind != 2 {
		t.Errorf("%+v", b)
	}
	for _, row := range s.Authors {
		if failed := Failed(row.Fidelity); slices.ContainsFunc(failed, func(m Bar) bool { return m.Name == "read_within_5" }) != (row.Author == "a") {
			t.Errorf("%s fails %+v", row.Author, failed)
		}
	}
	if a.Author != "a" || a.Sessions != 1 || a.Near != 7 || a.NaiveNear != 6 {
		t.Errorf("%+v", a)
	}
}

// TestNaive: a cache that never misses has all that was read and written, or all that was sent where no write is recorded.
func TestNaive(t *testing.T) {
	row := func(read, write, input int) replay.Request {
		return replay.Request{Kind: "main", Recorded: &replay.Usage{CacheRead: read, CacheWrite: write, Input: input}}
	}
	track := &replay.Timeline{Requests: []replay.Request{row(0, 100, 4), row(100, 20, 4), row(0, 0, 130), row(128, 0, 10)}}
	var sent []int
	for p := range CachePoints(track) {
		sent = append(sent, p.Sent)
	}
	if !slices.Equal(sent, []int{100, 120, 130}) {
		t.Error(sent)
	}
}
