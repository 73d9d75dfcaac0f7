package cmd

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/anthropic"
	"github.com/ctxkit/ctxkit/policy/stage/claude"
	"github.com/ctxkit/ctxkit/policy/stage/opencode"
	"github.com/ctxkit/ctxkit/policy/stage/threelayer"
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
	cmd := command(&cobra.Command{
		Use:   "thresholds",
		Short: "List the windows and thresholds that apply under a policy, with their sources",
		Example: `  ctxkit thresholds --policy claude-code-2.1.19
  ctxkit thresholds --model claude-opus-4-7 --set window.pct_override=70
  CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=80 ctxkit thresholds --env`,
		Args: noArguments,
	}, func() error { return runThresholds(sys, o) }, &o.PolicyOptions, o.with(report.ListFormats))
	f := cmd.Flags()
	f.StringVar(&o.Model, "model", "", "`NAME` of the model: its window and largest output count")
	f.Var(&o.Window, "window", "context window in `TOKENS`, such as 200000, 200k or 1M; default: the model's, else 200,000")
	return cmd
}

func runThresholds(sys *system, o *ThresholdsOptions) error {
	if o.Policy == "" {
		o.Policy = "claude-code"
	}
	pol, err := readPolicy(sys, o.PolicyOptions)
	if err != nil {
		return err
	}
	models, err := price.Default()
	if err != nil {
		return err
	}
	f := figures{p: pol, window: replay.DefaultWindow, windowFrom: "assumed: no model and no --window given", outputFrom: "no model given"}
	model, known := models.Find(o.Model)
	switch {
	case o.Model != "" && !known:
		f.outputFrom = fmt.Sprintf("the model %q is not in the table", o.Model)
		f.windowFrom = "assumed: " + f.outputFrom
	case known:
		f.output, f.outputFrom = model.MaxOutput, "model table, "+model.ID
		f.window, f.windowFrom = model.Context, f.outputFrom
	}
	if strings.Contains(o.Model, "[1m]") {
		f.window, f.windowFrom = 1000000, "the model's name holds [1m]"
	}
	if pol.Window.Context > 0 {
		f.window, f.windowFrom = pol.Window.Context, "policy: window.context"
	}
	if o.Window > 0 {
		f.window, f.windowFrom = int(o.Window), "--window"
		pol.Window.Context = 0
	}
	t := f.list(o.Model)
	msgs := o.messages(sys)
	for _, w := range pol.warnings {
		msgs.warn(w)
	}
	return o.print(sys, func(w io.Writer, opt report.Layout) error { return report.PrintThresholds(w, t, opt) })
}

// figures works out what a policy goes by.
type figures struct {
	p                      *loadedPolicy
	t                      report.Thresholds
	window, output         int // output 0: not known
	windowFrom, outputFrom string
}

func (f *figures) list(model string) report.Thresholds {
	f.t = report.Thresholds{Schema: report.ThresholdsSchema, Policy: f.p.Name, Source: f.p.Source, Model: model}
	f.t.Add("context window", "", f.window, f.windowFrom)
	f.claudeCode()
	f.pipeline()
	f.openCode()
	f.others()
	if len(f.t.Rows) == 1 && len(f.t.Notes) == 0 {
		f.note("the policy acts at no number of tokens")
		if f.p.Recorded {
			f.t.Notes[0] = "the record is followed: the policy has no thresholds of its own"
		}
	}
	return f.t
}

func (f *figures) note(format string, args ...any) {
	f.t.Notes = append(f.t.Notes, fmt.Sprintf(format, args...))
}

// by names a parameter, and the environment variable that set it.
func (f *figures) by(key string) string {
	if v := f.p.from[key]; v != "" {
		return key + " (" + v + ")"
	}
	return key
}

// claudeCode adds the limits of policies that go by them.
func (f *figures) claudeCode() {
	compact := paramsOf[claude.Autocompact](f.p.Policy)
	if compact == nil && paramsOf[claude.MicrocompactSize](f.p.Policy) == nil && !strings.HasPrefix(f.p.Name, "claude-code") {
		return
	}
	w, n := f.p.Window, report.Thousands
	t := w.Resolve(f.window, f.output)
	f.t.Limits = &t
	reserve := "policy: window.output_reserve"
	switch {
	case w.MaxOutput > 0 && w.ReserveCap > 0:
		reserve = fmt.Sprintf("min(%s %s, window.reserve_cap %s)", f.by("window.max_output"), n(w.MaxOutput), n(w.ReserveCap))
	case w.MaxOutput > 0:
		reserve = f.by("window.max_output")
	case w.ReserveCap > 0 && f.output > 0:
		reserve = fmt.Sprintf("min(largest output %s, window.reserve_cap %s): %s", n(f.output), n(w.ReserveCap), f.outputFrom)
	case w.ReserveCap > 0:
		reserve = "policy: window.reserve_cap; the model's largest output is not known"
	}
	f.t.Add("output reserve", "", t.Reserve, reserve)
	f.t.Add("effective window", "", t.Effective, "context window - output reserve")
	base := "the auto-compact threshold: auto-compact is on"
	if t.On {
		auto := fmt.Sprintf("effective window - %s (window.buffer)", n(w.Buffer))
		if t.Percent > 0 {
			auto = fmt.Sprintf("min(floor(effective window x %g/100), effective window - %s): %s", t.Percent, n(w.Buffer), f.by("window.pct_override"))
		}
		f.t.Add("auto-compact threshold", ">=", t.Auto, auto)
	} else {
		base = "the effective window: auto-compact is off, " + f.by("window.auto_compact")
	}
	f.t.Add("base", "", t.Base, base)
	f.t.Add("warning threshold", ">=", t.Warning, fmt.Sprintf("base - %s (window.warning_offset)", n(w.WarningOffset)))
	f.t.Add("error threshold", ">=", t.Error, "the same as the warning threshold")
	blocking := fmt.Sprintf("context window - %s (window.blocking_offset)", n(w.BlockingOffset))
	if w.BlockingLimit > 0 {
		blocking = f.by("window.blocking_limit")
	}
	f.t.Add("blocking limit", ">=", t.Blocking, blocking)
	switch {
	case compact == nil:
		f.note("no stage compacts automatically: the thresholds are counted as if one did")
	case t.On && !compact.Enabled:
		f.note("nothing is compacted automatically: false is %s", f.by("autocompact.enabled"))
	}
}

