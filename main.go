// Command ctxkit replays recorded coding-agent sessions through
// context-compaction policies, offline.
package main

import (
	"os"

	"github.com/ctxkit/ctxkit/cmd"
)

func main() {
	os.Exit(cmd.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
