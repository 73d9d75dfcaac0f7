package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// ownRelease is how sessions of a client are replayed under the policy of their own release.
type ownRelease struct {
	policy    string   // with $RELEASE
	scenarios []string // that are played with the client's pins, beside those that say it themselves
	flags     []string
}

// own is a session of a release, replayed under the policy of that release, beside what the release did.
type own struct {
	client            *client
	release, scenario string
	requests          int
	talk, marks       int // requests with the conversation, and with the cache breakpoints, that were sent
	did, says         ownDecisions
}

// ownDecisions are what a client decided: the numbers of the requests before which it compacted, the calls whose results it
// replaced, those that it cleared later, and the number of the request that it did not send.
type ownDecisions struct {
	compacted       []int
	replaced, clear []string
	blocked         int
}

func ownCommand(args []string) (int, error) {
	flags := flag.NewFlagSet("own", flag.ExitOnError)
	ctxkit := flags.String("ctxkit", "ctxkit", "the program that is judged")
	folder := flags.String("recordings", filepath.Join(cacheFolder(), "recordings"), "folder of the recordings")
	table := flags.String("expected", "", "table of expected results to hold these against")
	update := flags.Bool("update", false, "write the results into the table")
	_ = flags.Parse(args)
	text := "client\trelease\tscenario\trequests\tconversation\tmarks\tcompacted before\tby the policy\tresults replaced\tby the policy\tcleared\tby the policy\tnot sent\tby the policy\n"
	for i := range clients {
		client := &clients[i]
		for k := range scenarios {
			s := &scenarios[k]
			releases := s.versions
			switch {
			case !s.plays(client.name):
				continue
			case slices.Contains(client.own.scenarios, s.name):
				releases = client.pins
			case !s.own:
				continue
			}
			for _, release := range releases {
				o := own{client: client, release: release, scenario: s.name}
				err := o.replay(program(*ctxkit), filepath.Join(*folder, client.name+"-"+release+"-"+s.name), s)
				if errors.Is(err, os.ErrNotExist) && !*update {
					fmt.Printf("%s %s, %s is left out: %v\n", client.name, release, s.name, err)
					continue
				}
				if err != nil {
					return 2, fmt.Errorf("%s %s, %s: %w", client.name, release, s.name, err)
				}
				fmt.Print(o.row())
				text += o.row()
			}
		}
	}
	switch {
	case *table == "":
		return 0, nil
	case *update:
		return 0, os.WriteFile(*table, []byte(text), 0o644)
	}
	expected, err := os.ReadFile(*table)
	if err != nil {
		return 2, err
	}
	code := 0
	for line := range strings.Lines(text) {
		if !strings.Contains(string(expected), line) {
			fmt.Print("OTHER THAN THE TABLE: ", line)
			code = 1
		}
	}
	return code, nil
}

// row is the line of the table: what the client did, and what the policy says where that differs.
func (o *own) row() string {
	cells := []string{o.client.name, o.release, o.scenario, fmt.Sprint(o.requests), fmt.Sprint(o.talk), fmt.Sprint(o.marks)}
	for _, pair := range [][2]any{
		{numbers(o.did.compacted), numbers(o.says.compacted)}, {names(o.did.replaced), names(o.says.replaced)}, {names(o.did.clear), names(o.says.clear)},
		{o.did.blocked, o.says.blocked},
	} {
		cells = append(cells, fmt.Sprint(pair[0]), fmt.Sprint(pair[1]))
	}
	return strings.Join(cells, "\t") + "\n"
}

// names are the last digits of ids of calls, which the mock counts.
func names(ids []string) string {
	if len(ids) == 0 {
		return "–"
	}
	short := make([]string, len(ids))
	for i, id := range slices.Sorted(slices.Values(ids)) { // a policy may clear the newest first
		short[i] = strings.TrimLeft(id[strings.LastIndex(id, "_")+1:], "0")
	}
	return strings.Join(short, " ")
}

var replacement = regexp.MustCompile(`^(<persisted-output>|\[Old tool result content cleared\])`)

