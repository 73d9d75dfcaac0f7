// Command ctxkit replays recorded coding-agent sessions through
// context-compaction policies, offline.
package main

import (
	"os"
	"runtime/debug"

	"github.com/ctxkit/ctxkit/cmd"
)

// gcPercent keeps the peak of a long session's memory down, for some percent of
// processor time. GOGC, where it is set, has its way.
const gcPercent = 70

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	os.Exit(cmd.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
