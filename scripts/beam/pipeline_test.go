package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"

	"github.com/ctxkit/ctxkit/cmd"
	"github.com/ctxkit/ctxkit/jsonl/synth"
	"github.com/ctxkit/ctxkit/replay/compare"
)

func TestMain(m *testing.M) { ptest.Main(m) }

// policies are of all kinds.
var policies = strings.Fields("-p recorded -p claude-code -p opencode -p gemini-cli -p three-layer")

var shipped = "../../testdata/sessions"

// fifty is the number of sessions of TestPrism, shipped and synthetic.
const fifty = 50

// TestPrism compares five policies over 50 sessions on the Prism runner, and over real ones where there are some: the
// outputs are byte for byte those of ctxkit.
func TestPrism(t *testing.T) {
	list, _, err := cmd.Inputs([]string{shipped})
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for seed := len(list); seed < fifty; seed++ {
		synthetic(t, folder, uint64(seed))
	}
	t.Run("shipped and synthetic", func(t *testing.T) {
		job := same(t, append([]string{shipped, folder}, policies...), slices.Sorted(maps.Keys(formats))...)
		if n := len(job.sessions); n != fifty {
			t.Errorf("%d sessions, want %d", n, fifty)
		}
	})
	t.Run("corpus", func(t *testing.T) {
		corpus := os.Getenv("CTXKIT_CORPUS")
		if corpus == "" {
			t.Skip("CTXKIT_CORPUS names no folder")
		}
		same(t, append([]string{corpus}, policies...), ".csv", ".json")
	})
}

// synthetic writes a session, with the files beside it.
func synthetic(t *testing.T, folder string, seed uint64) {
	t.Helper()
	opt := synth.Default()
	opt.Seed, opt.Requests = seed, 20
	if seed%2 == 0 {
		opt.Version = "2.1.139"
	}
	opt.Open = func(name string) (io.WriteCloser, error) {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		return os.Create(path)
	}
	var text bytes.Buffer
	stats, err := synth.Generate(&text, opt)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, stats.SessionID+".jsonl"), text.Bytes(), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// same runs a comparison on Prism, and holds its outputs against those of ctxkit compare, HTML against that of ctxkit merge,
// which has fewer requests.
func same(t *testing.T, args []string, extensions ...string) *comparison {
	t.Helper()
	job, err := plan(args)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var out outputs
	for _, ext := range extensions {
		if err := out.Set(filepath.Join(dir, "all"+ext)); err != nil {
			t.Fatal(err)
		}
	}
	p, scope := beam.NewPipelineWithRoot()
	job.build(scope, out)
	ptest.RunAndValidate(t, p)
	for _, o := range out {
		got, err := os.ReadFile(o.Path)
		if err != nil {
			t.Fatal(err)
		}
		format := o.Format
		if format == "html" {
			format = "rows"
		}
		want, err := ctxkit(nil, append(append([]string{"compare", "--quiet"}, args...), "--format="+format)...)
		if err == nil && format != o.Format {
			want, err = ctxkit(want, "merge", "-", "--quiet", "--format="+o.Format)
		}
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes differ from the %d of ctxkit: %s", o.Format, len(got), len(want), difference(got, want))
		}
	}
	return job
}

// difference is where two texts begin to differ.
func difference(a, b []byte) string {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	part := func(s []byte) []byte { return s[max(0, n-100):min(len(s), n+100)] }
	return fmt.Sprintf("at %d %q, want %q", n, part(a), part(b))
}

// TestFailed compares over inputs that fail, one without a request, and one that is named twice.
func TestFailed(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"broken.jsonl": "no session\n",
		"empty.jsonl":  `{"type":"user","uuid":"a","sessionId":"empty","message":{"role":"user","content":"hello"}}` + "\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../nowhere", filepath.Join(folder, "gone.jsonl")); err != nil {
		t.Skip(err)
	}
	whole := filepath.Join(shipped, "rewind.jsonl")
	args := []string{folder, whole, filepath.Join(shipped, "..", "sessions", "rewind.jsonl"), filepath.Join(folder, "broken.jsonl"), "-p", "recorded", "-p", "opencode", "--cache=own", "--no-cache"}
	job := same(t, args, slices.Sorted(maps.Keys(formats))...)
	broken := 0
	for _, s := range job.sessions {
		if s.Broken != "" {
			broken++
		}
	}
	if broken != 1 || len(job.sessions) != 4 {
		t.Errorf("%+v", job.sessions)
	}
	err := run(t.Context(), outputs{{filepath.Join(t.TempDir(), "all.csv"), "csv"}}, args)
	if err == nil || !strings.HasPrefix(err.Error(), "2 of the 4 inputs failed") {
		t.Error(err)
	}
}

