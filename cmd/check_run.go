package cmd

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/replay/check"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// run replays everything and judges it; with --update it writes the baseline.
func (c *checking) run(old *check.Baseline) (*check.Report, error) {
	var results []check.CaseResult
	msgs := c.o.messages(c.sys)
	j := &job{sys: c.sys, in: c.in, input: c.replays.inputOptions, msgs: &messages{w: c.sys.err, quiet: true}}
	j.encoders = &tokens.Encoders{Jobs: j.perInput()}
	loop := j.loop("checked")
	loop.skipEmpty = !c.o.Update // what cannot run is not written
	failed, err := eachConversation(loop, func(conv agentConversation) ([]check.CaseResult, error) { return c.replay(conv, old) }, func(list []check.CaseResult) error {
		results = append(results, unique(results, list)...)
		return nil
	})
	for _, s := range loop.empty {
		msgs.warn(session.Warning{File: s.File, Message: "no request in the session: it is left out"})
	}
	if err == nil {
		err = failed
	}
	if err != nil {
		if c.o.Update {
			msgs.fail(fmt.Errorf("%s: not written: every case has to run first", c.path(c.config.Baseline)))
		}
		return nil, err
	}
	if len(results) == 0 {
		return nil, fmt.Errorf("%s: nothing was replayed: name sessions that hold a conversation", c.config.File)
	}
	r := check.Judge(c.config, results, old, check.CheckRun{Tool: buildVersion(), Update: updateCommand(c.config.File), Updating: c.o.Update})
	addCommands(r)
	if c.o.Update {
		err = c.write(check.NewBaseline(c.config, results, buildVersion()))
	}
	return r, err
}

// addCommands adds the commands that show why sessions are not as they were.
func addCommands(r *check.Report) {
	for i := range r.Cases {
		for k := range r.Cases[i].Sessions {
			if s := &r.Cases[i].Sessions[k]; s.Evidence != nil {
				s.Command = commandWords(s.Evidence)
			}
		}
	}
}

// unique gives conversations that have one name a number.
func unique(have, list []check.CaseResult) []check.CaseResult {
	for i := range list {
		base := list[i].Agent
		n := 1
		taken := func(r check.CaseResult) bool {
			return r.Case == list[i].Case && r.Session == list[i].Session && r.Agent == list[i].Agent
		}
		for slices.ContainsFunc(have, taken) || slices.ContainsFunc(list[:i], taken) {
			n++
			list[i].Agent = fmt.Sprintf("%s.%d", base, n)
		}
	}
	return list
}

// replay replays a conversation for each of its cases, on one record, and for the baseline's policies where these are
// other ones.
func (c *checking) replay(conv agentConversation, old *check.Baseline) (list []check.CaseResult, err error) {
	in := c.checked[conv.input]
	hash, err := in.hash()
	if err != nil {
		return nil, err
	}
	if len(conv.conv.Requests) == 0 {
		return nil, fmt.Errorf("no request in the session: remove it from the sessions of the configuration")
	}
	run := func(i int, client preset.Client) (r check.CaseResult, plan *check.BaselinePlan, err error) {
		pol, err := c.chosen[i](client)
		if err != nil {
			return r, nil, err
		}
		tl, err := conv.replay(pol, c.replays.options())
		if err != nil {
			return r, nil, err
		}
		r = check.CaseResult{
			Case: i, Session: in.name, Agent: tl.Agent, File: conv.input, Input: hash, Policy: pol, Outcome: check.NewOutcome(tl),
			Command: c.config.Cases[i].PolicyArgument(c.argument(i)),
		}
		if r.Files, err = c.hashes(pol.Files()); old != nil {
			plan = old.Plan(c.config, &r)
		}
		return r, plan, err
	}
	for _, i := range in.cases {
		r, plan, err := run(i, preset.ClientOf(conv.conv))
		if err != nil {
			return nil, err
		}
		if plan != nil && !c.o.Update && old.Locks(c.config, &r, plan) {
			for _, release := range c.sys.presets.Releases(r.Policy.Product) {
				if release.Policy == plan.Name {
					now := r.Policy.Name
					day, _ := time.Parse(time.DateOnly, release.Valid.From) // a test parses them
					if r, plan, err = run(i, preset.Client{Time: day}); err != nil {
						return nil, err
					}
					r.Now = now
				}
			}
		}
		if plan != nil {
			r.Old = c.replayOld(conv, plan)
		}
		list = append(list, r)
	}
	return list, nil
}

// replayOld replays a policy of the baseline.
func (c *checking) replayOld(conv agentConversation, plan *check.BaselinePlan) *check.OldResult {
	pol, err := plan.Rebuild(c.sys.stages)
	if err != nil {
		return &check.OldResult{Err: err}
	}
	tl, err := conv.replay(pol, c.replays.options())
	if err != nil {
		return &check.OldResult{Err: err}
	}
	return &check.OldResult{Outcome: check.NewOutcome(tl), Settings: pol.Resolved()}
}

// hashes are the content hashes of a policy's files, by their names relative to the configuration.
func (c *checking) hashes(files []string) (map[string]string, error) {
	list := map[string]string{}
	for _, file := range files {
		data, err := c.sys.files.readLimited(rolePolicy, file, maxCheckFile)
		if err != nil {
			return nil, pathError(file, err)
		}
		name := file
		if rel, err := filepath.Rel(c.dir, file); err == nil {
			name = rel
		}
		list[filepath.ToSlash(name)] = check.ContentHash(data)
	}
	return list, nil
}
