package compare

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/replay"
)

// alike is a session in which all policies have the same figures but for some.
func alike(input string, different map[string]float64, apart ...int) Session {
	s := sessionOf("s", "m", "v", 1, 10, 10)
	for name, x := range different {
		s.Values[1][index(name)] = x
	}
	s.Input, s.Apart = input, apart
	return s
}

func TestDiffer(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name     string
		sessions []Session
		session  int
		figure   string
		commands string
	}{
		{"nothing", []Session{alike("a.jsonl", nil, 0, 0)}, -1, "", ""},
		{"sent", []Session{alike("a.jsonl", map[string]float64{"cost_usd": 99}, 0, 3), alike("b.jsonl", map[string]float64{"payload_input": 11}, 0, 7)}, 1, "payload_input",
			"ctxkit diff b.jsonl --policy q,x.y=1 --against p --at 7"},
		{"sent in calls of its own alone", []Session{alike("a.jsonl", map[string]float64{"payload_input": 11}, 0, 0)}, 0, "payload_input",
			"ctxkit cost a.jsonl --policy p; ctxkit cost a.jsonl --policy q,x.y=1"},
		{"cost", []Session{alike("a.jsonl", map[string]float64{"cost_usd": 9, "misses": 1}, 0, 0), alike("b.jsonl", map[string]float64{"cost_usd": nan}, 0, 0)}, 0, "cost_usd",
			"ctxkit cost a.jsonl --policy p; ctxkit cost a.jsonl --policy q,x.y=1"},
		{"misses", []Session{alike("-a.jsonl", map[string]float64{"misses": 4}, 0, 0)}, 0, "misses",
			"ctxkit regret ./-a.jsonl --policy p; ctxkit regret ./-a.jsonl --policy q,x.y=1"},
		{"events", []Session{alike("a.jsonl", map[string]float64{"events": 4}, 0, 0)}, 0, "events",
			"ctxkit replay a.jsonl --policy p; ctxkit replay a.jsonl --policy q,x.y=1"},
		{"standard input", []Session{alike("-", map[string]float64{"payload_input": 4}, 0, 1)}, 0, "payload_input", ""},
	} {
		got := Compare([]string{"p", "q,x.y=1"}, c.sessions, ByNothing)[0]
		var commands []string
		for _, command := range got.Commands() {
			commands = append(commands, strings.Join(command.Words(), " "))
		}
		if text := strings.Join(commands, "; "); got.Differ != c.session || got.DifferFigure != c.figure || text != c.commands {
			t.Errorf("%s: session %d by %q: %s; want %d by %q: %s", c.name, got.Differ, got.DifferFigure, text, c.session, c.figure, c.commands)
		}
	}
}

func TestFlagWords(t *testing.T) {
	f := Flags{Agent: "a5", Leaf: "u", Tokens: "heuristic", Model: "m", Window: "20000", Overhead: "1000", Snip: []string{"a@1", "b@2"}, Env: true}
	want := "--agent a5 --leaf u --tokens heuristic --model m --window 20000 --overhead 1000 --snip a@1 --snip b@2 --env"
	if got := strings.Join(f.Words(), " "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := (&Flags{}).Words(); len(got) != 0 {
		t.Errorf("defaults are written: %q", got)
	}
}

func TestApart(t *testing.T) {
	sent := func(model int, payload ...int) *replay.Timeline {
		tl := &replay.Timeline{Requests: []replay.Request{{Kind: "compaction", Payload: 7}}}
		for _, n := range payload {
			tl.Requests = append(tl.Requests, replay.Request{Kind: "main", Payload: n, Tokens: model})
		}
		return tl
	}
	for _, c := range []struct {
		a, b *replay.Timeline
		want int
	}{
		{sent(1, 10, 20, 30), sent(1, 10, 20, 30), 0},
		{sent(1, 10, 20, 30), sent(1, 11, 15, 30), 2},
		{sent(1, 10, 20, 30), sent(1, 10, 25, 24), 3},
		{sent(1, 10, 20, 30), sent(2, 10, 20, 30), 1},
	} {
		if got := Apart(c.a, c.b); got != c.want {
			t.Errorf("most apart at request %d, want %d", got, c.want)
		}
	}
}

func TestUnpricedModels(t *testing.T) {
	list := []Session{{Session: "1", File: "a"}, {Session: "2", File: "b", Unpriced: []string{"z", "c"}}, {Session: "3", Agent: "x", File: "b", Unpriced: []string{"z"}}}
	want := []Unpriced{{"c", 1, Source{Session: "2", File: "b"}}, {"z", 2, Source{Session: "2", File: "b"}}}
	if got := UnpricedModels(list); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
