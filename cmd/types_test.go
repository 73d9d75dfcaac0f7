package cmd

import (
	"go/ast"
	"slices"
	"testing"
)

// sharedTypes are the exported type names that several packages have, each with the reason.
var sharedTypes = map[string]string{
	"Attachment": "foreign's is written, claude's is decoded",
	"Call":       "policy's is a request that a policy asks for, price's one that was billed",
	"Block":      "foreign's is written, session's is read",
	"Message":    "foreign's is written, session's is read",
	"RunTotals":  "foreign's is written, session's is read",
	"Usage":      "foreign's is written, jsonl's is read, the accounts' is a row's",
	"Client":     "bill's is what a client says that it was billed, preset's who recorded a session",
	"Entry":      "bill's is a line of a ledger, jsonl's of a file",
	"Kind":       "bill's is of a call, jsonl's of a block",
	"Ledger":     "bill's is of responses, stats' of blocks",
	"Plan":       "summarize's is of a compaction, sweep's of replays",
	"Part":       "bill's is of an amount, jsonl's of a result",
	"Row":        "database's is read, diff's is shown",
	"Unpriced":   "bill's is of calls, compare's of sessions",
	"Error":      "policy's are aliases of strict's",
	"Errors":     "policy's are aliases of strict's",
	"Param":      "policy's are aliases of strict's",
	"Position":   "policy's are aliases of strict's",
	"Record":     "replay's is for callers, the internal record's for the engine",
	"View":       "policy.View is the interface that policy/view.View implements",
	"Window":     "policy.Window is the block window of every policy, claude.Window what Claude Code adds to it",
}

// TestTypeNames holds that an exported type name is one package's, or that its reason is given. The aliases of replay are
// the names of its internal types for callers.
func TestTypeNames(t *testing.T) {
	_, byDir := sources(t)
	in := map[string][]string{}
	for dir, files := range byDir {
		for _, f := range files {
			for _, decl := range f.Decls {
				d, ok := decl.(*ast.GenDecl)
				if !ok {
					continue
				}
				for _, s := range d.Specs {
					if ts, ok := s.(*ast.TypeSpec); ok && ts.Name.IsExported() && !(dir == "replay" && ts.Assign.IsValid()) {
						in[ts.Name.Name] = append(in[ts.Name.Name], dir)
					}
				}
			}
		}
	}
	for name, dirs := range in {
		if slices.Sort(dirs); len(dirs) > 1 && sharedTypes[name] == "" {
			t.Errorf("%s is a type of %v: rename one, or say why", name, dirs)
		}
	}
	for name := range sharedTypes {
		if len(in[name]) < 2 {
			t.Errorf("%s is a type of %v only: no reason is needed", name, in[name])
		}
	}
}
