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
	"github.com/ctxkit/ctxkit/replay/payloads"
	"github.com/ctxkit/ctxkit/report"
)

// backtestOptions are the options of `ctxkit backtest`.
type backtestOptions struct {
	replayOptions
	NoFit   bool     `flag:"no-fit" usage:"do not fit the window to recorded compactions"`
	Explain int      `flag:"explain" usage:"list the <N> cache misses where the simulation is furthest off"`
	Bars    []string // MEASURE=PERCENT
	By      string   `flag:"by" usage:"a row for each <KEY>: author" values:"author"`                                                                 // "": none
	Least   int      `flag:"least" usage:"with --strict, judge measures with <N> samples or more; default: each measure's own minimum (10 and more)"` // 0: each measure's own

	Payload bool   `flag:"payload" usage:"compare the requests that are rebuilt with those that were sent"`
	Sent    string `flag:"requests" usage:"with --payload, take the requests that were sent from <FILE>: request bodies as JSON lines; default: those that the session file holds"` // "": those on record

	Counters bool   `flag:"counters" usage:"score the token counters instead of a policy"`
	Fit      string // with Counters: a backtest.Fitting
}

func newBacktest(sys *system) *cobra.Command {
	o := &backtestOptions{}
	var cmd *cobra.Command
	cmd = command(&cobra.Command{
		Use: "backtest INPUT...", Short: "Score a policy, or the token counters, against recorded sessions",
		Args: arguments(&o.Inputs),
		Long: `Score a policy against recorded sessions: does it compact where the client did,
and does the cache simulation read what the API reported?

Without --policy each session is scored under the policy of the client that
recorded it; name one for a client without a built-in policy (Copilot CLI). Of
sessions of several clients, those of the most frequent one are scored. Clients
from 2.1.119 on record no window that the user set: in sessions with recorded
automatic compactions it is fitted to those, and such sessions have rows of
their own.

--by author adds a row for each author: how well the cache is simulated for
people it has never seen, next to a prediction without cache misses. An author
is the home folder in which a session was recorded; without one, its repository
or folder.

--strict judges the measures by bars and exits 1 where one fails; --bar sets
another bar. A measure with too few samples is reported and not judged: each has
a minimum, --least sets one for all. With --by author the sessions of each
author are judged by the same bars, too.

--counters scores the token counters instead of a policy: their error against
the usage that the API reported. The usage counter learns from recorded usage,
so it is scored on requests it was not fitted on. Each counter is scored in two
ways: one step ahead (the tokens added since the request before, and the total
given the one before) and free-running (the total given only the first
request's and those right after recorded compactions and after restarts as
another client version).`,
		Example: `  ctxkit backtest session.jsonl
  ctxkit backtest ~/.claude/projects --strict --bar hits=80
  ctxkit backtest ~/.claude/projects --explain
  ctxkit backtest ~/sessions --by author
  ctxkit backtest session.jsonl --policy claude-code-2.1 --format json
  ctxkit backtest ~/.claude/projects --counters --fit others
  ctxkit backtest session.jsonl --payload --requests bodies.ndjson`,
	}, func() error { return runBacktest(sys, o, cmd.Flags().Changed) }, &o.policyOptions, &o.inputOptions, &o.countOptions, newPriceOptions(sys), o.listing(report.ListFormats, report.BacktestTables...), own(o))
	f := cmd.Flags()
	f.Lookup("policy").Usage += "; default: that of the client that recorded the session"
	f.BoolVar(&o.Strict, "strict", false, "exit 1 where a measure fails its bar")
	f.StringArrayVar(&o.Bars, "bar", nil, "with --strict, judge a measure by another bar: `MEASURE=PERCENT` (repeatable); measures: "+strings.Join(backtest.MeasureNames(), ", ")+"; with --payload: "+strings.Join(payloads.MeasureNames(), ", "))
	completeKeys(cmd, "bar", slices.Concat(backtest.MeasureNames(), payloads.MeasureNames()))
	f.Lookup("explain").NoOptDefVal = "20"
	f.StringVar(&o.Fit, "fit", string(backtest.FitFirstHalf), "with --counters, fit the usage counter on `WHAT`: first-half (of each session; the rest is scored), others (inputs of other projects), or both")
	complete(cmd, "fit", asNames(backtest.Fittings()))
	return cmd
}

