package cmd

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// billFile writes a session file of Claude Code. A response is on one line unless lines are added by hand.
type billFile struct {
	b       strings.Builder
	session string
	more    string // members of every line
	prefix  string // of uuids
	n       int
	last    string
}

func (f *billFile) line(kind, members, message string) {
	f.n++
	uuid := fmt.Sprintf("%s%07d-0000-4000-8000-000000000000", "a"+f.prefix, f.n)
	parent := "null"
	if f.last != "" {
		parent = `"` + f.last + `"`
	}
	fmt.Fprintf(&f.b, `{"parentUuid":%s,"isSidechain":%v,"sessionId":%q,"version":"2.1.321","type":%q,"uuid":%q,"timestamp":"2026-11-20T09:%02d:%02d.000Z",%s%s"message":%s}`+"\n",
		parent, strings.Contains(f.more, "agentId"), f.session, kind, uuid, f.n/6, f.n%6*10, f.more, members, message)
	f.last = uuid
}

func (f *billFile) user(text string) *billFile {
	f.line("user", "", fmt.Sprintf(`{"role":"user","content":%q}`, text))
	return f
}

// answer adds a response with the members of its usage.
func (f *billFile) answer(id, model, usage string) *billFile {
	return f.part(id, model, "end_turn", "ok", usage)
}

func (f *billFile) part(id, model, stop, text, usage string) *billFile {
	reason := "null"
	if stop != "" {
		reason = `"` + stop + `"`
	}
	f.line("assistant", fmt.Sprintf(`"requestId":"req_%s",`, id),
		fmt.Sprintf(`{"id":%q,"type":"message","role":"assistant","model":%q,"content":[{"type":"text","text":%q}],"stop_reason":%s,"usage":{%s}}`, id, model, text, reason, usage))
	return f
}

// used are the members of a usage with an hour's cache, sampled once.
func used(input, write, read, output int) string {
	one := fmt.Sprintf(`"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":%d,"cache_creation":{"ephemeral_1h_input_tokens":%d,"ephemeral_5m_input_tokens":0}`,
		input, write, read, output, write)
	return one + `,"iterations":[{"type":"message",` + one + `}]`
}

// billed is what ctxkit cost says of the recorded bill.
type billed struct {
	Calls    int
	USD      float64 `json:"cost_usd"`
	Requests int
	Without  int `json:"requests_without_usage"`
	Input    struct{ Read, Uncached int }
	Output   int `json:"output_tokens"`
	Searches int
	Partial  struct {
		Calls, Tokens int
		USD           float64 `json:"cost_usd"`
	} `json:"partial_outputs"`
	Copies struct {
		Calls int
		USD   float64 `json:"cost_usd"`
	}
	NotPriced []struct {
		What          string
		Calls, Tokens int
	} `json:"not_priced"`
	Client *struct {
		USD         float64 `json:"cost_usd"`
		Billed      float64 `json:"billed_usd"`
		Differences []struct {
			Model string
			USD   float64 `json:"cost_usd"`
			Input struct{ Uncached int }
			Out   int `json:"output_tokens"`
		}
	}
}

// billCase is a folder of sessions and what they were billed.
type billCase struct {
	name  string
	files map[string]string
	args  []string // instead of the folder
	usd   float64  // 0: not known
	calls int
	check func(b *billed) bool
	text  string // in the answer of ctxkit cost
}

// bridgeSums is the bridge of ctxkit cost: its steps add up.
type bridgeSums struct {
	Recorded billed
	Steps    []struct {
		Step string
		USD  float64 `json:"usd"`
	}
	Cost float64 `json:"cost_usd"`
}

