package replay_test

import (
	"fmt"
	"log"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/price"
)

// Load a session, replay it under a built-in policy and read the totals.
func ExampleRun() {
	file, err := session.Load("../testdata/sessions/big.jsonl", session.LoadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	registry, err := stage.Registry()
	if err != nil {
		log.Fatal(err)
	}
	opencode, err := preset.Load("opencode-1.1.36", registry)
	if err != nil {
		log.Fatal(err)
	}
	timeline, err := replay.Run(file.Main, opencode, replay.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d requests, peak %d of %d tokens\n",
		timeline.Totals.Requests, timeline.Totals.ModelPeak, timeline.Totals.RawPeak)
	for _, e := range timeline.Events {
		if e.Request != nil {
			fmt.Printf("request %d: %s %s saves %d tokens\n", *e.Request, e.Stage, e.Kind, e.Saved)
		}
	}
	// Output:
	// 298 requests, peak 168915 of 334281 tokens
	// request 132: opencode_compaction summarize saves 148553 tokens
	// request 254: opencode_prune clear saves 38908 tokens
}

// KeepNewest are the parameters of the stage keep_newest. The tags are its documentation: lint, changes of a value and the schema
// read them.
type KeepNewest struct {
	Keep int `yaml:"keep" doc:"the newest tool results that stay" unit:"results" min:"0"`
}

// keepNewest clears every tool result but the newest ones.
type keepNewest struct{ KeepNewest }

func defineKeepNewest() policy.Definition {
	return policy.Definition{
		Name:    "keep_newest",
		Summary: "Before a request every tool result but the newest ones is cleared.",
		Moments: policy.Prepare,
		Params:  &KeepNewest{Keep: 5},
		New: func(params any) (policy.Stage, error) {
			return &keepNewest{*params.(*KeepNewest)}, nil
		},
	}
}

// Run returns the edits. It changes nothing itself.
func (s *keepNewest) Run(c *policy.Context) ([]policy.Edit, error) {
	results := c.View.Results()
	placeholder := policy.NewContent(jsonl.KindToolResult, "[cleared]")
	var edits []policy.Edit
	for _, r := range results[:max(0, len(results)-s.Keep)] {
		if r.State == policy.ResultLive {
			edits = append(edits, policy.Edit{
				Kind: policy.KindClear, Target: r.Target, New: &placeholder,
				Reason: fmt.Sprintf("more than %d results", s.Keep),
			})
		}
	}
	return edits, nil
}

// Write a stage, register it beside the built-in ones, and name it in a policy.
func ExampleRun_stage() {
	mine := policy.Family{Name: "mine", Title: "My agent", Stages: []policy.Definition{defineKeepNewest()}}
	registry, err := policy.NewRegistry(append(stage.Families(), mine)...)
	if err != nil {
		log.Fatal(err)
	}
	text := []byte("stages: [keep_newest: {keep: 20}]")
	pol, err := policy.Decode("keep.yaml", text, registry, preset.Resolve(registry))
	if err != nil {
		log.Fatal(err)
	}
	file, err := session.Load("../testdata/sessions/big.jsonl", session.LoadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	timeline, err := replay.Run(file.Main, pol, replay.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %d results cleared, peak %d tokens\n",
		timeline.Policy, timeline.Totals.Cleared, timeline.Totals.ModelPeak)
	// Output:
	// keep: 376 results cleared, peak 84274 tokens
}

// Cost of a session: what the API reported, and what a policy would have cost.
func ExampleRun_billed() {
	file, err := session.Load("../testdata/sessions/big.jsonl", session.LoadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	table := price.Default()
	billed := bill.Of(file.Main, table)
	fmt.Printf("billed: %s USD for %d requests\n", billed.CostUSD.Decimal().Text(2), billed.Requests)
	registry, err := stage.Registry()
	if err != nil {
		log.Fatal(err)
	}
	none, err := preset.Load("none", registry)
	if err != nil {
		log.Fatal(err)
	}
	timeline, err := replay.Run(file.Main, none, replay.Options{Cache: replay.CacheEqual})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("without any compaction: %s USD\n", timeline.Totals.CostUSD.Decimal().Text(2))
	// Output:
	// billed: 18.84 USD for 298 requests
	// without any compaction: 32.01 USD
}
