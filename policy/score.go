package policy

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/session"
)

// Hypothesis reports whether nothing confirms figures with this evidence: one analysis describes them.
func (t Truth) Hypothesis() bool { return t == TruthDescribed }

// Score is how well a policy predicts the automatic compactions of recorded sessions, of which a backtest decides
// each on the recorded view before its request. Compactions whose last message is not in the file do not count.
type Score struct {
	Conversations int `json:"conversations"`
	Requests      int `json:"requests"`    // each one a decision
	Recorded      int `json:"recorded"`    // compactions
	Decided       int `json:"decided"`     // at the exact request
	Alarms        int `json:"alarms"`      // decisions to compact where nothing is recorded
	Free          int `json:"free"`        // at the exact request of a replay without the recorded session's compactions
	FreeAlarms    int `json:"free_alarms"` // compactions of such a replay where nothing is recorded

	// Prunes is the same for results that the client clears where a turn ends; nil: none is recorded.
	Prunes *PruneScore `json:"prunes,omitempty"`

	// Fitted is the same for the sessions whose window is fitted to their recorded compactions; nil: there is none.
	Fitted *Score `json:"fitted,omitempty"`
}

// PruneScore is how well a policy predicts recorded prunes.
type PruneScore struct {
	Recorded int `json:"recorded"`
	Same     int `json:"same"`   // of them: before the same request, and of exactly the same results
	Alarms   int `json:"alarms"` // by the policy alone
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

// Use is what a policy's name meant over sessions, and what stands behind it.
type Use struct {
	Name   string  `json:"name"`
	Ran    []Ran   `json:"ran,omitempty"`   // releases that a bare name meant, oldest first
	Newer  string  `json:"newer,omitempty"` // that a release is newer than those that were read, or that there is a newer one
	Truths []Truth `json:"truth,omitempty"` // of all that ran, sorted
	Score  *Score  `json:"score,omitempty"` // of all that ran together; nil: none is scored
}

// Ran is a policy that a bare name meant, and in how many sessions.
type Ran struct {
	Policy   string `json:"policy"`
	Sessions int    `json:"sessions"`
	Older    int    `json:"older,omitempty"` // of Sessions: those older than the release, the oldest known of its product
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

// Sessions is the number of sessions in which one of the policies ran.
func (u *Use) Sessions() (n int) {
	for _, r := range u.Ran {
		n += r.Sessions
	}
	return n
}

// Hypothesis reports whether nothing confirms one of the policies.
func (u *Use) Hypothesis() bool { return slices.ContainsFunc(u.Truths, Truth.Hypothesis) }

// NewUse says what a name meant over sessions: list has the policy of each.
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