func (c *billCase) run(t *testing.T) {
	dir := write(t, c.files)
	args := []string{"cost", "-p", "recorded", dir}
	if c.args != nil {
		args = []string{"cost", "-p", "recorded"}
		for _, name := range c.args {
			args = append(args, filepath.Join(dir, name))
		}
	}
	var got struct{ Bridge bridgeSums }
	ctxkitJSON(t, &got, args...)
	b := &got.Bridge.Recorded
	if math.Abs(b.USD-c.usd) > 5e-5 || c.calls > 0 && b.Calls != c.calls {
		t.Errorf("billed %.6f USD for %d calls, not %.4f for %d", b.USD, b.Calls, c.usd, c.calls)
	}
	if c.check != nil && !c.check(b) {
		t.Errorf("%+v", b)
	}
	sum := b.USD
	for _, s := range got.Bridge.Steps {
		sum += s.USD
	}
	if math.Abs(sum-got.Bridge.Cost) > 1e-8 {
		t.Errorf("the steps lead from %.9f to %.9f, not to %.9f: %+v", b.USD, sum, got.Bridge.Cost, got.Bridge.Steps)
	}
	for _, s := range got.Bridge.Steps {
		if s.Step == "estimated_outputs" && b.Without == 0 && math.Abs(s.USD-b.Partial.USD) > 1e-9 {
			t.Errorf("the outputs are estimated %.9f USD larger, and the bill is short by %.9f", s.USD, b.Partial.USD)
		}
	}
	code, out, errs := ctxkit(append(args, "--quiet")...)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	if said := strings.Join(strings.Fields(out), " "); !strings.Contains(said, c.text) {
		t.Errorf("%q is not in %s", c.text, out)
	}
}

const opus = "claude-opus-5"

// fork is a session of so many requests, and one that goes on from a copy of it.
func fork(name, session, more string, goesOn bool) string {
	f := &billFile{session: session, more: more}
	for i := range 3 {
		f.user("step").answer(fmt.Sprintf("msg_%s%d", name, i), opus, used(3, 40_000, i*40_000, 1000))
	}
	if goesOn {
		f.prefix, f.more = "c", strings.Replace(more, `"forkedFrom"`, `"notForked"`, 1)
		f.user("on").answer("msg_fork", opus, used(3, 3000, 120_000, 500))
	}
	return f.b.String()
}

// forked is what such a folder was billed: three requests, and one of the fork.
const forked = 3*(3*5+40_000*10+1000*25)/1e6 + (40_000+80_000)*0.5/1e6 + (3*5+3000*10+120_000*0.5+500*25)/1e6

