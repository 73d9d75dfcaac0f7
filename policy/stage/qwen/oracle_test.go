package qwen

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

// oracleCase is a case that the product's own code has answered: scripts/oracle/qwen/cases.mjs.
type oracleCase struct {
	Version    string
	Seed       int
	Window     int
	Threshold  float64
	History    []stagetest.OracleContent
	Pending    stagetest.OracleContent
	Manual     bool
	Shared     bool // the provider has a prompt cache
	Failures   int
	Summary    stagetest.OracleText
	Prompt     int
	Output     int
	Thresholds [][3]float64 // window, automatic, forced

	Clearing bool
	Minutes  int      // since the last response
	Cleared  [][2]int // content and part

	Status string
	Kept   int
	Bridge bool
}

func TestOracle(t *testing.T) {
	o := stagetest.LoadCases[stagetest.Oracle[oracleCase]](t, filepath.Join("testdata", "cases.json"))
	seen := map[string]int{}
	for i := range o.Cases {
		c := &o.Cases[i]
		p := stagetest.Preset(t, Family(), preset.Load, "qwen-code@"+c.Version)
		params := p.Stages[len(p.Stages)-1].Params
		for _, want := range c.Thresholds {
			auto, hard := params.(*QwenCompaction).thresholds(int(want[0]))
			must.Equal(t, [3]float64{want[0], auto, hard}, want, "thresholds: -upstream +got")
		}
		if c.Thresholds != nil {
			continue
		}
		if c.Clearing {
			seen[fmt.Sprintf("clearing %v", len(c.Cleared) > 0)]++
			testOracleClearing(t, o, c, p.Stages[0].Params)
			continue
		}
		seen[c.Version+" "+c.Status]++
		testOracleCase(t, o, c, params)
	}
	t.Log(seen)
	for _, what := range []string{
		"0.0.14 COMPRESSED", "0.0.14 NOOP", "0.0.14 COMPRESSION_FAILED_INFLATED_TOKEN_COUNT",
		"0.12.0 COMPRESSED", "0.12.0 NOOP", "0.12.0 COMPRESSION_FAILED_INFLATED_TOKEN_COUNT",
		"0.15.10 COMPRESSED", "0.15.10 NOOP", "0.15.10 COMPRESSION_FAILED_INFLATED_TOKEN_COUNT",
		"0.24.4 COMPRESSED", "0.24.4 NOOP", "0.24.4 COMPRESSION_FAILED_INFLATED_TOKEN_COUNT",
		"0.24.4 COMPRESSION_FAILED_OUTPUT_TRUNCATED", "0.24.4 COMPRESSION_FAILED_API_ERROR", "0.24.4 STOPPED",
		"clearing true", "clearing false",
	} {
		if seen[what] == 0 {
			t.Errorf("no case of %s", what)
		}
	}
}

// oracleStage is the stage of a case, as its parameters and earlier failures make it.
func oracleStage(c *oracleCase, params any, failure []policy.Edit) stagetest.Named {
	switch p := params.(type) {
	case *QwenCompression:
		if c.Threshold > 0 {
			p.Threshold = c.Threshold
		}
		p.Prompt = 1000 // as the cases have it
		s := &qwenCompression{QwenCompression: *p}
		if s.breaker.Most = 1; c.Failures > 0 {
			s.breaker.Note(failure)
		}
		return stagetest.Named{Def: defineQwenCompression(), Stage: s}
	case *QwenCompaction:
		if !c.Shared {
			p.Prefix = "own"
		}
		p.Prompt = 1500 // as the cases have it
		s := &qwenCompaction{QwenCompaction: *p}
		s.breaker.Most, s.rescues.Most = p.Failures, p.Failures
		for range c.Failures {
			s.breaker.Note(failure)
		}
		return stagetest.Named{Def: defineQwenCompaction(), Stage: s}
	}
	return stagetest.Named{}
}

