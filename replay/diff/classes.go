package diff

import (
	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// ResultClass says what a policy may still do to a tool result at a request.
type ResultClass string

// The classes. A result that was sent before, that nothing replaces and that no stage froze, has none.
const (
	Fresh       ResultClass = "fresh"        // first sent with this request: it is decided on now
	FrozenAsIs  ResultClass = "frozen"       // sent before as it is: a stage that keeps to that never touches it
	MustReapply ResultClass = "must_reapply" // replaced before: the same replacement is sent again
)

// Classed is a tool result with its class.
type Classed struct {
	Target policy.Target
	Class  ResultClass
	Stage  string // that keeps to its decision; empty: the result is fresh
}

// Classes lists the tool results of a view that is sent at main request n under a policy, in order, each with its
// class. It reads how the policy's stages keep to their decisions: see [policy.Memory].
func Classes(v *view.View, pol *policy.Policy, n int) []Classed {
	memory := map[string]policy.Memory{}
	frozenBy := ""
	for i := range pol.Stages {
		d := &pol.Stages[i].Definition
		if memory[d.Name] = d.Memory; d.Memory == policy.Frozen {
			frozenBy = d.Name
		}
	}
	replaced := map[policy.Target]string{}
	for _, e := range v.Edits() {
		m, known := memory[e.Stage]
		if e.New == nil || e.Kind == policy.KindTag || e.Kind.PayloadOnly() || !known {
			continue
		}
		delete(replaced, e.Target)
		if e.Request > 0 && e.Request < n && m != policy.Stateless {
			replaced[e.Target] = e.Stage
		}
	}
	var list []Classed
	for id := range v.Items {
		if id < 0 {
			continue
		}
		fresh := int(id) >= sentBefore(v, n)
		for t := range policy.Targets(v, id) {
			if v.Kind(t) != jsonl.KindToolResult {
				continue
			}
			switch stage := replaced[t]; {
			case fresh:
				list = append(list, Classed{Target: t, Class: Fresh})
			case stage != "":
				list = append(list, Classed{t, MustReapply, stage})
			case frozenBy != "" && v.Replacement(t) == nil:
				list = append(list, Classed{t, FrozenAsIs, frozenBy})
			}
		}
	}
	return list
}

// sentBefore is how many messages of the conversation were there at the request before main request n.
func sentBefore(v *view.View, n int) int {
	requests := v.Conversation().Requests
	if n < 2 || len(requests) == 0 {
		return 0
	}
	return requests[min(n-1, len(requests))-1].Message
}
