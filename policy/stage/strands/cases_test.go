package strands

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

// caseFile is testdata/cases.json, made by scripts/oracle/strands.
type caseFile struct {
	Package string
	Window  int // messages, by default
	Cases   []struct {
		Seed, Window int
		List         []entry
		End          state   // when the agent stops
		Steps        []state // after each reduction of a request that is too large
	}
}

// state is which messages are left, and the characters of their results.
type state struct{ Kept, Results []int }

// entry is a message: its characters and calls, or its results.
type entry struct {
	kind     string
	n, calls int
	results  []int
}

func (e *entry) UnmarshalJSON(data []byte) error {
	var raw []json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	if err := json.Unmarshal(raw[0], &e.kind); err != nil {
		return err
	}
	if e.kind == "r" {
		return json.Unmarshal(raw[1], &e.results)
	}
	for i, to := range []*int{&e.n, &e.calls}[:len(raw)-1] {
		if err := json.Unmarshal(raw[i+1], to); err != nil {
			return err
		}
	}
	return nil
}

// typescript are the parameters of the preset for the TypeScript SDK.
func typescript(t *testing.T) *SlidingWindow {
	t.Helper()
	return stagetest.Preset(t, Family(), preset.Load, "strands-typescript@1.19.0").Stages[0].Params.(*SlidingWindow)
}

func converse(t *testing.T, list []entry, messages int) *stagetest.Bench {
	t.Helper()
	p := typescript(t)
	p.Messages = messages
	c := stagetest.NewConvo()
	for i, e := range list {
		var parts []stagetest.BlockText
		switch e.kind {
		case "u":
			c.Play(`prompt x*%d`, e.n)
			continue
		case "r":
			for j, n := range e.results {
				parts = append(parts, stagetest.Result(fmt.Sprintf("%d.%d", i-1, j), strings.Repeat("x", n)))
			}
			c.Answers(parts...)
			continue
		}
		if e.n > 0 {
			parts = append(parts, stagetest.Say(strings.Repeat("x", e.n)))
		}
		for j := range e.calls {
			parts = append(parts, stagetest.Use(fmt.Sprintf("%d.%d", i, j), "read"))
		}
		c.Assistant(parts...)
	}
	r := stagetest.NewRun(t, c, stagetest.Start(t, defineSlidingWindow(), p))
	r.Join()
	return r
}

// stateOf is what is left of a conversation.
func stateOf(r *stagetest.Bench, list []entry) state {
	s := state{Kept: []int{}, Results: []int{}}
	for id := range r.View.Items {
		s.Kept = append(s.Kept, int(id))
		for b := range list[id].results {
			s.Results = append(s.Results, r.View.Length(policy.Target{Item: id, Block: b}).UTF16)
		}
	}
	return s
}

// tokens is the size of a state as the bench counts.
func (s state) tokens(t *testing.T, list []entry) int {
	whole := converse(t, list, 2)
	n := 0
	for _, id := range s.Kept {
		if list[id].kind != "r" {
			n += whole.View.Weight(policy.ItemID(id))
		}
	}
	for _, chars := range s.Results {
		n += policy.RoundQuarter(chars)
	}
	return n
}

// What is left is what the TypeScript SDK's own code leaves, when the agent stops and after each reduction.
func TestCases(t *testing.T) {
	f := stagetest.LoadCases[caseFile](t, "testdata/cases.json")
	must.Equal(t, typescript(t).Messages, f.Window)
	slid, reduced := 0, 0
	for _, tt := range f.Cases {
		r := converse(t, tt.List, tt.Window)
		r.Fire(policy.TurnEnd, 0, policy.Context{})
		must.Equal(t, stateOf(r, tt.List), tt.End, tt.Seed)
		if len(tt.End.Kept) < len(tt.List) {
			slid++
		}
		for i, want := range tt.Steps {
			r := converse(t, tt.List, tt.Window)
			r.Window = want.tokens(t, tt.List)
			if i == len(tt.Steps)-1 {
				r.Window = 1 // no more can be done
			}
			r.Fire(policy.Prepare, 0, policy.Context{})
			must.Equal(t, stateOf(r, tt.List), want, tt.Seed, i+1, len(tt.Steps))
			reduced++
		}
	}
	t.Logf("%s: %d conversations, %d slid, %d reductions", f.Package, len(f.Cases), slid, reduced)
	if slid < 30 || reduced < 200 {
		t.Error("the cases test too little")
	}
}
