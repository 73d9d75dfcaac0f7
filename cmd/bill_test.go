package cmd

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// billCase is a folder of sessions and what they were billed: a part of testdata/bills.txt.
type billCase struct {
	files  map[string]string
	of     string   // what is asked for, in place of the folder
	expect []string // lines
}

var formWord = regexp.MustCompile(`\$(\d|[a-z]+)`)

// billCases reads testdata/bills.txt, which says how it is written.
func billCases(t *testing.T) map[string]*billCase {
	t.Helper()
	cases, forms := map[string]*billCase{}, map[string]string{}
	var c *billCase
	var file, session, more, prefix, last, kept string
	n := 0 // lines of the file
	for line := range strings.Lines(string(must.Get(os.ReadFile("testdata/bills.txt"))(t))) {
		line = strings.TrimSuffix(line, "\n")
		if name, form, ok := strings.Cut(line, " = "); ok && c == nil && !strings.HasPrefix(line, "#") {
			forms[name] = form
			continue
		}
		verb, rest, _ := strings.Cut(line, " ")
		words := append(strings.SplitN(rest, " ", 3), "", "")
		switch verb {
		case "", "#":
		case "==":
			c = &billCase{files: map[string]string{}}
			cases[rest] = c
		case "file":
			file, session, more, prefix, last, n = words[0], words[1], words[2], "", "null", 0
		case "more":
			more = rest
		case "prefix":
			prefix = rest
		case "root":
			last = "null"
		case "restart":
			n = 0
		case "remember":
			kept = last
		case "return":
			last = kept
		case "twice":
			c.files[file] += c.files[file]
		case "replace":
			c.files[file] = strings.ReplaceAll(c.files[file], words[0], words[1])
		case "of":
			c.of = rest
		case "has", "says":
			c.expect = append(c.expect, line)
		default:
			form, ok := forms[verb]
			if !ok {
				t.Fatalf("there is no form %s: %s", verb, line)
			}
			n++
			uuid := fmt.Sprintf(`"a%s%07d-0000-4000-8000-000000000000"`, prefix, n)
			values := map[string]string{
				"$n": fmt.Sprintf("%02d", n), "$time": fmt.Sprintf("%02d:%02d", n/6, n%6*10), "$uuid": uuid, "$parent": last, "$session": session, "$more": more,
				"$side": fmt.Sprint(strings.Contains(more, "agentId")),
			}
			most := 1
			for _, w := range formWord.FindAllString(form, -1) {
				if k, err := strconv.Atoi(w[1:]); err == nil {
					most = max(most, k)
				}
			}
			for k, word := range strings.SplitN(rest, " ", most) {
				if long, times, ok := strings.Cut(word, "*"); ok {
					k, _ := strconv.Atoi(times)
					word = strings.Repeat(long+" ", k)
				}
				values[fmt.Sprint("$", k+1)] = word
			}
			c.files[file] += formWord.ReplaceAllStringFunc(form, func(w string) string { return values[w] }) + "\n"
			last = uuid
		}
	}
	return cases
}

// billFolder is a new folder with the sessions of a case.
func billFolder(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	for file, text := range billCases(t)[name].files {
		writeFile(t, filepath.Join(dir, filepath.FromSlash(file)), text)
	}
	return dir
}

// TestBills holds what sessions of each kind were billed, and that the steps from the bill to the simulated cost add up.
func TestBills(t *testing.T) {
	for name, c := range billCases(t) {
		t.Run(name, func(t *testing.T) {
			args := []string{"cost", "-p", "recorded", filepath.Join(billFolder(t, name), c.of)}
			var doc struct{ Bridge any }
			ctxkitJSON(t, &doc, args...)
			said := printed(t, args...)
			for _, line := range c.expect {
				verb, rest, _ := strings.Cut(line, " ")
				path, want, _ := strings.Cut(rest, " ")
				if x, err := strconv.ParseFloat(want, 64); verb == "has" && (err != nil || math.Abs(valueAt(doc.Bridge, "recorded."+path)-x) > 5e-5) {
					t.Errorf("%s is %.6f, not %s", path, valueAt(doc.Bridge, "recorded."+path), want)
				} else if verb == "says" && !strings.Contains(said, rest) {
					t.Errorf("%q is not in %s", rest, said)
				}
			}
			sum := valueAt(doc.Bridge, "recorded.cost_usd")
			for _, s := range at(doc.Bridge, "steps").([]any) {
				usd := valueAt(s, "usd")
				sum += usd
				if at(s, "step") == "estimated_outputs" && valueAt(doc.Bridge, "recorded.requests_without_usage") == 0 && math.Abs(usd-valueAt(doc.Bridge, "recorded.partial_outputs.cost_usd")) > 1e-9 {
					t.Errorf("the outputs are estimated %.9f USD larger, and the bill is short by another amount", usd)
				}
			}
			if cost := valueAt(doc.Bridge, "cost_usd"); math.Abs(sum-cost) > 1e-8 {
				t.Errorf("the steps lead to %.9f, not to %.9f: %v", sum, cost, doc.Bridge)
			}
		})
	}
}

