package cmd

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/tokens"
	"github.com/ctxkit/ctxkit/report"
)

// CompareOptions are the options of `ctxkit compare`.
type CompareOptions struct {
	ReplayOptions
	Policies []string
	By       string
	NoRegret bool
}

var groups = asNames([]compare.Group{compare.ByModel, compare.ByVersion, compare.ByProject})

func newCompare(sys *system) *cobra.Command {
	o := &CompareOptions{}
	cmd := command(&cobra.Command{
		Use: "compare INPUT...", Short: "Compare policies over the same sessions", Args: arguments(&o.Inputs),
		Long: `Compare policies over the same sessions: what can be concluded, one row per
policy, and its differences to the first.

A policy is infeasible in a session where the API would refuse a request, or a
request breaks its rules: its cost there is a bound, and its differences are
over the other sessions. Intervals hold 90 % of 2,000 draws of projects.

A policy may carry settings of its own, separated by commas:
--policy opencode,opencode_prune.protect=20000
--set adds one to every policy that has the parameter.`,
		Example: `  ctxkit compare session.jsonl
  ctxkit compare ~/.claude/projects -p claude-code -p opencode --by version
  ctxkit compare session.jsonl --policy gemini-cli \
      --policy gemini-cli,gemini_compression.threshold=0.7`,
	}, func() error { return runCompare(sys, o) }, flag(o.change), flag(o.trials(sys)), &o.InputOptions, &o.CountOptions, o.by(replay.CacheEqual), o.listing(report.CompareFormats, report.CompareTables...))
	f := cmd.Flags()
	f.StringArrayVarP(&o.Policies, "policy", "p", nil, "`NAME` of a policy to compare, settings after commas (repeatable); default: "+strings.Join(preset.Defaults().Compare, ", ")+", and that of the client that recorded the sessions")
	f.StringVar(&o.By, "by", "", "one comparison for each `KEY`: model, version or project")
	complete(cmd, "by", groups)
	o.strict(cmd)
	o.noRegret(f, &o.NoRegret)
	return cmd
}

func (o *ReplayOptions) noRegret(f *pflag.FlagSet, no *bool) {
	f.BoolVar(no, "no-regret", false, "leave out the regret, whose search reads every text")
}

func runCompare(sys *system, o *CompareOptions) error {
	if o.By != "" {
		if err := oneOf("--by", o.By, groups); err != nil {
			return err
		}
	}
	if err := o.allowed(); err != nil {
		return err
	}
	if len(o.Policies) == 0 {
		o.Policies = preset.Defaults().Compare
		if own := ownPolicy(sys, o.Inputs); !slices.Contains(o.Policies, own) {
			o.Policies = append(o.Policies, own)
		}
	}
	if err := o.setAll(sys); err != nil {
		return err
	}
	o.Regret = !o.NoRegret
	for _, name := range o.Policies {
		if _, setting, ok := strings.Cut(name, ",cache."); ok && o.Cache != string(replay.CacheOwn) {
			setting, _, _ = strings.Cut(setting, ",")
			o.messages(sys).warn(session.Warning{Message: fmt.Sprintf("cache.%s changes nothing with --cache %s: add --cache own", setting, o.Cache)})
		}
	}
	choices, err := o.policies(sys, o.Policies, o.messages(sys))
	if err != nil {
		return err
	}
	j, err := start(sys, o.Inputs, o.InputOptions, &o.OutputOptions)
	if err == nil {
		err = o.unknownModel(j.msgs)
	}
	if err != nil {
		return err
	}
	loop := j.loop("compared")
	loop.skipEmpty = true
	sessions, failed, err := collect(loop, func(c agentConversation) (compare.ComparedSession, error) {
		return o.compareOne(sys, c, choices)
	})
	var converted []*replay.Conversion
	for i := range sessions {
		converted = append(converted, sessions[i].Converted)
	}
	j.msgs.converted(converted)
	joinProjects(sessions)
	list := o.comparisons(sessions)
	err = j.finish(failed, err, len(sessions), func() error {
		return report.Comparisons(j.out, list, loop.inputs(failed), o.report(sys))
	})
	if err == nil && o.Strict {
		err = faulty(list, o.Allow)
	}
	return err
}

// setAll adds the settings of --set to the names of the policies that have the parameter, so that every name says what
// its policy is.
func (o *CompareOptions) setAll(sys *system) error {
	for _, set := range o.Set {
		key, value, ok := strings.Cut(set, "=")
		if !ok {
			return noValue(set)
		}
		key = strings.TrimSpace(key)
		var wrong error
		fits := false
		for i, name := range o.Policies {
			one := PolicyOptions{Policy: name}.unfolded()
			releases := []string{one.Policy}
			if product, _, _ := strings.Cut(one.Policy, "@"); sys.presets.BySession(one.Policy) {
				releases = nil
				for _, r := range slices.Backward(sys.presets.Releases(product)) {
					releases = append(releases, r.Policy)
				}
			}
			for _, release := range releases {
				p, err := sys.presets.Load(release)
				if err != nil {
					return policyHint(err)
				}
				if _, err = p.Get(key); err == nil {
					o.Policies[i] += "," + key + "=" + value
					fits = true
					break
				}
				wrong = cmp.Or(wrong, err)
			}
		}
		if !fits {
			return fmt.Errorf("flag --set: %w", wrong)
		}
	}
	return nil
}