// replay replays one recording in the environment of its client.
func (o *own) replay(ctxkit program, folder string, s *scenario) error {
	k, err := openKept(folder)
	if err != nil {
		return err
	}
	defer k.close()
	for _, e := range slices.Concat(o.client.env, s.env) {
		if name, value, _ := strings.Cut(e, "="); strings.Contains(name, "COMPACT") {
			if err := os.Setenv(name, strings.ReplaceAll(value, "$WINDOW", fmt.Sprint(s.window))); err != nil {
				return err
			}
			defer os.Unsetenv(name)
		}
	}
	file, policy := k.sessions[0], strings.ReplaceAll(o.client.own.policy, "$RELEASE", o.release)
	recorded, err := ctxkit.replay(file, "recorded")
	if err != nil {
		return err
	}
	flags := append([]string{"--env"}, o.client.configured(s, o.client.own.flags, 0)...)
	if o.client.name == "claude" && compareVersions(o.release, "2.1.25") >= 0 && compareVersions(o.release, "2.1.69") < 0 {
		flags = append(flags, "--set", "microcompact_size.enabled=true") // no server here switches it off
	}
	said, err := ctxkit.replay(file, policy, flags...)
	if err != nil {
		return err
	}
	texts, err := textsOf(file)
	if err != nil {
		return err
	}
	requests, _, err := k.match(file, texts.all, recorded, k.main)
	if err != nil {
		return err
	}
	c := comparison{kept: k, ctxkit: ctxkit, payloads: policy, flags: flags}
	var all result
	sent := map[string]bool{}
	for i, r := range requests {
		if err := c.request(&all, file, texts.all, i+1, r); err != nil {
			return err
		}
		blocks, err := blocksOf(r.line.API, r.line.Messages)
		if err != nil {
			return err
		}
		for _, b := range blocks {
			if b.kind != "tool_result" {
				continue
			}
			whole, known := sent[b.call]
			now := !replacement.MatchString(b.text)
			switch {
			case !known && !now:
				o.did.replaced = append(o.did.replaced, b.call)
			case whole && !now:
				o.did.clear = append(o.did.clear, b.call)
			}
			sent[b.call] = now
		}
	}
	o.requests, o.talk, o.marks = len(requests), all.talk, all.places
	o.did.compacted = k.decisions(nil, nil).compacted
	last := requests[len(requests)-1].line
	o.did.blocked, err = blockedAt(file, len(requests))
	if err != nil {
		return err
	}
	o.says.compacted = said.before("summarize")
	for _, e := range said.Events {
		for _, t := range e.Targets {
			switch {
			case e.Kind == "persist" && e.Stage == "tool_result_budget":
				o.says.replaced = append(o.says.replaced, t.Call)
			case e.Stage == "opencode_prune" || strings.HasPrefix(e.Stage, "microcompact"):
				o.says.clear = append(o.says.clear, t.Call)
			}
		}
	}
	if o.says.blocked, err = ctxkit.blocks(policy, len(requests), last.Answer.Usage.Total+last.Answer.Usage.Out, said); err != nil {
		return err
	}
	if all.first != "" {
		fmt.Printf("  %s, %s: %s\n", o.release, s.name, all.first)
	}
	return nil
}

// blockedAt is the number of the request that a client says it did not send, after n that it sent; 0 for none.
func blockedAt(file string, n int) (int, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		var l struct {
			IsAPIErrorMessage bool
			Error             string
			Message           struct{ Model string }
		}
		if json.Unmarshal([]byte(line), &l) == nil && l.IsAPIErrorMessage && l.Message.Model == "<synthetic>" {
			return n + 1, nil
		}
	}
	return 0, nil
}

// blocks is the number of the first request that a policy blocks: one of the replay, or the one after the last, whose
// context is given.
func (p program) blocks(policy string, n, used int, said replayed) (int, error) {
	if at := said.before("block"); len(at) > 0 {
		return at[0], nil
	}
	out, err := p.run("thresholds", "-p", policy, "--env", "--used", fmt.Sprint(used), "-f", "json")
	if err != nil {
		return 0, err
	}
	var t struct {
		Limits []struct {
			Name   string
			Tokens int
			Blocks bool
		}
	}
	if err := json.Unmarshal(out, &t); err != nil {
		return 0, err
	}
	for _, l := range t.Limits {
		if l.Name == "blocking limit" && l.Blocks && used >= l.Tokens {
			return n + 1, nil
		}
	}
	return 0, nil
}