// TestBills holds what sessions of each kind were billed.
func TestBills(t *testing.T) {
	claude := func(f *billFile) map[string]string { return map[string]string{"s.jsonl": f.b.String()} }
	s := func() *billFile { return (&billFile{session: "s"}).user("go") }
	for _, c := range []billCase{
		{name: "region", files: claude(s().answer("m1", opus, used(1000, 100_000, 0, 10_000)+`,"inference_geo":"us"`)), usd: 1.1 * 1.255, calls: 1},
		{name: "no region", files: claude(s().answer("m1", opus, used(1000, 100_000, 0, 10_000)+`,"inference_geo":""`)), usd: 1.255, calls: 1},
		{name: "searches", files: claude(s().answer("m1", opus, used(1000, 100_000, 0, 10_000)+`,"server_tool_use":{"web_search_requests":7,"web_fetch_requests":2}`)),
			usd: 1.325, calls: 1, check: func(b *billed) bool { return b.Searches == 7 }, text: "web searches 7"},
		{name: "declined midway", files: claude(s().answer("m1", "claude-opus-4-8", `"input_tokens":412,"output_tokens":264,"iterations":[{"type":"message","model":"claude-fable-5","input_tokens":412,"output_tokens":180},{"type":"fallback_message","model":"claude-opus-4-8","input_tokens":412,"output_tokens":264}]`)),
			usd: 0.0218, calls: 2, text: "other models within a request"},
		{name: "stub line", files: claude(s().part("stub", "claude-fable-5", "", "", `"input_tokens":0,"output_tokens":0`).answer("m1", "claude-opus-4-8", used(3, 30_000, 0, 100))), usd: 0.3025, calls: 1},
		{name: "cumulative counts", files: claude(s().part("m1", opus, "", "a", used(3, 30_000, 0, 1)).part("m1", opus, "", "b", used(3, 30_000, 0, 120)).part("m1", opus, "end_turn", "c", used(3, 30_000, 0, 350))),
			usd: 0.3088, calls: 1, check: func(b *billed) bool { return b.Output == 350 && b.Partial.Calls == 0 }},
		{name: "lines written twice", files: func() map[string]string {
			f := s().answer("m1", opus, used(3, 1000, 30_000, 10)).user("b").answer("m2", opus, used(3, 1000, 31_000, 10))
			return map[string]string{"s.jsonl": f.b.String() + f.b.String()}
		}(), usd: 0.0510, calls: 2},
		{name: "copies under other uuids", files: claude(func() *billFile {
			f := s().answer("m1", opus, used(3, 30_000, 0, 400)).user("b").answer("m2", opus, used(3, 500, 30_000, 300))
			f.prefix, f.last = "d", ""
			return f.user("go").answer("m1", opus, used(3, 30_000, 0, 400)).user("b").answer("m2", opus, used(3, 500, 30_000, 300)).user("c").answer("m3", opus, used(3, 500, 30_500, 300))
		}()), usd: 0.3653, calls: 3},
		{name: "rewound", files: claude(func() *billFile {
			f := s()
			from := f.last
			f.answer("m1", opus, used(3, 1000, 0, 10)).user("b").answer("m2", opus, used(3, 1000, 1000, 10))
			f.last = from
			return f.answer("m3", opus, used(3, 1000, 0, 10)).user("c").answer("m4", opus, used(3, 1000, 1000, 10))
		}()), usd: 4*(3*5+1000*10+10*25)/1e6 + 2000*0.5/1e6, calls: 4, text: "abandoned branches 2"},
		{name: "prices of the day", files: map[string]string{"s.jsonl": strings.ReplaceAll(s().answer("m1", "claude-sonnet-5-5", used(0, 0, 1_000_000, 0)).b.String(), "2026-11-20", "2026-10-01")}, usd: 0.2, calls: 1},
		{name: "prices since", files: claude(s().answer("m1", "claude-sonnet-5-5", used(0, 0, 1_000_000, 0))), usd: 0.1, calls: 1},
		{name: "both lifetimes", files: claude(s().answer("m1", opus, `"input_tokens":1000,"cache_creation_input_tokens":100000,"cache_read_input_tokens":0,"output_tokens":1000,"cache_creation":{"ephemeral_1h_input_tokens":40000,"ephemeral_5m_input_tokens":60000}`)), usd: 0.805, calls: 1},
		{name: "a model without a price", files: claude(s().answer("m1", opus, used(1000, 0, 0, 0)).user("b").answer("m2", "acme-9", used(2000, 0, 0, 34))), usd: 0.005, calls: 2,
			check: func(b *billed) bool { return len(b.NotPriced) == 1 && b.NotPriced[0].Tokens == 2034 },
			text:  "billed at least 0.01 USD: no price for model acme-9 (1 call, 2,034 tokens)."},
		{name: "only models without a price", files: claude(s().answer("m1", "acme-9", used(2000, 0, 0, 34))), calls: 1,
			text: "The bill of the recorded session is not known: no price for model acme-9 (1 call, 2,034 tokens)."},
		{name: "subagent's first moment", files: map[string]string{
			"s.jsonl":                      s().answer("m1", opus, used(3, 20_000, 0, 100)).user("b").answer("m2", opus, used(3, 300, 20_000, 50)).b.String(),
			"s/subagents/agent-a1.jsonl":   (&billFile{session: "s", more: `"agentId":"a1",`}).user("x").part("m3", opus, "", strings.Repeat("word ", 3200), `"input_tokens":3,"cache_creation_input_tokens":9000,"cache_read_input_tokens":0,"output_tokens":1,"cache_creation":{"ephemeral_1h_input_tokens":9000,"ephemeral_5m_input_tokens":0}`).b.String(),
			"s/subagents/deep/ignore.json": "{}",
		}, usd: 0.3068, calls: 3, check: func(b *billed) bool {
			return b.Partial.Calls == 1 && b.Partial.Tokens == 3999 && math.Abs(b.Partial.USD-0.1) < 1e-4
		},
			text: "The recorded session was billed at least 0.31 USD, 0.09 USD of it by 1 subagent: no final output count for 1 of 3 responses (about 4,000 tokens, 0.10 USD more); with that, about 0.41 USD."},
		{name: "subagents' files of older clients, next to the session", files: map[string]string{
			"s.jsonl": s().answer("m1", opus, used(100_000, 0, 0, 0)).b.String(), "t.jsonl": (&billFile{session: "t"}).user("x").answer("m2", opus, used(100_000, 0, 0, 0)).b.String(),
			"agent-a1.jsonl": (&billFile{session: "s", more: `"agentId":"a1",`}).user("x").answer("m3", opus, used(200_000, 0, 0, 0)).b.String(),
			"agent-a2.jsonl": (&billFile{session: "t", more: `"agentId":"a2",`}).user("x").answer("m4", opus, used(400_000, 0, 0, 0)).b.String(),
		}, usd: 4, calls: 4, text: "billed 4.00 USD, 3.00 USD of it by 2 subagents."},
		{name: "one of these sessions", args: []string{"s.jsonl"}, files: map[string]string{
			"s.jsonl":        s().answer("m1", opus, used(100_000, 0, 0, 0)).b.String(),
			"agent-a1.jsonl": (&billFile{session: "s", more: `"agentId":"a1",`}).user("x").answer("m3", opus, used(200_000, 0, 0, 0)).b.String(),
			"agent-a2.jsonl": (&billFile{session: "t", more: `"agentId":"a2",`}).user("x").answer("m4", opus, used(400_000, 0, 0, 0)).b.String(),
		}, usd: 1.5, calls: 2, text: "billed 1.50 USD, 1.00 USD of it by 1 subagent."},
		{name: "a subagent's file alone", files: claude(s().part("m1", opus, "", strings.Repeat("word ", 3200), `"input_tokens":3,"cache_creation_input_tokens":9000,"cache_read_input_tokens":0,"output_tokens":1`)),
			usd: 0.0563, calls: 1, check: func(b *billed) bool { return b.Partial.Tokens == 3999 }, text: "outputs estimated, where no reliable count is recorded 1 +0.1000"},
		{name: "the client's own total", files: map[string]string{"s.jsonl": s().answer("m1", opus, used(3, 20_000, 0, 100)).user("b").answer("m2", opus, used(3, 300, 20_000, 50)).b.String() +
			`{"type":"cost-state","sessionId":"s","totalCostUSD":0.3513,"modelUsage":{"claude-opus-5":{"inputTokens":6,"outputTokens":4150,"cacheReadInputTokens":20000,"cacheCreationInputTokens":20300,"webSearchRequests":0,"costUSD":0.3168},"claude-haiku-4-5-20251001":{"inputTokens":20000,"outputTokens":2900,"cacheReadInputTokens":0,"cacheCreationInputTokens":0,"webSearchRequests":0,"costUSD":0.0345}},"hasUnknownModelCost":false}` + "\n"},
			usd: 0.2168, calls: 2, check: func(b *billed) bool {
				c := b.Client
				return c != nil && c.USD == 0.3513 && len(c.Differences) == 2 && c.Differences[0].Input.Uncached == 20_000 && c.Differences[0].Out == 2900 && c.Differences[1].Out == 4000
			}, text: "The client itself reports 0.3513 USD, 0.1345 USD more than the lines say: claude-haiku-4-5 +20,000 uncached input, +2,900 output (+0.0345 USD: calls that are on no line); claude-opus-5 +4,000 output (+0.1000 USD: output that is on no line)."},
		{name: "/branch", files: map[string]string{"one.jsonl": fork("f", "one", "", false), "two.jsonl": fork("f", "two", `"forkedFrom":{"sessionId":"one","messageUuid":"x"},`, true)},
			usd: forked, calls: 4, check: func(b *billed) bool { return b.Copies.Calls == 3 }, text: "Simulated with copied calls in each session, it costs"},
		{name: "--fork-session with the parent's id", files: map[string]string{"one.jsonl": fork("f", "one", "", false), "two.jsonl": fork("f", "one", "", true)}, usd: forked, calls: 4},
		{name: "--fork-session with its own id", files: map[string]string{"one.jsonl": fork("f", "one", "", false), "two.jsonl": fork("f", "two", `"entrypoint":"sdk-cli",`, true)}, usd: forked, calls: 4},
		{name: "the fork alone", files: map[string]string{"one.jsonl": fork("f", "one", "", false), "two.jsonl": fork("f", "two", "", true)}, args: []string{"two.jsonl"}, usd: forked, calls: 4,
			check: func(b *billed) bool { return b.Copies.Calls == 0 }},
		{name: "two sessions", files: map[string]string{"one.jsonl": fork("f", "one", "", false), "two.jsonl": fork("g", "two", "", false)}, usd: 2 * (forked - (3*5+3000*10+120_000*0.5+500*25)/1e6), calls: 6},
	} {
		t.Run(c.name, c.run)
	}
}

