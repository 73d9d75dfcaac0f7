package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/ctxkit/ctxkit/jsonl/synth"
)

// data are the sessions that are measured on. Folders are as CLAUDE_CONFIG_DIR names them.
type data struct {
	dir                     string
	one, big, ten           string // files of 200 MB, 1 GB, and of 10 lines
	few                     string // a file of 50 MB
	oneDir, many            string // folders: with one alone; 200 sessions of 370 MB together
	fleet, first            string // folders: 2,000 sessions; 10,000
	manyN, fleetN, firstN   int
	fewMB, oneMB            float64
	bigMB, manyMB, perFleet float64
	doubled                 int // requests of the session whose double is measured, too
	sample                  int // bytes of each text that is counted
}

// place names the data in a folder; scale is their size, 1 being the whole.
func place(dir string, scale float64) data {
	count := func(n, least int) int { return max(least, int(math.Round(float64(n)*scale))) }
	oneDir := filepath.Join(dir, "one")
	return data{
		dir: dir, oneDir: oneDir, one: filepath.Join(oneDir, "projects", "p", "00000000-0000-4000-8000-000000000001.jsonl"),
		big: filepath.Join(dir, "big.jsonl"), few: filepath.Join(dir, "few.jsonl"), ten: filepath.Join(dir, "ten.jsonl"),
		many: filepath.Join(dir, "many"), fleet: filepath.Join(dir, "fleet"), first: filepath.Join(dir, "first"),
		manyN: count(200, 5), fleetN: count(2000, 10), firstN: count(10_000, 20),
		fewMB: 50 * scale, oneMB: 200 * scale, bigMB: 1000 * scale, manyMB: 370 * scale, perFleet: 0.06,
		doubled: count(16_000, 200), sample: count(1_000_000, 20_000),
	}
}

// scaleFile says at which scale the data in a folder were made, once all of them are.
const scaleFile = "scale"

// create writes what is not there yet.
func (d *data) create(scale float64) error {
	mark, want := filepath.Join(d.dir, scaleFile), strconv.FormatFloat(scale, 'g', -1, 64)
	switch made, err := os.ReadFile(mark); {
	case err == nil && string(made) == want:
		return nil
	case err == nil:
		return fmt.Errorf("%s: made at scale %s, not %s: name another folder", d.dir, made, want)
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	var jobs []func() error
	write := func(path string, seed uint64, mb float64) {
		jobs = append(jobs, func() error { return writeSession(path, seed, mb) })
	}
	folder := func(dir string, n int, seed uint64, mb float64) {
		for i := range n {
			name := fmt.Sprintf("%08x-0000-4000-8000-000000000000.jsonl", seed+uint64(i))
			write(filepath.Join(dir, "projects", fmt.Sprintf("p%02d", i%20), name), seed+uint64(i), mb)
		}
	}
	write(d.big, 4, d.bigMB)
	write(d.one, 3, d.oneMB)
	write(d.few, 1, d.fewMB)
	folder(d.many, d.manyN, 1000, d.manyMB/float64(d.manyN))
	folder(d.fleet, d.fleetN, 10_000, d.perFleet)
	folder(d.first, d.firstN, 100_000, d.perFleet/3)
	jobs = append(jobs, func() error { return tenLines(d.ten) })
	if err := all(jobs); err != nil {
		return err
	}
	return os.WriteFile(mark, []byte(want), 0o644)
}

// all does jobs at once, one per processor, the first ones first.
func all(jobs []func() error) error {
	errs := make([]error, len(jobs))
	var next atomic.Int32
	var work sync.WaitGroup
	for range runtime.NumCPU() {
		work.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(jobs); i = int(next.Add(1)) - 1 {
				errs[i] = jobs[i]()
			}
		})
	}
	work.Wait()
	return errors.Join(errs...)
}

func options(seed uint64) synth.SessionOptions {
	o := synth.Default()
	o.Seed = seed
	return o
}

// writeSession writes a synthetic session, without the files beside it.
func writeSession(path string, seed uint64, mb float64) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	o := options(seed)
	o.Bytes = int64(mb * 1e6)
	w := bufio.NewWriterSize(f, 1<<20)
	if _, err := synth.Generate(w, o); err != nil {
		return err
	}
	return w.Flush()
}

// tenLines writes the first ten lines of a session.
func tenLines(path string) error {
	o := options(5)
	o.Requests = 10
	var b bytes.Buffer
	if _, err := synth.Generate(&b, o); err != nil {
		return err
	}
	lines := bytes.SplitAfterN(b.Bytes(), []byte("\n"), 11)
	return os.WriteFile(path, bytes.Join(lines[:10], nil), 0o644)
}
