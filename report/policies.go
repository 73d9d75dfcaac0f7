package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
)

// Versions of the JSON forms of what is said of policies.
const (
	PolicyFindingsSchema = "ctxkit.policy-lint/v1"
	PolicyChangesSchema  = "ctxkit.policy-diff/v1"
)

// PolicyFinding is something in a policy that is allowed but hardly meant.
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

// PolicyLintFormats are the formats a lint of policies can be printed in.
var PolicyLintFormats = append(slices.Clone(ListFormats), FormatGitHub)

// PolicyFindings prints what a lint of policies found. What is wrong is told
// as an error elsewhere; the annotations of FormatGitHub have it as well.
func PolicyFindings(w io.Writer, list []PolicyFinding, wrong policy.Errors, opt Options) error {
	if opt.Format == FormatGitHub {
		return policyAnnotations(w, list, wrong)
	}
	l := &listing{
		table: &Table{Columns: []Column{
			{Title: "policy", Max: 28}, {Title: "where", Max: 30}, {Title: "rule"}, {Title: "what is odd, and what to do", Flex: true},
		}},
		columns: []string{"policy", "file", "line", "column", "key", "rule", "message", "hint"},
		json: struct {
			Schema   string          `json:"schema"`
			Findings []PolicyFinding `json:"findings"`
		}{PolicyFindingsSchema, append([]PolicyFinding{}, list...)},
	}
	for _, f := range list {
		where, text := f.Key, f.Message
		if f.Line > 0 { // where another key may stand that causes it
			where, text = fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Column), f.Key+": "+f.Message
		}
		if f.Hint != "" {
			text += ": " + f.Hint
		}
		l.table.Row(f.Policy, where, f.Rule, text)
		l.rows = append(l.rows, []string{f.Policy, f.File, strconv.Itoa(f.Line), strconv.Itoa(f.Column), f.Key, f.Rule, f.Message, f.Hint})
	}
	l.notes = []string{count(len(list), "finding")}
	return l.print(w, opt)
}

// policyAnnotations prints workflow commands. A place in a built-in policy is
// in no file that GitHub could show.
func policyAnnotations(w io.Writer, list []PolicyFinding, wrong policy.Errors) error {
	var b strings.Builder
	annotate := func(severity string, at policy.Position, title, text string) {
		place := ""
		if policy.IsFile(at.File) {
			place = "file=" + githubProperty(at.File) + ","
			if at.Line > 0 {
				place += fmt.Sprintf("line=%d,col=%d,", at.Line, at.Column)
			}
		}
		fmt.Fprintf(&b, "::%s %stitle=%s::%s\n", severity, place, githubProperty(title), githubText(text))
	}
	for _, e := range wrong {
		annotate("error", e.Position, "policy", (&policy.Error{Msg: e.Msg, Hint: e.Hint}).Error())
	}
	for _, f := range list {
		annotate("warning", policy.Position{File: f.File, Line: f.Line, Column: f.Column}, f.Policy+" "+f.Rule,
			(&policy.Error{Msg: f.Key + ": " + f.Message, Hint: f.Hint}).Error())
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
func PolicyChanges(w io.Writer, a, b string, list []PolicyChange, opt Options) error {
	l := &listing{
		table: &Table{Columns: []Column{
			{Title: "key"}, {Title: a, Max: 32}, {Title: b, Flex: true},
		}},
		columns: []string{"key", a, b},
		json: struct {
			Schema  string         `json:"schema"`
			From    string         `json:"from"`
			To      string         `json:"to"`
			Changes []PolicyChange `json:"changes"`
		}{PolicyChangesSchema, a, b, append([]PolicyChange{}, list...)},
	}
	for _, c := range list {
		l.table.Row(c.Key, dash(c.From), dash(c.To))
		l.rows = append(l.rows, []string{c.Key, c.From, c.To})
	}
	l.notes = []string{count(len(list), "difference")}
	return l.print(w, opt)
}

// dash stands for what a policy has not.
func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
