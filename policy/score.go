package policy

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/session"
)

// Hypothesis reports whether nothing confirms figures with this evidence: t is TruthDescribed.
func (t Truth) Hypothesis() bool { return t == TruthDescribed }

// Score says how well a policy predicts the automatic compactions of recorded sessions. A backtest asks the policy
// before every request, on the recorded view. Compactions that follow a message which is not in the file do not count.
type Score struct {
	Conversations int `json:"conversations"`
	Requests      int `json:"requests"`    // number of decisions
	Recorded      int `json:"recorded"`    // recorded compactions
	Decided       int `json:"decided"`     // of Recorded: predicted at the exact request
	Alarms        int `json:"alarms"`      // decisions to compact where nothing is recorded
	Free          int `json:"free"`        // of Recorded: made at the exact request by a replay that does not follow the recorded compactions
	FreeAlarms    int `json:"free_alarms"` // compactions of that replay where nothing is recorded

	// Prunes is the score for results that the client clears at the end of a turn; nil: none is recorded.
	Prunes *PruneScore `json:"prunes,omitempty"`

	// Fitted is the score for the sessions whose window was derived from their recorded compactions; nil: there are
	// none.
	Fitted *Score `json:"fitted,omitempty"`
}

// PruneScore says how well a policy predicts recorded prunes: clearings of old tool results at the end of a turn.
type PruneScore struct {
	Recorded int `json:"recorded"` // recorded prunes
	Same     int `json:"same"`     // of Recorded: predicted before the same request and for exactly the same results
	Alarms   int `json:"alarms"`   // prunes of the policy where none is recorded
}

// add sums scores up.
func (s *Score) add(o *Score) {
	s.Conversations += o.Conversations
	s.Requests += o.Requests
	s.Recorded += o.Recorded
	s.Decided += o.Decided
	s.Alarms += o.Alarms
	s.Free += o.Free
	s.FreeAlarms += o.FreeAlarms
	if o.Prunes != nil {
		sum := *o.Prunes
		if p := s.Prunes; p != nil {
			sum = PruneScore{sum.Recorded + p.Recorded, sum.Same + p.Same, sum.Alarms + p.Alarms}
		}
		s.Prunes = &sum
	}
	if o.Fitted != nil {
		if s.Fitted == nil {
			s.Fitted = &Score{}
		}
		s.Fitted.add(o.Fitted)
	}
}

// Use is what a policy's name stood for in several sessions, with the evidence.
type Use struct {
	Name   string  `json:"name"`
	Ran    []Ran   `json:"ran,omitempty"`   // policies that a bare name stood for, oldest release first
	Newer  string  `json:"newer,omitempty"` // a note that a release is newer than every examined one, or that a newer one exists; else ""
	Truths []Truth `json:"truth,omitempty"` // evidence for all that ran, sorted
	Score  *Score  `json:"score,omitempty"` // score of all that ran together; nil: none is scored
}

// Ran is a policy that a bare name stood for, and the number of sessions in which it did.
type Ran struct {
	Policy   string `json:"policy"`
	Sessions int    `json:"sessions"`
	Older    int    `json:"older,omitempty"` // of Sessions: sessions older than the release, which is the oldest known of its product
}

// Add adds sessions in which a policy ran.
func (u *Use) Add(ran Ran) {
	i := slices.IndexFunc(u.Ran, func(r Ran) bool { return r.Policy == ran.Policy })
	if i < 0 {
		i = len(u.Ran)
		u.Ran = append(u.Ran, Ran{Policy: ran.Policy})
	}
	u.Ran[i].Sessions += ran.Sessions
	u.Ran[i].Older += ran.Older
}

// Sessions returns the number of sessions in which one of the policies ran.
func (u *Use) Sessions() (n int) {
	for _, r := range u.Ran {
		n += r.Sessions
	}
	return n
}

// Hypothesis reports whether nothing confirms one of the policies (Truth.Hypothesis).
func (u *Use) Hypothesis() bool { return slices.ContainsFunc(u.Truths, Truth.Hypothesis) }

// NewUse returns the Use of a name over sessions. list has the policy of each session.
func NewUse(name string, list []*Policy) Use {
	u := Use{Name: name}
	seen := map[string]bool{}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b *Policy) int { return session.CompareVersions(a.Version, b.Version) })
	for _, p := range list {
		u.Newer = cmp.Or(u.Newer, p.Newer)
		if p.Chosen != p.Newer { // a bare name's
			name := p.Name
			if base, _, ok := strings.Cut(p.Chosen, Extended); ok {
				name = base
			}
			r := Ran{Policy: name, Sessions: 1}
			if p.Older {
				r.Older = 1
			}
			u.Add(r)
		}
		if seen[p.Name] {
			continue
		}
		seen[p.Name] = true
		if p.Truth != "" && !slices.Contains(u.Truths, p.Truth) {
			u.Truths = append(u.Truths, p.Truth)
		}
		if p.Score != nil {
			if u.Score == nil {
				u.Score = &Score{}
			}
			u.Score.add(p.Score)
		}
	}
	slices.Sort(u.Truths)
	return u
}
