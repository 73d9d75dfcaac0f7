package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// build makes the program with all mutants in it, in dir, and lists them.
func build(root, dir string) (string, []mutant, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return "", nil, err
	}
	sources, list, err := rewrite(root)
	if err != nil {
		return "", nil, err
	}
	replace := map[string]string{}
	put := func(path, text string) error {
		file := filepath.Join(dir, strings.ReplaceAll(path, "/", "_"))
		replace[filepath.Join(root, filepath.FromSlash(path))] = file
		return os.WriteFile(file, []byte(text), 0o644)
	}
	for name, text := range sources {
		err = errors.Join(err, put(stages+"/"+name, text))
	}
	err = errors.Join(err, put(stages+"/mutated.go", switches), put("scripts/mutate/mutated.go", workerFile))
	overlay, jerr := json.Marshal(map[string]any{"Replace": replace})
	if err := errors.Join(err, jerr, os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o644)); err != nil {
		return "", nil, err
	}
	exe := filepath.Join(dir, "worker.exe")
	c := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", exe, "./scripts/mutate")
	c.Dir = root
	if out, err := c.CombinedOutput(); err != nil {
		return "", nil, fmt.Errorf("building the mutants: %w: %s", err, out)
	}
	return exe, list, nil
}

// sample takes n of the mutants, the same ones in the same order each time: by
// a hash of what they change, so that the first of them are a sample as well.
func sample(list []mutant, n int) []int {
	rank := make([]string, len(list))
	order := make([]int, len(list))
	for i, m := range list {
		h := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", m.name(), m.site, i))
		rank[i], order[i] = string(h[:]), i+1
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(rank[a-1], rank[b-1]) })
	if n > 0 && n < len(order) {
		order = order[:n]
	}
	return order
}

// runner has workers try mutants.
type runner struct {
	exe, root string
	numbers   []int
	reached   map[int]bool
	use       func(l line)
	until     time.Time // begin no mutant after this; zero: no limit
}

func (r *runner) over() bool { return !r.until.IsZero() && time.Now().After(r.until) }

// run goes on with a new worker where one ends before its time.
func (r *runner) run() error {
	for len(r.numbers) > 0 && !r.over() {
		left, err := r.worker()
		if err != nil {
			return err
		}
		r.numbers = left
	}
	return nil
}

// worker has one worker try mutants as long as it lives, and gives those that
// are left.
func (r *runner) worker() ([]int, error) {
	c := exec.Command(r.exe, "-work")
	c.Dir, c.Stderr = r.root, os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bufio.NewReader(out))
	var head line
	if err := d.Decode(&head); err != nil {
		return nil, errors.Join(err, c.Wait())
	}
	r.reached = head.Reached
	left := r.numbers
	for len(left) > 0 && !r.over() {
		k := left[0]
		left = left[1:]
		var l line
		_, err := fmt.Fprintln(in, k)
		if err == nil {
			err = d.Decode(&l)
		}
		if err != nil || l.Mutant != k { // it is gone
			r.use(line{Mutant: k, Stopped: "it does not end, or takes all memory"})
			break
		}
		r.use(l)
	}
	in.Close()
	c.Wait() // how it ended was told by what it printed
	return left, nil
}
