package wire_test

import (
	"fmt"
	"log"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/wire"
)

// Read what a request sends under a policy, and write it as a session that the agent goes on from.
func ExampleRequestBody() {
	file, err := session.Load("../../testdata/sessions/big.jsonl", session.LoadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	registry, err := stage.Registry()
	if err != nil {
		log.Fatal(err)
	}
	pol, err := preset.Load("opencode-1.1.36", registry)
	if err != nil {
		log.Fatal(err)
	}
	record, err := replay.NewRecord(file.Main)
	if err != nil {
		log.Fatal(err)
	}
	const request = 140
	view, err := record.ViewAt(pol, replay.Options{}, request)
	if err != nil {
		log.Fatal(err)
	}
	body, err := wire.RequestBody(view, pol)
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range body.Messages[:3] {
		for _, b := range m.Blocks {
			fmt.Printf("%s %s, %d bytes\n", m.Role, b.Type, len(b.JSON))
		}
	}
	next, err := wire.Session(view, wire.SessionFileOptions{Policy: pol.Name, Request: request})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d lines for %s.jsonl\n", len(next.Lines), next.ID)
	// Output:
	// user text, 175 bytes
	// user text, 47 bytes
	// assistant text, 9779 bytes
	// user text, 56 bytes
	// 28 lines for 83efc8ae-d0ca-46db-b58e-1fda16370c0d.jsonl
}
