package record

import (
	"cmp"
	"fmt"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// ReplayCounter is what the tokens of a replay are counted by.
type ReplayCounter struct {
	Name    string
	Report  policy.Weigher
	Client  policy.Weigher // of the client's own estimate; nil: the same
	Warning string         // empty: none
}

// contradictory is the part of a request's reported input, in parts of a hundred, by which its lines have to weigh more
// for the usage to contradict the content.
const contradictory = 10

// contradictions counts the requests whose reported input is too small for their content.
func (r *Record) contradictions() (n, first, most int) {
	for k, over := range r.Overhead {
		if msg := r.Conv.Response(k); msg.HasUsage && r.Cal.Recorded && -over*100 > contradictory*msg.Usage.Context() {
			n++
			first = cmp.Or(first, k+1)
			most = max(most, -over)
		}
	}
	return n, first, most
}

// Contradicted reports whether the recorded usage contradicts the content at a request.
func (r *Record) Contradicted() bool {
	n, _, _ := r.contradictions()
	return n > 0
}

// Counter returns the counter of a name of tokens.Names; empty: that of the recorded usage. Where the usage contradicts
// the content of a third of the requests the content is counted in its place: the usage is wrong, and not a drop of the
// context that no line records.
func (r *Record) Counter(name string) (ReplayCounter, error) {
	warning := ""
	if n, first, most := r.contradictions(); (name == "" || name == tokens.NameUsage) && n > 0 && 3*n >= len(r.Overhead) {
		name = tokens.NameO200K
		warning = fmt.Sprintf("the recorded usage contradicts the content at %d of %d requests, at request %d first: the lines weigh up to %s tokens more than it says; tokens are counted by the content, with %s",
			n, len(r.Overhead), first, policy.Thousands(most), name)
	}
	switch name {
	case "", tokens.NameUsage:
		c := ReplayCounter{Name: tokens.NameUsage, Report: r.Cal}
		if !r.Cal.Recorded {
			c.Name, c.Warning = "estimate", fmt.Sprintf("no usage is recorded: tokens are an estimate, those of %s times %g", tokens.NameO200K, r.ratio())
		}
		return c, nil
	case tokens.NameHeuristic:
		return ReplayCounter{Name: name, Report: r.Cal.Heuristic(), Client: r.Cal}, nil
	}
	if err := tokens.CheckName(name); err != nil {
		return ReplayCounter{}, err
	}
	table, err := r.Encoded(name)
	return ReplayCounter{Name: name, Report: table, Client: r.Cal, Warning: warning}, err
}
