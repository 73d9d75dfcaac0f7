package stats

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/category"
	"github.com/ctxkit/ctxkit/replay/price"
)

// transcript writes the lines of a session.
type transcript struct {
	lines []string
	n     int
}

func (s *transcript) line(kind, message string) {
	parent := "null"
	if s.n > 0 {
		parent = fmt.Sprintf(`"u%d"`, s.n)
	}
	s.n++
	s.lines = append(s.lines, fmt.Sprintf(`{"type":%q,"uuid":"u%d","parentUuid":%s,"sessionId":"s","version":"2.0.0","cwd":"/home/dev","timestamp":"2026-01-15T09:%02d:00Z","message":%s}`,
		kind, s.n, parent, s.n%60, message))
}

func (s *transcript) prompt(text string) {
	s.line("user", fmt.Sprintf(`{"role":"user","content":%q}`, text))
}

// call is a response that calls a tool, with so much context.
func (s *transcript) call(context int, id, tool, input string) {
	s.line("assistant", fmt.Sprintf(`{"id":"m%s","role":"assistant","model":"claude-opus-4-5","content":[{"type":"tool_use","id":%q,"name":%q,"input":%s}],"usage":{"input_tokens":%d,"output_tokens":40}}`,
		id, id, tool, input, context))
}

func (s *transcript) result(id, text string, failed bool) {
	s.line("user", fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"is_error":%v,"content":%q}]}`, id, failed, text))
}

func (s *transcript) answer(context int, text string) {
	s.line("assistant", fmt.Sprintf(`{"id":"a%d","role":"assistant","model":"claude-opus-4-5","content":[{"type":"text","text":%q}],"usage":{"input_tokens":%d,"output_tokens":20}}`, s.n, text, context))
}

func (s *transcript) record(t testing.TB) *replay.Record {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.jsonl")
	must.Do(t, os.WriteFile(path, []byte(strings.Join(s.lines, "\n")+"\n"), 0o600))
	return load(t, path)
}

func load(t testing.TB, path string) *replay.Record {
	t.Helper()
	f := must.Get(session.Load(path, session.LoadOptions{}))(t)
	t.Cleanup(func() { f.Close() })
	rec := must.Get(replay.NewRecord(f.Main))(t)
	return rec
}

func at(n int) func(*replay.Timeline) (Extent, error) {
	return func(*replay.Timeline) (Extent, error) { return Extent{Request: n, Until: n}, nil }
}

// file is the result of a Read: the lines of a file from one on.
func file(from int, lines ...string) string {
	var b strings.Builder
	for i, l := range lines {
		fmt.Fprintf(&b, "%6d→%s\n", from+i, l)
	}
	return b.String()
}

// TestStats holds the figures of a small session.
func TestStats(t *testing.T) {
	line := strings.Repeat("some words of a file ", 20)
	whole := file(1, line+"1", line+"2", line+"3", line+"4")
	s := &transcript{}
	s.prompt("please\nlook")
	s.call(20_000, "r1", "Read", `{"file_path":"/home/dev/a.go"}`)
	s.result("r1", whole, false)
	s.call(21_000, "r2", "Read", `{"file_path":"./a.go"}`)
	s.result("r2", whole, false)
	s.call(22_000, "e1", "Edit", `{"file_path":"/home/dev/x/../a.go","old_string":"`+line+`2","new_string":"x\ny"}`)
	s.result("e1", "The file has been updated.", false)
	s.call(22_100, "b1", "Bash", `{"command":"go test\nrm x"}`)
	s.result("b1", "no", true)
	s.answer(22_200, "done")
	s.prompt("and now?")
	s.answer(22_300, "nothing")
	rec := s.record(t)
	pol := loadPolicies(t, "recorded")[0]

	got, _, err := Replay(rec, pol, replay.Options{}, at(6), nil)
	if err != nil {
		t.Fatal(err)
	}
	must.Say(t, "22300 6 129600", got.Tokens, got.Requests, got.Sent)
	read := got.Results[0].Tokens
	if len(got.Files) != 1 || got.Files[0].Path != "a.go" || got.Files[0].Results != 2 || got.Files[0].Changes != 1 {
		t.Errorf("files: %+v", got.Files)
	}
	r := got.Reads
	first, second := read, r.Tokens-read
	if r.ByRead != first || r.Again != second || r.Same != second || r.InView != second {
		t.Errorf("two results of %d and %d tokens, the second the same: %+v", first, second, r)
	}
	if quarter := second / 4; r.ByEdit < quarter-3 || r.ByEdit > quarter+3 || r.ByWrite != 0 || r.Stale != r.Superseded() {
		t.Errorf("an edit of one of four lines of %d tokens: %+v", second, r)
	}
	var tools []string
	for _, x := range got.Tools {
		tools = append(tools, fmt.Sprintf("%s %d %d", x.Name, x.Calls, x.Errors))
	}
	must.Equal(t, tools, []string{"Read 2 0", "Edit 1 0", "Bash 1 1"})
	i := slices.IndexFunc(got.Results, func(r ToolResult) bool { return r.Tool == "Bash" })
	if x := got.Results[i]; x.Target != "go test…" || !x.Error || x.Requests != 2 || x.Sent != 2*x.Tokens {
		t.Errorf("the result of Bash: %+v", x)
	}
	if d := got.Repeated; d.Results != 1 || len(d.Groups) != 1 || d.Groups[0].Copies != 2 || d.Groups[0].Tokens != second || d.Tokens != second {
		t.Errorf("repeated: %+v", d)
	}
	must.Equal(t, turns(got), []string{"1 1-5 please…", "2 6-6 and now?"})
	must.Say(t, "2200 100", got.Turns[0].Growth, got.Turns[1].Growth)

	if got.Simulated.Nano == 0 || got.Prompts != 2 || got.PromptUSD != (price.USD{Nano: got.Simulated.Nano / 2, Known: true}) {
		t.Errorf("%s is %s for each of %d prompts", got.Simulated, got.PromptUSD, got.Prompts)
	}
	agent := *got // has the prompt of a call
	agent.Agent, agent.Prompts, agent.PromptUSD = "a1", 0, price.USD{}
	if sum := Sum([]*SessionStats{got, got, &agent}); sum.Prompts != 4 || sum.PromptUSD.Nano != 3*got.Simulated.Nano/4 {
		t.Errorf("two sessions and a subagent: %s for each of %d prompts", sum.PromptUSD, sum.Prompts)
	}

	// What happens after the request does not count.
	if got, _, err = Replay(rec, pol, replay.Options{}, at(2), nil); err != nil {
		t.Fatal(err)
	}
	if got.Reads.Results != 1 || got.Reads.Superseded() != 0 || got.Repeated.Results != 0 || len(got.Turns) != 1 || got.Turns[0].To != 2 || len(got.Tools) != 1 || got.Prompts != 0 {
		t.Errorf("at request 2: %+v, %+v, %+v", got.Reads, got.Turns, got.Tools)
	}
}

func turns(s *SessionStats) (list []string) {
	for _, x := range s.Turns {
		list = append(list, fmt.Sprintf("%d %d-%d %s", x.N, x.From, x.To, x.Prompt))
	}
	return list
}

// TestStatsUnderPolicies holds at every request of every sample session, under policies of every kind, that the ledger
// agrees with the view, block by block and in its sum.
func TestStatsUnderPolicies(t *testing.T) {
	paths := must.Glob(t, 10, "../../testdata/sessions/*.jsonl")
	pols := loadPolicies(t, "recorded", "none", "claude-code-pipeline", "opencode-1.1.36", "gemini-cli-0.22", "anthropic-context-editing", "sliding-window", "three-layer", "openhands")
	for i, path := range paths {
		if i%4 > 0 && !must.CI() {
			continue
		}
		rec := load(t, path)
		for _, pol := range pols {
			type held struct {
				item   policy.ItemID
				tokens int
			}
			want := map[int][]held{}
			l := NewLedger(rec.Conv)
			tl := must.Get(rec.Replay(pol, replay.Options{Observe: func(n int, v *view.View) {
				l.Observe(n, v)
				for id := range v.Items {
					want[n] = append(want[n], held{id, v.PayloadWeight(id)})
				}
				must.Equal(t, l.Sum(), v.PayloadTokens(), path, pol.Name, n)
			}}))(t)
			l.Close()
			for n, list := range want {
				got := map[policy.ItemID]int{}
				for i := range l.Blocks {
					if s, ok := l.Blocks[i].At(n); ok && i > 0 {
						got[l.Blocks[i].Item] += s.Tokens
					}
				}
				for _, h := range list {
					if got[h.item] != h.tokens {
						t.Fatalf("%s, %s, request %d: item %d has %d tokens, want %d", path, pol.Name, n, h.item, got[h.item], h.tokens)
					}
					delete(got, h.item)
				}
				for id, tokens := range got {
					if tokens != 0 {
						t.Fatalf("%s, %s, request %d: item %d is not in the payload and has %d tokens", path, pol.Name, n, id, tokens)
					}
				}
			}
			for n := range len(rec.Conv.Requests) + 1 {
				s := must.Get(New(rec.Conv, tl, l, Extent{n, max(n, len(rec.Conv.Requests)/2), spent(rec, pol, tl, nil)}, nil))(t)
				tokens, sent, share, usd := 0, 0, 0, price.USD{}
				for _, c := range s.Categories {
					tokens, sent, share = tokens+c.Tokens, sent+c.Sent, share+c.PerMille
					usd.Add(c.USD)
				}
				if sent != s.Sent || usd != s.InputUSD {
					t.Errorf("%s, %s, request %d: %d of %d tokens sent, %v of %v", path, pol.Name, n, sent, s.Sent, usd, s.InputUSD)
				}
				if tokens != s.Tokens || s.Tokens > 0 && share != 1000 {
					t.Errorf("%s, %s, request %d: %d of %d tokens, %d per mille", path, pol.Name, n, tokens, s.Tokens, share)
				}
				if len(rec.Conv.Requests) > 60 {
					break
				}
			}
		}
	}
}

// TestStatsGrow holds that the work grows with the length of a session, not with its square.
func TestStatsGrow(t *testing.T) {
	pol := loadPolicies(t, "recorded")[0]
	cost := func(n int) time.Duration {
		s := &transcript{}
		s.prompt("go on")
		for i := range n {
			id := fmt.Sprintf("r%d", i)
			s.call(20_000+60*i, id, "Read", fmt.Sprintf(`{"file_path":"/home/dev/a.go","offset":%d,"limit":2}`, 10*i+1))
			s.result(id, file(10*i+1, "a line", "and another one"), false)
		}
		s.answer(20_000+60*n, "done")
		rec := s.record(t)
		tl, l := followed(t, rec, pol)
		least := time.Duration(1 << 62)
		for range 3 {
			start := time.Now()
			if got, err := New(rec.Conv, tl, l, Extent{Request: n, Until: n}, nil); err != nil || got.Reads.Results != n-1 {
				t.Fatalf("%d results of %d: %v", got.Reads.Results, n, err)
			}
			least = min(least, time.Since(start))
		}
		return least
	}
	var few, many time.Duration
	for range 5 { // on a busy machine a measurement can be off
		if few, many = cost(250), cost(4000); many <= 130*few {
			break
		}
	}
	if many > 130*few { // quadratic: 256
		t.Errorf("%v for 16 times what costs %v", many, few)
	}
}

// TestParts: where a category has parts they add up to it.
func TestParts(t *testing.T) {
	named := []Portion{{"Read", 30, 2, price.USD{Nano: 3, Known: true}}}
	for _, tt := range []struct {
		name string
		add  []CategoryTokens
		want []string
	}{
		{"none with a name", []CategoryTokens{{Tokens: 10}, {Tokens: 5, Of: []Portion{{otherPart, 5, 1, price.USD{}}}}}, nil},
		{"one without", []CategoryTokens{{Tokens: 30, Of: named}, {Tokens: 10}}, []string{"Read 30", "(other) 10"}},
		{"sums of two sessions", []CategoryTokens{{Tokens: 30, Of: named}, {Tokens: 40, Of: []Portion{{"Read", 20, 1, price.USD{}}, {otherPart, 20, 1, price.USD{}}}}}, []string{"Read 50", "(other) 20"}},
	} {
		c := ContentSums{}
		for _, x := range tt.add {
			x.Category = category.Reinjected
			c.Add(x)
		}
		var got []string
		for _, p := range c.List()[0].Of {
			got = append(got, fmt.Sprint(p.Name, " ", p.Tokens))
		}
		must.Equal(t, got, tt.want, tt.name)
	}
}

func TestApportion(t *testing.T) {
	must.Rows(t, `
