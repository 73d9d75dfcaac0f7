package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/tokens"
	"github.com/ctxkit/ctxkit/report"
)

// compareOptions are the options of `ctxkit compare`.
type compareOptions struct {
	replayOptions
	Policies []string
	By       string `flag:"by" usage:"one comparison for each <KEY>: model, version or project" values:"model,version,project"`
	Prefill  []int
	Plain    bool `flag:"no-correction" usage:"leave out what compactions cause beyond the replay"`
}

var groups = asNames([]compare.Group{compare.ByModel, compare.ByVersion, compare.ByProject})

func newCompare(sys *system) *cobra.Command {
	o := &compareOptions{}
	o.Agent = "all"
	cmd := command(&cobra.Command{
		Use: "compare INPUT...", Short: "Compare policies over the same sessions", Args: arguments(&o.Inputs),
		Long: `Compare policies over the same sessions: what can be concluded, one row per
policy, and its differences to the first.

A policy is infeasible in a session where the API would refuse a request, or a
request violates its rules: its cost is a lower bound there, and its differences
are over the other sessions. Intervals hold at 90 % for all policies at once.
A session counts with its subagents; --agent main leaves them out.

A policy may carry settings of its own, separated by commas:
--policy opencode,opencode_prune.auto=true
--set adds one to every policy that has the parameter.`,
		Example: `  ctxkit compare session.jsonl
  ctxkit compare ~/.claude/projects -p claude-code -p opencode --by version
  ctxkit compare session.jsonl --policy gemini-cli \
      --policy gemini-cli,gemini_compression.threshold=0.7
  ctxkit compare ~/.claude/projects --shard 1/4 -f rows -o 1.rows`,
	}, func() error { return runCompare(sys, o) }, own(&o.policyOptions), o.trials(sys), &o.inputOptions, &o.countOptions, newPriceOptions(sys), o.by(replay.CacheEqual), o.listing(append(slices.Clone(report.PageFormats), report.FormatRows), report.CompareTables...), own(&o.inputOptions, shardFlag), own(&o.replayOptions, "no-regret"), own(o))
	o.named(cmd.Flags())
	cmd.Flags().IntSliceVar(&o.Prefill, "prefill", nil, "also estimate how long the input takes to be read, at `UNCACHED,CACHED` tokens a second")
	o.strict(cmd)
	return cmd
}

// named is --policy.
func (o *compareOptions) named(f *pflag.FlagSet) {
	f.StringArrayVarP(&o.Policies, "policy", "p", nil, "`NAME` of a policy to compare, settings after commas (repeatable); default: "+strings.Join(preset.Defaults().Compare, ", ")+", and that of the client that recorded the sessions")
}

// checkReport checks the options that say what is shown of the sessions.
func (o *compareOptions) checkReport() error {
	if o.By != "" {
		if err := oneOf("--by", o.By, groups); err != nil {
			return err
		}
	}
	if o.rows() && (o.By != "" || o.Strict) {
		return errors.New("flag --format: rows are single sessions: give --by and --strict to the ctxkit merge that shows them")
	}
	if o.Prefill != nil && (len(o.Prefill) != 2 || slices.Min(o.Prefill) <= 0 || o.rows()) {
		return errors.New("flag --prefill: give two speeds, such as 8000,80000, and no --format rows")
	}
	return o.allowed()
}

func runCompare(sys *system, o *compareOptions) error {
	if err := o.checkReport(); err != nil {
		return err
	}
	run := comparing{compareOptions: o, sys: sys}
	msgs := o.messages(sys)
	msgs.kept = &run.warnings
	early := true
	var mu sync.Mutex
	choices, err := o.choices(sys, func(list ...session.Warning) {
		mu.Lock()
		defer mu.Unlock()
		if early {
			msgs.warn(list...)
		} else {
			run.late = append(run.late, list...)
		}
	})
	if err != nil {
		return err
	}
	early = false
	j, err := startSaying(sys, msgs, o.Inputs, o.inputOptions, &o.outputOptions)
	if err != nil {
		return err
	}
	o.unknownModel(sys, j.msgs)
	msgs.kept = nil
	run.loop = j.loop("compared")
	opt := o.options()
	run.loop.skipEmpty, run.loop.billed, run.loop.assumed = true, true, &opt
	run.pages = o.Format == string(report.FormatHTML)
	o.traceOne(len(run.loop.in.list) == 1)
	run.kept = run.keepRows()
	failed, err := eachInput(run.loop, func(i int) ([]compare.InputRows, error) { return run.outcome(i, choices) }, run.take)
	run.kept.close()
	if o.rows() {
		return run.writeRows(choices, failed, err)
	}
	return run.conclude(failed, err)
}

// comparing is a comparison at work.
type comparing struct {
	*compareOptions
	sys            *system
	loop           *conversationLoop
	kept           *keptRows
	warnings, late []session.Warning   // of no input: those known before the inputs are read, and after
	outcomes       []compare.InputRows // for rows
	pages          bool                // of HTML, which show the replays
	shown          int                 // requests of them so far
	sessions       []compare.ComparedSession
}

