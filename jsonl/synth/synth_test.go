package synth_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/synth"
)

var update = flag.Bool("update", false, "rewrite testdata/sessions")

const samplesDir = "../../testdata/sessions"

// versions are clients of every band in which the format differs.
var versions = []string{"1.0.17", "1.0.53", "2.0.76", "2.1.5", "2.1.12", "2.1.19", "2.1.22", "2.1.29", "2.1.42",
	"2.1.50", "2.1.70", "2.1.80", "2.1.97", "2.1.119", "2.1.139", "2.1.210", "2.1.239", "2.1.332"}

// lively are options that make nearly everything happen in few requests.
func lively(version string, seed uint64) synth.SessionOptions {
	o := synth.Default()
	o.Seed, o.Version, o.Requests = seed, version, 120
	o.RequestsPerTurn, o.ResultChars = 7, 4400
	o.Rewinds, o.Subagents, o.Interrupts, o.Queued, o.APIErrors, o.Commands = 0.15, 0.02, 0.1, 0.15, 0.04, 0.15
	o.CJK, o.Failures, o.Offloads, o.ManualCompacts, o.Pauses = 0.1, 0.1, 0.01, 0.02, 0.15
	return o
}

func generate(t *testing.T, o synth.SessionOptions) ([]byte, synth.Stats) {
	t.Helper()
	var b bytes.Buffer
	stats := must.Get(synth.Generate(&b, o))(t)
	return b.Bytes(), stats
}

func TestSameOptionsSameBytes(t *testing.T) {
	seen := map[string]string{}
	for i, v := range versions {
		for seed := uint64(1); seed <= 2; seed++ {
			if seed > 1 && i%4 > 0 {
				continue
			}
			o := lively(v, seed)
			o.ResultChars = 1500
			a, sa := generate(t, o)
			b, sb := generate(t, o)
			if !bytes.Equal(a, b) || sa != sb {
				t.Errorf("version %s, seed %d: two runs differ", v, seed)
			}
			name := fmt.Sprintf("version %s, seed %d", v, seed)
			if other, ok := seen[string(a)]; ok {
				t.Errorf("%s and %s give the same session", name, other)
			}
			seen[string(a)] = name
		}
	}
}

func TestStatsCountTheFile(t *testing.T) {
	for _, v := range versions {
		o := lively(v, 3)
		o.ResultChars = 1500
		data, stats := generate(t, o)
		must.Equal(t, bytes.Count(data, []byte("\n")), stats.Lines, v)
		must.Equal(t, int64(len(data)), stats.Bytes, v)
		if stats.Requests < 120 {
			t.Errorf("%s: %d requests, want 120 or more", v, stats.Requests)
		}
	}
}

func TestBadOptions(t *testing.T) {
	for _, o := range []synth.SessionOptions{
		{Version: "2.1"}, {Version: "2.1.x"}, {Version: "-2.1.1"}, {Parallel: 1.5}, {Thinking: -0.1}, {Bytes: -1},
		{Requests: -1}, {Window: 1000}, {ResultChars: 10}, {Files: 1},
	} {
		if _, err := synth.Generate(io.Discard, o); err == nil {
			t.Errorf("Generate(%+v): no error", o)
		}
	}
}

// TestExtremes drives every rate to its end, in small and in large.
func TestExtremes(t *testing.T) {
	for _, v := range []string{"1.0.53", "2.1.5", "2.1.19", "2.1.50", "2.1.97", "2.1.239", "2.1.332"} {
		for _, o := range []synth.SessionOptions{
			{Requests: 1},
			{Requests: 1, RequestsPerTurn: 1, Files: 4, ResultChars: 200},
			{Requests: 12, ResultChars: 60000, Parallel: 1, Thinking: 1, Progress: 1, Attachments: 1, Metadata: 1},
			{Requests: 30, Rewinds: 1, Interrupts: 1, Queued: 1, Pauses: 1, Commands: 1},
			{Requests: 30, Subagents: 1, CJK: 1, ManualCompacts: 1},
			{Requests: 30, Offloads: 1, Failures: 1},
			{Requests: 30, APIErrors: 1, Lost: 1, Window: 110000, ResultChars: 9000},
		} {
			o.Version = v
			data, stats := generate(t, o)
			if stats.Requests < o.Requests {
				t.Errorf("%s, %+v: %d requests", v, o, stats.Requests)
			}
			parse(t, data)
		}
	}
}

