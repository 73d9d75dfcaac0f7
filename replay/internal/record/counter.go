package record

import (
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

// Counter returns the counter of a name of tokens.Names; empty: that of the recorded usage.
func (r *Record) Counter(name string) (ReplayCounter, error) {
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
	return ReplayCounter{Name: name, Report: table, Client: r.Cal}, err
}
