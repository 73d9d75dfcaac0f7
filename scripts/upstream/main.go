// Upstream reads what the built-in policies of Claude Code state out of the code that ships: constants, triggers, limits of
// tools, cache marks. It installs a release from npm into the user's cache folder (cli.js up to 2.1.112; after that the
// executable for Linux, which holds the same JavaScript as text) and prints a line for each fact: release, fact, value, file
// and offset of the code, apart by tabs. It copies no code.
//
// Run it in the root of the repository:
//
//	go run ./scripts/upstream 2.1.112 2.1.332   # the facts of releases
//	go run ./scripts/upstream -drift            # what the newest release changed
//
// The facts of the releases that were read are in policy/stage/claude/testdata/facts.tsv. With -drift it exits with 1 where
// the newest release on npm states something else than the newest one that was read, with 2 where npm is out of reach: nothing was compared then.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/session"
)

// Packages of the client, and the last release with its code in the first.
const (
	scriptPackage = "@anthropic-ai/claude-code"
	nativePackage = "@anthropic-ai/claude-code-linux-x64"
	lastScript    = "2.1.112"
)

// errNoNpm is returned where npm is not there or reaches no registry.
var errNoNpm = errors.New("npm is out of reach")

// errDrift is returned where the newest release states something else.
var errDrift = errors.New("the newest release differs from the newest one read: read it, and add it to the facts")

// line is a fact of a release as the table has it.
type line struct{ release, fact, value, file, offset string }

func main() {
	drift := flag.Bool("drift", false, "compare the newest release on npm with the newest one read")
	table := flag.String("facts", "policy/stage/claude/testdata/facts.tsv", "the facts of the releases that were read")
	flag.Parse()
	err := run(os.Stdout, *drift, *table, flag.Args(), newest, code)
	if err != nil {
		fmt.Fprintln(os.Stderr, "upstream:", err)
	}
	switch {
	case errors.Is(err, errNoNpm):
		os.Exit(2)
	case err != nil:
		os.Exit(1)
	}
}

// run prints the facts of releases, or what changed since the newest release of the table. newest gives the newest release
// on npm, code the file with a release's code.
func run(w io.Writer, drift bool, table string, releases []string, newest func() (string, error), code func(release string) (string, error)) error {
	if !drift {
		for _, release := range releases {
			lines, err := readRelease(release, code)
			if err != nil {
				return err
			}
			for _, l := range lines {
				fmt.Fprintln(w, strings.Join([]string{l.release, l.fact, l.value, l.file, l.offset}, "\t"))
			}
		}
		return nil
	}
	known, err := readTable(table)
	if err != nil {
		return err
	}
	last := ""
	for _, l := range known {
		if last == "" || session.CompareVersions(l.release, last) > 0 {
			last = l.release
		}
	}
	now, err := newest()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "newest release: %s, newest read: %s\n", now, last)
	lines, err := readRelease(now, code)
	if err != nil {
		return err
	}
	changes := 0
	for _, l := range lines {
		was := "not in the table"
		for _, k := range known {
			if k.release == last && k.fact == l.fact {
				was = k.value
			}
		}
		if was != l.value {
			changes++
			fmt.Fprintf(w, "changed: %s: %s, was %s (%s %s)\n", l.fact, l.value, was, l.file, l.offset)
		}
	}
	fmt.Fprintf(w, "%d facts, %d changed\n", len(lines), changes)
	if changes > 0 {
		return errDrift
	}
	return nil
}

// readRelease reads the facts of a release.
func readRelease(release string, code func(release string) (string, error)) ([]line, error) {
	path, err := code(release)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var lines []line
	for _, f := range facts() {
		got, offset := f.read(text), "-"
		if got.offset >= 0 {
			offset = fmt.Sprint(got.offset)
		}
		lines = append(lines, line{release, f.name, got.value, filepath.Base(path), offset})
	}
	return lines, nil
}

// readTable reads facts as run prints them, after a line of headings.
func readTable(path string) ([]line, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list []line
	in := bufio.NewScanner(f)
	for n := 1; in.Scan(); n++ {
		cells := strings.Split(in.Text(), "\t")
		if len(cells) != 5 {
			return nil, fmt.Errorf("%s:%d: %d cells, want 5", path, n, len(cells))
		}
		if n > 1 {
			list = append(list, line{cells[0], cells[1], cells[2], cells[3], cells[4]})
		}
	}
	return list, in.Err()
}

// newest asks npm for the newest release.
func newest() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "npm", "view", scriptPackage, "version").Output()
	if err != nil {
		return "", fmt.Errorf("%w: npm view %s: %w", errNoNpm, scriptPackage, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// code is the file with a release's code, installed once into the user's cache folder.
func code(release string) (string, error) {
	pkg, file := scriptPackage, "cli.js"
	if session.CompareVersions(release, lastScript) > 0 {
		pkg, file = nativePackage, "claude"
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(cache, "ctxkit", "upstream", release)
	path := filepath.Join(folder, file)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	pack := exec.CommandContext(ctx, "npm", "pack", "--silent", pkg+"@"+release)
	pack.Dir = folder
	out, err := pack.Output()
	if err != nil {
		return "", fmt.Errorf("%w: npm pack %s@%s: %w", errNoNpm, pkg, release, err)
	}
	archive := filepath.Join(folder, strings.TrimSpace(string(out)))
	defer os.Remove(archive)
	return path, extract(archive, "package/"+file, path)
}