// TestSharesWithCopies holds that why names what copies of calls add, and that the shares are of the sum with them.
func TestSharesWithCopies(t *testing.T) {
	dir := write(t, map[string]string{"one.jsonl": fork("f", "one", "", false), "two.jsonl": fork("f", "two", "", true)})
	got := printed(t, "why", dir)
	for _, want := range []string{"2 sessions cost 1.44 USD; with the calls that several sessions record counted in each, 2.77 USD in 7 requests.", "calls recorded in several sessions, counted once 3 0 -1.3350 -48.2 %"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %s", want, got)
		}
	}
}

// TestCopiesListed holds that a list has a fork that goes on, and one that does not once, with the session that it is of.
func TestCopiesListed(t *testing.T) {
	dir := write(t, map[string]string{"one.jsonl": fork("f", "one", "", false), "two.jsonl": fork("f", "two", "", true), "three.jsonl": fork("f", "three", "", false)})
	for args, want := range map[string]string{"--sort cost": "2 sessions, billed 1.44 USD", "--sort cost --limit 2": "2 sessions,", "--grep three": "1 session,"} {
		if got := printed(t, append([]string{"sessions", dir}, strings.Fields(args)...)...); !strings.Contains(got, want) {
			t.Errorf("%s: %q is not in %s", args, want, got)
		}
	}
	var out, errs bytes.Buffer
	if Main([]string{"sessions", dir}, strings.NewReader(""), &out, &errs); !strings.Contains(errs.String(), "three.jsonl: a fork without calls of its own: it is listed once, as "+filepath.Join(dir, "one.jsonl")) {
		t.Errorf("it says %q", errs.String())
	}
}

