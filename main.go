// Command ctxkit replays recorded coding-agent sessions through context-compaction policies, offline.
package main

//go:generate go run ./scripts/genpolicies docs

import (
	"os"
	"runtime"
	"runtime/debug"

	"github.com/ctxkit/ctxkit/cmd"
)

func main() {
	debug.SetGCPercent(25)          // else a session of 200 MB takes too much memory (bar in docs/performance.md)
	ballast := make([]byte, 48<<20) // never touched: without it the collector runs too often for the times there
	code := cmd.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	runtime.KeepAlive(ballast)
	os.Exit(code)
}
