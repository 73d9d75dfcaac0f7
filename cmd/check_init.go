package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/check"
)

// fewSessions is how many sessions a first configuration has where no more are needed for its stages to act.
const fewSessions = 3

// tried is a session as a first configuration chooses among them.
type tried struct {
	file  string
	bytes int64
	acted []string // stages with an event
}

// runCheckInit writes a first configuration for a policy: the smallest sessions in which every stage acts that acts in
// any, and a few more. It says which stages act in none.
func runCheckInit(sys *system, o *checkOptions, inputs []string) error {
	if !o.Update && (len(o.Also) > 0 || o.outputOptions.File != "") {
		return fmt.Errorf("--output and --also are for the result of a check: --init writes %s; add --update to check at once", check.DefaultFile)
	}
	if o.Policy == "" {
		return errors.New("--init needs --policy, the one to check")
	}
	if _, err := os.Lstat(check.DefaultFile); err == nil && !o.Force {
		return fmt.Errorf("%s: is there already: add --force to write over it", check.DefaultFile)
	}
	r := &replayOptions{Inputs: inputs, policyOptions: policyOptions{Policy: o.Policy}}
	r.File = check.DefaultFile
	r.Quiet = o.Quiet
	r.inputOptions = o.inputOptions
	r.Agent = "main"
	r.Counter = "usage"
	r.Cache = string(replay.CacheEqual)
	run, err := r.begin(sys)
	if err != nil {
		return err
	}
	var list []tried
	var stages []string
	loop := run.loop("tried")
	loop.skipEmpty = true
	failed, err := eachUnder(run, loop, func(c agentConversation, pol *policy.Policy) (*tried, error) {
		tl, err := c.replay(pol, r.options())
		if err != nil {
			return nil, err
		}
		return &tried{c.input, sizeOf(c.input), check.NewOutcome(tl).Acted}, nil
	}, func(t *tried) error { list = append(list, *t); return nil })
	for _, p := range run.ran {
		for _, s := range p.Stages {
			if !slices.Contains(stages, s.Definition.Name) {
				stages = append(stages, s.Definition.Name)
			}
		}
	}
	chosen, idle := choosable(list, stages)
	if err == nil && len(chosen) == 0 {
		err = fmt.Errorf("no session to check: name a folder with some")
	}
	if err == nil {
		_, err = run.out.Write(firstConfig(o.Policy, relative(chosen)))
	}
	if err = run.out.close(err); err != nil {
		return err
	}
	which := ", the smallest in which its stages act"
	if len(idle) == len(stages) {
		which = ""
	}
	fmt.Fprintf(sys.out, "%s checks %s over %d of %d sessions%s.\n", check.DefaultFile, o.Policy, len(chosen), len(list), which)
	if len(idle) > 0 {
		fmt.Fprintf(sys.out, "No session makes %s act: a change of it would not be noticed.\n", strings.Join(idle, ", "))
	}
	if o.Update && failed == nil {
		return runCheck(sys, o)
	}
	fmt.Fprintf(sys.out, "Next: ctxkit check --update writes %s; commit both files with the sessions.\n", firstBaseline)
	return failed
}

func sizeOf(path string) int64 {
	st, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return st.Size()
}

// choosable picks sessions, the smallest first: one for each stage that acts in any, and up to fewSessions in all. idle
// are the stages that act in none.
func choosable(list []tried, stages []string) (chosen []string, idle []string) {
	slices.SortStableFunc(list, func(a, b tried) int { return int(a.bytes - b.bytes) })
	for _, stage := range stages {
		at := slices.IndexFunc(list, func(t tried) bool { return slices.Contains(t.acted, stage) })
		if at < 0 {
			idle = append(idle, stage)
		} else if !slices.Contains(chosen, list[at].file) {
			chosen = append(chosen, list[at].file)
		}
	}
	for _, acting := range []bool{true, false} {
		for _, t := range list {
			if len(chosen) < fewSessions && (len(t.acted) > 0) == acting && !slices.Contains(chosen, t.file) {
				chosen = append(chosen, t.file)
			}
		}
	}
	slices.Sort(chosen)
	return chosen, idle
}

// relative names files from the working folder where they lie in it: a configuration is read on other machines too.
func relative(files []string) []string {
	here, err := os.Getwd()
	if err != nil {
		return files
	}
	list := make([]string, len(files))
	for i, file := range files {
		list[i] = file
		if rel, err := filepath.Rel(here, file); err == nil && filepath.IsLocal(rel) {
			list[i] = rel
		}
	}
	return list
}

const firstBaseline = "ctxkit-baseline.json"

// firstConfig is a configuration for one policy.
func firstConfig(name string, sessions []string) []byte {
	literal := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`) // no pattern
	var b bytes.Buffer
	fmt.Fprintf(&b, "version: 1\nbaseline: %s\nsessions:\n", firstBaseline)
	for _, s := range sessions {
		fmt.Fprintf(&b, "  - %s\n", strconv.Quote(literal.Replace(filepath.ToSlash(s))))
	}
	fmt.Fprintf(&b, "cases:\n  - policy: %s\n    # expect: # cost and what is needed later are judged anyhow\n    #   payload_peak: {within: 2%%} # fails where the largest context grows by more\n", strconv.Quote(name))
	return b.Bytes()
}
