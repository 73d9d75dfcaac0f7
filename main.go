// Command ctxkit replays recorded coding-agent sessions through context-compaction policies, offline.
package main

// The stages come first: the other generators, also those of the packages
// below, run their code.
//go:generate go generate ./policy/stage ./replay/price
//go:generate go run ./scripts/genpolicies docs

import (
	"os"

	"github.com/ctxkit/ctxkit/cmd"
)

func main() {
	os.Exit(cmd.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
