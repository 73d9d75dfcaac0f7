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
	must.Rows(t, `
# cwd | repository | want
/home/ann/work/a    | x/a | /home/ann
/home/ann           | ""  | /home/ann
/Users/bo/b/c       | ""  | /Users/bo
C:\Users\Cy\src     | ""  | C:\Users\Cy
/mnt/c/Users/Cy/src | ""  | /mnt/c/Users/Cy
/root/x             | ""  | /root
/rooted/x           | ""  | /rooted/x
/workspace/x        | o/x | o/x
""                  | ""  | /sessions
`, func(cwd, repository, want string) {
		c := &session.Conversation{CWD: cwd, Repository: repository, Path: "/sessions/s.jsonl"}
		must.Equal(t, authorOf(c), want, cwd, repository)
	})
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
	must.Say(t, "b 2 20 19 15 2", b.Author, b.Sessions, b.Requests, b.Near, b.NaiveNear, b.Kind)
	for _, row := range s.Authors {
		must.Equal(t, slices.ContainsFunc(Failed(row.Fidelity), func(m Bar) bool { return m.Name == "read_within_5" }), row.Author == "a", row.Author)
	}
	must.Say(t, "a 1 7 6", a.Author, a.Sessions, a.Near, a.NaiveNear)
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
	must.Equal(t, sent, []int{100, 120, 130})
}