// outcome is what comes of an input.
func (r *comparing) outcome(i int, choices []policyChoice) ([]compare.InputRows, error) {
	o := compare.InputRows{Input: r.loop.in.at[i]}
	path := r.loop.in.list[i]
	var kept *recalled
	if r.loop.in.broken[path] == nil {
		kept = r.kept.recall(path, r.sys.info(path))
	}
	if r.pages {
		kept = nil
	}
	known, ok := kept.outcome(func(client preset.Client) ([]*policy.Policy, error) { return r.chosen(r.sys, client, choices) })
	if ok {
		known.Input = o.Input
		return []compare.InputRows{known}, nil
	}
	list, err := workOn(r.loop, path, func(c agentConversation) (compare.ComparedSession, error) {
		return r.compareOne(r.sys, c, choices, kept, r.pages && (c.main || r.Agent != "all"))
	})
	for _, f := range list {
		o.Warnings = append(o.Warnings, f.warnings...)
		if f.empty != nil {
			o.Empty = append(o.Empty, *f.empty)
		}
		if f.result != nil {
			o.Sessions = append(o.Sessions, *f.result)
		}
	}
	if err != nil {
		o.Failed = err.Error()
	}
	kept.keep(&o)
	return []compare.InputRows{o}, err
}

// take adds what came of the next input. The error of one that failed is reported already.
func (r *comparing) take(o compare.InputRows) error {
	r.loop.warn(o.Warnings...)
	for _, e := range o.Empty {
		r.loop.leaveOut(e)
	}
	if r.rows() {
		r.outcomes = append(r.outcomes, o)
		return nil
	}
	for _, s := range o.Sessions {
		if r.Format != string(report.FormatHTML) {
			s.Series = nil
		}
		for _, tl := range s.Timelines {
			r.shown += len(tl.Requests)
		}
		if r.shown > mostShown && len(r.sessions) > 0 {
			s.Timelines = nil
		}
		r.sessions = append(r.sessions, s)
	}
	return nil
}

// mostShown is how many requests, under all policies, the page of a comparison has.
const mostShown = 40_000

// conclude prints the comparison of the sessions.
func (r *comparing) conclude(failed, err error) error {
	if err == nil && len(r.sessions) == 0 {
		err = r.loop.nothing(failed)
	}
	r.loop.msgs.warn(compare.SortedOnce(r.late)...)
	var converted []*replay.Conversion
	for i := range r.sessions {
		converted = append(converted, r.sessions[i].Converted)
	}
	r.loop.msgs.converted(converted)
	r.sessions = compare.JoinAgents(r.sessions)
	compare.JoinProjects(r.sessions)
	list := r.comparisons(r.sessions)
	err = r.loop.finish(failed, err, len(r.sessions), func() error {
		opt := r.report(r.sys)
		if r.Prefill != nil {
			opt.Prefill = report.Prefill{Uncached: r.Prefill[0], Cached: r.Prefill[1]}
		}
		return report.Comparisons(r.loop.out, list, r.loop.inputs(failed), opt)
	})
	if err == nil && r.Strict {
		err = faulty(list, r.Allow)
	}
	return err
}

// choices are the policies to compare: those that are named, else the default ones.
func (o *compareOptions) choices(sys *system, warn func(...session.Warning)) ([]policyChoice, error) {
	if len(o.Policies) == 0 {
		o.Policies = preset.Defaults().Compare
		if own := ownPolicy(sys, o.Inputs); !slices.Contains(o.Policies, own) {
			o.Policies = append(o.Policies, own)
		}
	}
	if err := o.setAll(sys); err != nil {
		return nil, err
	}
	o.Regret = !o.NoRegret
	for _, name := range o.Policies {
		if _, setting, ok := strings.Cut(name, ",cache."); ok && o.Cache != string(replay.CacheOwn) {
			setting, _, _ = strings.Cut(setting, ",")
			warn(session.Warning{Message: fmt.Sprintf("cache.%s changes nothing with --cache %s: add --cache own", setting, o.Cache)})
		}
	}
	return o.policies(sys, o.Policies, warn)
}

// setAll adds the settings of --set to the names of the policies that have the parameter, so that every name says what
// its policy is.
func (o *compareOptions) setAll(sys *system) error {
	for _, set := range o.Set {
		key, value, ok := strings.Cut(set, "=")
		if !ok {
			return noValue(set)
		}
		key = strings.TrimSpace(key)
		var wrong error
		fits := false
		for i, name := range o.Policies {
			one := policyOptions{Policy: name}.unfolded()
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

// compareOne replays a conversation under each policy. With timelines, nothing is kept.
func (o *compareOptions) compareOne(sys *system, c agentConversation, choices []policyChoice, kept *recalled, timelines bool) (s compare.ComparedSession, err error) {
	client := preset.ClientOf(c.conv)
	policies, err := o.chosen(sys, client, choices)
	if err != nil {
		return s, err
	}
	one := compare.Subject{Record: c.rec, Agent: c.name(), Input: c.input, Selection: o.selection(c), Timelines: timelines}
	if c.main && o.Agent == "main" {
		one.Subagents = c.subagents()
	}
	if kept != nil {
		return kept.compared(&one, client, policies, o)
	}
	return compare.Run(&one, policies, o.options())
}

// comparisons compares the sessions, and adds the commands that show the differences.
func (o *compareOptions) comparisons(sessions []compare.ComparedSession) []compare.Comparison {
	list := compare.Compare(o.Policies, sessions, compare.Group(o.By))
	for i := range list {
		for p := range list[i].Pairs {
			if o.Plain {
				list[i].Pairs[p].Correction = nil
			}
		}
		for _, e := range list[i].Evidence() {
			list[i].Commands = append(list[i].Commands, commandWords(&e))
		}
	}
	return list
}

// selection says how another command finds and counts the same conversation.
func (o *replayOptions) selection(c agentConversation) compare.Selection {
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
