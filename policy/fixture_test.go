package policy

import (
	"fmt"
	"testing"
	"time"
)

// The stages of these tests have the names and parameters of real ones but do
// nothing.

type kinds struct {
	Switch  bool           `yaml:"switch" doc:"a bool"`
	Count   int            `yaml:"count" doc:"an int" unit:"results" min:"1" max:"9"`
	Free    int            `yaml:"free" doc:"an int without limits"`
	Auto    int            `yaml:"auto" doc:"an int with a word for 0" min:"0" zero:"auto"`
	Share   float64        `yaml:"share" doc:"a float" min:"0" max:"1"`
	Style   string         `yaml:"style" doc:"a word" enum:"human,chars"`
	Note    string         `yaml:"note" doc:"any text"`
	Gap     time.Duration  `yaml:"gap" doc:"a duration" min:"1s" max:"24h"`
	Tools   []string       `yaml:"tools" doc:"a list"`
	Modes   []string       `yaml:"modes" doc:"a list of words" enum:"a,b,c"`
	PerTool map[string]int `yaml:"per_tool" doc:"a map" unit:"characters"`
	Limit   *int           `yaml:"limit" doc:"an int or none" min:"0"`
	Turns   *int           `yaml:"turns" doc:"an int or all" min:"1" none:"all"`
	Summary SummaryChoices `yaml:"summary" doc:"choices"`
	When    Trigger        `yaml:"when" doc:"a trigger"`
	Least   *Trigger       `yaml:"least" doc:"a trigger or none"`
}

func defineKinds() Definition {
	return testStage("kinds", &kinds{
		Switch: true, Count: 3, Auto: 0, Share: 0.5, Style: "human", Gap: time.Hour,
		Tools: []string{"Read", "Bash"}, PerTool: map[string]int{"Grep": 20000, "Read": -1},
		Summary: SummaryChoices{{Kind: SummaryRecorded}, {SummaryFixed, 5000}},
		When:    Trigger{TriggerInputTokens, 100000},
	})
}

func testStage(name string, params any) Definition {
	return Definition{
		Name: name, Summary: "Does nothing.", Source: "these tests", Truth: TruthDescribed, Moments: Prepare,
		Params: params, New: func(any) (Stage, error) { return nil, nil },
	}
}

type budgetParams struct {
	MaxChars     int `yaml:"max_chars" doc:"most" min:"1"`
	PreviewChars int `yaml:"preview_chars" doc:"shown" min:"0"`
}

type microParams struct {
	Target     int  `yaml:"target" doc:"left" unit:"tokens" min:"0"`
	MinSavings int  `yaml:"min_savings" doc:"saved" unit:"tokens" min:"0"`
	Manual     bool `yaml:"manual" doc:"no gates"`
}

type timeParams struct {
	Gap time.Duration `yaml:"gap" doc:"pause" min:"0s"`
}

type cachedParams struct {
	Trigger int `yaml:"trigger" doc:"at" min:"1"`
	Keep    int `yaml:"keep" doc:"to" min:"0"`
}

type collapseParams struct {
	StageAt  int `yaml:"stage_at" doc:"a" min:"0" zero:"auto"`
	CommitAt int `yaml:"commit_at" doc:"b" min:"0" zero:"auto"`
	Target   int `yaml:"target" doc:"c" min:"0" zero:"auto"`
}

type compactParams struct {
	Enabled bool           `yaml:"enabled" doc:"on"`
	Summary SummaryChoices `yaml:"summary" doc:"from"`
}

type memoryParams struct {
	MinTokens int `yaml:"min_tokens" doc:"least" min:"0"`
	MaxTokens int `yaml:"max_tokens" doc:"most" min:"0"`
}

type clearParams struct {
	Trigger Trigger `yaml:"trigger" doc:"when"`
	Keep    int     `yaml:"keep" doc:"left" min:"0"`
	AtLeast *int    `yaml:"clear_at_least" doc:"least" min:"0"`
}

type autoParams struct {
	Auto bool `yaml:"auto" doc:"on"`
}

type thresholdParams struct {
	Threshold int `yaml:"threshold" doc:"at" min:"0"`
}

// pickyParams are refused together although each is fine by itself.
type pickyParams struct {
	Low  int `yaml:"low" doc:"at most high" min:"0"`
	High int `yaml:"high" doc:"at least low" min:"0"`
}

func testDefinitions() []Definition {
	choices := SummaryChoices{{Kind: SummaryRecorded}, {SummaryFixed, 5000}}
	picky := testStage("picky", &pickyParams{1, 2})
	picky.New = func(p any) (Stage, error) {
		if q := p.(*pickyParams); q.Low > q.High {
			return nil, &Error{Msg: fmt.Sprintf("low %d is over high %d", q.Low, q.High), Hint: "swap them"}
		}
		return nil, nil
	}
	return []Definition{
		defineKinds(), picky,
		testStage("bare", nil),
		testStage("tool_result_budget", &budgetParams{50000, 2000}),
		testStage("snip", nil),
		testStage("microcompact_size", &microParams{40000, 20000, false}),
		testStage("microcompact_time", &timeParams{time.Hour}),
		testStage("microcompact_cached", &cachedParams{12, 5}),
		testStage("context_collapse", &collapseParams{120000, 150000, 100000}),
		testStage("session_memory", &memoryParams{10000, 40000}),
		testStage("autocompact", &compactParams{true, choices}),
		testStage("post_compact", nil),
		testStage("clear_tool_uses", &clearParams{Trigger{TriggerInputTokens, 100000}, 3, nil}),
		testStage("clear_thinking", nil),
		testStage("opencode_compaction", &autoParams{true}),
		testStage("three_layer_auto", &thresholdParams{50000}),
	}
}

func testRegistry(t testing.TB) Registry {
	t.Helper()
	r, err := NewRegistry(Family{Name: "test", Stages: testDefinitions()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// library resolves names to texts.
func library(texts map[string]string) Resolve {
	return func(name string) ([]byte, string, error) {
		s, ok := texts[name]
		if !ok {
			return nil, "", fmt.Errorf("unknown policy %q: use a known one", name)
		}
		return []byte(s), name, nil
	}
}

// mustDecode decodes a policy that is fine.
func mustDecode(t testing.TB, name, text string, resolve Resolve) *Policy {
	t.Helper()
	p, err := Decode(name, []byte(text), testRegistry(t), resolve)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
