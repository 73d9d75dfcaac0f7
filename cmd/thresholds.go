package cmd

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/report"
)

// thresholdsOptions are the options of `ctxkit thresholds`.
type thresholdsOptions struct {
	policyOptions
	outputOptions
	Model  string     `flag:"model" usage:"<NAME> of the model: its window and largest output count"`
	Window tokenCount `flag:"window" usage:"context window in <TOKENS>, such as 200000, 200k or 1M; default: the model's, else 200,000"`
	Used   tokenCount `flag:"used" usage:"tokens that the context has reached (<N>): what is left up to each limit, in percent"`
}

func newThresholds(sys *system) *cobra.Command {
	o := &thresholdsOptions{}
	o.Policy = preset.Defaults().Thresholds
	return command(&cobra.Command{
		Use: "thresholds", Short: "List the windows and thresholds that apply under a policy",
		Long: `List the windows and thresholds that apply under a policy.

There is no session here, so a product's bare name means its newest release, not
the one that was current when a session was recorded, as it does in replay;
NAME@VERSION is that version's.

Not read, of what else can set Claude Code's window:

  CLAUDE_CODE_MAX_CONTEXT_TOKENS
  autoCompactWindow in the client's settings, for all models or for one
  what Anthropic's server says, from 2.1.305 on also which models compact at the
  threshold; the policies keep the list of 2.1.280
  from 2.1.197 on 500,000 for claude-sonnet-5 in remote and local agent sessions
  from 2.1.330 on, behind a flag, at least twice the system prompt and tools

State it with --set window.auto_compact_window=N, the first with --window N.`,
		Example: `  ctxkit thresholds --policy claude-code-2.1.19
  ctxkit thresholds --model claude-opus-4-7 --set window.pct_override=70
  CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=80 ctxkit thresholds --env --window 1M`,
		Args: noArguments,
	}, func() error { return runThresholds(sys, o) }, &o.policyOptions, newPriceOptions(sys), o.with(report.ListFormats, report.ThresholdTables...), own(o))
}

func runThresholds(sys *system, o *thresholdsOptions) error {
	pol, err := readPolicy(sys, o.policyOptions)
	if err != nil {
		return err
	}
	t := thresholds(pol, o, sys.models())
	msgs := o.messages(sys)
	msgs.warn(pol.doubts()...)
	return show(sys, &o.outputOptions, report.PrintThresholds, t)
}

// thresholds are a policy's limits in the window that the flags, the policy or the model give.
func thresholds(pol *loadedPolicy, o *thresholdsOptions, models *price.Table) report.LimitList {
	t := report.LimitList{
		Schema: report.ThresholdsSchema, Policy: pol.Name, Source: pol.Source, Chosen: pol.Chosen, Truth: report.TruthText(pol.Truth, pol.Score), Model: o.Model,
		Window: replay.DefaultWindow, WindowFrom: "assumed: no model and no --window given",
	}
	c := policy.Circumstances{OutputFrom: "no model given", By: pol.by, Model: o.Model}
	model, like, known := models.FindLike(o.Model)
	unknown := fmt.Sprintf("the model %q is not in the table", o.Model)
	switch {
	case known && model.Context > 0:
		c.MaxOutput = model.MaxOutput
		c.OutputFrom = "model table, " + model.ID
		if like {
			c.OutputFrom = "assumed, as " + model.ID + " has it: " + unknown
		}
		c.MaxInput = model.MaxInput
		t.Window = model.Context
		t.WindowFrom = c.OutputFrom
	case o.Model != "":
		c.OutputFrom = unknown
		t.WindowFrom = "assumed: " + c.OutputFrom
	}
	switch {
	case strings.Contains(o.Model, "[1m]"):
		t.Window = 1000000
		t.WindowFrom = "the model's name holds [1m]"
	case o.Model != "" && pol.Window.Models == policy.ModelsMarked && !model.Own:
		t.Window = replay.DefaultWindow
		t.WindowFrom = "the client knows only models marked [1m] to have more (window.models: marked)"
	}
	if l := pol.ModelWindow(o.Model, time.Time{}); l.Context > 0 && !model.Own {
		t.Window = l.Context
		t.WindowFrom = l.From
		if l.Assumed {
			t.WindowFrom = "assumed: " + l.From
		}
	}
	if pol.Window.Context > 0 || o.Window > 0 {
		c.MaxInput = 0
	}
	if pol.Window.Context > 0 {
		t.Window = pol.Window.Context
		t.WindowFrom = "policy: window.context"
	}
	if o.Window > 0 {
		t.Window = int(o.Window)
		t.WindowFrom = "--window"
	}
	c.Window = t.Window
	limits := pol.Limits(c)
	t.Used, t.Limits, t.Notes = int(o.Used), report.NewLimits(limits.List, int(o.Used)), limits.Notes
	if pol.Newer != "" { // every format has notes
		t.Chosen = strings.TrimSuffix(strings.TrimSuffix(pol.Chosen, pol.Newer), "; ")
		t.Notes = append(t.Notes, pol.Newer)
	}
	switch {
	case pol.Recorded:
		t.Notes = append(t.Notes, "the policy has no limits of its own: it follows the recorded session")
	case len(t.Limits)+len(t.Notes) == 0:
		t.Notes = append(t.Notes, "the policy acts at no number of tokens")
	}
	return t
}

// by names a parameter, and the environment variable that set it.
func (p *loadedPolicy) by(key string) string {
	if v := p.from[key]; v != "" {
		return key + " (" + v + ")"
	}
	return key
}
