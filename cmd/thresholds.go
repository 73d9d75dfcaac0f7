package cmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/report"
)

// ThresholdsOptions are what `ctxkit thresholds` is asked for.
type ThresholdsOptions struct {
	PolicyOptions
	OutputOptions
	Model  string
	Window Tokens
}

func newThresholds(sys *system) *cobra.Command {
	o := &ThresholdsOptions{}
	formats := formatNames(report.ListFormats)
	cmd := &cobra.Command{
		Use:   "thresholds",
		Short: "Print the windows and thresholds that apply, each with where it comes from",
		Example: `  ctxkit thresholds --policy claude-code-2.1.19
  ctxkit thresholds --model claude-opus-4-7 --set window.pct_override=70
  CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=80 ctxkit thresholds --env`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			if err := o.check(formats...); err != nil {
				return err
			}
			return runThresholds(sys, o)
		},
	}
	o.PolicyOptions.flags(cmd)
	o.OutputOptions.flags(cmd, formats...)
	f := cmd.Flags()
	f.StringVar(&o.Model, "model", "", "`NAME` of the model: its window and largest output count")
	f.Var(&o.Window, "window", "context window in `TOKENS`, such as 200000, 200k or 1M; default: the model's, else 200,000")
	return cmd
}

func runThresholds(sys *system, o *ThresholdsOptions) error {
	if o.Policy == "" {
		o.Policy = "claude-code"
	}
	pol, err := loadPolicy(sys, o.PolicyOptions)
	if err != nil {
		return err
	}
	models, err := price.Default()
	if err != nil {
		return err
	}
	window, from := replay.DefaultWindow, "assumed: no model and no --window given"
	model, known := models.Find(o.Model)
	outputFrom := "no model given"
	switch {
	case o.Model != "" && !known:
		outputFrom = fmt.Sprintf("the model %q is not in the table", o.Model)
		from = "assumed: " + outputFrom
	case known:
		outputFrom = "model table, " + model.ID
		window, from = model.Context, outputFrom
		if strings.Contains(o.Model, "[1m]") {
			window, from = 1000000, "the model's name holds [1m]"
		}
	}
	if pol.Window.Context > 0 {
		window, from = pol.Window.Context, "policy: window.context"
	}
	if o.Window > 0 {
		window, from = int(o.Window), "--window"
		pol.Window.Context = 0
	}
	t := report.NewThresholds(pol, o.Model, model.MaxOutput, from, outputFrom, pol.Window.Resolve(window, model.MaxOutput))
	out, err := o.create(sys, nil)
	if err != nil {
		return err
	}
	return out.close(report.PrintThresholds(out, t, report.Options{Format: report.Format(o.Format), Color: o.useColor(sys)}))
}
