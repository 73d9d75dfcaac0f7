// Command ctxkit replays recorded coding-agent sessions through context-compaction policies, offline.
package main

// The stages come first: the other generators, also those of the packages
// below, run their code.
//go:generate go generate ./policy/stage
//go:generate go run ./scripts/genpolicies docs

import (
	"os"
	"runtime/debug"

	"github.com/ctxkit/ctxkit/cmd"
)

// gcPercent keeps the peak memory of a long session down, for some percent of processor time. GOGC overrides it.
const gcPercent = 70

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	os.Exit(cmd.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
