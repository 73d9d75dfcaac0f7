package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/scripts/lab/mock"
)

// pair is a replay of a session of one client under the policy of another.
type pair struct{ from, fromVersion, to, toVersion string }

var pairs = []pair{
	{"claude", "2.1.119", "claude", "2.1.332"},
	{"claude", "2.1.332", "opencode", "1.18.33"},
	{"opencode", "1.18.33", "claude", "2.1.332"},
	{"claude", "2.1.332", "codex", "0.171.0"},
	{"codex", "0.171.0", "claude", "2.1.332"},
}

// replayedScenarios are plain shell calls, which each client of a pair plays with its own tool.
var replayedScenarios = []string{"long", "loop", "twice"}

// asIf is how a session of any client is replayed as if this one had played it. In its flags $WINDOW, $LIMIT and $MODEL
// are those of client, $SUMMARY the tokens of the summaries that the server wrote.
type asIf struct {
	policy string
	flags  []string
	cut    *regexp.Regexp // what a result has that the client's tool or the client cut short
}

// decisions are the numbers of the requests before which something was done.
type decisions struct{ compacted, cleared, cut []int }

// payloads are the tokens of one request: as the client sent it, and as the replay says.
type payloads struct{ sent, replayed int }

func (p payloads) off() float64 { return float64(p.replayed-p.sent) / float64(p.sent) }

// counterfactual is a session of one client, replayed as another one, beside what that one did.
type counterfactual struct {
	pair
	scenario  string
	overhead  int
	did, says decisions
	requests  []payloads
	unlike    int // requests that only one of both has
}

func counterfactualCommand(args []string) (int, error) {
	flags := flag.NewFlagSet("counterfactual", flag.ExitOnError)
	ctxkit := flags.String("ctxkit", "ctxkit", "the program that is judged")
	folder := flags.String("recordings", filepath.Join(cacheFolder(), "recordings"), "folder of the recordings")
	page := flags.String("page", "", "page with the table of expected results to hold these against")
	update := flags.Bool("update", false, "write the table into the page, and the tokens of each request beside it")
	verbose := flags.Bool("v", false, "print the tokens of each request")
	_ = flags.Parse(args)
	var all []counterfactual
	for _, p := range pairs {
		for _, s := range replayedScenarios {
			c, err := replayAs(program(*ctxkit), *folder, p, scenarioNamed(s))
			if errors.Is(err, os.ErrNotExist) && !*update {
				fmt.Printf("%s as %s, %s is left out: %v\n", p.from, p.to, s, err)
				continue
			}
			if err != nil {
				return 2, fmt.Errorf("%s as %s, %s: %w", p.from, p.to, s, err)
			}
			all = append(all, c)
			fmt.Print(c.text(*verbose))
		}
	}
	switch {
	case *page == "":
		return 0, nil
	case *update:
		return 0, writeCounterfactuals(*page, all)
	}
	text, err := os.ReadFile(*page)
	if err != nil {
		return 2, err
	}
	code := 0
	for i := range all {
		if worse := all[i].worse(string(text)); worse != "" {
			code = 1
			fmt.Println("WORSE:", worse)
		}
	}
	return code, nil
}