// TestBillCases holds what the reported cases were billed. CTXKIT_CASES names their folder.
func TestBillCases(t *testing.T) {
	dir := folderOf(t, "CTXKIT_CASES")
	for _, c := range []struct {
		name, input string
		usd         float64
		calls       int
	}{
		{"02-inference-geo-us", "s.jsonl", 1.7270, 2}, {"03-web-search-requests", "s.jsonl", 1.3250, 1}, {"05-fallback-declined-midway", "s.jsonl", 0.0218, 2},
		{"09-fork-branch-copies", "p", 2.4676, 6}, {"10-fork-session-copies-own-ids", "p", 2.4676, 6}, {"11-pi-fork-copies", "p", 1.2352, 6},
		{"18-fallback-stub-line", "s.jsonl", 0.3025, 1}, {"19-cumulative-deltas", "s.jsonl", 0.3088, 1}, {"21-branch-writes-twice", "s.jsonl", 0.1041, 4},
		{"22-resume-copies-new-uuids", "s.jsonl", 0.3653, 3}, {"27-price-before-its-change", "s.jsonl", 0.8447, 0}, {"28-cache-1h-5m-split", "s.jsonl", 0.8050, 1},
		{"29-codex-compaction-recorded", "s.jsonl", 0, 4}, {"31-codex-fork-inherited-total", "s.jsonl", 0.0040, 1}, {"33-codex-rate-limit-repeat", "s.jsonl", 0.1178, 2},
		{"35-opencode-export-glued", "s.json", 0.0613, 1}, {"38-pi-cache-warm", "s.jsonl", 0.6251, 6}, {"40-pi-branch-summary-usage", "s.jsonl", 0.0598, 4},
		{"42-gemini-nested-subagent", "tmp", 0, 2}, {"43-copilot-totals-not-billed", "s.jsonl", 0.1525, 6}, {"45-subagent-snapshot-output", ".", 0.3068, 3},
		{"46-cost-state", "s.jsonl", 0.2168, 2}, {"50-fork-session-rewritten", ".", 1.5256, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got struct{ Bridge bridgeSums }
			ctxkitJSON(t, &got, "cost", "-p", "recorded", filepath.Join(dir, "reports", c.name, c.input))
			b := &got.Bridge.Recorded
			if c.usd > 0 && math.Abs(b.USD-c.usd) > 5.1e-5 || c.calls > 0 && b.Calls != c.calls {
				text, _ := json.Marshal(got.Bridge)
				t.Errorf("billed %.6f USD for %d calls, not %.4f for %d: %s", b.USD, b.Calls, c.usd, c.calls, text)
			}
		})
	}
}

// printed runs a command and gives what it prints, white space as one space.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	code, out, errs := ctxkit(append(args, "--quiet")...)
	if code != 0 {
		t.Fatalf("%s: exit code %d: %s", args, code, errs)
	}
	return strings.Join(strings.Fields(out), " ")
}

// write writes files below a new folder.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

