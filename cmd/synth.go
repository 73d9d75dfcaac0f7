package cmd

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl/synth"
	"github.com/ctxkit/ctxkit/policy/strict"
)

// synthOptions are the options of `ctxkit synth`.
type synthOptions struct {
	synth.SessionOptions
	Folder string `flag:"dir" usage:"make a project folder in <DIR>: the session and the files next to it"`
	outputOptions
	Plain bool `flag:"plain" usage:"prompts, tools and answers only: no rewinds, subagents, failures, pauses …"`
}

func newSynth(sys *system) *cobra.Command {
	o := &synthOptions{SessionOptions: synth.Default()}
	cmd := command(&cobra.Command{
		Use: "synth", Short: "Write a synthetic session of any size, the same for the same seed",
		Example: `  ctxkit synth --seed 7 --requests 100 -o session.jsonl
  ctxkit synth --size 200MB --client 2.1.139 --dir project`,
		Args: noArguments,
		Long: `Write a synthetic session: a simulated client works on a simulated project and
records it as Claude Code of a chosen version would. The same options give the
same bytes on every machine. No text in it was ever recorded.

By default the session goes to standard output, without the files next to it
(subagents, offloaded results); --dir makes a project folder with all of them.`,
	}, func() error { return runSynth(sys, o) }, own(&o.outputOptions, "output"), own(o))
	f := cmd.Flags()
	f.Uint64Var(&o.Seed, "seed", 1, "random seed (`N`)")
	f.IntVar(&o.Requests, "requests", 0, "at least `N` API calls of the main conversation; default 40")
	f.Func("size", "stop when the session has reached this size (`N`, 500k, 200MB)", func(text string) (err error) {
		o.Bytes, err = parseSize(text)
		return err
	})
	f.StringVar(&o.Version, "client", "", "`VERSION` of the client, 1.0.17 to 2.1.299; default 2.1.19")
	f.StringVar(&o.Model, "model", "", "model `NAME` in assistant messages; default: one of that version's time")
	f.IntVar(&o.Window, "window", 0, "context window in tokens (`N`); default 200000")
	cmd.MarkFlagsMutuallyExclusive("dir", "output")
	return cmd
}

func runSynth(sys *system, o *synthOptions) error {
	if o.Plain {
		o.SessionOptions = synth.SessionOptions{
			Seed: o.Seed, Requests: o.Requests, Bytes: o.Bytes, Version: o.Version, Model: o.Model, Window: o.Window,
		}
	}
	if o.Folder == "" {
		out, err := o.create(sys)
		if err != nil {
			return err
		}
		_, err = synth.Generate(out, o.SessionOptions)
		return out.close(err)
	}
	if err := os.MkdirAll(o.Folder, 0o755); err != nil {
		return writeError(o.Folder, err)
	}
	o.Open = func(name string) (io.WriteCloser, error) {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return nil, fmt.Errorf("%s: leads out of the folder", name)
		}
		path := filepath.Join(o.Folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		return os.Create(path)
	}
	// The session's name is known once it is written.
	f, err := sys.createAtomic(filepath.Join(o.Folder, "session.jsonl"))
	if err != nil {
		return err
	}
	stats, err := synth.Generate(f, o.SessionOptions)
	if err != nil {
		f.discard()
		return err
	}
	f.place.path = filepath.Join(o.Folder, stats.SessionID+".jsonl")
	if err := commit(f); err != nil {
		return err
	}
	_, err = fmt.Fprintf(sys.out, "%s: %d lines, %d bytes, %d requests, %d compactions, peak %d tokens\n",
		f.place.path, stats.Lines, stats.Bytes, stats.Requests, stats.Compactions, stats.PeakContext)
	return err
}

// parseSize reads a number of bytes: 500000, 500k, 200MB.
func parseSize(text string) (int64, error) {
	n, ok := strict.ParseCount(strings.TrimSuffix(strings.ToUpper(text), "B"))
	if !ok || n < 0 {
		return 0, fmt.Errorf("%q is not a number of bytes", text)
	}
	return int64(n), nil
}
