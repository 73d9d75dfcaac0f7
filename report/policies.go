package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
)

// Versions of the JSON forms of lists of policies, of what is questionable in them and of how two differ.
const (
	PoliciesSchema       = "ctxkit.policies/v1"
	PolicyFindingsSchema = "ctxkit.policy-lint/v1"
	PolicyChangesSchema  = "ctxkit.policy-diff/v1"
)

// PolicyInfo is one policy of the catalogue.
type PolicyInfo struct {
	Name    string   `json:"name"`
	Aliases []string `json:"aliases"`
	About   string   `json:"about"`
	Source  string   `json:"source"`
	Date    string   `json:"date"`
	Truth   string   `json:"truth"`
	Stages  []string `json:"stages"`
}

// Policies prints the catalogue of policies.
func Policies(w io.Writer, list []PolicyInfo, opt Layout) error {
	t := newTable([]column{{Title: "policy", Key: "policy"}}, keys("aliases about source"),
		[]column{{Title: "date", Key: "date"}, {Title: "truth", Key: "truth"}, {Key: "stages"}, {Title: "what it does, and its source", Flex: true}})
	for _, p := range list {
		about := strings.TrimSuffix(p.About, ".") + ". Source: " + p.Source + before(". Also called ", strings.Join(p.Aliases, ", "))
		t.add(none, p.Name, strings.Join(p.Aliases, " "), p.About, p.Source, p.Date, p.Truth, strings.Join(p.Stages, " "), about)
	}
	return listing(t, object{{"schema", PoliciesSchema}, {"policies", list}}).print(w, opt)
}

// PolicyFinding is a setting of a policy that is valid and probably a mistake.
type PolicyFinding struct {
	Policy  string `json:"policy"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Key     string `json:"key"`
	Rule    string `json:"rule"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// PolicyFindings prints the findings of a lint of policies. Only FormatGitHub prints wrong, the errors of policies
// that cannot be read.
func PolicyFindings(w io.Writer, list []PolicyFinding, wrong policy.Errors, opt Layout) error {
	t := newTable([]column{{Title: "policy", Key: "policy", Max: 28}, {Title: "where", Max: 30}}, keys("file line column key"),
		[]column{{Title: "rule", Key: "rule"}, {Key: "message"}, {Key: "hint"}, {Title: "what is odd, and what to do", Flex: true}})
	for _, f := range list {
		where, text := f.Key, f.Message
		if f.Line > 0 { // the key may be another than the one at this place
			where, text = fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Column), f.Key+": "+f.Message
		}
		t.add(none, f.Policy, where, f.File, f.Line, f.Column, f.Key, f.Rule, f.Message, f.Hint, text+before(": ", f.Hint))
	}
	d := listing(t, object{{"schema", PolicyFindingsSchema}, {"findings", list}}, count(len(list), "finding"))
	d.other = map[Format]func(io.Writer) error{FormatGitHub: func(w io.Writer) error { return policyAnnotations(w, list, wrong) }}
	return d.print(w, opt)
}

// policyAnnotations prints workflow commands. A finding in a built-in policy has no file that GitHub could show.
func policyAnnotations(w io.Writer, list []PolicyFinding, wrong policy.Errors) error {
	var b strings.Builder
	annotate := func(severity string, at policy.Position, title string, text policy.Error) {
		if !policy.IsFile(at.File) {
			at.File = ""
		}
		githubCommand(&b, severity, at.File, at.Line, at.Column, title, githubText(text.Error()))
	}
	for _, e := range wrong {
		annotate("error", e.Position, "policy", policy.Error{Msg: e.Msg, Hint: e.Hint})
	}
	for _, f := range list {
		annotate("warning", policy.Position{File: f.File, Line: f.Line, Column: f.Column}, f.Policy+" "+f.Rule,
			policy.Error{Msg: f.Key + ": " + f.Message, Hint: f.Hint})
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// PolicyChange is one key in which two policies differ.
type PolicyChange struct {
	Key  string `json:"key"`
	From string `json:"from"`
	To   string `json:"to"`
}

// PolicyChanges prints how policy b differs from policy a.
func PolicyChanges(w io.Writer, a, b string, list []PolicyChange, opt Layout) error {
	t := newTable([]column{{Title: "key", Key: "key"}, {Title: a, Key: a, Max: 32}, {Title: b, Key: b, Flex: true}})
	for _, c := range list {
		t.add(none, c.Key, orDash(c.From), orDash(c.To))
	}
	json := object{{"schema", PolicyChangesSchema}, {"from", a}, {"to", b}, {"changes", list}}
	return listing(t, json, count(len(list), "difference")).print(w, opt)
}