// moneyCommands are the commands that show what sessions cost, and their formats.
var moneyCommands = []struct{ command, formats string }{
	{"replay -p recorded", "text json ndjson csv markdown html"}, {"replay -p claude-code", "text json ndjson csv markdown html"},
	{"stats", "text json csv markdown html"}, {"why", "table json csv markdown"}, {"why -p opencode", "table json csv markdown"},
	{"cost -p recorded", "table json csv markdown"}, {"cost -p opencode", "table json csv markdown"},
	{"compare -p recorded -p none", "table json csv markdown html rows"}, {"sweep -p claude-code --vary window.buffer=5k,10k", "table json csv markdown html"},
	{"sessions", "table json csv markdown"}, {"resume", "table json csv markdown"},
}

// TestOneBill holds that a session with a subagent has one bill wherever money is shown: alone, and in a folder with a
// session that begins with a copy of it. One session without a price does not blank the sums.
func TestOneBill(t *testing.T) {
	main := (&billFile{session: "s"}).user("go").answer("m1", opus, used(3, 20_000, 0, 100)).user("b").answer("m2", opus, used(3, 300, 20_000, 50)).b.String()
	agent := (&billFile{session: "s", more: `"agentId":"a1",`}).user("x").part("m3", opus, "", strings.Repeat("word ", 3200), `"input_tokens":3,"cache_creation_input_tokens":9000,"cache_read_input_tokens":0,"output_tokens":1`).b.String()
	dir := write(t, map[string]string{"one/s.jsonl": main, "one/s/subagents/agent-a1.jsonl": agent, "all/s.jsonl": main, "all/s/subagents/agent-a1.jsonl": agent,
		"all/t.jsonl": strings.ReplaceAll(main, `"sessionId":"s"`, `"sessionId":"t"`),
		"all/u.jsonl": (&billFile{session: "u"}).user("go").answer("m9", "acme-9", used(2000, 0, 0, 34)).b.String()})
	const one = "The recorded session was billed at least 0.27 USD, 0.06 USD of it by 1 subagent: no final output count for 1 of 3 responses (about 4,000 tokens, 0.10 USD more)"
	const all = "The recorded session was billed at least 0.27 USD, 0.06 USD of it by 1 subagent: no final output count for 1 of 4 responses (about 4,000 tokens, 0.10 USD more); no price for model acme-9 (1 call, 2,034 tokens). "
	for _, c := range moneyCommands {
		for _, format := range strings.Fields(c.formats) {
			for _, folder := range []bool{false, true} {
				input, want := filepath.Join(dir, "one", "s.jsonl"), one
				if folder {
					input, want = filepath.Join(dir, "all"), all
				}
				words := strings.Fields(c.command)
				if words[0] == "compare" || words[0] == "sweep" {
					want = strings.Replace(want, "1 subagent", "subagents", 1)
				}
				if words[0] == "sessions" || words[0] == "resume" {
					want = ">= 0.27"
					if words[0] == "sessions" {
						input = filepath.Dir(input)
					}
				}
				switch {
				case format == "ndjson" || format == "rows" || format == "csv" && !slices.Contains([]string{"cost", "sessions", "resume", "compare", "sweep"}, words[0]):
					continue // rows are of other things
				case format == "json" || format == "csv":
					want = "0.273"
				case format == "markdown" && words[0] == "replay" && !folder:
					want = "**billed**: at least USD 0.2731, 0.06 USD"
				case format == "markdown":
					want = strings.ReplaceAll(want, ">=", "&gt;=")
				case words[0] == "replay" && !folder && format == "text":
					want = "billed at least USD 0.2731, 0.06 USD of it by 1 subagent: no final output count for 1 of 3 responses (about 4,000 tokens, 0.10 USD more)"
				}
				if got := printed(t, append(slices.Concat(words[:1], []string{input}, words[1:]), "-f", format)...); !strings.Contains(got, want) {
					t.Errorf("%s -f %s, folder %v: %q is not in %.3000s", c.command, format, folder, want, got)
				}
			}
		}
	}
}

// noMoney matches an amount of nothing, as texts have it.
var noMoney = regexp.MustCompile(`USD 0(?:\.0+)?\b|\$0\.0|\b0\.0+ USD|less than 0\.01 USD`)

// nothing matches figures that are 0 whatever the prices: there is no miss to fetch again, and a step of calls changes no amount.
var nothing = regexp.MustCompile(`refetch_usd$|steps\.usd$`)