# weights | parts | want
null         | 10   | []
[0, 0]       | 10   | [0, 0]
[1, 1, 1]    | 10   | [4, 3, 3]
[1, 1, 1]    | 2    | [1, 1, 0]
[150, -50]   | 1000 | [1500, -500]
[100, -1, 0] | 10   | [10, 0, 0]
[5, -9]      | 10   | [0, 0]
[1099511627776, 1099511627776] | 1000 | [500, 500]
`, func(weights []int, parts int, want []int) {
		must.Equal(t, Apportion(weights, parts), want, weights, parts)
	})
}

func FuzzApportion(f *testing.F) {
	f.Add(3, -2, 100, 7, 1000)
	f.Fuzz(func(t *testing.T, a, b, c, d, parts int) {
		weights := []int{a % (1 << 40), b % (1 << 40), c % (1 << 40), d % (1 << 40)}
		parts %= 1000
		if parts < 0 {
			parts = -parts
		}
		total, sum := 0, 0
		for _, w := range weights {
			total += w
		}
		for i, n := range Apportion(weights, parts) {
			if sum += n; total > 0 && (float64(n) < float64(weights[i])*float64(parts)/float64(total)-1.001 || float64(n) > float64(weights[i])*float64(parts)/float64(total)+1.001) {
				t.Errorf("%d of %d parts for %d of %d", n, parts, weights[i], total)
			}
		}
		if total > 0 && sum != parts {
			t.Errorf("%v: the shares add up to %d of %d", weights, sum, parts)
		}
	})
}

// TestTargets holds what a call is about, whatever its input looks like.
func TestTargets(t *testing.T) {
	tests := [][2]string{
		{`{"file_path":"/home/dev/a.go","command":"x"}`, "a.go"},
		{`{"notebook_path":"n.ipynb"}`, "n.ipynb"},
		{`{"file_path":5,"edits":"x","command":" ls -l \n rm x"}`, "ls -l…"},
		{`{"pattern":"x","path":"/home/dev"}`, "x"},
		{`{"path":"/home/dev"}`, "/home/dev"},
		{`{"command":"` + strings.Repeat("é", 200) + `"}`, strings.Repeat("é", maxTarget-1) + "…"},
		{`{"other":1}`, ""},
		{`[]`, ""},
		{`null`, ""},
	}
	s := &transcript{}
	s.prompt("go")
	for i, tt := range tests {
		id := fmt.Sprintf("t%d", i)
		s.call(20_000+100*i, id, "Tool", tt[0])
		s.result(id, "done", false)
	}
	s.answer(22_000, "done")
	got, _, err := Replay(s.record(t), loadPolicies(t, "recorded")[0], replay.Options{}, at(len(tests)+1), nil)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(got.Results, func(a, b ToolResult) int { return a.Line - b.Line })
	for i, tt := range tests {
		must.Equal(t, got.Results[i].Target, tt[1])
	}
}

// TestRoundingRest: what rounding leaves is not said to be on no line.
func TestRoundingRest(t *testing.T) {
	for _, growth := range []int{900, 907, 970, 977} {
		var s transcript
		s.prompt("go")
		const calls = 7
		context := 5000
		for n := range calls {
			id := fmt.Sprint(n)
			s.call(context, id, "Read", `{"file_path":"a"}`)
			s.result(id, strings.Repeat("some text ", growth/4*(1+n%3)), false)
			s.prompt("and on")
			context += growth * (1 + n%3)
		}
		s.answer(context, "done")
		got, _, err := Replay(s.record(t), replay.RecordedTrack(), replay.Options{}, func(*replay.Timeline) (Extent, error) { return Extent{Request: calls, Until: calls}, nil }, nil)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0
		for _, c := range got.Categories {
			sum += c.Tokens
			if c.Category == category.Unrecorded {
				t.Errorf("%d: %d and %d tokens on no line", growth, c.Tokens, c.Sent)
			}
		}
		must.Equal(t, sum, got.Tokens, growth)
	}
}
