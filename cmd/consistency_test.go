package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/synth"
)

// TestConsistency holds what commands say of random sessions, synthetic, changed, and of other agents, against each
// other: replay's rows and totals, compare (as TestFigures does), cost, stats, why, diff and sweep.
//
// It tries a sample; CTXKIT_LONG=1 tries 500 sessions, CTXKIT_CONSISTENCY=N that many, CTXKIT_CONSISTENCY_SEED says
// where to begin.
func TestConsistency(t *testing.T) {
	t.Setenv("CI", "") // check --update writes baselines
	count, first := 6, uint64(1)
	if long() {
		count = 500
	}
	if v := os.Getenv("CTXKIT_CONSISTENCY"); v != "" {
		n := must.Get(strconv.Atoi(v))(t)
		count = n
	}
	if v := os.Getenv("CTXKIT_CONSISTENCY_SEED"); v != "" {
		n := must.Get(strconv.ParseUint(v, 10, 64))(t)
		first = n
	}
	m, held := newMutation(t), 0
	for seed := first; seed < first+uint64(count); seed++ {
		if m.consistent(t, seed) {
			held++
		}
		if t.Failed() {
			t.Fatalf("seed %d, %s: again: CTXKIT_CONSISTENCY=1 CTXKIT_CONSISTENCY_SEED=%d go test ./cmd -run TestConsistency", seed, m.args, seed)
		}
	}
	t.Logf("%d of %d sessions could be replayed, and are told alike", held, count)
	if held < count/3 {
		t.Error("too few sessions can be replayed")
	}
}

// usd is a cost as printed; empty where it is not known.
type usd = json.Number

