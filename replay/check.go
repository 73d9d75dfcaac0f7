package replay

import (
	"fmt"

	"github.com/ctxkit/ctxkit/policy"
)

// maxViolations is how many violations are told one by one.
const maxViolations = 20

// check holds the view of request k (0-based) against the API's rules, where
// the policy has just changed it and at the last request: in between it only
// grows by what was recorded. A violation is told once, with its request.
func (e *engine) check(k int) {
	changed := k == len(e.conv.Requests)-1
	var stages string
	for _, n := range e.pending {
		if ev := &e.events[n]; !ev.Kind.KeepsView() {
			changed = true
			stages = ev.Stage
		}
	}
	if !changed {
		return
	}
	if e.violations == nil {
		e.violations = map[string]bool{}
	}
	for _, v := range policy.CheckAPI(e.view) {
		key := fmt.Sprintf("%d %s", v.Item, v.Message)
		if e.violations[key] {
			continue
		}
		e.violations[key] = true
		if len(e.violations) > maxViolations {
			continue
		}
		line, by := 0, ""
		if m := e.view.Message(v.Item); m != nil {
			line = int(m.Line)
		}
		if stages != "" {
			by = ", after " + stages
		}
		e.warn(line, "request %d%s: the payload breaks a rule of the API: %s", k+1, by, v.Message)
	}
}
