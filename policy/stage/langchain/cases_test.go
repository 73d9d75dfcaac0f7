package langchain

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

// caseFile is testdata/cases.json, made by scripts/oracle/langchain.
type caseFile struct {
	Package string
	Window  int
	Summary int // characters
	// Defaults are what upstream does by default; Prompt is characters.
	Defaults struct {
		Edit struct {
			Trigger, Keep, Least int
			Inputs               bool
			Placeholder          string
		}
		Summary struct {
			Trigger, Keep contextSizeByType
			Prompt        int
		}
	}
	Cases []upstreamCase
}

// contextSizeByType is a size as Deep Agents writes it.
type contextSizeByType struct {
	Type  string
	Value float64
}

type upstreamCase struct {
	Seed  int
	Turns [][]turnPart
	Edit  struct {
		Trigger, Keep, Least int
		Inputs               bool
		Exclude              []string
	}
	Cleared [][2]string // by request: ids of calls with cleared results, and with cleared inputs
	Summary struct{ Trigger, Keep contextSize }
	Kept    [][3]int // by request: messages sent, characters of the summary's message, tokens
	Asked   []int    // characters of each summary's request
}

type contextSize struct {
	Tokens, Messages int
	Fraction         float64
}

// turnPart is a prompt of n characters, or a response with calls.
type turnPart struct {
	n     int
	calls []call
}

type call struct {
	tool          string
	input, result int
}

func (p *turnPart) UnmarshalJSON(data []byte) error {
	var raw []json.RawMessage
	if json.Unmarshal(data, &raw) != nil {
		return json.Unmarshal(data, &p.n)
	}
	for i := range raw {
		if i == 0 {
			if err := json.Unmarshal(raw[0], &p.n); err != nil {
				return err
			}
			continue
		}
		var c call
		if err := json.Unmarshal(raw[i], &[]any{&c.tool, &c.input, &c.result}); err != nil {
			return err
		}
		p.calls = append(p.calls, c)
	}
	return nil
}

func (tt *upstreamCase) conversation() *stagetest.Convo {
	c := stagetest.NewConvo()
	said := func(n int) string { return strings.Repeat("x", n) }
	for _, turn := range tt.Turns {
		c.Prompt(said(turn[0].n))
		for _, response := range turn[1:] {
			parts := []stagetest.BlockText{stagetest.Say(said(response.n))}
			var answers []stagetest.BlockText
			for i, call := range response.calls {
				id := fmt.Sprintf("c%d.%d", len(c.Requests), i)
				parts = append(parts, stagetest.Calling(id, call.tool, fmt.Sprintf(`{"path":%q}`, said(call.input))))
				answers = append(answers, stagetest.Result(id, said(call.result)))
			}
			if c.Assistant(parts...); len(answers) > 0 {
				c.Answers(answers...)
			}
		}
	}
	return c
}

func clearing(t *testing.T) ClearToolResults {
	t.Helper()
	return *stagetest.Preset(t, Family(), preset.Load, "langchain-clear-tool-uses").Stages[0].Params.(*ClearToolResults)
}

func summarizing(t *testing.T) Summarization {
	t.Helper()
	return *stagetest.Preset(t, Family(), preset.Load, "langchain-summarization").Stages[0].Params.(*Summarization)
}

// TestUpstreamDefaults compares the figures of the presets with upstream's.
func TestUpstreamDefaults(t *testing.T) {
	f := stagetest.LoadCases[caseFile](t, "testdata/cases.json")
	p, edit := clearing(t), f.Defaults.Edit
	got := []any{p.Trigger, p.Keep, p.ClearAtLeast, p.ClearToolInputs, p.Placeholder}
	must.Equal(t, got, []any{edit.Trigger, edit.Keep, edit.Least, edit.Inputs, edit.Placeholder}, "clearing: -upstream +preset")
	q, summary := summarizing(t), f.Defaults.Summary
	got = []any{contextSizeByType{"fraction", q.TriggerFraction}, contextSizeByType{"fraction", q.KeepFraction}, q.Prompt}
	must.Equal(t, got, []any{summary.Trigger, summary.Keep, quarter(summary.Prompt)}, "summarization: -upstream +preset")
}

