// Command ctxkit replays recorded coding-agent sessions through context-compaction policies, offline.
package main

// The stages come first: the other generators, also those of the packages
// below, run their code.
//go:generate go generate ./policy/stage ./replay/price
//go:generate go run ./scripts/genpolicies docs

import (
	"os"
	"runtime"

	"github.com/ctxkit/ctxkit/cmd"
)

func main() {
	ballast := make([]byte, 48<<20) // never touched: without it the collector runs too often for the bars in docs/performance.md
	code := cmd.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	runtime.KeepAlive(ballast)
	os.Exit(code)
}
