package lint_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/lint"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// Counts of findings that are a line set aside, by the reason loading gives.
var asides = map[string]session.Reason{
	"malformed-line": session.AsideMalformed, "no-message": session.AsideNoMessage, "duplicate-uuid": session.AsideDuplicate,
	"abandoned-branch": session.AsideBranch, "api-error": session.AsideAPIError, "unused-record": session.AsideRecord,
	"blank-line": session.AsideBlank, "comment-line": session.AsideComment,
}

// balanced holds what was found against what loading has counted.
func balanced(t *testing.T, r *lint.Problems) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, f := range r.Findings {
		counts[f.Code] = f.Count
		if f.Count != len(f.Places)+f.LeftOut || f.Count == 0 {
			t.Errorf("%s: %s counts %d places of %d", r.File, f.Code, f.Count, len(f.Places))
		}
		for i, p := range f.Places {
			if p.Message == "" || i > 0 && p.Line < f.Places[i-1].Line {
				t.Errorf("%s: %s: place %d is %+v", r.File, f.Code, i, p)
			}
		}
	}
	for code, reason := range asides {
		same(t, r.Lines.SetAside[reason], counts[code], r.File, code)
	}
	same(t, r.Lines.Fused, counts["fused-lines"], r.File)
	if !r.Lines.Balanced() {
		t.Errorf("%s: the accounting does not add up: %+v", r.File, r.Lines)
	}
	return counts
}

// TestCorpus looks through every real session.
func TestCorpus(t *testing.T) {
	dir := os.Getenv("CTXKIT_CORPUS")
	if dir == "" {
		t.Skip("CTXKIT_CORPUS names no folder of real sessions")
	}
	var files []string
	for _, pattern := range []string{"*.jsonl", "*.jsonl.gz", "*.jsonl.zst", "*/*.jsonl", "*/*/subagents/*.jsonl"} {
		found := must.Get(filepath.Glob(filepath.Join(dir, pattern)))(t)
		files = append(files, found...)
	}
	if len(files) == 0 {
		t.Fatalf("no session files under %s", dir)
	}
	total, in := map[string]int{}, map[string]int{}
	for _, path := range files {
		r := must.Get(lint.File(path, session.LoadOptions{Jobs: 2}))(t)
		for code, n := range balanced(t, r) {
			total[code] += n
			in[code]++
		}
		if n := r.Count(lint.Error); n > 0 {
			t.Logf("%s: %d errors", filepath.Base(path), n)
		}
	}
	for _, rule := range lint.Rules() {
		if total[rule.Code] > 0 {
			t.Logf("%-8s %-20s %6d in %d of %d files", rule.Severity, rule.Code, total[rule.Code], in[rule.Code], len(files))
		}
	}
}
