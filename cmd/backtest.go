package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/replay/backtest"
	"github.com/ctxkit/ctxkit/report"
)

// BacktestOptions are the options of `ctxkit backtest`.
type BacktestOptions struct {
	ReplayOptions
	NoFit   bool
	Explain int
	Bars    []string // MEASURE=PERCENT
	Least   int      // the least samples of a measure that is judged; 0: each measure's own
}

func newBacktest(sys *system) *cobra.Command {
	o := &BacktestOptions{}
	cmd := command(&cobra.Command{
		Use: "backtest INPUT...", Short: "Score a policy against the compactions and cache reads on record",
		Args: arguments(&o.Inputs),
		Long: `Score a policy against the record: does it compact where the client did, and
does the cache simulation read what the API reported?

Without --policy each session is scored under the policy of the client that
recorded it; name one for a client without a built-in policy (Copilot CLI). Of
sessions of several clients, those of the most frequent one are scored. Clients
from 2.1.119 on record no window that the user set: in sessions with recorded
automatic compactions it is fitted to those, and such sessions have rows of
their own.

--strict judges the measures by bars and exits 1 where one fails; --bar sets
another bar. A measure with too few samples is reported and not judged: each has
a minimum, --least sets one for all.`,
		Example: `  ctxkit backtest session.jsonl
  ctxkit backtest ~/.claude/projects --strict --bar hits=80
  ctxkit backtest ~/.claude/projects --explain
  ctxkit backtest session.jsonl --policy claude-code-2.1 --format json`,
	}, func() error { return runBacktest(sys, o) }, &o.PolicyOptions, &o.InputOptions, &o.CountOptions, o.listing(report.ListFormats, report.BacktestTables...))
	f := cmd.Flags()
	f.Lookup("policy").Usage += "; default: that of the client that recorded the session"
	f.BoolVar(&o.Strict, "strict", false, "exit 1 where a measure fails its bar")
	f.StringArrayVar(&o.Bars, "bar", nil, "with --strict, judge a measure by another bar: `MEASURE=PERCENT` (repeatable); measures: "+strings.Join(backtest.MeasureNames(), ", "))
	completeKeys(cmd, "bar", backtest.MeasureNames())
	f.IntVar(&o.Least, "least", 0, "with --strict, judge measures with `N` samples or more; default: each measure's own minimum (10 and more)")
	f.IntVar(&o.Explain, "explain", 0, "list the `N` breaks of the cache where the simulation is furthest off")
	f.Lookup("explain").NoOptDefVal = "20"
	f.BoolVar(&o.NoFit, "no-fit", false, "do not fit the window to recorded compactions")
	return cmd
}

// bars are the percentages that measures are judged by.
func (o *BacktestOptions) bars() (map[string]float64, error) {
	bars := map[string]float64{}
	for _, text := range o.Bars {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, fmt.Errorf("flag --bar: %q: want MEASURE=PERCENT, such as hits=80", text)
		}
		if err := oneOf("--bar", name, backtest.MeasureNames()); err != nil {
			return nil, err
		}
		p, err := strconv.ParseFloat(strings.TrimSuffix(value, "%"), 64)
		if err != nil || !(p >= 0 && p <= 1e6) {
			return nil, fmt.Errorf("flag --bar: %s=%s: want a number of percent, such as 80", name, value)
		}
		bars[name] = p
	}
	return bars, nil
}

// checkStrict checks the flags that --strict needs or is needed by.
func (o *BacktestOptions) checkStrict() error {
	switch {
	case len(o.Bars) > 0 && !o.Strict:
		return fmt.Errorf("flag --bar: has an effect with --strict only: add --strict")
	case o.Least < 0:
		return fmt.Errorf("flag --least: %d: want 0 or more", o.Least)
	case o.Least > 0 && !o.Strict:
		return fmt.Errorf("flag --least: has an effect with --strict only: add --strict")
	case o.Explain < 0:
		return fmt.Errorf("flag --explain: %d: want 0 or more", o.Explain)
	}
	return nil
}

var errNoRecord = errors.New("no input has requests with recorded usage, or recorded compactions: there is nothing to score a policy against")

func runBacktest(sys *system, o *BacktestOptions) error {
	bars, err := o.bars()
	if err == nil {
		err = o.checkStrict()
	}
	if err != nil {
		return err
	}
	if o.Policy == "" {
		client := o.scored(sys)
		if len(sys.presets.Releases(client)) == 0 {
			return fmt.Errorf("no policy of %s is built in, and what is scored is another product's: name one with --policy, such as %s; ctxkit policy list lists all",
				clientName(client), session.Product)
		}
		o.Policy = client
	}
	r, err := o.begin(sys)
	if err != nil {
		return err
	}
	if !o.bySession(sys) { // else the policy depends on the session, and is never the record
		if pol, choosing := r.choose(preset.Client{}); choosing != nil {
			err = choosing
		} else if pol.Recorded {
			err = fmt.Errorf("flag --policy: %s is the record itself: name another policy", o.Policy)
		}
	}
	if err != nil {
		return r.out.close(err)
	}
	return o.backtest(r, bars)
}