// TestNoPriceIsMadeUp holds that no command prints an amount for a model or a mode that the table does not know: no 0, and no guess.
func TestNoPriceIsMadeUp(t *testing.T) {
	for name, text := range map[string]string{
		"model":  (&billFile{session: "s"}).user("go").answer("m1", "acme-9", used(3, 20_000, 0, 100)).user("b").answer("m2", "acme-9", used(3, 300, 20_000, 50)).b.String(),
		"newer":  (&billFile{session: "s"}).user("go").answer("m1", "claude-opus-7", used(3, 2000, 0, 34)).user("on").answer("m2", "claude-opus-7", used(3, 2000, 2000, 34)).b.String(),
		"before": strings.ReplaceAll((&billFile{session: "s"}).user("go").answer("m1", "claude-opus-5-5", used(3, 2000, 0, 34)).user("on").answer("m2", "claude-opus-5-5", used(3, 2000, 2000, 34)).b.String(), "2026-11-20", "2026-08-01"),
	} {
		dir := write(t, map[string]string{"p/s.jsonl": text})
		for _, c := range moneyCommands {
			if name == "before" && strings.HasPrefix(c.command, "resume") {
				continue // its requests are of today
			}
			for _, format := range strings.Fields(c.formats) {
				words, input := strings.Fields(c.command), filepath.Join(dir, "p", "s.jsonl")
				if words[0] == "sessions" {
					input = filepath.Dir(input)
				}
				code, out, errs := ctxkit(append(slices.Concat(words[:1], []string{input}, words[1:]), "-f", format, "--quiet")...)
				if code != 0 {
					t.Fatalf("%s: exit code %d: %s", c.command, code, errs)
				}
				for _, found := range amounts(t, format, out) {
					t.Errorf("%s, %s -f %s: %s", name, c.command, format, found)
				}
			}
		}
	}
}

// amounts finds amounts of money in an output.
func amounts(t *testing.T, format, out string) (found []string) {
	var walk func(key string, v any)
	walk = func(key string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, one := range v {
				walk(key+"."+k, one)
			}
		case []any:
			for _, one := range v {
				walk(key, one)
			}
		case float64:
			if strings.HasSuffix(key, "usd") && !nothing.MatchString(key) {
				found = append(found, fmt.Sprintf("%s is %v", key, v))
			}
		}
	}
	switch format {
	case "json", "ndjson", "rows":
		for d := json.NewDecoder(strings.NewReader(out)); ; {
			var v any
			if err := d.Decode(&v); err != nil {
				break
			}
			walk("", v)
		}
	case "csv":
		rows := must.Get(csv.NewReader(strings.NewReader(out)).ReadAll())(t)
		for i, title := range rows[0] {
			for _, row := range rows[1:] {
				if strings.Contains(title, "usd") && row[i] != "" && !nothing.MatchString(title) {
					found = append(found, title+" is "+row[i])
				}
			}
		}
	default:
		found = append(found, noMoney.FindAllString(out, -1)...)
	}
	return found
}

// TestPricesEverywhere holds that every command that goes by windows or prices takes a table and settings of models.
func TestPricesEverywhere(t *testing.T) {
	var missing []string
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		has := func(name string) bool { return c.Flags().Lookup(name) != nil }
		goes := has("window") || has("policy") || has("model") || slices.Contains([]string{"ctxkit check", "ctxkit prices", "ctxkit policy test"}, c.CommandPath())
		if goes && c.Name() != "synth" && !(has("prices") && has("models")) {
			missing = append(missing, c.CommandPath())
		}
	}
	if walk(Commands()); len(missing) > 0 {
		t.Errorf("without --prices or --models: %s", strings.Join(missing, ", "))
	}
}

