package cmd

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/tokens"
	"github.com/ctxkit/ctxkit/report"
)

// CalibrateOptions are what `ctxkit calibrate` is asked for.
type CalibrateOptions struct {
	Inputs []string
	InputOptions
	OutputOptions
	Fit string
}

const longCalibrate = `Score token counters against recorded usage: how far off is each from what the
API reported?

The usage counter learns from recorded usage, so it is scored on requests it
was not fitted on. Each counter is scored in two ways: one step ahead (what
joined since the request before, and the total, given the one before) and
free-running (the total, given only the first request's and those right after
recorded compactions).`

const exampleCalibrate = `  ctxkit calibrate session.jsonl
  ctxkit calibrate ~/.claude/projects --fit others --format json -o calibration.json`

func newCalibrate(sys *system) *cobra.Command {
	o := &CalibrateOptions{}
	formats := formatNames(report.ListFormats)
	cmd := &cobra.Command{
		Use:     "calibrate INPUT...",
		Short:   "How far off is each token counter from what the API reported?",
		Long:    longCalibrate,
		Example: exampleCalibrate,
		RunE: func(_ *cobra.Command, args []string) error {
			o.Inputs = args
			if err := o.OutputOptions.check(formats...); err != nil {
				return err
			}
			if err := o.InputOptions.check(); err != nil {
				return err
			}
			return runCalibrate(sys, o)
		},
	}
	o.InputOptions.flags(cmd)
	o.OutputOptions.flags(cmd, formats...)
	cmd.Flags().StringVar(&o.Fit, "fit", string(replay.FitFirstHalf), "fit the usage counter on `WHAT`: first-half (of each session; the rest is scored), others (inputs), or both")
	return cmd
}

var errNoUsage = errors.New("no input has two requests with recorded usage: there is nothing to score counters by")

func runCalibrate(sys *system, o *CalibrateOptions) error {
	var fits []string
	for _, f := range replay.Fittings() {
		fits = append(fits, string(f))
	}
	if err := oneOf("--fit", o.Fit, fits); err != nil {
		return err
	}
	msgs := &messages{w: sys.err, quiet: o.Quiet}
	in, err := resolve(sys, o.Inputs, msgs.warn)
	if err != nil {
		return err
	}
	if fit := replay.Fitting(o.Fit); fit != replay.FitFirstHalf && len(in.list) < 2 {
		return fmt.Errorf("flag --fit: %s: there is one input and no other to fit on: use %s", fit, replay.FitFirstHalf)
	}
	out, err := o.create(sys, in.list)
	if err != nil {
		return err
	}
	return out.close(calibrate(sys, o, in, out, msgs))
}

func calibrate(sys *system, o *CalibrateOptions, in inputs, out *output, msgs *messages) error {
	var trials []*replay.Trial
	loop := &conversationLoop{sys: sys, in: in, opt: o.InputOptions, verb: "measured", msgs: msgs}
	encoders := &tokens.Encoders{}
	failed, err := eachConversation(loop, func(c agentConversation) (*replay.Trial, error) {
		return measure(c, encoders)
	}, func(t *replay.Trial) error {
		if len(t.Steps) > 0 {
			trials = append(trials, t)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(trials) == 0 {
		if failed != nil {
			return failed
		}
		return errNoUsage
	}
	c, err := replay.Calibrate(trials, replay.Fitting(o.Fit))
	if err != nil {
		return err
	}
	if err := report.Calibration(out, c, report.Layout{Format: report.Format(o.Format), Color: o.useColor(sys), Hints: reportHints()}); err != nil {
		return err
	}
	return failed
}

func measure(c agentConversation, encoders *tokens.Encoders) (*replay.Trial, error) {
	rec, err := replay.NewRecordWith(c.conv, encoders)
	if err != nil {
		return nil, err
	}
	t, err := rec.Trial()
	if err != nil {
		return nil, err
	}
	if t.Agent == "" {
		t.Agent = c.agent
	}
	return t, nil
}
