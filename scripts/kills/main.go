// Command kills runs the commands of ctxkit that write files, many times, and each time ends one with a signal at a
// random moment, gives it a disk that fills up, or both. Afterwards every file named by -o has to be the one from before
// or the new one, whole, all files of a folder of the same run, and the same command run again has to write what it
// writes undisturbed. After SIGKILL alone a file NAME.part may be left, or tables be missing.
//
//	kills [-n RUNS] [-seed N] CTXKIT SESSIONS
//
// SESSIONS is a folder of session files. Disks are tmpfs mounts, which need root: without it no disk is full.
package main

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// command is one that writes: its arguments before a run (whose result is the older one) and in the run. OUT is the
// file or folder that it writes.
type command struct{ before, run string }

var commands = []command{
	{"replay S/snip.jsonl -p opencode -f html -o OUT/out", "replay S/big.jsonl -p opencode -f html -o OUT/out"},
	{"replay S/snip.jsonl -p opencode -f json -o OUT/out", "replay S/big.jsonl -p opencode -f json -o OUT/out"},
	{"compare S/snip.jsonl -p none -p opencode -f csv -o OUT/out", "compare S -p recorded -p opencode -f csv -o OUT/out"},
	{"compare S/snip.jsonl -p none -p opencode -f rows -o OUT/out", "compare S -p recorded -p opencode -f rows -o OUT/out"},
	{"export S/snip.jsonl -p none -o OUT/out", "export S/big.jsonl S/compaction.jsonl -p opencode -p none -o OUT/out"},
	{"anonymize S/snip.jsonl -o OUT/out", "anonymize S/big.jsonl -o OUT/out"},
	{"convert S/snip.jsonl -o OUT/out", "convert S/big.jsonl -o OUT/out"},
	{"view S/snip.jsonl -p none --as session -o OUT/out", "view S/big.jsonl -p opencode --as session -o OUT/out"},
	{"stats S/snip.jsonl -f html -o OUT/out", "stats S/big.jsonl -f html -o OUT/out"},
	{"why S/snip.jsonl -f html -o OUT/out", "why S/big.jsonl -f html -o OUT/out"},
	{"synth --requests 5 -o OUT/out", "synth --requests 400 -o OUT/out"},
}

var signals = []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP}

func main() {
	runs := flag.Int("n", 100, "runs")
	seed := flag.Uint64("seed", 1, "of the first run")
	flag.Parse()
	if flag.NArg() != 2 {
		flag.Usage()
		os.Exit(2)
	}
	k := kills{program: flag.Arg(0), sessions: flag.Arg(1), counts: map[string]int{}}
	for i := range *runs {
		if err := k.try(*seed + uint64(i)); err != nil {
			fmt.Printf("seed %d: %v\n", *seed+uint64(i), err)
			k.counts["wrong"]++
		}
	}
	var names []string
	for name := range k.counts {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Printf("%-28s %d\n", name, k.counts[name])
	}
	if k.counts["wrong"] > 0 {
		os.Exit(1)
	}
}

type kills struct {
	program, sessions string
	counts            map[string]int
}

func (k *kills) command(line, out, cache string) *exec.Cmd {
	words := strings.Fields(line)
	for i, w := range words {
		if rest, ok := strings.CutPrefix(w, "S/"); ok {
			words[i] = filepath.Join(k.sessions, rest)
		} else if w == "S" {
			words[i] = k.sessions
		} else if rest, ok := strings.CutPrefix(w, "OUT/"); ok {
			words[i] = filepath.Join(out, rest)
		}
	}
	c := exec.Command(k.program, words...)
	c.Env = append(os.Environ(), "CTXKIT_CACHE="+cache)
	return c
}