// TestOneNumber holds that every command has the same bill of a session, and the same simulated cost of it under a policy and a cache.
func TestOneNumber(t *testing.T) {
	t.Parallel()
	files := must.Glob(t, 10, "../testdata/sessions/*.jsonl")
	type totals struct {
		Cost      float64 `json:"cost_usd"`
		Billed    float64 `json:"billed_usd"`
		Simulated float64 `json:"simulated_usd"`
	}
	type numbers struct {
		Totals, Total, Billed totals
		Bridge                struct {
			Recorded totals
			Cost     float64 `json:"cost_usd"`
		}
		Groups []struct {
			Billed   totals
			Policies []struct{ Totals totals }
		}
	}
	policies := []string{"recorded", "none", "claude-code", "opencode-1.1.36"}
	for _, file := range files {
		if strings.HasPrefix(filepath.Base(file), "big") && !must.CI() {
			continue
		}
		of := func(command string, more ...string) (n numbers) {
			ctxkitJSON(t, &n, append([]string{command, file, "--quiet"}, more...)...)
			return n
		}
		args := []string{"--cache", "own"}
		for _, p := range policies {
			args = append(args, "-p", p)
		}
		var resumed struct{ Sessions []totals }
		ctxkitJSON(t, &resumed, "resume", file, "--quiet")
		stats, compared := of("stats"), of("compare", append(args, "--agent", "main")...).Groups[0] // replay is of the main conversation
		bills := map[string]float64{"compare": compared.Billed.Cost, "stats": stats.Total.Billed, "resume": resumed.Sessions[0].Cost,
			"sweep": of("sweep", "-p", "opencode-1.1.36", "--vary", "opencode_compaction.reserved=20000", "--cache", "own", "--agent", "main").Billed.Cost}
		for i, policy := range policies {
			replayed, cost, why := of("replay", "-p", policy), of("cost", "-p", policy), of("why", "-p", policy)
			bills["cost"], bills["why"] = cost.Bridge.Recorded.Cost, why.Total.Billed
			costs := map[string]float64{"cost": cost.Bridge.Cost, "cost, total": cost.Total.Cost, "why": why.Total.Cost, "compare": compared.Policies[i].Totals.Cost}
			if policy == "recorded" {
				costs["stats"] = stats.Total.Simulated
			}
			for command, usd := range bills {
				if usd != replayed.Totals.Billed {
					t.Errorf("%s: billed %v by replay, %v by %s", file, replayed.Totals.Billed, usd, command)
				}
			}
			for command, usd := range costs {
				if usd != replayed.Totals.Cost {
					t.Errorf("%s, %s: simulated %v by replay, %v by %s", file, policy, replayed.Totals.Cost, usd, command)
				}
			}
		}
	}
}

// TestClientTotal holds that every command says "at least" of a bill that the client's own total exceeds, with that total; that what has no
// price is shown by it; and that a difference of rounding is none.
func TestClientTotal(t *testing.T) {
	total := func(usd, model string) string {
		return `{"type":"cost-state","sessionId":"s","totalCostUSD":` + usd + `,"modelUsage":{"` + model + `":{"inputTokens":6,"outputTokens":150,"cacheReadInputTokens":20000,"cacheCreationInputTokens":20300,"webSearchRequests":0,"costUSD":` + usd + `}},"hasUnknownModelCost":false}` + "\n"
	}
	two := func(model string) string {
		return (&billFile{session: "s"}).user("go").answer("m1", model, used(3, 20_000, 0, 100)).user("b").answer("m2", model, used(3, 300, 20_000, 50)).b.String()
	}
	for _, c := range []struct{ name, file, want, not string }{
		{"more", two(opus) + total("0.3513", opus), "at least 0.22 USD (the client reports 0.35 USD)", ""},
		{"less than a cent more", two(opus) + total("0.2190", opus), "at least 0.22 USD (the client reports less than 0.01 USD more)", ""},
		{"rounded", two(opus) + total("0.2168", opus), "0.22 USD", "the client reports"},
		{"less", two(opus) + total("0.2", opus), "0.22 USD", "the client reports"},
		{"no price", two("acme-9") + total("0.09", "acme-9"), "known (the client reports 0.09 USD for what has no price)", ""},
	} {
		dir := write(t, map[string]string{"p/s.jsonl": c.file})
		for _, command := range moneyCommands {
			words, input := strings.Fields(command.command), filepath.Join(dir, "p", "s.jsonl")
			if words[0] == "sessions" {
				input = filepath.Dir(input)
			}
			for _, format := range strings.Fields(command.formats) {
				if format != "text" && format != "table" && format != "html" && format != "markdown" {
					continue
				}
				got, want := strings.ReplaceAll(printed(t, append(slices.Concat(words[:1], []string{input}, words[1:]), "-f", format)...), "&nbsp;", " "), c.want
				if words[0] == "replay" && format != "html" {
					want = strings.ReplaceAll(want, "0.22 USD", "USD 0.2168")
				}
				if !strings.Contains(got, want) || c.not != "" && strings.Contains(got, c.not) {
					t.Errorf("%s: %s -f %s: %q is not in %.2500s", c.name, command.command, format, want, got)
				}
			}
		}
	}
}
