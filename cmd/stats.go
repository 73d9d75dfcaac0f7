package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/stats"
	"github.com/ctxkit/ctxkit/report"
)

// statsOptions are the options of `ctxkit stats`.
type statsOptions struct {
	replayOptions
	At string
}

func newStats(sys *system) *cobra.Command {
	o := &statsOptions{}
	o.Policy = "recorded"
	cmd := command(&cobra.Command{
		Use: "stats INPUT...", Short: "Show what fills the context: categories, tools, files, turns",
		Args: arguments(&o.Inputs),
		Long: `Show what fills the context at one request, and what filled it up to there:
system prompt and tools, prompts, attachments, text, thinking, tool calls and
results; the tools, files and single results that took the most; what was read
again or superseded; results with the same text; turns; subagents by type.

The parts add up to the recorded context. What is on no line of the file has a
line of its own. By default it is the context as it was recorded; --policy shows
what another policy would have sent.

--at is a request's number, last, peak (the largest payload) or event:K. Of
several sessions there is a table with the heaviest first, and sums over all.`,
		Example: `  ctxkit stats session.jsonl
  ctxkit stats session.jsonl --at peak --all
  ctxkit stats session.jsonl --policy opencode --at 200
  ctxkit stats ~/.claude/projects --format csv -o stats.csv`,
	}, func() error { return runStats(sys, o) }, append(o.shared(sys, o.listing(report.StatsFormats, report.StatsTables...)), o.from(sys))...)
	cmd.Flags().StringVar(&o.At, "at", "last", "which request: `N`, last, peak or event:K")
	o.completeAt(cmd, sys, "last", "peak")
	return cmd
}

// conversationStats are the stats of one conversation and what there is to say of it.
type conversationStats struct {
	stats    *stats.SessionStats
	pol      *policy.Policy
	warnings []session.Warning
}

func runStats(sys *system, o *statsOptions) error {
	r, err := o.begin(sys)
	if err != nil {
		return err
	}
	loop := r.loop("counted")
	several := r.in.several || o.Agent == "all"
	var list []*stats.SessionStats
	failed, err := eachConversation(loop, func(c agentConversation) (conversationStats, error) {
		one, err := r.stats(c, o.At)
		if err == nil && several && !o.All {
			one.stats.Cut(2 * report.MostStats)
		}
		return one, err
	}, func(one conversationStats) error {
		loop.warn(one.warnings...)
		r.ran = append(r.ran, one.pol)
		list = append(list, one.stats)
		return nil
	})
	return r.finish(failed, err, len(list), func() error { return report.Stats(r.out, list, r.use(), o.report(sys)) })
}

// stats replays a conversation and counts what fills its context at a request.
func (r *replays) stats(c agentConversation, at string) (one conversationStats, err error) {
	if one.pol, err = r.choose(preset.ClientOf(c.conv)); err != nil {
		return one, err
	}
	var agents []stats.Agent
	if c.main {
		if agents, err = r.agentStats(c, func(list ...session.Warning) { one.warnings = append(one.warnings, list...) }); err != nil {
			return one, err
		}
	}
	choose := func(tl *replay.Timeline) (int, error) {
		tl.Agent = c.name()
		n, err := tl.RequestAt(at)
		if err != nil {
			return 0, fmt.Errorf("flag --at: %w", err)
		}
		return n, nil
	}
	s, tl, err := stats.Replay(c.rec, one.pol, r.o.options(), choose, agents)
	if err != nil {
		return one, err
	}
	if err := tl.CheckValid(); err != nil {
		return one, fmt.Errorf("the replay contradicts itself: %w: please report it with the session", err)
	}
	one.stats, one.warnings = s, append(one.warnings, tl.Warnings...)
	return one, nil
}

// agentStats counts the transcripts of a main conversation's subagents.
func (r *replays) agentStats(c agentConversation, warn func(...session.Warning)) (list []stats.Agent, err error) {
	about := map[string]session.Subagent{}
	if c.input != "-" {
		known, _, err := session.Subagents(c.input) // its warnings come with the transcripts
		if err != nil {
			return nil, err
		}
		for _, a := range known {
			about[a.ID] = a
		}
	}
	agents, done := c.beside(warn)
	defer done()
	for _, sub := range agents {
		rec, err := replay.NewRecordWith(sub.conv, r.sys.recordOptions(r.encoders))
		if err != nil {
			return nil, err
		}
		one, err := stats.NewAgent(rec, about[sub.agent], r.o.table)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}
