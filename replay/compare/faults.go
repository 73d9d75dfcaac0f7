package compare

import (
	"fmt"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
)

// FaultCount is what went wrong in a replay, counted by one of its figures. A policy without faults has its requests
// answered as it means them.
type FaultCount struct {
	Figure string
	N      int
}

// Faults lists the faults of a replay, in the order of FaultNames.
func Faults(t *replay.Timeline) (list []FaultCount) {
	n := map[string]int{
		"refused": t.Totals.Refused, "violations": t.Totals.Violations, "preserved_thinking": t.Totals.Preserved,
		"thrash": t.Totals.Thrash, "failed_compactions": t.Totals.Failed,
	}
	for _, name := range FaultNames() {
		if n[name] > 0 {
			list = append(list, FaultCount{name, n[name]})
		}
	}
	return list
}

// FaultNames lists the figures that count faults.
func FaultNames() []string {
	return []string{"refused", "violations", "preserved_thinking", "thrash", "failed_compactions"}
}

// String is the fault in words, with its figure.
func (f FaultCount) String() string {
	texts := map[string][2]string{
		"refused":            {"request over the window, or blocked", "requests over the window, or blocked"},
		"violations":         {"broken rule of the API", "broken rules of the API"},
		"preserved_thinking": {"edit before thinking that the model preserves", "edits before thinking that the model preserves"},
		"thrash":             {"compaction that freed less than a tenth", "compactions that freed less than a tenth"},
		"failed_compactions": {"failed compaction", "failed compactions"},
	}
	text := texts[f.Figure][1]
	if f.N == 1 {
		text = texts[f.Figure][0]
	}
	return fmt.Sprintf("%s %s (%s)", policy.Thousands(f.N), text, f.Figure)
}