// TestUpstreamClearing compares what each request holds with what LangChain's own agent sent.
func TestUpstreamClearing(t *testing.T) {
	f := stagetest.LoadCases[caseFile](t, "testdata/cases.json")
	cleared, requests := 0, 0
	for _, tt := range f.Cases {
		p := clearing(t)
		p.Trigger, p.Keep, p.ClearAtLeast = tt.Edit.Trigger, tt.Edit.Keep, tt.Edit.Least
		p.ClearToolInputs, p.ExcludeTools = tt.Edit.Inputs, tt.Edit.Exclude
		r := stagetest.NewRun(t, tt.conversation(), stagetest.Start(t, defineClearToolResults(), &p))
		r.Each = func(k int) {
			var got [2][]string
			for id := range r.View.Items {
				for b := range r.View.Blocks(id) {
					t := policy.Target{Item: id, Block: b}
					if r.View.Replacement(t) == nil {
						continue
					}
					i := 0
					if r.View.Kind(t) == jsonl.KindToolUse {
						i = 1
					}
					got[i] = append(got[i], r.View.Raw(t).ID)
				}
			}
			want := tt.Cleared[k]
			must.Equal(t, [2]string{strings.Join(got[0], " "), strings.Join(got[1], " ")}, want, tt.Seed, k+1, tt.Edit)
			requests++
		}
		r.All()
		cleared += len(strings.Fields(tt.Cleared[len(tt.Cleared)-1][0]))
	}
	if cleared < 200 {
		t.Errorf("%d results cleared: the test tests too little", cleared)
	}
	t.Logf("%d requests, %d results cleared", requests, cleared)
}

// TestUpstreamSummarization compares what each request holds with what LangChain's own agent sent.
func TestUpstreamSummarization(t *testing.T) {
	f := stagetest.LoadCases[caseFile](t, "testdata/cases.json")
	summaries, requests := 0, 0
	for _, tt := range f.Cases {
		p := summarizing(t)
		p.TriggerTokens, p.TriggerFraction, p.TriggerMessages = tt.Summary.Trigger.Tokens, tt.Summary.Trigger.Fraction, tt.Summary.Trigger.Messages
		p.KeepTokens, p.KeepFraction, p.KeepMessages = tt.Summary.Keep.Tokens, tt.Summary.Keep.Fraction, tt.Summary.Keep.Messages
		p.Summary = policy.SummaryChoices{{Kind: policy.SummaryFixed, Tokens: f.Summary / 4}}
		r := stagetest.NewRun(t, tt.conversation(), stagetest.Start(t, defineSummarization(), &p))
		if r.Window = f.Window; p.TriggerFraction == 0 && p.KeepFraction == 0 {
			r.Window = 1000000 // upstream's stand-in for a model refuses nothing
		}
		s := r.Stages[0].Stage.(*summarization)
		r.Each = func(k int) {
			messages := 0
			for id := range r.View.Items {
				messages += s.messages(r.View, id)
			}
			s.sums.Follow(r.View)
			if got := [2]int{messages, quarter(s.sums.Sum)}; got[0] != tt.Kept[k][0] || got[1] != tt.Kept[k][2] {
				t.Errorf("seed %d, request %d, %+v: %d messages with %d tokens, upstream %v", tt.Seed, k+1, tt.Summary, got[0], got[1], tt.Kept[k])
			}
			requests++
		}
		r.All()
		asked := slices.DeleteFunc(slices.Clone(r.View.Edits()), func(e policy.Edit) bool { return e.Call == nil })
		if len(asked) != len(tt.Asked) {
			t.Fatalf("seed %d: %d summaries, upstream %d", tt.Seed, len(asked), len(tt.Asked))
		}
		for i, e := range asked { // upstream trims whole messages where a line is longer than what is left
			if n := quarter(tt.Asked[i]); e.Call.Input < n-n/10-30 || e.Call.Input > n+n/10+30 {
				t.Errorf("seed %d: summary %d from %d tokens, upstream %d", tt.Seed, i+1, e.Call.Input, n)
			}
		}
		summaries += len(asked)
	}
	if summaries < 200 {
		t.Errorf("%d summaries: the test tests too little", summaries)
	}
	t.Logf("%d requests, %d summaries", requests, summaries)
}
