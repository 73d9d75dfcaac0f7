package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
)

// trialFlag is the name of the flag for trials of a stage.
func trialFlag(stage string) string { return strings.ReplaceAll(stage, "_", "-") }

// trials are the flags for what stages let a user try.
func (o *PolicyOptions) trials(sys *system) func(*pflag.FlagSet) {
	return func(f *pflag.FlagSet) {
		for _, d := range sys.stages.Definitions() {
			if d.Trial != nil {
				f.Func(trialFlag(d.Name), d.Trial.Doc+": `"+d.Trial.Form+"` (repeatable)", func(text string) error {
					o.Tries = append(o.Tries, policy.Try{Stage: d.Name, Text: text})
					return nil
				})
			}
		}
	}
}

// noTrial names the policies that have the stage of a trial.
func noTrial(sys *system, t policy.Try, msg string) error {
	hint := fmt.Sprintf("a policy file with \"- %s\" among its stages", t.Stage)
	var names []string
	for _, name := range preset.Names(sys.stages) {
		p, err := preset.Load(name, sys.stages)
		if err != nil {
			return err
		}
		if p.Has(t.Stage) {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		hint = strings.Join(names, ", ") + ", or " + hint
	}
	return fmt.Errorf("flag --%s: %w", trialFlag(t.Stage), &policy.Error{Msg: msg, Hint: "use " + hint})
}

// policies reads several policies, each with its settings. Trials are for those
// that have the stage; where none has, that is an error.
func (o *ReplayOptions) policies(sys *system, names []string, msgs *messages) ([]policyChoice, error) {
	var choices []policyChoice
	tried := false
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, fmt.Errorf("flag --policy: %s: named twice: name each policy once, or add settings to one", name)
		}
		one := ReplayOptions{PolicyOptions: PolicyOptions{Policy: name, Env: o.Env, Tries: o.Tries, tried: &tried}}
		choose, err := choosePolicy(sys, &one, msgs.warn)
		if err != nil {
			return nil, err
		}
		choices = append(choices, choose)
	}
	if len(o.Tries) > 0 && !tried {
		return nil, noTrial(sys, o.Tries[0], "no policy here has a "+o.Tries[0].Stage+" stage")
	}
	return choices, nil
}

// chosen are the policies for one conversation. Of trials, at least one has to
// be possible under one of them.
func (o *ReplayOptions) chosen(sys *system, c agentConversation, choices []policyChoice) ([]*policy.Policy, error) {
	list := make([]*policy.Policy, len(choices))
	tried := len(o.Tries) == 0
	for i, choose := range choices {
		var err error
		if list[i], err = choose(c.conv.Version); err != nil {
			return nil, err
		}
		tried = tried || list[i].Has(o.Tries[0].Stage)
	}
	if !tried {
		return nil, noTrial(sys, o.Tries[0], "no policy here has a "+o.Tries[0].Stage+" stage for "+clientText(c.conv.Version))
	}
	return list, nil
}
