package report

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
)

func TestRanText(t *testing.T) {
	ran := func(name, version, why string, older bool) *policy.Policy {
		return (&policy.Policy{Name: name}).As(version, why, "", older)
	}
	first, older, next := ran("p-1", "1", "of its time", false), ran("p-1", "1", "the oldest", true), ran("p-2", "2", "of its time", false)
	for want, list := range map[string][]*policy.Policy{
		"": {ran("p-1", "1", "", false)},
		"p was taken as p-1, by the client and date of the session":                                                               {first},
		"p was taken as p-1, the oldest known release: the session is older":                                                      {older},
		"p was taken as p-1 in 3 sessions (2 older than any release known here), p-2 in 1, by the client and date of the session": {next, older, first, older},
		"p was taken as p-1 in 1 session, p-2 in 1, by the client and date of the session":                                        {next, first},
	} {
		use := policy.NewUse("p", list)
		must.Equal(t, RanText(&use, true), want)
	}
	five := policy.NewUse("p", []*policy.Policy{first, first, next, ran("p-3", "3", "of its time", false), ran("p-4", "4", "of its time", false), ran("p-5", "5", "of its time", false)})
	if got, want := RanText(&five, false), "p was taken as p-1 in 2 sessions, p-2 in 1, p-3 in 1, and 2 more releases, by the client and date of the session"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
