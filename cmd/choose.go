package cmd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
)

// policyChoice gives the policy for the session of a client.
type policyChoice func(preset.Client) (*policy.Policy, error)

// bySession reports whether the session decides which policy the name means.
func (o policyOptions) bySession(sys *system) bool {
	return sys.presets.BySession(o.unfolded().Policy)
}

// choosePolicy reads the policy and gives its warnings to warn. Where its name leaves the release to the session, the
// policy of each session's release is read. Settings have to fit these releases, and at least one that is known.
func choosePolicy(sys *system, o *replayOptions, warn func(...session.Warning)) (policyChoice, error) {
	by := o.unfolded()
	name := by.Policy
	if !sys.presets.BySession(name) {
		p, err := readPolicy(sys, by)
		if err != nil {
			return nil, err
		}
		if err := cmp.Or(sys.permit(p.Policy), p.checkCompactAt(o.CompactAt)); err != nil {
			return nil, err
		}
		if p.Moving() == "" && !p.Recorded {
			warn(p.doubts()...)
			return func(preset.Client) (*policy.Policy, error) { return p.Policy, nil }, nil
		}
		name = cmp.Or(p.Moving(), name)
	} else if err := by.fitsRelease(sys); err != nil {
		return nil, err
	}
	if by.tried != nil {
		by.tried = new(bool) // fitsRelease has tried them
	}
	var mu sync.Mutex
	read := map[preset.Chosen]*policy.Policy{}
	warned := map[string]bool{}
	return func(client preset.Client) (*policy.Policy, error) {
		chosen, err := sys.presets.For(name, client)
		if err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		if p := read[chosen]; p != nil {
			return p, nil
		}
		p, err := readPolicyFor(sys, by, client)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", chosenText(name, chosen.Policy, chosen.Why), err)
		}
		if err := p.checkCompactAt(o.CompactAt); err != nil {
			return nil, err
		}
		for _, w := range p.doubts() {
			if !warned[w.Message] {
				warned[w.Message] = true
				warn(w)
			}
		}
		read[chosen] = p.Policy
		return p.Policy, nil
	}, nil
}

// fitsRelease is the error of settings that fit no release of a product: that of the newest.
func (o policyOptions) fitsRelease(sys *system) (err error) {
	if len(o.Set)+len(o.Tries) == 0 {
		return nil
	}
	product, _, _ := strings.Cut(o.Policy, "@")
	fits := false
	for _, r := range slices.Backward(sys.presets.Releases(product)) {
		o.Policy = r.Policy
		_, wrong := readPolicy(sys, o)
		if fits = fits || wrong == nil; fits && (len(o.Tries) == 0 || o.tried == nil || *o.tried) {
			return nil
		}
		err = cmp.Or(err, wrong)
	}
	if fits {
		return nil
	}
	return err
}

// chosenText says which policy a name is for a session, and why.
func chosenText(name, chosen, why string) string {
	return name + " is " + chosen + " (" + why + ")"
}

// clientText names the client that recorded a session.
func clientText(version string) string {
	if version == "" {
		return "a client of unknown version"
	}
	return "client " + version
}

// trialFlag is the name of the flag for trials of a stage.
func trialFlag(stage string) string { return strings.ReplaceAll(stage, "_", "-") }

// trials are the flags for what stages let a user try.
func (o *policyOptions) trials(sys *system) flag {
	return func(cmd *cobra.Command) {
		for _, d := range sys.stages.Definitions() {
			if d.Trial != nil {
				cmd.Flags().Func(trialFlag(d.Name), d.Trial.Doc+": `"+d.Trial.Form+"` (repeatable)", func(text string) error {
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
	for _, name := range sys.presets.Names() {
		p, err := sys.presets.Load(name)
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

// policies reads several policies, each with its settings. Trials are for those that have the stage; where none has,
// that is an error.
func (o *replayOptions) policies(sys *system, names []string, warn func(...session.Warning)) ([]policyChoice, error) {
	var choices []policyChoice
	tried := false
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, fmt.Errorf("flag --policy: %s: named twice: name each policy once, or add settings to one", name)
		}
		one := replayOptions{policyOptions: policyOptions{Policy: name, Env: o.Env, Tries: o.Tries, tried: &tried}}
		choose, err := choosePolicy(sys, &one, warn)
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

// chosen are the policies for the session of a client. Of trials, at least one has to be possible under one of them.
func (o *replayOptions) chosen(sys *system, client preset.Client, choices []policyChoice) ([]*policy.Policy, error) {
	list := make([]*policy.Policy, len(choices))
	tried := len(o.Tries) == 0
	for i, choose := range choices {
		var err error
		if list[i], err = choose(client); err != nil {
			return nil, err
		}
		tried = tried || list[i].Has(o.Tries[0].Stage)
	}
	if !tried {
		return nil, noTrial(sys, o.Tries[0], "no policy here has a "+o.Tries[0].Stage+" stage for "+clientText(client.Version))
	}
	return list, nil
}
