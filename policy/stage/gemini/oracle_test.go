package gemini

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

// oracleCase is a case that the product's own code has answered: scripts/oracle/gemini/cases.mjs.
type oracleCase struct {
	Kind, Version string
	Seed          int
	History       []stagetest.OracleContent
	Threshold     float64
	Force, Failed bool
	Prompt        int
	Summary       stagetest.OracleText

	Status  string
	Kept    int
	Changed []oracleChange
	Waves   []oracleWave
}

// oracleChange is a result that changed: the index of its content, of its part, its new length and print.
type oracleChange struct {
	Content, Part, Length int
	Print                 string
}

func (c *oracleChange) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&c.Content, &c.Part, &c.Length, &c.Print})
}

// oracleWave is what was masked once a content was the newest.
type oracleWave struct {
	After   int
	Changed []oracleChange
}

func (w *oracleWave) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&w.After, &w.Changed})
}

const oracleLimit = 1048576 // tokenLimit of every model

var oraclePath = regexp.MustCompile(`(For full output see|available at): .*`)

func changeOf(e *policy.Edit) oracleChange {
	text := oraclePath.ReplaceAllString(e.New.Text, "$1: F")
	return oracleChange{int(e.Target.Item), e.Target.Block, jsonl.Measure(e.New.Text).UTF16, stagetest.Print(text)}
}

func TestOracle(t *testing.T) {
	o := stagetest.LoadCases[stagetest.Oracle[oracleCase]](t, filepath.Join("testdata", "cases.json"))
	seen := map[string]int{}
	for i := range o.Cases {
		c := &o.Cases[i]
		p := stagetest.Preset(t, Family(), preset.Load, "gemini-cli@"+c.Version)
		conv := stagetest.NewConvo()
		o.Add(t, conv, c.History)
		switch c.Kind {
		case "masking":
			seen[c.Version+" masking"]++
			testOracleMasking(t, c, conv, p.Stages[1].Params.(*GeminiMasking))
		default:
			seen[c.Version+" "+c.Status]++
			summary := policy.NewContent(jsonl.KindText, o.Text(c.Summary))
			testOracleCompression(t, c, conv, p.Stages[0].Params.(*GeminiCompression), summary)
		}
	}
	t.Log(seen)
	for _, what := range []string{
		"0.26.0 COMPRESSED", "0.26.0 NOOP", "0.26.0 COMPRESSION_FAILED_INFLATED_TOKEN_COUNT",
		"0.61.0 COMPRESSED", "0.61.0 NOOP", "0.61.0 COMPRESSION_FAILED_INFLATED_TOKEN_COUNT", "0.61.0 CONTENT_TRUNCATED",
		"0.30.0 masking", "0.61.0 masking",
	} {
		if seen[what] == 0 {
			t.Errorf("no case of %s", what)
		}
	}
}

func testOracleCompression(t *testing.T, c *oracleCase, conv *stagetest.Convo, p *GeminiCompression, summary policy.Content) {
	t.Helper()
	p.Threshold = c.Threshold
	n := len(conv.Messages)
	if !c.Force { // what is about to be sent is no part of the history
		var answers []stagetest.BlockText
		for _, b := range conv.Messages[n-1].Blocks {
			if b.Kind == jsonl.KindToolUse {
				answers = append(answers, stagetest.Result(b.ID, "x"))
			}
		}
		if len(answers) > 0 {
			conv.Answers(answers...)
		} else {
			conv.Prompt("next")
		}
	}
	s := newCompression(p)
	s.failed = c.Failed
	r := stagetest.NewRun(t, conv, stagetest.Named{Def: defineGeminiCompression(), Stage: s})
	r.Window, r.Record.Content = oracleLimit, &summary
	r.Join()
	r.Last = policy.Response{Known: true, Usage: jsonl.Usage{Input: c.Prompt}}
	moment := policy.Prepare
	if c.Force {
		moment = policy.Manual
	}
	conv.Boundaries = append(conv.Boundaries, stagetest.BoundaryAt(1))
	conv.Boundaries[0].Request, conv.Boundaries[0].Before = len(conv.Requests)+9, len(conv.Messages)
	r.Fire(moment, len(conv.Requests), policy.Context{})

	status, kept := "NOOP", 0
	var changed []oracleChange
	for _, e := range r.View.Edits() {
		switch e.Kind {
		case policy.KindPersist:
			changed = append(changed, changeOf(&e))
			if status == "NOOP" {
				status = "CONTENT_TRUNCATED"
			}
		case policy.KindSummarize:
			status, kept = "COMPRESSED", len(e.Keep)-(len(conv.Messages)-n)
		case policy.KindFail:
			status = "COMPRESSION_FAILED_INFLATED_TOKEN_COUNT"
		}
	}
	if c.Status == "CONTENT_TRUNCATED" && len(c.Changed) == 0 { // it changed nothing
		c.Status = "NOOP"
	}
	must.Equal(t, cmp.Diff([]any{c.Status, c.Kept, c.Changed}, []any{status, kept, changed}, cmpopts.EquateEmpty()), "", c.Version, c.Seed)
}

func testOracleMasking(t *testing.T, c *oracleCase, conv *stagetest.Convo, p *GeminiMasking) {
	t.Helper()
	r := stagetest.NewRun(t, conv, stagetest.Start(t, defineGeminiMasking(), p)).All()
	var waves []oracleWave
	for _, e := range r.View.Edits() {
		after := conv.Requests[e.Request-2].Message
		if len(waves) == 0 || waves[len(waves)-1].After != after {
			waves = append(waves, oracleWave{After: after})
		}
		w := &waves[len(waves)-1]
		w.Changed = append([]oracleChange{changeOf(&e)}, w.Changed...) // newest first
	}
	want := c.Waves
	if n := len(want); n > 0 && want[n-1].After == len(c.History)-1 { // no request follows
		want = want[:n-1]
	}
	must.Equal(t, cmp.Diff(want, waves, cmpopts.EquateEmpty()), "", c.Version, c.Seed)
}
