package cmd

import (
	"github.com/spf13/cobra"
)

// convertOptions are the options of `ctxkit convert`.
type convertOptions struct {
	Inputs []string
	outputOptions
}

func newConvert(sys *system) *cobra.Command {
	o := &convertOptions{}
	return command(&cobra.Command{
		Use: "convert INPUT -o FILE", Short: "Write another agent's session in the form of Claude Code's",
		Example: `  ctxkit convert rollout.jsonl -o session.jsonl`,
		Args:    arguments(&o.Inputs),
		Long: `Write another agent's session as lines in the form of Claude Code's sessions:
the lines that every command reads of it, so that a replay of the file is the
same as one of the original. The first line says which client recorded it.
A session of Claude Code is written as it is, decompressed.`,
	}, func() error { return runConvert(sys, o) }, own(&o.outputOptions, "output", "quiet", "verbose"))
}

func runConvert(sys *system, o *convertOptions) error {
	msgs := o.messages(sys)
	path, err := resolveOne(sys, o.Inputs, msgs)
	if err != nil {
		return err
	}
	c, err := load(sys, path, inputOptions{Agent: "main"}, 1, msgs.warn)
	if err != nil {
		return err
	}
	defer c.close()
	for _, conv := range c.files[0].Conversations() {
		msgs.warn(conv.Warnings...)
	}
	out, err := o.create(sys)
	if err != nil {
		return err
	}
	return out.close(c.files[0].WriteLines(out))
}