func testOracleCase(t *testing.T, o *stagetest.Oracle[oracleCase], c *oracleCase, params any) {
	t.Helper()
	conv := stagetest.NewConvo()
	o.Add(t, conv, c.History)
	n := len(conv.Messages)
	open := false
	for _, b := range conv.Messages[n-1].Blocks {
		open = open || b.Kind == jsonl.KindToolUse
	}
	switch {
	case c.Pending != nil:
		o.Add(t, conv, []stagetest.OracleContent{c.Pending})
	case c.Manual:
	case open:
		var answers []stagetest.BlockText
		for _, b := range conv.Messages[n-1].Blocks {
			if b.Kind == jsonl.KindToolUse {
				answers = append(answers, stagetest.Result(b.ID, "x"))
			}
		}
		conv.Answers(answers...)
	default:
		conv.Prompt("next")
	}
	said := o.Text(c.Summary)
	if c.Version == "0.24.4" {
		said = "<state_snapshot>" + said + "</state_snapshot>"
	}
	summary := policy.NewContent(jsonl.KindText, said)
	r := stagetest.NewRun(t, conv, oracleStage(c, params, []policy.Edit{{}}))
	r.Window, r.Record.Content = c.Window, &summary
	r.Join()
	r.Last = policy.Response{Known: true, Usage: jsonl.Usage{Input: c.Prompt, Output: c.Output}}
	moment := policy.Prepare
	if c.Manual {
		moment = policy.Manual
	}
	conv.Boundaries = append(conv.Boundaries, stagetest.BoundaryAt(1))
	conv.Boundaries[0].Request, conv.Boundaries[0].Before = len(conv.Requests)+9, len(conv.Messages)
	r.Fire(moment, len(conv.Requests), policy.Context{})

	status, kept, bridged := "NOOP", 0, false
	for _, e := range r.View.Edits() {
		switch {
		case e.Kind == policy.KindSummarize:
			status, kept, bridged = "COMPRESSED", len(e.Keep)-(len(conv.Messages)-n), len(e.Insert) > 2
		case strings.Contains(e.Reason, "does not fit"):
			status = "THROWN"
			if c.Version == "0.24.4" {
				status = "COMPRESSION_FAILED_API_ERROR"
			}
		case strings.Contains(e.Reason, "would have been larger"):
			status = "COMPRESSION_FAILED_INFLATED_TOKEN_COUNT"
		case strings.Contains(e.Reason, "limit of"):
			status = "COMPRESSION_FAILED_OUTPUT_TRUNCATED"
		case strings.Contains(e.Reason, "would still have been too large"):
			status = "STOPPED"
		}
	}
	if c.Version == "0.0.14" && c.Status == "COMPRESSED" && c.Kept == 0 && open { // upstream leaves results without their calls
		c.Kept = 1
	}
	must.Equal(t, []any{status, kept, bridged}, []any{c.Status, c.Kept, c.Bridge}, c.Version, c.Seed)
}

func testOracleClearing(t *testing.T, o *stagetest.Oracle[oracleCase], c *oracleCase, params any) {
	t.Helper()
	conv := stagetest.NewConvo()
	o.Add(t, conv, c.History)
	last := conv.Messages[len(conv.Messages)-1].Time
	o.Add(t, conv, []stagetest.OracleContent{c.Pending})
	r := stagetest.NewRun(t, conv, stagetest.Start(t, defineQwenMicrocompaction(), params))
	r.Join()
	r.Fire(policy.Prepare, len(conv.Requests), policy.Context{Now: last.Add(time.Duration(c.Minutes) * time.Minute)})
	var got [][2]int
	for _, e := range r.View.Edits() {
		got = append(got, [2]int{int(e.Target.Item), e.Target.Block})
	}
	must.Equal(t, cmp.Diff(c.Cleared, got, cmpopts.EquateEmpty()), "", c.Version, c.Seed)
}