// TestRetry calls the steps again, as a runner does whose worker was lost: the rows of a session are the same, their
// order changes nothing, and rows that are there twice are refused.
func TestRetry(t *testing.T) {
	job, err := plan([]string{filepath.Join(shipped, "rewind.jsonl"), filepath.Join(shipped, "snip.jsonl"), filepath.Join(shipped, "fused.jsonl"), "-p", "recorded", "-p", "opencode"})
	if err != nil {
		t.Fatal(err)
	}
	replay := &replayFn{job.flags, job.head}
	var all [][]byte
	for _, s := range job.sessions {
		first, err := replay.ProcessElement(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := replay.ProcessElement(t.Context(), s); err != nil || !bytes.Equal(first, again) {
			t.Errorf("%s: the rows of a second call differ: %v", s.Path, err)
		}
		all = append(all, first)
	}
	path := filepath.Join(t.TempDir(), "all.rows")
	merge := &mergeFn{outputs{{path, "rows"}}}
	next := func(list [][]byte) func(*[]byte) bool {
		return func(data *[]byte) bool {
			if len(list) == 0 {
				return false
			}
			*data, list = list[0], list[1:]
			return true
		}
	}
	var want []byte
	for i := range 6 {
		rand.New(rand.NewPCG(uint64(i), 1)).Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
		if err := merge.ProcessElement(context.Background(), 0, next(all)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if want == nil {
			want = got
		}
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("another order gives another result: %v", err)
		}
	}
	for _, wrong := range [][][]byte{all[:2], append(slices.Clone(all), all[0])} {
		if err := merge.ProcessElement(context.Background(), 0, next(wrong)); err == nil {
			t.Errorf("%d rows of %d sessions are taken", len(wrong), len(all))
		}
	}
	if left, err := filepath.Glob(path + ".*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q %v", left, err)
	}
}

// TestLost replays a session that is not where its path says: it fails alone.
func TestLost(t *testing.T) {
	job, err := plan(append([]string{filepath.Join(shipped, "rewind.jsonl")}, policies...))
	if err != nil {
		t.Fatal(err)
	}
	data, err := (&replayFn{job.flags, job.head}).ProcessElement(t.Context(), session{Path: "/nowhere/a.jsonl"})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := compare.ReadRows(bytes.NewReader(data))
	if err != nil || len(rows.Outcomes) != 1 || !strings.HasPrefix(rows.Outcomes[0].Failed, "/nowhere/a.jsonl: not there") {
		t.Errorf("%s %v", data, err)
	}
}

// TestRefused plans what is no comparison for a pipeline.
func TestRefused(t *testing.T) {
	whole := filepath.Join(shipped, "rewind.jsonl")
	for want, args := range map[string][]string{
		"no input":              {"-p", "recorded"},
		"no policy":             {whole},
		"standard input":        {"-", "-p", "recorded"},
		"did you mean opencode": {whole, "-p", "opencod"},
		"flag --shard":          {whole, "-p", "opencode", "--shard", "1/2"},
		"flag --output":         {whole, "-p", "opencode", "-o", "x"},
		"give --by":             {whole, "-p", "opencode", "--by", "model"},
		"no such file":          {whole + "x", "-p", "opencode"},
		"unknown flag":          {whole, "-p", "opencode", "--no-such-flag"},
	} {
		if _, err := plan(args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", args, err, want)
		}
	}
	for want, out := range map[string]outputs{
		"no --output":       nil,
		"one of the inputs": {{whole, "rows"}},
	} {
		if err := run(t.Context(), out, []string{whole, "-p", "opencode"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", out, err, want)
		}
	}
	if err := new(outputs).Set("all.xml"); err == nil {
		t.Error("all.xml is taken")
	}
}