// faulty is the error of policies with faults that are not allowed.
func faulty(list []compare.Comparison, allowed []string) error {
	names, faults := []string{}, map[string][]compare.FaultCount{}
	for _, c := range list {
		for _, p := range c.Policies {
			if _, ok := faults[p.Name]; !ok {
				names = append(names, p.Name)
			}
			for _, name := range compare.FaultNames() {
				n := p.Figures[slices.Index(compare.Names(), name)].Total.N
				faults[p.Name] = append(faults[p.Name], compare.FaultCount{Figure: name, N: int(n)})
			}
		}
	}
	var texts []string
	for _, name := range names {
		if what := notAllowed(faults[name], allowed); len(what) > 0 {
			texts = append(texts, name+": "+strings.Join(what, ", "))
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s: leave the policy out, allow a fault with --allow, or leave out --strict", errCheckFailed, strings.Join(texts, "; "))
}

// compareOne replays a conversation under each policy.
func (o *CompareOptions) compareOne(sys *system, c agentConversation, choices []policyChoice) (s compare.ComparedSession, err error) {
	policies, err := o.chosen(sys, c, choices)
	if err != nil {
		return s, err
	}
	var timelines []*replay.Timeline
	for _, pol := range policies {
		tl, err := c.replay(pol, o.options())
		if err != nil {
			return s, err
		}
		timelines = append(timelines, tl)
	}
	if err := c.rec.ShareBound(o.options(), timelines); err != nil {
		return s, err
	}
	first := timelines[0]
	s = compare.NewSession(first, projectOf(c))
	s.Input, s.Selection, s.Policies = c.input, o.selection(c), policies
	agents := 0
	if c.main && o.Agent == "main" {
		agents = c.subagents()
	}
	if err := s.Mark(c.rec, first, agents); err != nil {
		return s, err
	}
	for _, tl := range timelines {
		s.Values = append(s.Values, compare.Of(tl))
		s.Breaks = append(s.Breaks, compare.BreaksOf(tl))
		s.Apart = append(s.Apart, compare.Apart(first, tl))
		if o.Format == string(report.FormatHTML) {
			s.Series = append(s.Series, compare.Series(tl))
		}
	}
	return s, nil
}

// comparisons compares the sessions, and adds the commands that show the differences.
func (o *CompareOptions) comparisons(sessions []compare.ComparedSession) []compare.Comparison {
	list := compare.Compare(o.Policies, sessions, compare.Group(o.By))
	for i := range list {
		for _, e := range list[i].Evidence() {
			list[i].Commands = append(list[i].Commands, commandWords(&e))
		}
	}
	return list
}

// selection says how another command finds and counts the same conversation.
func (o *ReplayOptions) selection(c agentConversation) compare.Selection {
	f := compare.Selection{Model: o.Model, Tries: o.Tries, Env: o.Env}
	if c.main { // --leaf names a line of the main conversation
		f.Leaf = o.Leaf
	} else {
		f.Agent = c.name()
	}
	if o.Counter != tokens.NameUsage {
		f.Tokens = o.Counter
	}
	if o.Cache != string(replay.CacheOwn) {
		f.Cache = o.Cache
	}
	if o.Window > 0 {
		f.Window = o.Window.String()
	}
	if o.Overhead.Given {
		f.Overhead = o.Overhead.String()
	}
	return f
}

// projectOf is the project of a conversation: the folder it was recorded in, else the one its file is in.
func projectOf(c agentConversation) string {
	if c.conv.CWD != "" {
		return c.conv.CWD
	}
	return filepath.Base(filepath.Dir(c.conv.Path))
}

// joinProjects makes a project of a folder and the hidden folders in it, such as .worktrees/a, where both have sessions.
// Other folders below are projects of their own: sessions are recorded in home folders, too.
func joinProjects(sessions []compare.ComparedSession) {
	folders := map[string]bool{}
	for i := range sessions {
		folders[sessions[i].Project] = true
	}
	for i := range sessions {
		path := sessions[i].Project
		for at := len(path) - 1; at > 0; at-- { // the topmost folder remains
			if (path[at] == '/' || path[at] == '\\') && strings.HasPrefix(path[at+1:], ".") && folders[path[:at]] {
				sessions[i].Project = path[:at]
			}
		}
	}
}