// at is what a JSON value has at a path of keys and indexes; nil where there is nothing.
func at(v any, path string) any {
	for key := range strings.SplitSeq(path, ".") {
		i, err := strconv.Atoi(key)
		switch x := v.(type) {
		case map[string]any:
			v = x[key]
		case []any:
			if v = nil; err == nil && i < len(x) {
				v = x[i]
			}
		default:
			return nil
		}
	}
	return v
}

// valueAt is the number there; 0 where there is none.
func valueAt(v any, path string) float64 {
	x, _ := at(v, path).(float64)
	return x
}

// TestSharesWithCopies holds that why names what copies of calls add, and that the shares are of the sum with them.
func TestSharesWithCopies(t *testing.T) {
	got := printed(t, "why", billFolder(t, "--fork-session with its own id"))
	for _, want := range []string{"2 sessions cost 1.44 USD; with the calls that several sessions record counted in each, 2.77 USD in 7 requests.", "calls recorded in several sessions, counted once 3 0 -1.3350 -48.2 %"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %s", want, got)
		}
	}
}

// TestCopiesListed holds that a list has a fork that goes on, and one that does not once, with the session that it is of.
func TestCopiesListed(t *testing.T) {
	dir := billFolder(t, "a fork that goes on, and one that does not")
	for args, want := range map[string]string{"--sort cost": "2 sessions, billed 1.44 USD", "--sort cost --limit 2": "2 sessions,", "--grep three": "1 session,"} {
		if got := printed(t, append([]string{"sessions", dir}, strings.Fields(args)...)...); !strings.Contains(got, want) {
			t.Errorf("%s: %q is not in %s", args, want, got)
		}
	}
	if _, _, said := ctxkit("sessions", dir); !strings.Contains(said, "three.jsonl: a fork without calls of its own: it is listed once, as "+filepath.Join(dir, "one.jsonl")) {
		t.Errorf("it says %q", said)
	}
}