func (m *mutation) consistent(t *testing.T, seed uint64) bool {
	t.Helper()
	d := rand.New(rand.NewPCG(seed, 31))
	file := filepath.Join(t.TempDir(), "s.jsonl")
	var text []byte
	switch d.IntN(4) {
	case 0:
		agent := m.agents[d.IntN(len(m.agents))]
		text = mutateSession(d, m.sessions[agent][d.IntN(len(m.sessions[agent]))])
	default:
		o := synth.Default()
		o.Seed, o.Requests, o.ResultChars, o.RequestsPerTurn = seed, 4+d.IntN(25), 200+d.IntN(9000), 1+d.IntN(10)
		o.Version = pickWord(d, "1.0.17", "2.0.76", "2.1.19", "2.1.50", "2.1.139", "2.1.239")
		o.Subagents, o.Offloads, o.ManualCompacts, o.Pauses = 0, 0, d.Float64()/4, d.Float64()/3
		var b bytes.Buffer
		must.Get(synth.Generate(&b, o))(t)
		if text = b.Bytes(); d.IntN(3) == 0 {
			text = mutateSession(d, text)
		}
	}
	writeFile(t, file, string(text))
	policy := pickWord(d, "opencode-1.1.36", "claude-code-2.1.19", "claude-code-pipeline", "gemini-cli-0.26", "decay", "sliding-window-1.36", "recorded", "langchain-clear-tool-uses")
	m.args = []string{file, "-p", policy}
	type request struct {
		Kind     string
		N        int
		Tokens   int `json:"model_tokens"`
		Payload  int `json:"payload_tokens"`
		Overhead int `json:"overhead_tokens"`
	}
	var replayed struct {
		Requests []request
		Totals   struct {
			Requests, Calls int
			Payload         int `json:"payload_input"`
			Own             int `json:"own_input"`
			Output          int `json:"output_tokens"`
			Cache           map[string]int
			Cost            usd `json:"cost_usd"`
		}
	}
	ask := func(to any, args ...string) bool {
		code, out, said := ctxkit(append(args, "--format", "json", "--quiet")...)
		if code == exitNotDone {
			return false
		}
		if err := json.Unmarshal([]byte(out), to); err != nil {
			t.Fatalf("%q: %d %v %s", args, code, err, said)
		}
		return true
	}
	line := func(name string) []string { return append([]string{name}, m.args...) }
	if !ask(&replayed, line("replay")...) || len(replayed.Requests) == 0 {
		return false
	}
	tot := &replayed.Totals
	equal := func(what string, a, b any) {
		t.Helper()
		if fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("%s is %v, by replay %v", what, a, b)
		}
	}
	last, peak := -1, 0
	for i, r := range replayed.Requests {
		if r.Kind == "main" {
			last, peak = i, max(peak, r.Payload)
		}
	}
	if last < 0 {
		return false
	}

	type part struct {
		Calls  int
		Input  map[string]int
		Output int `json:"output_tokens"`
		Cost   usd `json:"cost_usd"`
	}
	var cost struct {
		Sessions []struct{ Main, Own, Total part }
	}
	if !ask(&cost, line("cost")...) || len(cost.Sessions) != 1 {
		t.Fatalf("cost: %+v", cost)
	}
	c := &cost.Sessions[0]
	equal("cost: calls", c.Total.Calls, tot.Calls)
	equal("cost: own calls", c.Own.Calls, tot.Calls-tot.Requests)
	equal("cost: output", c.Total.Output, tot.Output)
	equal("cost: cost", c.Total.Cost, tot.Cost)
	equal("cost: input", c.Total.Input, tot.Cache)
	sum := 0
	for _, n := range c.Total.Input {
		sum += n
	}
	equal("cost: what was sent", sum, tot.Payload)

	var stats struct {
		Sessions []struct {
			Request, Requests, Tokens int
			Sent                      int `json:"sent_tokens"`
			Peak                      struct{ Tokens int }
			Categories                []struct {
				Tokens int
				Sent   int `json:"sent_tokens"`
			}
		}
	}
	if !ask(&stats, line("stats")...) || len(stats.Sessions) != 1 {
		t.Fatalf("stats: %+v", stats)
	}
	s := &stats.Sessions[0]
	equal("stats: requests", s.Requests, tot.Requests)
	shown := slices.IndexFunc(replayed.Requests, func(q request) bool { return q.Kind == "main" && q.N == s.Request })
	if shown < 0 {
		t.Fatalf("stats: request %d", s.Request)
	}
	equal("stats: tokens", s.Tokens, replayed.Requests[shown].Payload)
	equal("stats: peak", s.Peak.Tokens, peak)
	equal("stats: what was sent", s.Sent, tot.Payload-tot.Own)
	tokens, sent := 0, 0
	for _, k := range s.Categories {
		tokens, sent = tokens+k.Tokens, sent+k.Sent
	}
	equal("stats: its categories", tokens, s.Tokens)
	equal("stats: what was sent of its categories", sent, s.Sent)

	var why struct {
		Sessions []struct {
			Requests int
			Cost     usd `json:"cost_usd"`
			Parts    []struct {
				Cost usd `json:"cost_usd"`
			}
		}
	}
	if !ask(&why, line("why")...) || len(why.Sessions) != 1 {
		t.Fatalf("why: %+v", why)
	}
	equal("why: requests", why.Sessions[0].Requests, tot.Requests)
	equal("why: cost", why.Sessions[0].Cost, tot.Cost)
	if parts := new(big.Rat); tot.Cost != "" && len(why.Sessions[0].Parts) > 0 {
		for _, p := range why.Sessions[0].Parts {
			parts.Add(parts, number(t, p.Cost))
		}
		if parts.Cmp(number(t, tot.Cost)) != 0 {
			t.Errorf("why: its parts cost %s, by replay %s", parts.FloatString(8), tot.Cost)
		}
	}

	var diff struct {
		Request, Requests int
		Messages          []struct{ Left, Right *struct{ Tokens int } }
	}
	if policy != "recorded" && ask(&diff, line("diff")...) {
		right := 0
		for _, msg := range diff.Messages {
			if msg.Right != nil {
				right += msg.Right.Tokens
			}
		}
		equal("diff: requests", diff.Requests, tot.Requests)
		if row := &replayed.Requests[last]; row.Overhead > 0 {
			equal("diff: tokens of the messages", right, row.Payload-row.Overhead)
		}
	}

	if policy == "opencode-1.1.36" {
		var swept struct {
			Points []struct{ Totals map[string]usd }
		}
		var compared struct {
			Groups []struct {
				Policies []struct{ Totals map[string]usd }
			}
		}
		if !ask(&swept, append(line("sweep"), "--vary", "opencode_prune.protect=40000,50000")...) || !ask(&compared, append(line("compare"), "-p", "none", "--cache", "equal")...) {
			t.Fatal("no sweep or no compare")
		}
		for name, want := range compared.Groups[0].Policies[0].Totals {
			if got, known := swept.Points[0].Totals[name]; known && got != want {
				t.Errorf("sweep: %s is %s, by compare %s", name, got, want)
			}
		}
	}
	checkFigures(t, []string{policy, "none"}, []string{file, m.sample}) // of one alone, replay prints no list
	return true
}
