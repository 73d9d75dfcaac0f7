package cache

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// TestMarkers: each marker of the table has a source and counts that agree, and one that misses less often than not is none.
func TestMarkers(t *testing.T) {
	kinds := must.Get(DefaultKinds())(t)
	for _, m := range kinds.Markers {
		if m.Source == "" || m.Misses > m.Requests || m.Authors > m.Requests || kinds.Marker(m.Client, m.Cause) == nil {
			t.Errorf("%+v", m)
		}
	}
	k := KindTable{Markers: []Marker{{Cause: SkillRan, Client: "a", Requests: 5, Misses: 2}, {Cause: EffortSet, Client: "a", Requests: 4, Misses: 2}}}
	if k.Marker("a", SkillRan) != nil || k.Marker("a", EffortSet) == nil || k.Marker("b", EffortSet) != nil {
		t.Error("the marker of another client, or a rare one")
	}
}