// TestBillCases holds what the reported cases were billed; 0: it is not held. CTXKIT_CASES names their folder.
func TestBillCases(t *testing.T) {
	dir := folderOf(t, "CTXKIT_CASES")
	must.Rows(t, `
# name | input | USD | calls
02-inference-geo-us            | s.jsonl  | 1.7270 | 2
03-web-search-requests         | s.jsonl  | 1.3250 | 1
05-fallback-declined-midway    | s.jsonl  | 0.0218 | 2
09-fork-branch-copies          | p        | 2.4676 | 6
10-fork-session-copies-own-ids | p        | 2.4676 | 6
11-pi-fork-copies              | p        | 1.2352 | 6
18-fallback-stub-line          | s.jsonl  | 0.3025 | 1
19-cumulative-deltas           | s.jsonl  | 0.3088 | 1
21-branch-writes-twice         | s.jsonl  | 0.1041 | 4
22-resume-copies-new-uuids     | s.jsonl  | 0.3653 | 3
27-price-before-its-change     | s.jsonl  | 0.8447 | 0
28-cache-1h-5m-split           | s.jsonl  | 0.8050 | 1
29-codex-compaction-recorded   | s.jsonl  | 0      | 4
31-codex-fork-inherited-total  | s.jsonl  | 0.0040 | 1
33-codex-rate-limit-repeat     | s.jsonl  | 0.1178 | 2
35-opencode-export-glued       | s.json   | 0.0613 | 1
38-pi-cache-warm               | s.jsonl  | 0.6251 | 6
40-pi-branch-summary-usage     | s.jsonl  | 0.0598 | 4
42-gemini-nested-subagent      | tmp      | 0      | 2
43-copilot-totals-not-billed   | s.jsonl  | 0.1525 | 6
45-subagent-snapshot-output    | .        | 0.3068 | 3
46-cost-state                  | s.jsonl  | 0.2168 | 2
50-fork-session-rewritten      | .        | 1.5256 | 8
`, func(name, input string, usd float64, calls int) {
		var doc any
		ctxkitJSON(t, &doc, "cost", "-p", "recorded", filepath.Join(dir, "reports", name, input))
		billed, n := valueAt(doc, "bridge.recorded.cost_usd"), valueAt(doc, "bridge.recorded.calls")
		if usd > 0 && math.Abs(billed-usd) > 5.1e-5 || calls > 0 && int(n) != calls {
			t.Errorf("billed %.6f USD for %v calls: %v", billed, n, doc)
		}
	})
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

// moneyCommands are the commands that show what sessions cost, and their formats.
const moneyCommands = `
replay -p recorded: text json ndjson csv markdown html
replay -p claude-code: text json ndjson csv markdown html
stats: text json csv markdown html
why: table json csv markdown
why -p opencode: table json csv markdown
cost -p recorded: table json csv markdown
cost -p opencode: table json csv markdown
compare -p recorded -p none: table json csv markdown html rows
sweep -p claude-code --vary window.buffer=5k,10k: table json csv markdown html
sessions: table json csv markdown
resume: table json csv markdown
`

// eachMoney calls do with the line of each command over an input, in each of its formats. What lists sessions takes the folder
// of the input.
func eachMoney(input string, do func(command, format string, line []string)) {
	for row := range strings.Lines(strings.TrimSpace(moneyCommands)) {
		line, formats, _ := strings.Cut(strings.TrimSpace(row), ": ")
		words, in := strings.Fields(line), input
		if words[0] == "sessions" {
			in = filepath.Dir(in)
		}
		for format := range strings.FieldsSeq(formats) {
			do(words[0], format, slices.Concat(words[:1], []string{in}, words[1:], []string{"-f", format}))
		}
	}
}

// TestOneBill holds that a session with a subagent has one bill wherever money is shown: alone, and in a folder with a
// session that begins with a copy of it. One session without a price does not blank the sums.
func TestOneBill(t *testing.T) {
	dir := billFolder(t, "a session and its subagent, alone and with a copy")
	const one = "The recorded session was billed at least 0.27 USD, 0.06 USD of it by 1 subagent: no final output count for 1 of 3 responses (about 4,000 tokens, 0.10 USD more)"
	const all = "The recorded session was billed at least 0.27 USD, 0.06 USD of it by 1 subagent: no final output count for 1 of 4 responses (about 4,000 tokens, 0.10 USD more); no price for model acme-9 (1 call, 2,034 tokens). "
	for input, text := range map[string]string{"one/s.jsonl": one, "all": all} {
		eachMoney(filepath.Join(dir, filepath.FromSlash(input)), func(command, format string, line []string) {
			want, folder := text, input == "all"
			switch command {
			case "compare", "sweep":
				want = strings.Replace(want, "1 subagent", "subagents", 1)
			case "sessions", "resume":
				want = ">= 0.27"
			}
			switch {
			case format == "ndjson" || format == "rows" || format == "csv" && !slices.Contains(strings.Fields("cost sessions resume compare sweep"), command):
				return // rows are of other things
			case format == "json" || format == "csv":
				want = "0.273"
			case format == "markdown" && command == "replay" && !folder:
				want = "**billed**: at least USD 0.2731, 0.06 USD"
			case format == "markdown":
				want = strings.ReplaceAll(want, ">=", "&gt;=")
			case command == "replay" && !folder && format == "text":
				want = "billed at least USD 0.2731, 0.06 USD of it by 1 subagent: no final output count for 1 of 3 responses (about 4,000 tokens, 0.10 USD more)"
			}
			if got := printed(t, line...); !strings.Contains(got, want) {
				t.Errorf("%q: %q is not in %.3000s", line, want, got)
			}
		})
	}
}

// noMoney matches an amount of nothing, as texts have it.
var noMoney = regexp.MustCompile(`USD 0(?:\.0+)?\b|\$0\.0|\b0\.0+ USD|less than 0\.01 USD`)

// nothing matches figures that are 0 whatever the prices: there is no miss to fetch again, and a step of calls changes no amount.
var nothing = regexp.MustCompile(`refetch_usd$|steps\.usd$`)

// TestNoPriceIsMadeUp holds that no command prints an amount for a model or a mode that the table does not know: no 0, and no guess.
func TestNoPriceIsMadeUp(t *testing.T) {
	for _, name := range strings.Fields("model newer before") {
		eachMoney(filepath.Join(billFolder(t, "no price: "+name), "p", "s.jsonl"), func(command, format string, line []string) {
			if name == "before" && command == "resume" {
				return // its requests are of today
			}
			code, out, errs := ctxkit(append(line, "--quiet")...)
			if code != 0 {
				t.Fatalf("%q: exit code %d: %s", line, code, errs)
			}
			for _, found := range amounts(t, format, out) {
				t.Errorf("%s, %q: %s", name, line, found)
			}
		})
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
	policies := strings.Fields("recorded none claude-code opencode-1.1.36")
	for _, file := range must.Glob(t, 10, "../testdata/sessions/*.jsonl") {
		if strings.HasPrefix(filepath.Base(file), "big") && !must.CI() {
			continue
		}
		of := func(line string) (doc any) {
			words := strings.Fields(line)
			ctxkitJSON(t, &doc, append([]string{words[0], file, "--quiet"}, words[1:]...)...)
			return doc
		}
		stats, compared := of("stats"), of("compare --cache own -p "+strings.Join(policies, " -p ")+" --agent main") // replay is of the main conversation
		bills := map[string]any{"compare": at(compared, "groups.0.billed.cost_usd"), "stats": at(stats, "total.billed_usd"), "resume": at(of("resume"), "sessions.0.cost_usd"),
			"sweep": at(of("sweep -p opencode-1.1.36 --vary opencode_compaction.reserved=20000 --cache own --agent main"), "billed.cost_usd")}
		for i, policy := range policies {
			replayed, cost, why := of("replay -p "+policy), of("cost -p "+policy), of("why -p "+policy)
			bills["cost"], bills["why"] = at(cost, "bridge.recorded.cost_usd"), at(why, "total.billed_usd")
			costs := map[string]any{"cost": at(cost, "bridge.cost_usd"), "cost, total": at(cost, "total.cost_usd"), "why": at(why, "total.cost_usd"),
				"compare": at(compared, fmt.Sprintf("groups.0.policies.%d.totals.cost_usd", i))}
			if policy == "recorded" {
				costs["stats"] = at(stats, "total.simulated_usd")
			}
			for path, list := range map[string]map[string]any{"totals.billed_usd": bills, "totals.cost_usd": costs} {
				for command, usd := range list {
					must.Equal(t, usd, at(replayed, path), file, policy, path, command)
				}
			}
		}
	}
}

// TestClientTotal holds that every command says "at least" of a bill that the client's own total exceeds, with that total; that what has no
// price is shown by it; and that a difference of rounding is none.
func TestClientTotal(t *testing.T) {
	must.Rows(t, `
# total | what is said | what is not
more                  | at least 0.22 USD (the client reports 0.35 USD) | no such text
less than a cent more | at least 0.22 USD (the client reports 0.002 USD more) | no such text
rounded               | 0.22 USD | the client reports
less                  | 0.22 USD | the client reports
no price              | known (the client reports 0.09 USD for what has no price) | no such text
`, func(name, text, not string) {
		eachMoney(filepath.Join(billFolder(t, "total: "+name), "p", "s.jsonl"), func(command, format string, line []string) {
			if !slices.Contains(strings.Fields("text table html markdown"), format) {
				return
			}
			got, want := strings.ReplaceAll(printed(t, line...), "&nbsp;", " "), text
			if command == "replay" && format != "html" {
				want = strings.ReplaceAll(want, "0.22 USD", "USD 0.2168")
			}
			if !strings.Contains(got, want) || strings.Contains(got, not) {
				t.Errorf("%q: %q is not in %.2500s", line, want, got)
			}
		})
	})
}
