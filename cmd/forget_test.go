package cmd

import (
	"io"
	"runtime"
	"strings"
	"testing"
	"weak"
)

// TestRunKeepsNothing: what a command line has read is not kept for as long as the process lives.
func TestRunKeepsNothing(t *testing.T) {
	const session = "../testdata/sessions/big.jsonl"
	for _, args := range [][]string{
		{"replay", session, "-p", "opencode"}, {"compare", session, "-p", "none", "-p", "opencode"}, {"view", session, "--at", "last"},
		{"stats", session}, {"policy", "list"}, {"--help"}, {"nosuch"},
	} {
		r := begin(args, strings.NewReader(""), io.Discard, io.Discard)
		<-r.done
		r.end()
		kept := weak.Make(r.sys)
		r = nil
		for range 3 {
			runtime.GC()
		}
		if kept.Value() != nil {
			t.Errorf("%q: it is still in memory", args)
		}
	}
}
