package backtest

import (
	"cmp"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/session"
)

// AuthorRow is the usage in the sessions of one author.
type AuthorRow struct {
	Author   string `json:"author"`
	Sessions int    `json:"sessions"` // with at least one scored request
	UsageScore
	CostError CostError `json:"input_cost_error"`
	Fidelity  []Bar     `json:"fidelity"` // of the author's sessions, by the bars of all
}

// ByAuthor adds the rows of the authors, most sessions first. They are judged by the bars that are set.
func (r *Scores) ByAuthor() {
	of := map[string][]*SessionScore{}
	for _, s := range r.Sessions {
		of[s.Author] = append(of[s.Author], s)
	}
	for author, list := range of {
		own := Sum(r.Policy, list)
		u := &own.Usage[0]
		if u.Sessions == 0 {
			continue
		}
		for i, m := range r.Fidelity {
			own.Fidelity[i].Bar = m.Bar
			own.Fidelity[i].Least = m.Least
			own.Fidelity[i].judge()
		}
		r.Authors = append(r.Authors, AuthorRow{author, u.Sessions, u.UsageScore, u.CostError, own.Fidelity})
	}
	slices.SortFunc(r.Authors, func(a, b AuthorRow) int {
		return cmp.Or(b.Sessions-a.Sessions, cmp.Compare(a.Author, b.Author))
	})
}

// homeFolder is the home folder at the start of a path, of Linux, macOS or Windows; "" where there is none.
func homeFolder(path string) string {
	return regexp.MustCompile(`^(?:/root\b|(?:/home/|/Users/|(?:/mnt)?/[a-z]/Users/|[A-Za-z]:[/\\]Users[/\\])[^/\\]+)`).FindString(path)
}

// authorOf tells apart who recorded sessions: by the home folder of the working folder, and where there is none, by the
// repository or the working folder itself.
func authorOf(conv *session.Conversation) string {
	return cmp.Or(homeFolder(conv.CWD), conv.Repository, conv.CWD, filepath.Dir(conv.Path))
}