// openCode adds OpenCode's usable window and what its prune goes by.
func (f *figures) openCode() {
	n := report.Thousands
	if s := paramsOf[opencode.OpencodeCompaction](f.p.Policy); s != nil {
		version := opencode.V1_18_34()
		if v, err := opencode.ByName(s.Count); err == nil { // "1.18" is the newest
			version = v
		}
		limit := opencode.Limit{Context: f.window, Output: f.output}
		var config opencode.Config
		if s.Reserved >= 0 {
			config.Compaction.Reserved = &s.Reserved
		}
		from := "the most OpenCode asks for: " + f.outputFrom
		if f.output > 0 {
			from = fmt.Sprintf("min(largest output %s, %s): %s", n(f.output), n(opencode.DefaultOutputTokenMax), f.outputFrom)
		}
		f.t.Add("output reserve", "", opencode.MaxOutput(limit, opencode.DefaultOutputTokenMax), from)
		operator, compared := ">", "compared with a step's input + cache reads + output"
		if version.OverflowAtLimit {
			operator = ">="
		}
		if version.CountsAll {
			compared = "compared with all tokens of a step"
		}
		if !s.Auto {
			operator, compared = "", "not compared: false is "+f.by("opencode_compaction.auto")
		}
		f.t.Add("usable window", operator, version.Usable(limit, config, opencode.DefaultOutputTokenMax),
			"context window - output reserve; "+compared)
		if s.Reserved >= 0 && version.ReserveBuffer > 0 {
			f.note("opencode_compaction.reserved, %s, counts for models with an input limit of their own: Anthropic's have none", n(s.Reserved))
		}
	}
	if s := paramsOf[opencode.OpencodePrune](f.p.Policy); s != nil {
		if !s.Auto {
			f.note("nothing is pruned: false is %s", f.by("opencode_prune.auto"))
			return
		}
		f.t.Add("prune protects", ">", s.Protect, "opencode_prune.protect: the newest tool output, estimated")
		f.t.Add("prune minimum", ">", s.Minimum, "opencode_prune.minimum: what must be saved, estimated")
	}
}

// pipeline adds what the stages between the budget and a compaction go by.
func (f *figures) pipeline() {
	if gap, err := f.p.Get("microcompact_time.gap"); err == nil {
		f.note("time-based microcompact: more than %s since the last answer (microcompact_time.gap)", gap)
	}
	if s := paramsOf[claude.MicrocompactCached](f.p.Policy); s != nil {
		f.note("cached microcompact: %s live results (microcompact_cached.trigger, unofficial)", report.Thousands(s.Trigger))
	}
	if s := paramsOf[claude.ContextCollapse](f.p.Policy); s != nil {
		stageAt, commitAt, target := s.Thresholds(f.p.Window.Resolve(f.window, f.output))
		f.t.Add("collapse is staged", ">=", stageAt, "context_collapse.stage_at")
		f.t.Add("collapse is committed", ">=", commitAt, "context_collapse.commit_at")
		f.t.Add("collapse target", "<", target, "context_collapse.target")
	}
	if s := paramsOf[claude.SessionMemory](f.p.Policy); s != nil {
		f.t.Add("session memory starts", ">=", s.InitTokens, "session_memory.init_tokens: the summary is first written")
		f.t.Add("session memory update", ">=", s.GrowthTokens, fmt.Sprintf("session_memory.growth_tokens since the last, and %d tool calls or a response without any", s.GrowthToolCalls))
		f.t.Add("messages kept", ">=", s.MinTokens, fmt.Sprintf("session_memory.min_tokens, and %d messages with text; no more is taken once they weigh %s", s.MinTextMessages, report.Thousands(s.MaxTokens)))
	}
}

// others adds the triggers of the API's edits and of the three layers.
func (f *figures) others() {
	if s := paramsOf[anthropic.ClearToolUses](f.p.Policy); s != nil {
		if s.Trigger.Type == policy.TriggerInputTokens {
			f.t.Add("tool use clearing", ">", s.Trigger.Value, f.by("clear_tool_uses.trigger")+": the prompt")
		} else {
			f.note("tool use clearing: > %s tool uses (clear_tool_uses.trigger)", report.Thousands(s.Trigger.Value))
		}
		if s.ClearAtLeast > 0 {
			f.t.Add("clearing at least", ">=", int(s.ClearAtLeast), "clear_tool_uses.clear_at_least: what would be cleared")
		}
	}
	if s := paramsOf[anthropic.CompactAPI](f.p.Policy); s != nil {
		f.t.Add("API compaction", ">", int(s.Trigger), "compact_api.trigger: the prompt, as edits before it leave it")
	}
	if s := paramsOf[threelayer.ThreeLayerAuto](f.p.Policy); s != nil {
		f.t.Add("compaction", ">", s.Threshold, "three_layer_auto.threshold: the JSON of the messages / 4")
	}
}
