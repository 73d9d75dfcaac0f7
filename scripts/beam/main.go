// Command beam is ctxkit compare as a pipeline of Apache Beam: it replays sessions wherever the runner has workers, and
// puts their rows together as ctxkit merge does.
//
//	go run . --runner=prism --output=all.csv ~/.claude/projects -p recorded -p opencode
//
// Flags of Beam and --output come first, then what ctxkit compare would be given. docs/scale.md has the flags for Flink,
// Spark and Dataflow.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/metrics"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"

	"github.com/ctxkit/ctxkit/report"
)

// formats are those of the outputs, by the extensions of their names.
var formats = map[string]report.Format{
	".csv": report.FormatCSV, ".html": report.FormatHTML, ".json": report.FormatJSON, ".md": report.FormatMarkdown,
	".rows": report.FormatRows, ".txt": report.FormatTable,
}

// output is a file to write, on this machine or in a store that Beam knows, such as gs://bucket/all.csv.
type output struct {
	Path   string
	Format string
}

// outputs are the values of --output.
type outputs []output

// String is the flag's value.
func (o *outputs) String() string {
	var paths []string
	for _, one := range *o {
		paths = append(paths, one.Path)
	}
	return strings.Join(paths, ", ")
}

// Set reads a value of the flag.
func (o *outputs) Set(path string) error {
	format, ok := formats[filepath.Ext(path)]
	if !ok {
		return fmt.Errorf("want a name that ends in %s", strings.Join(slices.Sorted(maps.Keys(formats)), ", "))
	}
	*o = append(*o, output{path, string(format)})
	return nil
}

func main() {
	var out outputs
	flag.Var(&out, "output", "write to `FILE`, whose extension is the format: .csv, .html, .json, .md, .rows, .txt (repeatable)")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), "usage: beam [FLAGS OF BEAM] --output=FILE INPUT... -p POLICY... [FLAGS OF ctxkit compare]\n\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	beam.Init() // does not return on a worker
	if err := run(context.Background(), out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "beam:", err)
		os.Exit(2)
	}
}

// run compares what the arguments of ctxkit compare name, on the runner that --runner names.
func run(ctx context.Context, out outputs, args []string) error {
	if len(out) == 0 {
		return errors.New("no --output: name a file for the result")
	}
	job, err := plan(args)
	if err != nil {
		return err
	}
	for _, o := range out {
		if file, err := os.Stat(o.Path); err == nil && slices.ContainsFunc(job.sessions, func(s session) bool {
			other, err := os.Stat(s.Path)
			return err == nil && os.SameFile(file, other)
		}) {
			return fmt.Errorf("--output %s: it is one of the inputs: name another file", o.Path)
		}
	}
	p, scope := beam.NewPipelineWithRoot()
	job.build(scope, out)
	result, err := beamx.RunWithMetrics(ctx, p)
	if err != nil || result == nil { // a job that is not waited for has no result
		return err
	}
	failed := result.Metrics().Query(func(r beam.MetricResult) bool { return r.Name() == failedInputs }).Counters()
	if n := sum(failed); n > 0 {
		return fmt.Errorf("%d of the %d inputs failed: a file of rows (--output=FILE.rows) says why", n, len(job.sessions))
	}
	return nil
}

func sum(counters []metrics.CounterResult) (n int64) {
	for _, c := range counters {
		n += c.Result()
	}
	return n
}