// backtestKeys are the values of --by.
var backtestKeys = []string{"author"}

// ofPolicy are the flags of a backtest of a policy alone.
var ofPolicy = []string{"policy", "set", envFlag, "model", "window", "tokens", "overhead", "strict", "bar", "least", "by", "explain", "no-fit"}

// checkCounters checks the flags that --counters needs or is needed by.
func (o *backtestOptions) checkCounters(given func(name string) bool) error {
	if !o.Counters {
		if given("fit") {
			return errors.New("flag --fit: has an effect with --counters only: add --counters")
		}
		return nil
	}
	for _, name := range ofPolicy {
		if given(name) {
			return fmt.Errorf("flag --%s: it belongs to the score of a policy, and --counters scores none: leave one out", name)
		}
	}
	return oneOf("--fit", o.Fit, asNames(backtest.Fittings()))
}

// bars are the percentages that measures are judged by.
func (o *backtestOptions) bars(names []string) (map[string]float64, error) {
	bars := map[string]float64{}
	for _, text := range o.Bars {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, fmt.Errorf("flag --bar: %q: want MEASURE=PERCENT, such as hits=80", text)
		}
		if err := oneOf("--bar", name, names); err != nil {
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
func (o *backtestOptions) checkStrict() error {
	switch {
	case len(o.Bars) > 0 && !o.Strict:
		return fmt.Errorf("flag --bar: has an effect with --strict only: add --strict")
	case o.By != "" && !slices.Contains(backtestKeys, o.By):
		return oneOf("--by", o.By, backtestKeys)
	case o.Least < 0:
		return fmt.Errorf("flag --least: %d: want 0 or more", o.Least)
	case o.Least > 0 && !o.Strict:
		return fmt.Errorf("flag --least: has an effect with --strict only: add --strict")
	case o.Explain < 0:
		return fmt.Errorf("flag --explain: %d: want 0 or more", o.Explain)
	}
	return nil
}

var (
	errNoRecord = errors.New("no input has requests with recorded usage after its first, or recorded compactions: there is nothing to score a policy against")
	errNoUsage  = errors.New("no input has two requests with recorded usage: name a session with at least two answers")
)

func runBacktest(sys *system, o *backtestOptions, given func(flag string) bool) error {
	if err := o.checkCounters(given); err != nil {
		return err
	}
	if o.Counters {
		return o.scoreCounters(sys)
	}
	if err := o.checkPayload(given); err != nil {
		return err
	}
	if o.Payload {
		return o.scorePayloads(sys)
	}
	bars, err := o.bars(backtest.MeasureNames())
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
	if !o.bySession(sys) { // else the policy depends on the session, and is never `recorded`ed session
		if pol, choosing := r.choose(preset.Client{}); choosing != nil {
			err = choosing
		} else if pol.Recorded {
			err = fmt.Errorf("flag --policy: %s repeats the recorded session itself: name another policy", o.Policy)
		}
	}
	if err != nil {
		return r.out.close(err)
	}
	return o.backtest(r, bars)
}

// scored is the client whose policy is scored: that of most sessions. Those of others become no inputs, and a warning.
func (o *backtestOptions) scored(sys *system) string {
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
	o.messages(sys).warn(session.Warning{Message: fmt.Sprintf("a score covers the policy of one client, here %s; sessions of others are left out (%s): score them by themselves, or name a policy with --policy",
		clientName(client), strings.Join(others, ", "))})
	o.Inputs = nil
	for i, f := range files {
		if cmp.Or(f.Product, session.Product) == client {
			o.Inputs = append(o.Inputs, in.list[i])
		}
	}
	return client
}

func (o *backtestOptions) backtest(r *replays, bars map[string]float64) error {
	var sessions []*backtest.SessionScore
	return scoreEach(r.job, "scored", errNoRecord, func(c agentConversation) (scoredSession, error) {
		return o.score(r, c)
	}, func(s scoredSession) int {
		if s.Requests > 0 {
			sessions = append(sessions, s.SessionScore)
			r.ran = append(r.ran, s.pol)
			r.msgs.warn(s.assumed...)
		}
		return s.Usage.Requests + s.Usage.Contradicted + len(s.Compactions) + len(s.Micro)
	}, func(failed error) error {
		result := backtest.Sum(o.Policy, sessions)
		for name, percent := range bars {
			if err := result.SetBar(name, percent); err != nil {
				return err
			}
		}
		if o.Least > 0 {
			result.SetLeast(o.Least)
		}
		if o.By != "" {
			result.ByAuthor()
		}
		err := report.Backtest(r.out, result, report.BacktestLayout{Layout: o.report(r.sys), Explain: o.Explain, Use: r.use()})
		if err == nil && failed == nil && o.Strict {
			return o.judge(r, result)
		}
		return err
	})
}

// scoreCounters scores the token counters.
func (o *backtestOptions) scoreCounters(sys *system) error {
	j, err := start(sys, o.Inputs, o.inputOptions, &o.outputOptions)
	if err != nil {
		return err
	}
	fit := backtest.Fitting(o.Fit)
	if fit != backtest.FitFirstHalf && len(j.in.list) < 2 {
		return j.out.close(fmt.Errorf("flag --fit: %s: there is one input and no other to fit on: use %s", fit, backtest.FitFirstHalf))
	}
	var trials []*backtest.GrowthTrial
	return scoreEach(j, "measured", errNoUsage, func(c agentConversation) (*backtest.GrowthTrial, error) {
		t, err := backtest.NewTrial(c.rec)
		if err == nil {
			t.Agent = c.name()
		}
		return t, err
	}, func(t *backtest.GrowthTrial) int {
		if len(t.Steps) > 0 {
			trials = append(trials, t)
		}
		return len(t.Steps)
	}, func(error) error {
		c, err := backtest.Calibrate(trials, fit)
		if err != nil {
			return err
		}
		return report.Calibration(j.out, c, o.report(sys))
	})
}

// scoreEach scores each conversation, hands the scores to use, which returns how much of the recorded session each is
// of, and prints the results. none is the error where nothing is recorded.
func scoreEach[T any](j *job, verb string, none error, score func(agentConversation) (T, error), use func(T) int, print func(failed error) error) error {
	loop := j.loop(verb)
	loop.unfitted = true // the scored policy finds the window itself, and counters need none
	record := 0
	failed, err := eachConversation(loop, score, func(s T) error {
		record += use(s)
		return nil
	})
	if err == nil && failed == nil && record == 0 {
		err = none
	}
	return j.finish(failed, err, record, func() error { return print(failed) })
}

// scoredSession is a score with its policy.
type scoredSession struct {
	*backtest.SessionScore
	pol     *policy.Policy
	assumed []session.Warning
}

func (o *backtestOptions) score(r *replays, c agentConversation) (scoredSession, error) {
	pol, err := r.choose(preset.ClientOf(c.conv))
	if err != nil {
		return scoredSession{}, err
	}
	s, err := backtest.Score(c.rec, pol, backtest.ScoreOptions{Options: o.options(), NoFit: o.NoFit})
	if err != nil {
		return scoredSession{}, err
	}
	s.Agent = c.name()
	one := scoredSession{SessionScore: s, pol: pol}
	if s.Fit == nil {
		one.assumed = assumed(c.rec, o.options())
	}
	return one, nil
}

// judge warns of measures with too few samples, and is an error where a measure fails its bar or none can be judged.
func (o *backtestOptions) judge(r *replays, result *backtest.Scores) error {
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
	texts = failures("", result.Fidelity)
	for _, a := range result.Authors {
		texts = append(texts, failures("of "+a.Author+", ", a.Fidelity)...)
	}
	if len(texts) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s: --explain lists cache misses, --bar sets another bar", errCheckFailed, strings.Join(texts, "; "))
}

// failures says which measures fail their bars. of, before each, says whose sessions they are.
func failures(of string, list []backtest.Bar) (texts []string) {
	for _, m := range backtest.Failed(list) {
		texts = append(texts, of+m.Shortfall())
	}
	return texts
}
