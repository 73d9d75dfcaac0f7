package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/spf13/pflag"

	"github.com/ctxkit/ctxkit/cmd"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/report"
)

func init() {
	beam.RegisterType(reflect.TypeFor[session]())
	register.DoFn2x2[context.Context, session, []byte, error](&replayFn{})
	register.DoFn3x1[context.Context, int, func(*[]byte) bool, error](&mergeFn{})
	register.Iter1[[]byte]()
}

// session is an input of the comparison.
type session struct {
	Index  int // its place among the inputs
	Path   string
	Broken string // why it cannot be read, as far as the listing of its folder shows
}

// comparison is a comparison that is ready to run.
type comparison struct {
	flags    []string // of ctxkit compare
	sessions []session
	head     []byte // rows of none of the inputs, with what is the same in those of each
}

// plan reads the command line of ctxkit compare and lists its inputs. The list is a part of the job: no worker lists a
// folder again.
func plan(args []string) (*comparison, error) {
	flags, inputs, err := split(args)
	if err != nil {
		return nil, err
	}
	paths, broken, err := cmd.Inputs(inputs)
	if err != nil {
		return nil, err
	}
	// One of very many shards has what every shard has, and hardly an input.
	head, err := rows(append(append(compareRows(flags), "--shard=1/1000000", "--"), inputs...))
	if err != nil {
		return nil, err
	}
	if head.Inputs != len(paths) {
		return nil, errors.New("the folder changed while it was listed: try again")
	}
	head.Outcomes, head.Late, head.Shard, head.Shards = nil, nil, 1, len(paths)
	c := &comparison{flags: flags}
	for i, path := range paths {
		s := session{Index: i, Path: path}
		if err := broken[path]; err != nil {
			s.Broken = err.Error()
		}
		c.sessions = append(c.sessions, s)
	}
	c.head, err = encode(head)
	return c, err
}

// split tells the flags of ctxkit compare from the inputs.
func split(args []string) (flags, inputs []string, err error) {
	c, _, err := cmd.Commands().Find([]string{"compare"})
	if err != nil {
		return nil, nil, err
	}
	c.InheritedFlags() // adds those of all commands to its own
	named := false
	err = c.Flags().ParseAll(args, func(f *pflag.Flag, value string) error {
		switch f.Name {
		case "format", "output", "shard":
			return fmt.Errorf("flag --%s: it is not for a pipeline: --output=FILE before the inputs names file and format", f.Name)
		case "policy":
			named = true
		}
		flags = append(flags, "--"+f.Name+"="+value)
		return nil
	})
	inputs = c.Flags().Args()
	switch {
	case err != nil:
		return nil, nil, err
	case slices.Contains(inputs, "-"):
		return nil, nil, errors.New("-: standard input is at no worker: name files or folders")
	case !named:
		return nil, nil, errors.New("no policy: name those to compare with -p")
	}
	return flags, inputs, nil
}

// compareRows is the beginning of a command line for rows. Of what is given twice the last counts.
func compareRows(flags []string) []string {
	return append(append([]string{"compare", "--jobs=1"}, flags...), "--format=rows", "--quiet")
}

// build adds the steps to a pipeline.
func (c *comparison) build(s beam.Scope, out outputs) {
	s = s.Scope("compare")
	sessions := beam.Reshuffle(s, beam.CreateList(s, c.sessions)) // between workers
	all := beam.ParDo(s, &replayFn{c.flags, c.head}, sessions)
	beam.ParDo0(s, &mergeFn{out}, beam.GroupByKey(s, beam.AddFixedKey(s, all)))
}

// replayFn makes the rows of one session, those of a shard that has it alone. Called again it gives the same.
type replayFn struct {
	Flags []string
	Head  []byte
}

// ProcessElement works on a session. One that fails has a row that says so.
func (f *replayFn) ProcessElement(_ context.Context, s session) ([]byte, error) {
	all, err := compare.ReadRows(bytes.NewReader(f.Head))
	if err != nil {
		return nil, err
	}
	one := &compare.Rows{Build: all.Build, Policies: all.Policies, Options: all.Options, Outcomes: make([]compare.InputRows, 1)}
	if _, err := os.Stat(s.Path); s.Broken != "" || err != nil {
		one.Outcomes[0].Failed = cmp.Or(s.Broken, s.Path+": not there for this worker: every worker has to see the sessions by the same paths")
	} else if one, err = rows(append(compareRows(f.Flags), "--", s.Path)); err != nil {
		return nil, err
	}
	one.Build, one.Inputs, one.Names, one.Warnings, one.Shard, one.Shards = all.Build, all.Inputs, all.Names, all.Warnings, s.Index+1, all.Shards
	for i := range one.Outcomes {
		one.Outcomes[i].Input = s.Index
	}
	return encode(one)
}

// failedInputs is the name of a counter.
const failedInputs = "failed_inputs"

// mergeFn puts the rows of all sessions together and writes the outputs. Called again it writes the same.
type mergeFn struct {
	Outputs []output
}

// ProcessElement gets the rows of the sessions, in any order.
func (f *mergeFn) ProcessElement(ctx context.Context, _ int, next func(*[]byte) bool) error {
	var list []compare.NamedRows
	for data := []byte(nil); next(&data); {
		one, err := compare.ReadRows(bytes.NewReader(data))
		if err != nil {
			return err
		}
		list = append(list, compare.NamedRows{Name: fmt.Sprintf("input %d", one.Shard), Rows: one})
	}
	slices.SortFunc(list, func(a, b compare.NamedRows) int { return cmp.Compare(a.Shard, b.Shard) })
	all, err := compare.MergeRows(list)
	if err != nil {
		return err
	}
	data, err := encode(all)
	if err != nil {
		return err
	}
	for _, o := range f.Outputs {
		text := data
		if o.Format != string(report.FormatRows) {
			if text, err = ctxkit(data, "merge", "-", "--format="+o.Format, "--quiet"); err != nil {
				return err
			}
		}
		if err := write(ctx, o.Path, text); err != nil {
			return fmt.Errorf("%s: %w", o.Path, err)
		}
	}
	for i := range all.Outcomes {
		if all.Outcomes[i].Failed != "" {
			beam.NewCounter("ctxkit", failedInputs).Inc(ctx, 1)
		}
	}
	return nil
}

// write writes a file, at its name once it is complete.
func write(ctx context.Context, path string, data []byte) error {
	fs, err := filesystem.New(ctx, path)
	if err != nil {
		return err
	}
	defer fs.Close()
	part := path + ".part"
	w, err := fs.OpenWrite(ctx, part)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	if err := errors.Join(err, w.Close()); err != nil {
		return err
	}
	return filesystem.Rename(ctx, fs, part, path)
}

// rows are those of a ctxkit compare.
func rows(args []string) (*compare.Rows, error) {
	data, err := ctxkit(nil, args...)
	if err != nil {
		return nil, err
	}
	return compare.ReadRows(bytes.NewReader(data))
}

func encode(r *compare.Rows) ([]byte, error) {
	var b bytes.Buffer
	err := compare.WriteRows(&b, r)
	return b.Bytes(), err
}

// ctxkit runs a command line in this process. Where inputs failed it has a result all the same.
func ctxkit(in []byte, args ...string) ([]byte, error) {
	var out, messages bytes.Buffer
	code := cmd.Main(args, bytes.NewReader(in), &out, &messages)
	if code != 0 && out.Len() == 0 {
		return nil, fmt.Errorf("ctxkit %s ended with %d: %s", strings.Join(args, " "), code, strings.TrimSpace(messages.String()))
	}
	return out.Bytes(), nil
}
