package compare

import (
	"math"
	"reflect"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay"
)

// alike is a session in which all policies have the same figures but for some.
func alike(input string, different map[string]float64, apart ...int) ComparedSession {
	s := sessionOf("s", "m", "v", 1, 10, 10)
	for name, x := range different {
		s.Values[1][index(name)] = decimal(x)
	}
	s.Input, s.Apart = input, apart
	return s
}

// both is evidence in one report for each policy.
func both(show Show, file string) []Pointer {
	return []Pointer{{Show: show, File: file, Policy: "p"}, {Show: show, File: file, Policy: "q,x.y=1"}}
}

func TestDiffer(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name     string
		sessions []ComparedSession
		session  int
		figure   string
		evidence []Pointer
	}{
		{"nothing", []ComparedSession{alike("a.jsonl", nil, 0, 0)}, -1, "", nil},
		{"sent", []ComparedSession{alike("a.jsonl", map[string]float64{"cost_usd": 99}, 0, 3), alike("b.jsonl", map[string]float64{"payload_input": 11}, 0, 7)}, 1, "payload_input",
			[]Pointer{{Show: ShowDiff, File: "b.jsonl", Policy: "q,x.y=1", Against: "p", At: "7"}}},
		{"sent in calls of its own alone", []ComparedSession{alike("a.jsonl", map[string]float64{"payload_input": 11}, 0, 0)}, 0, "payload_input",
			both(ShowCost, "a.jsonl")},
		{"cost", []ComparedSession{alike("a.jsonl", map[string]float64{"cost_usd": 9, "misses": 1}, 0, 0), alike("b.jsonl", map[string]float64{"cost_usd": nan}, 0, 0)}, 0, "cost_usd",
			both(ShowCost, "a.jsonl")},
		{"misses", []ComparedSession{alike("-a.jsonl", map[string]float64{"misses": 4}, 0, 0)}, 0, "misses",
			both(ShowRegret, "-a.jsonl")},
		{"events", []ComparedSession{alike("a.jsonl", map[string]float64{"events": 4}, 0, 0)}, 0, "events",
			both(ShowReplay, "a.jsonl")},
		{"standard input", []ComparedSession{alike("-", map[string]float64{"payload_input": 4}, 0, 1)}, 0, "payload_input", nil},
	} {
		got := Compare([]string{"p", "q,x.y=1"}, c.sessions, ByNothing)[0]
		if e := got.Evidence(); got.Differ != c.session || got.DifferFigure != c.figure || !reflect.DeepEqual(e, c.evidence) {
			t.Errorf("%s: session %d by %q: %+v; want %d by %q: %+v", c.name, got.Differ, got.DifferFigure, e, c.session, c.figure, c.evidence)
		}
	}
}

func TestApart(t *testing.T) {
	sent := func(model int, payload ...int) *replay.Timeline {
		tl := &replay.Timeline{Requests: []replay.Request{{Kind: "compaction", Payload: 7}}}
		for i, n := range payload {
			tl.Requests = append(tl.Requests, replay.Request{N: i + 1, Kind: "main", Payload: n, Tokens: model})
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
		must.Equal(t, Apart(c.a, c.b), c.want)
	}
}

func TestUnpricedModels(t *testing.T) {
	list := []ComparedSession{{Origin: Origin{Session: "1", File: "a"}}, {Origin: Origin{Session: "2", File: "b"}, Unpriced: []string{"z", "c"}}, {Origin: Origin{Session: "3", Agent: "x", File: "b"}, Unpriced: []string{"z"}}}
	want := []Unpriced{{"c", 1, Origin{Session: "2", File: "b"}}, {"z", 2, Origin{Session: "2", File: "b"}}}
	must.Equal(t, UnpricedModels(list), want)
}
