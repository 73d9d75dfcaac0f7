package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/stats"
	"github.com/ctxkit/ctxkit/report"
)

// statsOptions are the options of `ctxkit stats`.
type statsOptions struct {
	replayOptions
	At string `flag:"at" usage:"which request: <N>, last, peak or event:K" default:"peak" values:"peak,last"`
}

func newStats(sys *system) *cobra.Command {
	o := &statsOptions{}
	return command(&cobra.Command{
		Use: "stats INPUT...", Short: "Show what fills the context: categories, tools, files, turns",
		Args: arguments(&o.Inputs),
		Long: `Show what the input of a session consisted of and what it cost, and what filled
the context at its largest request: system prompt and tools, prompts,
attachments, text, thinking, tool calls and results; the tools, files and single
results that took the most; what was read again or superseded; results with the
same text; turns; subagents by type.

The parts add up to the recorded context. What is not in the file has a
line of its own. By default it is the context as it was recorded; --policy shows
what another policy would have sent. What is free includes what automatic
compaction keeps free, the client's "Autocompact buffer" (ctxkit thresholds).

--at is a request's number, last, peak (the largest payload) or event:K. With a
number or an event, sums are over the requests up to it. Of several sessions
there is a table with the heaviest first, and sums over all.`,
		Example: `  ctxkit stats session.jsonl
  ctxkit stats session.jsonl --all
  ctxkit stats session.jsonl --policy opencode --at 200
  ctxkit stats ~/.claude/projects --format csv -o stats.csv`,
	}, func() error { return runStats(sys, o) }, append(o.shared(sys, o.listing(report.PageFormats, report.StatsTables...)), own(o))...)
}

func runStats(sys *system, o *statsOptions) error {
	return analyze(sys, &o.replayOptions, "counted", func(r *replays, c agentConversation, pol *policy.Policy, warn func(...session.Warning)) (*stats.SessionStats, error) {
		one, err := r.stats(c, pol, o.At, warn)
		if err == nil && (r.in.several || o.Agent == "all") && !o.All {
			one.Cut(2 * report.MostStats)
		}
		return one, err
	}, report.Stats)
}

// stats replays a conversation and counts what fills its context at a request.
func (r *replays) stats(c agentConversation, pol *policy.Policy, at string, warn func(...session.Warning)) (*stats.SessionStats, error) {
	var agents []stats.Agent
	if c.main {
		var err error
		if agents, err = r.agentStats(c, warn); err != nil {
			return nil, err
		}
	}
	choose := func(tl *replay.Timeline) (stats.Extent, error) {
		tl.Agent = c.name()
		n, err := tl.RequestAt(at)
		if err != nil {
			return stats.Extent{}, fmt.Errorf("flag --at: %w", err)
		}
		until := n
		if at == "peak" || at == "last" {
			until = tl.Totals.Requests
		}
		return stats.Extent{Request: n, Until: until}, nil
	}
	s, tl, err := stats.Replay(c.rec, pol, r.o.options(), choose, agents)
	if err == nil {
		err = checkReplay(tl)
	}
	if err != nil {
		return nil, err
	}
	warn(tl.Warnings...)
	log, err := requestsOf(c.conv)
	if err == nil && log != nil {
		err = s.AddOverhead(c.rec, log)
	}
	return s, err
}

// agentStats counts the transcripts of a main conversation's subagents.
func (r *replays) agentStats(c agentConversation, warn func(...session.Warning)) (list []stats.Agent, err error) {
	if r.o.Agent == "main" {
		warn = func(...session.Warning) {} // they came with the bill
	}
	agents, done := c.beside(warn)
	defer done()
	for _, sub := range agents {
		rec, err := replay.NewRecordWith(sub.conv, r.sys.recordOptions(r.encoders))
		if err != nil {
			return nil, err
		}
		one, err := stats.NewAgent(rec, sub.of, r.sys.table)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}
