package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

// inside is ctxkit in the newest Claude Code: its status line on the screen, its plugin's hook at /compact and the tools
// of its MCP server. $PLUGIN is the folder of the plugin.
var inside = scenario{
	name: "inside", about: "terminal: ctxkit's status line, its plugin's hook at /compact, two tools of its MCP server",
	window: 200000,
	files: map[string]string{
		"$WORK/.claude/settings.json": `{"statusLine":{"type":"command","command":"ctxkit statusline"}}`,
		"$HOME/mcp.json":              `{"mcpServers":{"ctxkit":{"type":"stdio","command":"ctxkit-mcp","args":[]}}}`,
	},
	args: []string{"--allowedTools", "Bash,Read,mcp__ctxkit", "--plugin-dir", "$PLUGIN", "--mcp-config", "$HOME/mcp.json"},
	scripts: map[string]string{
		"t1": `read a.txt || sh cat b.txt #1 || say one`,
		"t2": `mcp__ctxkit__stats {"session":"last"} || mcp__ctxkit__why {"session":"last","policy":"claude-code"} || say two`,
		"t3": `sh cat .claude/compactions/* || say three`,
	},
	typed: []string{
		"> go @@t1@@ please", `see context \d+K of 200K, [\d.]+ % \| compacts in \d+K tokens \| cache read [\d.]+ %, lives until \d\d:\d\d`,
		"> go @@t2@@ please", "sleep 2s", "type /compact keep the file names", "asked 1", "quiet 4s", "> go @@t3@@ please",
	},
}

// insideWants are texts that requests of the scenario have to hold: of the two tools, and of the note that the hook
// wrote before the compaction.
var insideWants = []string{`> - **policy**: recorded`, "> Under claude-code-", `\n## the context at request`}

// insideCommand plays inside and says what is missing: exit code 1.
func insideCommand(args []string) (int, error) {
	flags := flag.NewFlagSet("inside", flag.ExitOnError)
	programs := flags.String("programs", "", "folder of the programs ctxkit and ctxkit-mcp")
	plugin := flags.String("plugin", "", "folder of the plugin")
	_ = flags.Parse(args)
	if *programs == "" || *plugin == "" {
		return 2, errors.New("inside takes -programs and -plugin")
	}
	for _, path := range []*string{programs, plugin} {
		full, err := filepath.Abs(*path)
		if err != nil {
			return 2, err
		}
		*path = full
	}
	if err := os.Setenv("PATH", *programs+string(os.PathListSeparator)+os.Getenv("PATH")); err != nil {
		return 2, err
	}
	client := clientNamed("claude")
	version := client.pins[len(client.pins)-1]
	if err := install(client.pkg, version); err != nil {
		return 2, err
	}
	out, err := os.MkdirTemp("", "ctxkit-inside-")
	if err != nil {
		return 2, err
	}
	defer os.RemoveAll(out)
	s := inside
	s.args = append([]string(nil), s.args...)
	for i := range s.args {
		if s.args[i] == "$PLUGIN" {
			s.args[i] = *plugin
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	problems, err := play(ctx, client, version, &s, out, true, patience)
	if err != nil {
		return 2, err
	}
	requests, err := os.ReadFile(filepath.Join(out, "requests.ndjson"))
	if err != nil {
		return 2, err
	}
	for _, want := range insideWants {
		if !bytes.Contains(requests, []byte(want)) {
			problems = append(problems, fmt.Sprintf("no request holds %q", want))
		}
	}
	for _, problem := range problems {
		fmt.Println("inside:", problem)
	}
	if len(problems) > 0 {
		return 1, nil
	}
	fmt.Printf("inside: %s %s shows the status line, calls two tools, and the hook has written its note\n", client.label, version)
	return 0, nil
}