// replayAs replays one recording.
func replayAs(ctxkit program, folder string, p pair, s *scenario) (counterfactual, error) {
	c := counterfactual{pair: p, scenario: s.name}
	from, err := openKept(filepath.Join(folder, p.from+"-"+p.fromVersion+"-"+s.name))
	if err != nil {
		return c, err
	}
	defer from.close()
	to, err := openKept(filepath.Join(folder, p.to+"-"+p.toVersion+"-"+s.name))
	if err != nil {
		return c, err
	}
	defer to.close()
	if len(from.sessions) != 1 || len(to.main) == 0 {
		return c, errors.New("the recordings are not of one session each")
	}
	sent := make([][]block, len(to.main))
	for i, l := range to.main {
		if sent[i], err = blocksOf(l.API, l.Messages); err != nil {
			return c, err
		}
	}
	client := clientNamed(p.to)
	c.overhead = to.main[0].Answer.Usage.Total - said(sent[0])
	c.did = to.decisions(sent, client.asIf.cut)
	// What the first client has added to its session stays in view, so that it is no part of what is given for the other's:
	// both first requests are equally large.
	flags := client.asIfFlags(s, to.summaries)
	bare, err := ctxkit.replay(from.sessions[0], client.asIf.policy, append(slices.Clone(flags), "--overhead", "0")...)
	if err != nil {
		return c, err
	}
	flags = append(flags, "--overhead", fmt.Sprint(max(to.main[0].Answer.Usage.Total-bare.Requests[0].Payload, 0)))
	tl, err := ctxkit.replay(from.sessions[0], client.asIf.policy, flags...)
	if err != nil {
		return c, err
	}
	c.says = decisions{tl.before("summarize"), tl.before("clear"), slices.Sorted(slices.Values(append(tl.before("truncate"), tl.before("persist")...)))}
	c.unlike = max(len(sent), tl.Totals.Requests) - min(len(sent), tl.Totals.Requests)
	for i := range min(len(sent), tl.Totals.Requests) {
		b, err := ctxkit.payload(from.sessions[0], client.asIf.policy, append(slices.Clone(flags), "--at", fmt.Sprint(i+1))...)
		if err != nil {
			return c, err
		}
		blocks, err := blocksOf("anthropic", b.Messages)
		if err != nil {
			return c, err
		}
		c.requests = append(c.requests, payloads{c.overhead + said(sent[i]), c.overhead + said(blocks)})
	}
	return c, nil
}

// asIfFlags are the flags of a replay as this client, in the window that a scenario gives it.
func (c *client) asIfFlags(s *scenario, summaries []mock.LoggedRequest) []string {
	summary := 1
	if len(summaries) > 0 {
		summary = utf8.RuneCountInString(summaries[0].Answer.Text) / 4
	}
	return c.configured(s, c.asIf.flags, summary)
}

// configured are flags of a replay, as the client is configured in a scenario.
func (c *client) configured(s *scenario, flags []string, summary int) []string {
	window := c.window
	if s.window > 0 {
		window = s.window
	}
	names := strings.NewReplacer("$WINDOW", fmt.Sprint(window), "$LIMIT", fmt.Sprint(window*3/4), "$MODEL", c.model, "$SUMMARY", fmt.Sprint(summary))
	list := make([]string, len(flags))
	for i, f := range flags {
		list[i] = names.Replace(f)
	}
	return list
}

// decisions are what a client can be seen to have done to its conversation, from its requests.
func (k *kept) decisions(sent [][]block, cut *regexp.Regexp) decisions {
	var d decisions
	for _, s := range k.summaries {
		n := 1
		for _, l := range k.main {
			if l.N < s.N {
				n++
			}
		}
		d.compacted = append(d.compacted, n)
	}
	seen := map[string]string{}
	for i, blocks := range sent {
		cleared, short := false, false
		for _, b := range blocks {
			if b.kind != "tool_result" {
				continue
			}
			text := withoutReminders(b.text)
			before, known := seen[b.call]
			cleared = cleared || known && before != text
			short = short || !known && cut.MatchString(text)
			seen[b.call] = text
		}
		if cleared {
			d.cleared = append(d.cleared, i+1)
		}
		if short {
			d.cut = append(d.cut, i+1)
		}
	}
	return d
}

// clientTexts are texts of the user's role that a client writes of its own and does not tag as reminders.
var clientTexts = regexp.MustCompile(`^(<environment_context>|# AGENTS\.md instructions for|<user_instructions>)`)

// said is the size of what people, the model and tools said, in tokens of four characters: prompts, answers, thinking,
// calls, results, and what stands for them after a compaction.
func said(blocks []block) int {
	n := 0
	for _, b := range conversation(blocks, nil) {
		if b.role != "user" || b.kind != "text" || !clientTexts.MatchString(b.text) {
			n += utf8.RuneCountInString(b.text)
		}
	}
	return n / 4
}