// scored is the client whose policy is scored: that of most sessions. Those of others become no inputs, and a warning.
func (o *BacktestOptions) scored(sys *system) string {
	list := clients(sys, o.Inputs)
	if len(list) < 2 {
		return slices.Concat(list, []string{session.Product})[0]
	}
	in, err := resolve(sys, o.Inputs, o.messages(sys).warn)
	if err != nil {
		return session.Product // begin ends with the same
	}
	files := describe(sys, in.list)
	count := map[string]int{}
	for _, f := range files {
		count[cmp.Or(f.Product, session.Product)]++
	}
	client := slices.MaxFunc(list, func(a, b string) int { return cmp.Compare(count[a], count[b]) })
	var others []string
	for _, c := range list {
		if c != client {
			others = append(others, fmt.Sprintf("%s %d", clientName(c), count[c]))
		}
	}
	o.messages(sys).warn(session.Warning{Message: fmt.Sprintf("a score is of one client's policy, here %s's; sessions of others are left out (%s): score them by themselves, or name a policy with --policy",
		clientName(client), strings.Join(others, ", "))})
	o.Inputs = nil
	for i, f := range files {
		if cmp.Or(f.Product, session.Product) == client {
			o.Inputs = append(o.Inputs, in.list[i])
		}
	}
	return client
}

func (o *BacktestOptions) backtest(r *replays, bars map[string]float64) error {
	var sessions []*backtest.SessionScore
	record := 0
	loop := r.loop("scored")
	loop.unfitted = true // the scored policy finds the window itself
	failed, err := eachConversation(loop, func(c agentConversation) (scoredSession, error) {
		return o.score(r, c)
	}, func(s scoredSession) error {
		if s.Requests > 0 {
			sessions = append(sessions, s.SessionScore)
			r.ran = append(r.ran, s.pol)
		}
		record += s.Usage.Requests + len(s.Compactions) + len(s.Micro)
		return nil
	})
	if err == nil && failed == nil && record == 0 {
		err = errNoRecord
	}
	result := backtest.Sum(o.Policy, sessions)
	for name, percent := range bars {
		if err := result.SetBar(name, percent); err != nil {
			return r.out.close(err)
		}
	}
	if o.Least > 0 {
		result.SetLeast(o.Least)
	}
	return r.finish(failed, err, record, func() error {
		err := report.Backtest(r.out, result, report.BacktestLayout{Layout: o.report(r.sys), Explain: o.Explain, Use: r.use()})
		if err == nil && failed == nil && o.Strict {
			return o.judge(r, result)
		}
		return err
	})
}

// scoredSession is a score with the policy that it is of.
type scoredSession struct {
	*backtest.SessionScore
	pol *policy.Policy
}

func (o *BacktestOptions) score(r *replays, c agentConversation) (scoredSession, error) {
	pol, err := r.choose(preset.ClientOf(c.conv))
	if err != nil {
		return scoredSession{}, err
	}
	s, err := backtest.Score(c.rec, pol, backtest.ScoreOptions{Options: o.options(), NoFit: o.NoFit})
	if err == nil {
		s.Agent = c.name()
	}
	return scoredSession{s, pol}, err
}

// judge warns of measures with too few samples, and is an error where a measure fails its bar or none can be judged.
func (o *BacktestOptions) judge(r *replays, result *backtest.Scores) error {
	few, judged := result.Unjudged()
	var texts []string
	for _, m := range few {
		texts = append(texts, fmt.Sprintf("%s (%d of %d)", m.Name, m.Of, m.Least))
	}
	list := strings.Join(texts, ", ")
	switch {
	case !judged:
		return fmt.Errorf("%w: no measure has enough samples to be judged: %s: add sessions, or set --least", errCheckFailed, list)
	case list != "":
		r.msgs.warn(session.Warning{Message: "too few samples to judge: " + list + ": add sessions, or set --least"})
	}
	return barError(result.Failed())
}

// barError lists the measures that fail their bars.
func barError(failed []backtest.Bar) error {
	if len(failed) == 0 {
		return nil
	}
	var texts []string
	for _, m := range failed {
		want := "at least"
		if m.Most {
			want = "at most"
		}
		texts = append(texts, fmt.Sprintf("%s is %.2f %%, want %s %v %%", m.Name, m.Value, want, m.Bar))
	}
	return fmt.Errorf("%w: %s: --explain lists breaks of the cache, --bar sets another bar", errCheckFailed, strings.Join(texts, "; "))
}
