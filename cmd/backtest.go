package cmd

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/backtest"
	"github.com/ctxkit/ctxkit/report"
)

// BacktestOptions are what `ctxkit backtest` is asked for.
type BacktestOptions struct {
	ReplayOptions
	NoFit   bool
	Explain int
	Bars    []string // MEASURE=PERCENT
	Least   int      // a measure of so many is judged; 0: each has its own count
}

const longBacktest = `Hold a policy against what was recorded: does it compact where the client did,
and does the cache simulation read what the API reported?

Without --policy each session meets the policy of the client that recorded it.
From client 2.1.119 on the windows that users set are on no line: in sessions
with recorded automatic compactions they are fitted to those, and such sessions
stand in rows of their own.

--strict holds the figures against bars and exits 1 where one does not hold;
--bar sets another bar. A figure of few is said and not judged: each measure has
a least count, --least sets one for all.`

const exampleBacktest = `  ctxkit backtest session.jsonl
  ctxkit backtest ~/.claude/projects --strict --bar hits=80
  ctxkit backtest ~/.claude/projects --explain
  ctxkit backtest session.jsonl --policy claude-code-2.1 --format json`

// explained is how many breaks --explain lists where it is not said.
const explained = "20"

func newBacktest(sys *system) *cobra.Command {
	o := &BacktestOptions{}
	formats := formatNames(report.ListFormats)
	cmd := &cobra.Command{
		Use:     "backtest INPUT...",
		Short:   "Does a policy predict what the client really did?",
		Long:    longBacktest,
		Example: exampleBacktest,
		RunE: func(_ *cobra.Command, args []string) error {
			o.Inputs = args
			if err := o.OutputOptions.check(formats...); err != nil {
				return err
			}
			if err := o.InputOptions.check(); err != nil {
				return err
			}
			return runBacktest(sys, o)
		},
	}
	o.PolicyOptions.flags(cmd)
	f := cmd.Flags()
	f.Lookup("policy").Usage += "; default: that of the client that recorded the session"
	f.BoolVar(&o.Strict, "strict", false, "exit 1 where a measure does not hold its bar")
	f.StringArrayVar(&o.Bars, "bar", nil, "with --strict, hold a measure against another bar: `MEASURE=PERCENT` (repeatable); measures: "+strings.Join(backtest.MeasureNames(), ", "))
	f.IntVar(&o.Least, "least", 0, "with --strict, judge measures of `N` or more; default: each from as many on as it needs (10 and more)")
	f.IntVar(&o.Explain, "explain", 0, "list the `N` breaks of the cache that the simulation is furthest from")
	f.Lookup("explain").NoOptDefVal = explained
	f.BoolVar(&o.NoFit, "no-fit", false, "take no window from the record")
	f.BoolVar(&o.All, "all", false, "leave nothing out of tables")
	o.InputOptions.flags(cmd)
	o.CountOptions.flags(cmd)
	o.OutputOptions.flags(cmd, formats...)
	return cmd
}

// bar is a measure and what it is held against.
type bar struct {
	measure string
	percent float64
}

func (o *BacktestOptions) bars() ([]bar, error) {
	var bars []bar
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
		bars = append(bars, bar{name, p})
	}
	return bars, nil
}

var errNoRecord = errors.New("no input has requests with recorded usage, or recorded compactions: there is nothing to hold a policy against")

func runBacktest(sys *system, o *BacktestOptions) error {
	bars, err := o.bars()
	if err != nil {
		return err
	}
	if len(bars) > 0 && !o.Strict {
		return fmt.Errorf("flag --bar: without --strict nothing is held against a bar: add --strict")
	}
	if o.Least < 0 {
		return fmt.Errorf("flag --least: %d: want 0 or more", o.Least)
	}
	if o.Least > 0 && !o.Strict {
		return fmt.Errorf("flag --least: without --strict nothing is judged: add --strict")
	}
	if o.Explain < 0 {
		return fmt.Errorf("flag --explain: %d: want 0 or more", o.Explain)
	}
	if o.Policy == "" {
		o.Policy = "claude-code@" + preset.RecordedVersion
	}
	r, err := o.begin(sys)
	if err != nil {
		return err
	}
	if !o.byVersion() { // else which policy it is depends on the session, and none of them is the record's
		if pol, choosing := r.choose(""); choosing != nil {
			err = choosing
		} else if pol.Recorded {
			err = fmt.Errorf("flag --policy: %s follows the record, and cannot be held against it: name another", o.Policy)
		}
	}
	if err == nil {
		err = o.backtest(r, bars)
	}
	return r.out.close(err)
}

func (o *BacktestOptions) backtest(r *replaying, bars []bar) error {
	var sessions []*backtest.Session
	record := false
	failed, err := eachConversation(r.loop("tested"), func(c agentConversation) (*backtest.Session, error) {
		return o.score(r, c)
	}, func(s *backtest.Session) error {
		if s.Requests > 0 {
			sessions = append(sessions, s)
		}
		record = record || s.Usage.Requests+len(s.Compactions)+len(s.Micro) > 0
		return nil
	})
	switch {
	case err != nil:
		return err
	case !record && failed != nil:
		return failed
	case !record:
		return errNoRecord
	}
	result := backtest.Sum(o.Policy, sessions)
	for _, b := range bars {
		if err := result.SetBar(b.measure, b.percent); err != nil {
			return err
		}
	}
	if o.Least > 0 {
		result.SetLeast(o.Least)
	}
	err = report.Backtest(r.out, result, report.BacktestLayout{
		Layout: report.Layout{Format: report.Format(o.Format), All: o.All, Color: o.useColor(r.sys), Hints: reportHints()}, Explain: o.Explain,
	})
	switch {
	case err != nil:
		return err
	case failed != nil:
		return failed
	case o.Strict:
		return o.judge(r, result)
	}
	return nil
}

func (o *BacktestOptions) score(r *replaying, c agentConversation) (*backtest.Session, error) {
	pol, err := r.choose(c.conv.Version)
	if err != nil {
		return nil, err
	}
	rec, err := replay.NewRecordWith(c.conv, o.encoders)
	if err != nil {
		return nil, err
	}
	s, err := backtest.Score(rec, pol, backtest.Options{Options: o.options(), NoFit: o.NoFit})
	if err != nil {
		return nil, err
	}
	if s.Agent == "" {
		s.Agent = c.agent
	}
	return s, nil
}

// judge says which measures are of too few to be judged, and fails for those that
// do not hold, or where none is judged.
func (o *BacktestOptions) judge(r *replaying, result *backtest.Result) error {
	few, judged := result.Unjudged()
	var texts []string
	for _, m := range few {
		texts = append(texts, fmt.Sprintf("%s (%d of %d)", m.Name, m.Of, m.Least))
	}
	list := strings.Join(texts, ", ")
	switch {
	case !judged:
		return fmt.Errorf("%w: no measure is of enough to be judged: %s: add sessions, or set --least", errCheckFailed, list)
	case list != "":
		r.msgs.warn(session.Warning{Message: "too few to be judged: " + list + ": add sessions, or set --least"})
	}
	return barError(result.Failed())
}

// barError tells the measures that do not hold.
func barError(failed []backtest.Measure) error {
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
