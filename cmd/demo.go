package cmd

import (
	"bytes"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl/synth"
	"github.com/ctxkit/ctxkit/report"
)

// demoSession are the options of the session that demo replays: with a compaction, under most policies.
func demoSession() synth.SessionOptions {
	o := synth.Default()
	o.Seed = 3
	o.Requests = 90
	o.Version = "2.1.139"
	o.Window = 120_000
	o.Subagents, o.Offloads = 0, 0 // they would be in files of their own
	return o
}

// examplePolicy is the policy that demo replays it under.
const examplePolicy = "opencode"

func newDemo(sys *system) *cobra.Command {
	o := &outputOptions{}
	cmd := command(&cobra.Command{
		Use: "demo", Short: "Replay a session that is built in, to see how it works", Args: noArguments,
		Long: `Replay a synthetic session that is built in, and say what else can be asked of
it. No text in it was ever recorded; it is the same on every machine.

With -o the session is written to a file instead, for other commands.`,
		Example: "  ctxkit demo -o demo.jsonl",
	}, func() error {
		if o.File == "" {
			return runDemo(sys)
		}
		out, err := o.create(sys)
		if err != nil {
			return err
		}
		_, err = synth.Generate(out, demoSession())
		return out.close(err)
	})
	declare(cmd, o, "output")
	cmd.Flags().Lookup("output").Usage = "write the session to `FILE`, and replay nothing"
	return cmd
}

func runDemo(sys *system) error {
	var session bytes.Buffer
	stats, err := synth.Generate(&session, demoSession())
	if err != nil {
		return err
	}
	sys.in = &session
	replay := newReplay(sys)
	replay.SilenceErrors = true
	replay.SilenceUsage = true
	replay.SetArgs([]string{"-", "--policy", examplePolicy})
	if err := replay.Execute(); err != nil {
		return err
	}
	const file = "demo.jsonl"
	about := fmt.Sprintf("This is what ctxkit replay --policy %s shows of a session: here of a synthetic one that is built in, with %d requests of Claude Code %s. "+
		"The first command below writes it to a file, the next ones ask more of it.", examplePolicy, stats.Requests, demoSession().Version)
	o := &outputOptions{Format: string(report.FormatTable), Color: "auto"}
	return o.print(sys, func(w io.Writer, opt report.Layout) error {
		return report.PrintCommands(w, "what this is, and what to try next", about, []report.CommandLine{
			ask("write the session to a file", "demo", "-o", file),
			ask("what fills its context", "stats", file),
			ask("what the prompt cache lost, and why", "why", file),
			ask("other policies next to the recorded session", "compare", file),
			ask("what the policy changed, and why", "diff", file, "--policy", examplePolicy),
			ask("a page to open in a browser", file, "--format", "html", "-o", "demo.html"),
			ask("your own sessions", "sessions"),
		}, opt)
	})
}

// ask is a command that answers what is asked.
func ask(what string, words ...string) report.CommandLine {
	return report.CommandLine{Words: append([]string{"ctxkit"}, words...), What: what}
}