// text shows a counterfactual, with the tokens of each request or without.
func (c *counterfactual) text(verbose bool) string {
	var b strings.Builder
	within, worst := c.within()
	fmt.Fprintf(&b, "%s %s as %s %s, %s: overhead %d; %d of %d requests within 5 %%; largest difference %+.1f %% (request %d)\n", c.from, c.fromVersion, c.to, c.toVersion, c.scenario,
		c.overhead, within, len(c.requests), 100*c.requests[worst].off(), worst+1)
	if c.unlike > 0 {
		fmt.Fprintf(&b, "  %d requests more on one side\n", c.unlike)
	}
	fmt.Fprintf(&b, "  did:  compacted before %d, cleared before %d, cut before %d\n  says: compacted before %d, cleared before %d, cut before %d\n",
		c.did.compacted, c.did.cleared, c.did.cut, c.says.compacted, c.says.cleared, c.says.cut)
	for i, p := range c.requests {
		if verbose {
			fmt.Fprintf(&b, "  %3d %7d %7d %+6.1f %%\n", i+1, p.sent, p.replayed, 100*p.off())
		}
	}
	return b.String()
}

// within counts the requests whose payload is within 5 %, and finds the worst one.
func (c *counterfactual) within() (within, worst int) {
	for i, p := range c.requests {
		if max(p.off(), -p.off()) <= 0.05 {
			within++
		}
		if w := c.requests[worst].off(); max(p.off(), -p.off()) > max(w, -w) {
			worst = i
		}
	}
	return within, worst
}

// worse says what is worse than the row of the page, or nothing: another decision, on either side, or fewer requests within
// 5 %. Without a row every decision has to be the client's own.
func (c *counterfactual) worse(page string) string {
	row := c.row()
	label := strings.Join(row[:3], ", ")
	within, _ := c.within()
	for line := range strings.Lines(page) {
		expected := strings.Split(strings.Trim(line, "| \n"), " | ")
		if len(expected) != len(row) || !slices.Equal(expected[:3], row[:3]) {
			continue
		}
		if !slices.Equal(expected[:10], row[:10]) {
			return fmt.Sprintf("%s: decisions before %s, the page has %s", label, strings.Join(row[3:9], "; "), strings.Join(expected[3:9], "; "))
		}
		if n, err := strconv.Atoi(expected[10]); err != nil || within < n {
			return fmt.Sprintf("%s: %d requests are within 5 %%, on the page %s", label, within, expected[10])
		}
		return ""
	}
	if row[3] != row[4] || row[5] != row[6] {
		return label + ": other decisions than the client's, and no row on the page"
	}
	return ""
}

// row is the row of the page's table.
func (c *counterfactual) row() []string {
	within, worst := c.within()
	row := []string{clientNamed(c.from).label + " " + c.fromVersion, clientNamed(c.to).label + " " + c.toVersion, c.scenario}
	for _, at := range [][]int{c.did.compacted, c.says.compacted, c.did.cleared, c.says.cleared, c.did.cut, c.says.cut} {
		row = append(row, numbers(at))
	}
	return append(row, strconv.Itoa(len(c.requests)), strconv.Itoa(within), strings.Replace(fmt.Sprintf("%+.1f %%", 100*c.requests[worst].off()), "-", "−", 1))
}

// writeCounterfactuals puts the table into a page, and the tokens of each request beside it.
func writeCounterfactuals(page string, all []counterfactual) error {
	var table, requests strings.Builder
	fmt.Fprintln(&table, "| session of | as if by | script | compacted before | by the replay | cleared before | by the replay | cut before | by the replay | requests | within 5 % | largest difference |")
	fmt.Fprintln(&table, "|---|---|---|---|---|---|---|---|---|--:|--:|--:|")
	fmt.Fprintln(&requests, "from,to,script,request,sent,replayed")
	for i := range all {
		c := &all[i]
		row := c.row()
		fmt.Fprintf(&table, "| %s |\n", strings.Join(row, " | "))
		for k, p := range c.requests {
			fmt.Fprintf(&requests, "%s,%d,%d,%d\n", strings.Join(row[:3], ","), k+1, p.sent, p.replayed)
		}
	}
	if err := os.WriteFile(strings.TrimSuffix(page, ".md")+"-requests.csv", []byte(requests.String()), 0o644); err != nil {
		return err
	}
	return replaceTable(page, counterfactualBegin, table.String())
}

const counterfactualBegin = "<!-- table: begin (lab counterfactual -page writes it) -->\n"

// numbers is a list of numbers of requests, a dash for none.
func numbers(at []int) string {
	if len(at) == 0 {
		return "–"
	}
	return strings.Trim(fmt.Sprint(at), "[]")
}
