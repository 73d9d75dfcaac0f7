package cmd

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/claude"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/tokens"
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
			if o.By != "" {
				if err := oneOf("--by", o.By, groupNames()); err != nil {
					return err
				}
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
		plain, warnings, err := choosePolicy(sys, &one)
		if err != nil {
			return nil, err
		}
		for _, w := range warnings {
			msgs.warn(w)
		}
		if len(o.Snip) == 0 {
			choices = append(choices, plain)
			continue
		}
		one.Snip = o.Snip
		with, _, err := choosePolicy(sys, &one)
		switch {
		case cannotSnip(err):
			choices = append(choices, plain)
		case err != nil:
			return nil, err
		default:
			snips = true
			choices = append(choices, snipping(with, plain))
		}
	}
	if len(o.Snip) > 0 && !snips {
		return nil, noSnipHere(sys, "")
	}
	return choices, nil
}

// snipping gives snips to try to what a choice of policy yields, where that
// can snip.
func snipping(with, plain policyChoice) policyChoice {
	return func(version string) (*policy.Policy, error) {
		p, err := with(version)
		if cannotSnip(err) {
			return plain(version)
		}
		return p, err
	}
}

func cannotSnip(err error) bool {
	var no *noSnipError
	return errors.As(err, &no)
}

// noSnipHere is the error of a --snip that none of several policies carries
// out; for says for whom.
func noSnipHere(sys *system, who string) error {
	return fmt.Errorf("flag --snip: %w", noSnipStage("no policy here has a snip stage"+who, sys.stages))
}

// chosen are the policies for one conversation. Snips to try need one that can
// snip.
func (o *ReplayOptions) chosen(sys *system, c agentConversation, choices []policyChoice) ([]*policy.Policy, error) {
	list := make([]*policy.Policy, len(choices))
	snips := false
	for i, choose := range choices {
		var err error
		if list[i], err = choose(c.conv.Version); err != nil {
			return nil, err
		}
		snips = snips || paramsOf[claude.Snip](list[i]) != nil
	}
	if len(o.Snip) > 0 && !snips {
		return nil, noSnipHere(sys, " for "+clientText(c.conv.Version))
	}
	return list, nil
}

// replayEach replays one conversation under each policy, on one record.
func (o *ReplayOptions) replayEach(sys *system, c agentConversation, choices []policyChoice, use func(p int, tl *replay.Timeline) error) error {
	policies, err := o.chosen(sys, c, choices)
	if err != nil {
		return err
	}
	rec, err := replay.NewRecordWith(c.conv, o.encoders)
	if err != nil {
		return err
	}
	for p, pol := range policies {
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
	return checkedReplay(tl, c)
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
		return o.compareOne(sys, c, choices)
	}, func(s compare.Session) error {
		if len(s.Values) == 0 {
			loop.leaveOut(compare.Source{Session: s.Session, Agent: s.Agent, File: s.File, Malformed: s.Malformed})
			return nil
		}
		sessions = append(sessions, s)
		return nil
	})
	if err == nil && len(sessions) == 0 {
		err = loop.nothing(failed)
	}
	if err == nil && len(sessions) > 0 {
		err = report.Comparisons(r.out, o.comparisons(sessions), loop.inputs(failed), report.Layout{
			Format: report.Format(o.Format), All: o.All, Color: o.useColor(sys), Hints: reportHints(),
		})
	}
	if err == nil {
		err = failed
	}
	return r.out.close(err)
}

// compareOne replays a conversation under each policy; of one without a request
// there are no values.
func (o *CompareOptions) compareOne(sys *system, c agentConversation, choices []policyChoice) (compare.Session, error) {
	if len(c.conv.Requests) == 0 {
		src := c.source()
		return compare.Session{Session: src.Session, Agent: src.Agent, File: src.File, Malformed: src.Malformed}, nil
	}
	var s compare.Session
	var first *replay.Timeline
	err := o.replayEach(sys, c, choices, func(p int, tl *replay.Timeline) error {
		if p == 0 {
			first, s = tl, compare.NewSession(tl, projectOf(c))
			s.Input, s.Selection = c.input, o.selection(c, tl.Agent)
		}
		s.Values = append(s.Values, compare.Of(tl))
		s.Apart = append(s.Apart, compare.Apart(first, tl))
		return nil
	})
	return s, err
}

// source names a conversation.
func (c agentConversation) source() compare.Source {
	agent := c.conv.Agent
	if agent == "" {
		agent = c.agent
	}
	return compare.Source{Session: c.conv.SessionID, Agent: agent, File: c.conv.Path, Malformed: c.conv.Lines.SetAside[session.AsideMalformed]}
}

// comparisons compares the sessions, and adds the commands that show the
// differences.
func (o *CompareOptions) comparisons(sessions []compare.Session) []compare.Comparison {
	list := compare.Compare(o.Policies, sessions, compare.Group(o.By))
	for i := range list {
		for _, e := range list[i].Evidence() {
			list[i].Commands = append(list[i].Commands, commandWords(&e))
		}
	}
	return list
}

// selection says how another command finds and counts the same conversation.
func (o *ReplayOptions) selection(c agentConversation, agent string) compare.Selection {
	f := compare.Selection{Model: o.Model, Snip: o.Snip, Env: o.Env}
	if c.main { // --leaf names a line of the main conversation
		f.Leaf = o.Leaf
	} else {
		f.Agent = agent
	}
	if o.Counter != tokens.NameUsage {
		f.Tokens = o.Counter
	}
	if o.Window > 0 {
		f.Window = o.Window.String()
	}
	if o.Overhead > 0 {
		f.Overhead = o.Overhead.String()
	}
	return f
}

// groupNames lists what --by takes.
func groupNames() []string {
	return []string{string(compare.ByModel), string(compare.ByVersion), string(compare.ByProject)}
}

// projectOf is the project a conversation belongs to: the folder it was
// recorded in, else the one its file stands in.
func projectOf(c agentConversation) string {
	if c.conv.CWD != "" {
		return c.conv.CWD
	}
	return filepath.Base(filepath.Dir(c.conv.Path))
}
