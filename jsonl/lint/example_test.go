package lint_test

import (
	"fmt"
	"log"

	"github.com/ctxkit/ctxkit/jsonl/lint"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// List the problems of a session file.
func ExampleFile() {
	found, err := lint.File("../../testdata/sessions/lost.jsonl", session.LoadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range found.Findings {
		fmt.Printf("%s %s, first on line %d\n", f.Severity, f.Code, f.Places[0].Line)
	}
	// Output:
	// warning lost-logical-parent, first on line 22
	// warning unanswered-call, first on line 21
}
