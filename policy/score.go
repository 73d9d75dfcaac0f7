package policy

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/session"
)

// Hypothesis reports whether the evidence is TruthDescribed, which nothing else confirms.
func (t Truth) Hypothesis() bool { return t == TruthDescribed }

// Score says how well a policy predicts the automatic compactions of recorded sessions. A backtest asks the policy for
// a decision before every request, on the recorded view. Compactions directly after a message that is not in the file
// do not count.
type Score struct {
	Conversations int `json:"conversations"`
	Requests      int `json:"requests"`    // number of requests, each with one decision
	Recorded      int `json:"recorded"`    // number of recorded compactions
	Decided       int `json:"decided"`     // part of Recorded: the policy decided to compact before the same request
	Alarms        int `json:"alarms"`      // number of decisions to compact where no compaction is recorded
	Free          int `json:"free"`        // part of Recorded: a replay, which ignores the recorded compactions, compacts before the same request
	FreeAlarms    int `json:"free_alarms"` // number of compactions of that replay where no compaction is recorded

	// Prunes is the score for recorded prunes; nil: no prune is recorded.
	Prunes *PruneScore `json:"prunes,omitempty"`

	// Fitted is the score for those sessions whose window was derived from their recorded compactions; nil: there are
	// none.
	Fitted *Score `json:"fitted,omitempty"`
}

// PruneScore says how well a policy predicts recorded prunes.
type PruneScore struct {
	Recorded int `json:"recorded"` // number of recorded prunes
	Same     int `json:"same"`     // part of Recorded: the policy prunes exactly the same results before the same request
	Alarms   int `json:"alarms"`   // number of prunes of the policy where no prune is recorded
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

// Use says which policies a name stood for in several sessions, with the evidence for these policies.
type Use struct {
	Name   string  `json:"name"`
	Ran    []Ran   `json:"ran,omitempty"`   // the policies, if the name is a bare name; oldest release first
	Newer  string  `json:"newer,omitempty"` // a note that the recording release is newer than every examined one, or that a newer policy of the product exists; else ""
	Truths []Truth `json:"truth,omitempty"` // evidence for all policies that ran, sorted
	Score  *Score  `json:"score,omitempty"` // sum of the scores of all policies that ran; nil: none of them has a score
}

// Ran is a policy that a bare name stood for, and the number of sessions in which the name stood for it.
type Ran struct {
	Policy   string `json:"policy"`
	Sessions int    `json:"sessions"`
	Older    int    `json:"older,omitempty"` // part of Sessions: sessions older than every known release; the policy is that of the oldest one
}

// Add adds a number of sessions in which a policy ran.
func (u *Use) Add(ran Ran) {
	i := slices.IndexFunc(u.Ran, func(r Ran) bool { return r.Policy == ran.Policy })
	if i < 0 {
		i = len(u.Ran)
		u.Ran = append(u.Ran, Ran{Policy: ran.Policy})
	}
	u.Ran[i].Sessions += ran.Sessions
	u.Ran[i].Older += ran.Older
}

// Sessions returns the number of sessions in which any of the policies ran.
func (u *Use) Sessions() (n int) {
	for _, r := range u.Ran {
		n += r.Sessions
	}
	return n
}

// Hypothesis reports whether Truth.Hypothesis is true for at least one of the policies.
func (u *Use) Hypothesis() bool { return slices.ContainsFunc(u.Truths, Truth.Hypothesis) }

// NewUse returns the Use of a name in several sessions. list has the policy that ran in each session.
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
