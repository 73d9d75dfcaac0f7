package lint

import (
	_ "embed"
	"strings"
)

// Severity is the severity of a problem.
type Severity string

// The severities, worst first.
const (
	Error   Severity = "error"   // part of the transcript is lost or refused
	Warning Severity = "warning" // a replay has to assume something
	Note    Severity = "note"    // normal for the format
)

// LintRule is one kind of problem of a session file; policy.Rule is one of a policy's. A code never changes its
// meaning.
type LintRule struct {
	Code     string
	Severity Severity
	Means    string
	Costs    string // what a replay loses or assumes
}

// rules.tsv has a rule on each line: code, severity, what it means and what it costs.
//
//go:embed rules.tsv
var rules string

// Rules lists all rules, worst severity first.
func Rules() (list []LintRule) {
	for line := range strings.Lines(rules) {
		cells := strings.Split(strings.TrimSpace(line), "	")
		list = append(list, LintRule{cells[0], Severity(cells[1]), cells[2], cells[3]})
	}
	return list
}
