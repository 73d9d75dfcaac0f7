package cmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/serving"
	"github.com/ctxkit/ctxkit/report"
)

// servedConversation is what a conversation sends under a policy.
type servedConversation struct {
	input     string
	main      bool
	prompts   *serving.PromptBlocks
	refused   int
	converted *replay.Conversion
}

// wekaFolder is the folder of traces, one file a session.
type wekaFolder struct {
	*atomicFolder
	traces int
	open   *report.WekaTrace // the last session, whose subagents may follow
	input  string            // of it
}

// runWeka writes what sessions send under one policy as traces.
func runWeka(sys *system, o *ExportOptions) error {
	if _, err := os.Lstat(o.File); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: is there already: name a new folder for the traces with -o", o.File)
	}
	if len(o.Policies) != 1 {
		return errors.New("--as weka: the traces are what one policy sends: name one with --policy")
	}
	choices, err := o.choices(sys, o.messages(sys).warn)
	if err != nil {
		return err
	}
	streams := o.OutputOptions
	streams.File = ""
	j, err := start(sys, o.Inputs, o.InputOptions, &streams)
	if err != nil {
		return err
	}
	o.unknownModel(j.msgs)
	if why := sys.files.taken(filepath.Join(o.File, wekaFile(1))); why != "" {
		return fmt.Errorf("%s: %s: name another folder for the traces", o.File, why)
	}
	if err := os.MkdirAll(filepath.Dir(filepath.Clean(o.File)), 0o755); err != nil {
		return writeError(o.File, err)
	}
	folder, err := sys.createAtomicFolder(filepath.Clean(o.File))
	if err != nil {
		return err
	}
	defer func() { _ = folder.remove() }()
	f := wekaFolder{atomicFolder: folder}
	if err = o.serve(j, &f, choices); !done(err) {
		return err
	}
	if err := folder.rename(); err != nil {
		return writeError(o.File, err)
	}
	if sys.watched && !o.Quiet {
		j.msgs.print(fmt.Sprintf("%s is written: traces: %d", o.File, f.traces))
	}
	return err
}

func wekaName(n int) string { return fmt.Sprintf("trace_%04d", n) }
func wekaFile(n int) string { return wekaName(n) + ".json" }

// serve writes the traces.
func (o *ExportOptions) serve(j *job, f *wekaFolder, choices []policyChoice) error {
	loop := j.loop("exported")
	loop.skipEmpty = true
	refused := 0
	var converted []*replay.Conversion
	failed, err := eachConversation(loop, func(c agentConversation) (servedConversation, error) {
		return o.served(j.sys, c, choices)
	}, func(s servedConversation) error {
		refused += s.refused
		converted = append(converted, s.converted)
		return f.add(&s)
	})
	if err == nil {
		err = f.flush()
	}
	j.msgs.converted(converted)
	if refused > 0 {
		j.msgs.warn(session.Warning{Message: fmt.Sprintf("requests that do not fit their model's window: %d: they are in the traces, and a server would refuse them", refused)})
	}
	if err == nil {
		err = failed
	}
	return err
}

// served replays a conversation.
func (o *ExportOptions) served(sys *system, c agentConversation, choices []policyChoice) (s servedConversation, err error) {
	policies, err := o.chosen(sys, preset.ClientOf(c.conv), choices)
	if err != nil {
		return s, err
	}
	s = servedConversation{input: c.input, main: c.main, prompts: serving.New(report.WekaBlock)}
	opt := o.options()
	opt.Regret, opt.Send = false, s.prompts.Add
	tl, err := c.rec.Replay(policies[0], opt)
	if err == nil {
		err = tl.CheckValid()
	}
	if err != nil {
		return s, err
	}
	s.refused, s.converted = tl.Totals.Refused, tl.Converted
	return s, nil
}

// add adds a conversation: a session's, or one of its subagents'.
func (f *wekaFolder) add(s *servedConversation) error {
	if f.open != nil && !s.main && s.input == f.input {
		f.open.Agents = append(f.open.Agents, s.prompts)
		return nil
	}
	if err := f.flush(); err != nil {
		return err
	}
	f.traces++
	f.open, f.input = &report.WekaTrace{ID: wekaName(f.traces), Main: s.prompts}, s.input
	return nil
}

// flush writes the last session.
func (f *wekaFolder) flush() error {
	if f.open == nil {
		return nil
	}
	t := f.open
	f.open = nil
	if err := f.write(wekaFile(f.traces), func(w io.Writer) error { return report.WriteWeka(w, t) }); err != nil {
		return writeError(filepath.Join(f.path, wekaFile(f.traces)), err)
	}
	return nil
}
