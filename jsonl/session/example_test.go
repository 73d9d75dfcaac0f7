package session_test

import (
	"bytes"
	"fmt"
	"log"

	"github.com/ctxkit/ctxkit/jsonl/session"
)

// Read a session: its messages, its requests and what the client recorded about its context.
func ExampleLoad() {
	file, err := session.Load("../../testdata/sessions/compaction.jsonl", session.LoadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	conv := file.Main
	fmt.Printf("%d messages, %d requests, client %s\n", len(conv.Messages), len(conv.Requests), conv.Version)
	for _, b := range conv.Boundaries {
		fmt.Printf("line %d: %s compaction at %d tokens\n", b.Line, b.Trigger, b.PreTokens)
	}
	last := conv.Requests[len(conv.Requests)-1]
	fmt.Printf("the last request had %d tokens in context\n", conv.Messages[last.Message].Usage.Context())
	// Output:
	// 36 messages, 16 requests, client 2.1.50
	// line 32: manual compaction at 33818 tokens
	// the last request had 27404 tokens in context
}

// Write the session of another agent as lines in the form of Claude Code's.
func ExampleFile_WriteLines() {
	file, err := session.Load("../internal/codex/testdata/rollout.jsonl", session.LoadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	var lines bytes.Buffer
	if err := file.WriteLines(&lines); err != nil {
		log.Fatal(err)
	}
	again, err := session.LoadReader("converted", &lines, session.LoadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer again.Close()
	for _, conv := range []*session.Conversation{file.Main, again.Main} {
		fmt.Printf("%s %s: %d messages, %d requests\n", conv.Product, conv.Version, len(conv.Messages), len(conv.Requests))
	}
	// Output:
	// codex 0.142.5: 25 messages, 6 requests
	// codex 0.142.5: 25 messages, 6 requests
}
