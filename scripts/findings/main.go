// Findings writes docs/findings: articles with tables and pictures, made from folders of recorded sessions and from the
// published figures of other people's experiments. Each number in an article is a value of one of its tables, which are
// written beside it as CSV files; the same folders give the same bytes.
//
// The environment variables CTXKIT_CORPUS, CTXKIT_MORE, CTXKIT_CODEX and CTXKIT_TRAP name the folders. Run it in the root
// of the repository: scripts/findings/all sets them to the folders beside it.
//
//	go run ./scripts/findings [-o FOLDER] [ARTICLE...]
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	dir := flag.String("o", folder, "`FOLDER` to write to")
	flag.Parse()
	if err := run(*dir, os.Getenv, flag.Args()...); err != nil {
		fmt.Fprintln(os.Stderr, "findings:", err)
		os.Exit(2)
	}
}

var folder = filepath.Join("docs", "findings")

// run writes the articles, or those that are named, into a folder.
func run(dir string, env func(string) string, only ...string) error {
	for _, name := range only {
		if !slices.ContainsFunc(makers, func(m maker) bool { return m.name == name }) {
			return fmt.Errorf("%s: no such article: name some of %s, or none for all", name, strings.Join(names(), ", "))
		}
	}
	src, err := newSources(env)
	if err != nil {
		return err
	}
	files, err := generate(src, only...)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(files[name]), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// listOf lists the articles with their answers.
func listOf(answers []answer) string {
	var b strings.Builder
	for _, a := range answers {
		item := fmt.Sprintf("- [%s](%s.md): %s", a.title, a.name, a.text)
		b.WriteString(strings.Join(wrapped([]string{item}), "\n") + "\n")
	}
	return b.String()
}
