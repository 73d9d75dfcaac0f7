package cmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/report"
)

// exportOptions are the options of `ctxkit export`.
type exportOptions struct {
	compareOptions
	As string
}

// exportForms are what --as takes.
var exportForms = []string{"parquet"}

func newExport(sys *system) *cobra.Command {
	o := &exportOptions{As: exportForms[0]}
	o.formats = []string{string(report.FormatTable)}
	o.Format = o.formats[0]
	var names []string
	for _, t := range report.ExportTables() {
		names = append(names, t.Name+"."+o.As)
	}
	cmd := command(&cobra.Command{
		Use: "export INPUT... -o FOLDER", Short: "Write replays as tables for queries",
		Args: arguments(&o.Inputs),
		Long: `Write sessions, and their replays under one or more policies, as Parquet files:
` + strings.Join(names, ", ") + `.
DuckDB, Spark, pandas and others read them. docs/tables.md lists the columns,
docs/fleet.md has queries.

The figures are those of compare and replay. Of the transcript, the tables hold
the titles of sessions alone; --no-text leaves them out. Paths stay.`,
		Example: `  ctxkit export ~/.claude/projects --agent all -o tables
  ctxkit export session.jsonl -p claude-code -p opencode --no-regret -o tables`,
	}, func() error { return runExport(sys, o) }, own(&o.policyOptions), o.trials(sys), &o.inputOptions, &o.countOptions, newPriceOptions(sys), o.by(replay.CacheEqual), flag(o.folder), own(&o.outputOptions, "quiet", "verbose"), own(&o.replayOptions, "no-regret"))
	f := cmd.Flags()
	f.StringVar(&o.As, "as", o.As, "`FORM` of the files: "+strings.Join(exportForms, ", "))
	complete(cmd, "as", exportForms)
	o.named(f)
	return cmd
}

// folder are the flags of output to a folder.
func (o *exportOptions) folder(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&o.File, "output", "o", "", "write to `FOLDER`, which is made where it is not there; tables of the same names are replaced once all are complete")
	f.BoolVar(&o.NoText, "no-text", false, "leave out the titles of sessions")
}

func runExport(sys *system, o *exportOptions) error {
	switch o.File {
	case "":
		return errors.New("no folder for the files: name it with -o FOLDER")
	case "-":
		return errors.New("-o -: an export is several files, which standard output cannot hold: name a folder")
	}
	if err := oneOf("--as", o.As, exportForms); err != nil {
		return err
	}
	if st, err := os.Stat(o.File); err == nil && !st.IsDir() {
		return fmt.Errorf("%s: is a file: name a folder for the output", o.File)
	}
	choices, err := o.choices(sys, o.messages(sys).warn)
	if err != nil {
		return err
	}
	streams := o.outputOptions
	streams.File = ""
	j, err := start(sys, o.Inputs, o.inputOptions, &streams)
	if err != nil {
		return err
	}
	o.unknownModel(sys, j.msgs)
	files, err := o.createTables(sys)
	if err != nil {
		return err
	}
	return files.close(o.export(j, files.writers(), choices))
}

// exportFiles are the files of the tables, in their order.
type exportFiles struct {
	folder string
	made   bool // the folder was not there
	list   []*output
}

// createTables opens the files of the tables.
func (o *exportOptions) createTables(sys *system) (*exportFiles, error) {
	f := &exportFiles{folder: o.File}
	if _, err := os.Stat(o.File); errors.Is(err, fs.ErrNotExist) {
		f.made = true
		if err := os.MkdirAll(o.File, 0o755); err != nil {
			return nil, writeError(o.File, err)
		}
	}
	for _, t := range report.ExportTables() {
		one := outputOptions{File: filepath.Join(o.File, t.Name+"."+o.As), Quiet: o.Quiet}
		out, err := one.create(sys)
		if err != nil {
			return nil, f.close(err)
		}
		f.list = append(f.list, out)
	}
	return f, nil
}

func (f *exportFiles) writers() (list []io.Writer) {
	for _, out := range f.list {
		list = append(list, out)
	}
	return list
}

// close ends the files: see output.close. A folder that was made for them does not stay empty.
func (f *exportFiles) close(err error) error {
	err = closeAll(f.list, err)
	if f.made && !done(err) {
		_ = os.Remove(f.folder) // it may hold what another program wrote
	}
	return err
}

// export writes the tables.
func (o *exportOptions) export(j *job, files []io.Writer, choices []policyChoice) error {
	x, err := report.NewExport(files, o.Policies)
	if err != nil {
		return err
	}
	loop := j.loop("exported")
	opt := o.options()
	loop.skipEmpty = true
	loop.unread = true
	loop.assumed = &opt
	var converted []*replay.Conversion
	failed, err := eachConversation(loop, func(c agentConversation) (*report.ExportedSession, error) {
		return o.exported(j.sys, c, choices)
	}, func(s *report.ExportedSession) error {
		converted = append(converted, s.Converted)
		return x.Add(s)
	})
	if err == nil {
		err = x.Close()
	}
	j.msgs.converted(converted)
	if x.Large > 0 {
		j.msgs.warn(session.Warning{Message: fmt.Sprintf("amounts of 1,000,000,000 and more: %d: they are null in the tables", x.Large)})
	}
	if err == nil {
		err = failed
	}
	return err
}

// exported replays a conversation under each policy.
func (o *exportOptions) exported(sys *system, c agentConversation, choices []policyChoice) (*report.ExportedSession, error) {
	s := &report.ExportedSession{Client: c.conv.Product, Lines: c.conv.Lines}
	var err error
	s.ComparedSession, err = o.compareOne(sys, c, choices, nil, true)
	if err != nil {
		return nil, err
	}
	s.Glance = replay.GlanceAt(c.conv, nil, sys.table)
	if o.NoText {
		s.Title = ""
	}
	for i := range c.conv.Messages {
		if t := c.conv.Messages[i].Time; !t.IsZero() && (s.Began.IsZero() || t.Before(s.Began)) {
			s.Began = t
		}
	}
	return s, nil
}
