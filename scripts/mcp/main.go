// Command ctxkit-mcp answers an agent's questions about recorded sessions over the Model Context Protocol, on standard
// input and output. README.md describes its five tools.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ctxkit/ctxkit/cmd"
)

func main() { os.Exit(serve()) }

// serve answers a client until it ends the input, and returns the exit code.
func serve() int {
	if len(os.Args) > 1 {
		fmt.Fprintln(os.Stderr, "ctxkit-mcp: takes no argument: an MCP client starts it and writes to its standard input; see scripts/mcp/README.md")
		return 2
	}
	protocol := os.Stdout
	os.Stdout = os.Stderr // standard output carries the protocol alone
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	answers := &lockedWriter{WriteCloser: protocol}
	err := newServer().Run(ctx, &mcp.IOTransport{Reader: validLines(os.Stdin, answers), Writer: answers})
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "ctxkit-mcp:", err)
		return 1
	}
	return 0
}

// instructions is what a client tells its model of the server.
const instructions = `ctxkit reads recorded sessions of coding agents and replays them through context-management policies, offline. ` +
	`Ask sessions first where no session is named; "last" is the one used last, often the one that asks. ` +
	`A replay is off-policy: it cannot say what would have been answered with less context, so promise no saving, and repeat how sure a result says it is. ` +
	quotedText

// newServer is the server with its tools.
func newServer() *mcp.Server {
	s := mcp.NewServer(
		&mcp.Implementation{Name: "ctxkit", Title: "ctxkit", Version: cmd.Commands().Version},
		&mcp.ServerOptions{Instructions: instructions, Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}},
	)
	addTools(s)
	return s
}
