package cmd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/report"
)

// loadedPolicy is a policy as the command line and the environment change it.
type loadedPolicy struct {
	*policy.Policy
	from     map[string]string // key -> the environment variable that set it
	warnings []session.Warning
}

// loadPolicy reads a policy and warns at once.
func loadPolicy(sys *system, o policyOptions) (*policy.Policy, error) {
	p, err := readPolicy(sys, o)
	if err != nil {
		return nil, err
	}
	msgs := &messages{w: sys.err}
	if name := p.Moving(); name != "" {
		newest, err := sys.presets.For(name, preset.Client{})
		if err != nil {
			return nil, err
		}
		p.warn("%s extends %s: in each session the release of its time, here %s; %s@%s is the newest for all", p.Name, name, newest.Policy, name, preset.Latest)
	}
	msgs.warn(p.warnings...)
	return p.Policy, nil
}

// readPolicy reads a policy and changes it as the command line says.
func readPolicy(sys *system, o policyOptions) (*loadedPolicy, error) {
	return readPolicyFor(sys, o, preset.Client{})
}

// readPolicyFor is readPolicy for the session of a client.
func readPolicyFor(sys *system, o policyOptions, client preset.Client) (*loadedPolicy, error) {
	o = o.unfolded()
	if strings.Contains(o.Policy, ",") && !policy.IsFile(o.Policy) {
		return nil, fmt.Errorf("unknown policy %q: give -p once for each, settings as NAME,STAGE.PARAM=VALUE", o.Policy)
	}
	read, err := sys.presets.LoadFor(o.Policy, client)
	if err != nil {
		return nil, policyHint(err)
	}
	p := &loadedPolicy{Policy: read, from: map[string]string{}}
	for _, name := range read.Former {
		p.warnings = append(p.warnings, session.Warning{Message: fmt.Sprintf("the policy %s is %s now: name that", name, sys.presets.Aliases()[name].Policy)})
	}
	if o.Env {
		p.environment(sys)
	}
	for _, s := range o.Set {
		key, value, ok := strings.Cut(s, "=")
		if !ok {
			return nil, noValue(s)
		}
		key = strings.TrimSpace(key)
		if err := p.Set(key, value); err != nil {
			hint := ""
			if p.Name == preset.Recorded {
				hint = "; -p names another policy"
			}
			return nil, fmt.Errorf("flag --set: %w%s", err, hint)
		}
		delete(p.from, key)
	}
	for _, t := range o.Tries {
		has := p.Has(t.Stage)
		switch {
		case has && o.tried != nil:
			*o.tried = true
		case !has && o.tried != nil:
			continue
		case !has:
			return nil, noTrial(sys, t, "policy "+p.Name+" has no "+t.Stage+" stage")
		}
		if err := p.Try(t); err != nil {
			return nil, fmt.Errorf("flag --%s: %w", trialFlag(t.Stage), err)
		}
	}
	return p, nil
}

func noValue(set string) error {
	return fmt.Errorf("flag --set: %q has no value: write STAGE.PARAM=VALUE", set)
}

// environment changes the policy as the environment variables of the products would whose stages it has.
func (p *loadedPolicy) environment(sys *system) {
	e := policy.Environment{Policy: p.Policy, Get: sys.env, From: p.from}
	for _, f := range sys.families {
		if f.Environment != nil {
			f.Environment(&e)
		}
	}
	for _, text := range e.Warnings {
		p.warn("%s", text)
	}
}

func (p *loadedPolicy) warn(format string, args ...any) {
	p.warnings = append(p.warnings, session.Warning{Message: fmt.Sprintf(format, args...)})
}

// doubts are the warnings, and the parts of the policy without an effect.
func (p *loadedPolicy) doubts() []session.Warning {
	for _, text := range policy.Idle(p.Policy) {
		p.warn("%s", text)
	}
	return p.warnings
}

// checkCompactAt is the error where nothing answers --compact-at. It says what would.
func (p *loadedPolicy) checkCompactAt(at []int) error {
	if len(at) == 0 {
		return nil
	}
	hint := ""
	for _, s := range p.Stages {
		if !answersManual(s.Definition) {
			continue
		}
		key := s.Definition.Name + ".manual"
		if answer, err := p.Get(key); err != nil || answer != "ignore" {
			return nil
		}
		hint = "leave " + key + " as it is"
	}
	if hint == "" {
		hint = "use the policy of a product with a command to compact"
	}
	return fmt.Errorf("flag --compact-at: policy %s has no stage that answers it: %s", p.Name, hint)
}

// answersManual reports whether a stage can compact where the user asks for it.
func answersManual(d policy.Definition) bool {
	return d.Moments&policy.Manual != 0 && !d.AfterCompaction
}

// errorLines is an error as standard error shows it, one a line.
func errorLines(err error) []string {
	var several ambiguous
	var low failedBars
	if errors.As(err, &low) {
		several = ambiguous(low)
	}
	if low != nil || errors.As(err, &several) {
		lines := make([]string, len(several))
		for i, line := range several {
			lines[i] = report.Clean(line)
		}
		return lines
	}
	var list policy.Errors
	if !errors.As(err, &list) {
		return []string{report.Clean(err.Error())}
	}
	lines := make([]string, len(list))
	for i, e := range list {
		lines[i] = report.Clean(e.Error())
	}
	return lines
}