// try makes one run; what it does follows from the seed, but for the moment at which the signal comes.
func (k *kills) try(seed uint64) (err error) {
	r := rand.New(rand.NewPCG(seed, 0))
	c := commands[r.IntN(len(commands))]
	full, signal := os.Getuid() == 0 && r.IntN(3) == 0, signals[r.IntN(len(signals))]
	older := r.IntN(4) > 0 // there is a result from before
	dir, err := os.MkdirTemp("", "kills")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	out, whole, cache := filepath.Join(dir, "out"), filepath.Join(dir, "whole"), filepath.Join(dir, "cache")
	for _, d := range []string{out, whole, cache} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return err
		}
	}
	begin := time.Now()
	if b, err := k.command(c.run, whole, cache).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", c.run, err, b)
	}
	took := time.Since(begin)
	after, size, err := digests(whole)
	if err != nil {
		return err
	}
	if full {
		most := 16<<10 + r.Int64N(size+size/2)
		if err := syscall.Mount("tmpfs", out, "tmpfs", 0, fmt.Sprintf("size=%d", most)); err != nil {
			return err
		}
		defer func() { err = errors.Join(syscall.Unmount(out, syscall.MNT_DETACH), err) }()
	}
	if older {
		if b, err := k.command(c.before, out, cache).CombinedOutput(); err != nil && !full {
			return fmt.Errorf("%s: %w: %s", c.before, err, b)
		}
	}
	before, _, err := digests(out)
	if err != nil {
		return err
	}
	if r.IntN(2) == 0 {
		if err := os.RemoveAll(cache); err != nil {
			return err
		}
	}
	run := k.command(c.run, out, cache)
	if err := run.Start(); err != nil {
		return err
	}
	if !full || r.IntN(2) == 0 {
		time.AfterFunc(time.Duration(r.Float64()*1.1*float64(took)), func() { _ = run.Process.Signal(signal) })
	} else {
		signal = 0
	}
	err = run.Wait()
	killed := run.ProcessState.Sys().(syscall.WaitStatus).Signaled()
	got, _, digestErr := digests(out)
	if digestErr != nil {
		return digestErr
	}
	left := 0
	for name := range got {
		if strings.HasSuffix(name, ".part") || strings.Contains(name, ".part/") {
			left++
			delete(got, name)
		}
	}
	what := "new"
	switch {
	case err != nil && same(got, before):
		what = "as before"
	case killed && strings.HasPrefix(c.run, "export ") && (within(got, before) || within(got, after)):
		what = "without some tables"
	case !same(got, after):
		return fmt.Errorf("%s (signal %v, full %v): neither the result from before nor the new one: %w", c.run, signal, full, err)
	}
	if left > 0 && !killed {
		return fmt.Errorf("%s (signal %v, full %v): %d files .part are left", c.run, signal, full, left)
	}
	ended := "ended by itself"
	if killed {
		ended = "killed"
	} else if err != nil {
		ended = "ended with an error"
	}
	k.counts[ended+", "+what]++
	if full {
		k.counts["of these, on a small disk"]++
		return nil
	}
	if b, err := k.command(c.run, out, cache).CombinedOutput(); err != nil {
		return fmt.Errorf("again: %s: %w: %s", c.run, err, b)
	}
	got, _, err = digests(out)
	for name := range got {
		if strings.HasSuffix(name, ".part") || strings.Contains(name, ".part/") {
			delete(got, name)
		}
	}
	if err == nil && !same(got, after) {
		err = fmt.Errorf("again: %s writes something else after signal %v", c.run, signal)
	}
	return err
}

// digests are the digests of the files below a folder, by name, and their sizes' sum.
func digests(dir string) (map[string][32]byte, int64, error) {
	list, size := map[string][32]byte{}, int64(0)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		list[name], size = sha256.Sum256(b), size+int64(len(b))
		return err
	})
	return list, size, err
}

func same(a, b map[string][32]byte) bool { return len(a) == len(b) && within(a, b) }

// within reports whether all files of a are in b.
func within(a, b map[string][32]byte) bool {
	for name, digest := range a {
		if b[name] != digest {
			return false
		}
	}
	return true
}
