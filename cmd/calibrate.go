package cmd

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/replay/backtest"
	"github.com/ctxkit/ctxkit/report"
)

// CalibrateOptions are the options of `ctxkit calibrate`.
type CalibrateOptions struct {
	Inputs []string
	InputOptions
	OutputOptions
	Fit string
}

func newCalibrate(sys *system) *cobra.Command {
	o := &CalibrateOptions{}
	cmd := command(&cobra.Command{
		Use: "calibrate INPUT...", Short: "Measure the error of each token counter against API usage",
		Args: arguments(&o.Inputs),
		Long: `Measure the error of each token counter against the usage that the API reported.

The usage counter learns from recorded usage, so it is scored on requests it
was not fitted on. Each counter is scored in two ways: one step ahead (the
tokens added since the request before, and the total given the one before) and
free-running (the total given only the first request's and those right after
recorded compactions and after restarts as another client version).`,
		Example: `  ctxkit calibrate session.jsonl
  ctxkit calibrate ~/.claude/projects --fit others -f json -o calibration.json`,
	}, func() error { return runCalibrate(sys, o) }, &o.InputOptions, o.with(report.ListFormats, report.CalibrateTables...))
	cmd.Flags().StringVar(&o.Fit, "fit", string(backtest.FitFirstHalf), "fit the usage counter on `WHAT`: first-half (of each session; the rest is scored), others (inputs of other projects), or both")
	complete(cmd, "fit", asNames(backtest.Fittings()))
	return cmd
}

var errNoUsage = errors.New("no input has two requests with recorded usage: name a session with at least two answers")

func runCalibrate(sys *system, o *CalibrateOptions) error {
	if err := oneOf("--fit", o.Fit, asNames(backtest.Fittings())); err != nil {
		return err
	}
	j, err := start(sys, o.Inputs, o.InputOptions, &o.OutputOptions)
	if err != nil {
		return err
	}
	if fit := backtest.Fitting(o.Fit); fit != backtest.FitFirstHalf && len(j.in.list) < 2 {
		return j.out.close(fmt.Errorf("flag --fit: %s: there is one input and no other to fit on: use %s", fit, backtest.FitFirstHalf))
	}
	var trials []*backtest.GrowthTrial
	failed, err := eachConversation(j.loop("measured"), func(c agentConversation) (*backtest.GrowthTrial, error) {
		t, err := backtest.NewTrial(c.rec)
		if err == nil {
			t.Agent = c.name()
		}
		return t, err
	}, func(t *backtest.GrowthTrial) error {
		if len(t.Steps) > 0 {
			trials = append(trials, t)
		}
		return nil
	})
	if err == nil && failed == nil && len(trials) == 0 {
		err = errNoUsage
	}
	return j.finish(failed, err, len(trials), func() error {
		c, err := backtest.Calibrate(trials, backtest.Fitting(o.Fit))
		if err != nil {
			return err
		}
		return report.Calibration(j.out, c, o.report(sys))
	})
}