var errFull = errors.New("disk full")

type full struct{ left int }

func (f *full) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestWriteErrorEndsTheSession(t *testing.T) {
	for _, left := range []int{0, 100, 100_000} {
		if _, err := synth.Generate(&full{left}, synth.SessionOptions{Requests: 2000}); !errors.Is(err, errFull) {
			t.Errorf("after %d bytes: error %v, want %v", left, err, errFull)
		}
	}
	o := synth.SessionOptions{Requests: 300, Subagents: 0.2, Open: func(string) (io.WriteCloser, error) { return nil, errFull }}
	if _, err := synth.Generate(io.Discard, o); !errors.Is(err, errFull) {
		t.Errorf("Open failing: error %v, want %v", err, errFull)
	}
}

// TestMemoryDoesNotGrow writes 12 and 40 MB and compares the live heap.
func TestMemoryDoesNotGrow(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 40 MB")
	}
	meter := &heapMeter{at: []int64{12 << 20, 40 << 20}}
	o := synth.Default()
	o.Bytes = 41 << 20
	must.Get(synth.Generate(meter, o))(t)
	if len(meter.live) != 2 || meter.live[1] > meter.live[0]+8<<20 {
		t.Errorf("live heap %v bytes at %v bytes written: it grows with the file", meter.live, []int{12 << 20, 40 << 20})
	}
}

type heapMeter struct {
	n    int64
	at   []int64
	live []uint64
}

func (m *heapMeter) Write(b []byte) (int, error) {
	m.n += int64(len(b))
	if len(m.at) > 0 && m.n >= m.at[0] {
		m.at = m.at[1:]
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		m.live = append(m.live, s.HeapAlloc)
	}
	return len(b), nil
}

func TestSamplesAreCommitted(t *testing.T) {
	samples, err := synth.Samples()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{".gitattributes": true}
	for _, s := range samples {
		want[s.Path] = true
		name := filepath.Join(samplesDir, filepath.FromSlash(s.Path))
		if *update {
			must.Do(t, os.MkdirAll(filepath.Dir(name), 0o755))
			must.Do(t, os.WriteFile(name, s.Data, 0o644))
		}
		got, err := os.ReadFile(name)
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(got, s.Data) {
			t.Errorf("%s differs from what the generator makes (go test ./jsonl/synth -update rewrites it)", s.Path)
		}
	}
	err = filepath.WalkDir(samplesDir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(samplesDir, name)
		if rel = filepath.ToSlash(rel); !want[rel] {
			if *update {
				return os.Remove(name)
			}
			t.Errorf("%s is made by nothing", rel)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestSmallSamplesAreShort(t *testing.T) {
	samples := must.Get(synth.Samples())(t)
	total := 0
	for _, s := range samples {
		total += len(s.Data)
		if strings.HasSuffix(s.Path, ".jsonl") && !strings.HasPrefix(s.Path, "big") && bytes.Count(s.Data, []byte("\n")) > 60 {
			t.Errorf("%s has more than 60 lines", s.Path)
		}
		if max := map[string]int{"big.jsonl": 3 << 20, "big-2.1.139.jsonl": 3 << 19}[s.Path]; max > 0 && len(s.Data) > max {
			t.Errorf("%s has %d bytes, want at most %d", s.Path, len(s.Data), max)
		}
	}
	if total > 7<<20 {
		t.Errorf("the samples have %d bytes together", total)
	}
}
