package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/scripts/lab/mock"
)

func compareCommand(args []string) (int, error) {
	flags := flag.NewFlagSet("compare", flag.ExitOnError)
	ctxkit := flags.String("ctxkit", "ctxkit", "the program that is judged")
	policy := flags.String("policy", "", "also say before which requests this policy compacts")
	_ = flags.Parse(args)
	if flags.NArg() == 0 {
		return 2, errors.New("compare takes folders of recordings")
	}
	fmt.Println(header)
	code := 0
	for _, folder := range flags.Args() {
		results, err := compareFolder(*ctxkit, folder, filepath.Base(folder), *policy)
		if err != nil {
			fmt.Printf("%-40s FAILED: %v\n", filepath.Base(folder), err)
			code = 2
			continue
		}
		for _, r := range results {
			fmt.Println(r)
			if !r.good() {
				code = max(code, 1)
			}
		}
	}
	return code, nil
}

// compareFolder compares a recording: a row of the main conversation and, where there are files of subagents, one of those.
func compareFolder(ctxkit, folder, name, policy string) ([]result, error) {
	k, err := openKept(folder)
	if err != nil {
		return nil, err
	}
	defer k.close()
	c := comparison{kept: k, ctxkit: program(ctxkit), policy: policy, payloads: "recorded"}
	all := result{name: name, policy: policy}
	for _, file := range k.sessions {
		if err := c.session(&all, file, k.main, k.summaries); err != nil {
			return nil, err
		}
	}
	results := []result{all}
	if files := k.agentFiles(); k.named && len(files) > 0 {
		of := result{name: name + "+agents"}
		for _, file := range files {
			if err := c.session(&of, file, k.agents, k.agentSummaries); err != nil {
				return nil, err
			}
		}
		results = append(results, of)
	}
	return results, nil
}

// comparison compares the sessions of one recording.
type comparison struct {
	*kept
	ctxkit program
	policy string

	payloads string   // the policy whose payloads are compared
	flags    []string // with it
}

// session compares one session file with the requests of the log that it holds.
func (c *comparison) session(all *result, file string, requests, summaries []mock.LoggedRequest) error {
	texts, err := textsOf(file)
	if err != nil {
		return err
	}
	said, err := c.ctxkit.replay(file, "recorded")
	if err != nil {
		all.unread = true
		all.note("replay: "+err.Error(), "the session cannot be read")
	}
	all.seen += said.Totals.Requests
	all.counted += said.Totals.Compactions
	all.countedAt = append(all.countedAt, said.before("summarize")...)
	if c.policy != "" && !all.unread {
		other, err := c.ctxkit.replay(file, c.policy)
		if err != nil {
			return err
		}
		all.policyAt = append(all.policyAt, other.before("summarize")...)
	}
	matched, left, err := c.match(file, texts.all, said, requests)
	if err != nil {
		return err
	}
	for _, s := range summaries {
		if !c.named || strings.Contains(texts.own, fmt.Sprintf("request %d.", s.N)) {
			all.asked++
			before := 0
			for _, m := range matched {
				if m.line.N < s.N {
					before++
				}
			}
			all.askedAt = append(all.askedAt, before+1)
		}
	}
	all.left += left
	all.requests += len(matched)
	for i, m := range matched {
		if err := c.request(all, file, texts.all, i+1, m); err != nil {
			return err
		}
	}
	return nil
}

// request compares one request.
func (c *comparison) request(all *result, file, text string, n int, a asked) error {
	name := fmt.Sprintf("request %d (%s)", n, strings.Join(a.args, " "))
	where := fmt.Sprintf("request %d", n)
	said, err := c.ctxkit.payload(file, c.payloads, slices.Concat(c.flags, a.args)...)
	if err != nil {
		all.note(name+": "+err.Error(), where+": no such request")
		return nil
	}
	true_, err := blocksOf(a.line.API, a.line.Messages)
	if err != nil {
		return fmt.Errorf("requests.ndjson: request %d: %w", a.line.N, err)
	}
	ours, err := blocksOf("anthropic", said.Messages)
	if err != nil {
		return fmt.Errorf("view: %w", err)
	}
	if c.payloads != "recorded" { // a policy does not know the home of the client
		for _, list := range [][]block{true_, ours} {
			for i := range list {
				list[i].text = resultFile.ReplaceAllString(list[i].text, "saved to:")
			}
		}
	}
	ids := a.line.API != "gemini"
	onlyTrue, onlyOurs := equalRuns(true_, ours, ids)
	all.equal += len(true_) - len(onlyTrue)
	all.ours += len(onlyOurs)
	for _, i := range onlyTrue {
		if wordsIn(true_[i].text, text) {
			all.onFile++
		} else {
			all.offFile++
		}
	}
	if len(onlyTrue) == 0 && len(onlyOurs) == 0 {
		all.whole++
	}
	prompts := map[string]bool{}
	for _, b := range true_ {
		if b.role == "user" && b.kind == "text" {
			prompts[withoutReminders(b.text)] = true
		}
	}
	if d := firstDifference(conversation(true_, nil), conversation(ours, prompts), ids); d == nil {
		all.talk++
	} else {
		all.note(name+": "+d.full, where+": "+d.where)
	}
	if a.line.API == "anthropic" && slices.Equal(boundaries(true_), boundaries(ours)) {
		all.bounds++
	}
	trueMarks, ourMarks := marked(true_), marked(ours)
	if slices.EqualFunc(trueMarks, ourMarks, func(x, y block) bool { return x.same(y, ids) }) {
		all.marks++
	}
	if slices.EqualFunc(trueMarks, ourMarks, func(x, y block) bool { return x.message == y.message && x.at == y.at }) {
		all.places++
	}
	var model string
	var limit int
	_ = json.Unmarshal(a.line.Params["model"], &model)
	_ = json.Unmarshal(a.line.Params["max_tokens"], &limit)
	if (model == "" || model == said.Model) && (limit == 0 || limit == said.MaxTokens) {
		all.params++
	}
	return nil
}

// resultFile is the file of a result that is too long, as a placeholder names it.
var resultFile = regexp.MustCompile(`saved to: \S+`)
