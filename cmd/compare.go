package cmd

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/report"
)

// CompareOptions are what `ctxkit compare` is asked for.
type CompareOptions struct {
	ReplayOptions
	Policies []string
	By       string
	NoRegret bool
}

const longCompare = `Compare policies over the same sessions: one row a policy, its differences to
the first, and over several sessions the spread and in how many of them each
has the better figure.

A policy may carry settings of its own, separated by commas:
--policy opencode,opencode_prune.protect=20000`

const exampleCompare = `  ctxkit compare session.jsonl
  ctxkit compare ~/.claude/projects --policy claude-code --policy opencode --by version
  ctxkit compare session.jsonl --policy gemini-cli --policy gemini-cli,gemini_compression.threshold=0.7`

// defaultPolicies are compared where none is named.
var defaultPolicies = []string{"recorded", "none", "claude-code", "opencode"}

func newCompare(sys *system) *cobra.Command {
	o := &CompareOptions{}
	formats := formatNames(report.ListFormats)
	cmd := &cobra.Command{
		Use:     "compare INPUT...",
		Short:   "Compare policies over the same sessions",
		Long:    longCompare,
		Example: exampleCompare,
		RunE: func(_ *cobra.Command, args []string) error {
			o.Inputs = args
			if err := o.OutputOptions.check(formats...); err != nil {
				return err
			}
			if err := o.InputOptions.check(); err != nil {
				return err
			}
			if err := oneOf("--by", o.By, []string{"", "model", "version", "project"}); err != nil {
				return err
			}
			return runCompare(sys, o)
		},
	}
	f := cmd.Flags()
	f.StringArrayVarP(&o.Policies, "policy", "p", nil, "`NAME` of a policy to compare, with settings behind commas (repeatable); default: "+strings.Join(defaultPolicies, ", "))
	f.BoolVar(&o.Env, "env", false, "let the client's environment variables change the policies")
	o.snipFlag(cmd)
	f.StringVar(&o.By, "by", "", "a comparison for each `KEY`: model, version or project")
	f.BoolVar(&o.NoRegret, "no-regret", false, "leave out what policies threw away too early (its search reads every text)")
	o.InputOptions.flags(cmd)
	o.CountOptions.flags(cmd)
	o.OutputOptions.flags(cmd, formats...)
	f.BoolVar(&o.All, "all", false, "leave nothing out of tables")
	return cmd
}

// policies reads several policies, each with its settings. Snips to try are for
// those that can snip; where none can, that is an error.
func (o *ReplayOptions) policies(sys *system, names []string, msgs *messages) ([]policyChoice, error) {
	var choices []policyChoice
	seen, snips := map[string]bool{}, false
	for _, name := range names {
		if seen[name] {
			return nil, fmt.Errorf("flag --policy: %s: named twice: name each policy once, or give one settings of its own", name)
		}
		seen[name] = true
		one := *o
		one.PolicyOptions = PolicyOptions{Policy: name, Env: o.Env}
		choose, warnings, err := choosePolicy(sys, &one)
		if err == nil && len(o.Snip) > 0 {
			var can bool
			choose, can, err = one.snipping(sys, choose, o.Snip)
			snips = snips || can
		}
		if err != nil {
			return nil, err
		}
		for _, w := range warnings {
			msgs.warn(w)
		}
		choices = append(choices, choose)
	}
	if len(o.Snip) > 0 && !snips {
		reg, err := policy.NewRegistry(stage.All())
		if err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("flag --snip: %w", noSnipStage("no policy here has a snip stage", reg))
	}
	return choices, nil
}

// snipping gives snips to try to what a choice of policy yields, where that
// can snip; can says whether the newest can.
func (o *ReplayOptions) snipping(sys *system, plain policyChoice, snips []string) (choose policyChoice, can bool, err error) {
	newest, err := plain("")
	if err != nil {
		return nil, false, err
	}
	canSnip := func(p *policy.Policy) bool { return paramsOf[stage.Snip](p) != nil }
	if !canSnip(newest) {
		return plain, false, nil
	}
	o.Snip = snips
	with, _, err := choosePolicy(sys, o)
	return func(version string) (*policy.Policy, error) {
		p, err := plain(version)
		if err != nil || !canSnip(p) {
			return p, err
		}
		return with(version)
	}, true, err
}

// replayEach replays one conversation under each policy, on one record.
func (o *ReplayOptions) replayEach(c agentConversation, choices []policyChoice, use func(p int, tl *replay.Timeline) error) error {
	rec, err := replay.NewRecordWith(c.conv, o.encoders)
	if err != nil {
		return err
	}
	for p, choose := range choices {
		pol, err := choose(c.conv.Version)
		if err != nil {
			return err
		}
		tl, err := replayOn(rec, c, pol, o.options())
		if err != nil {
			return err
		}
		if err := use(p, tl); err != nil {
			return err
		}
	}
	return nil
}

// replayOn replays a conversation that has been read and counted.
func replayOn(rec *replay.Record, c agentConversation, pol *policy.Policy, opt replay.Options) (*replay.Timeline, error) {
	tl, err := rec.Replay(pol, opt)
	if err != nil {
		return nil, err
	}
	if tl.Agent == "" {
		tl.Agent = c.agent
	}
	if err := tl.CheckValid(); err != nil {
		return nil, fmt.Errorf("the replay contradicts itself: %w: please report it with the session", err)
	}
	return tl, nil
}

func runCompare(sys *system, o *CompareOptions) error {
	if len(o.Policies) == 0 {
		o.Policies = defaultPolicies
	}
	o.Regret = !o.NoRegret
	msgs := &messages{w: sys.err, quiet: o.Quiet}
	choices, err := o.policies(sys, o.Policies, msgs)
	if err != nil {
		return err
	}
	r, err := o.start(sys, msgs)
	if err != nil {
		return err
	}
	var sessions []compare.Session
	loop := r.loop("compared")
	failed, err := eachConversation(loop, func(c agentConversation) (compare.Session, error) {
		var s compare.Session
		err := o.replayEach(c, choices, func(p int, tl *replay.Timeline) error {
			if p == 0 {
				s = compare.NewSession(tl, projectOf(c))
			}
			s.Values = append(s.Values, compare.Of(tl))
			return nil
		})
		return s, err
	}, func(s compare.Session) error {
		sessions = append(sessions, s)
		return nil
	})
	if err == nil && len(sessions) == 0 {
		err = failed
	}
	if err == nil {
		err = report.Comparisons(r.out, compare.Compare(o.Policies, sessions, compare.Group(o.By)), loop.inputs(failed), report.Options{
			Format: report.Format(o.Format), All: o.All, Color: o.useColor(sys),
		})
	}
	if err == nil {
		err = failed
	}
	return r.out.close(err)
}

// projectOf is the project a conversation belongs to: the folder it was
// recorded in, else the one its file stands in.
func projectOf(c agentConversation) string {
	if c.conv.CWD != "" {
		return c.conv.CWD
	}
	return filepath.Base(filepath.Dir(c.conv.Path))
}
