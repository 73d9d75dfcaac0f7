// Gencatalogue writes policy/stage/codex/catalogue.json: the windows that releases of Codex CLI take models to have, and
// the hashes by which they tell whose compactions a model can read. The program in npm's @openai/codex holds its
// catalogue as JSON. A release is given as VERSION=DAY=PROGRAM, the oldest first; the day is that of its publication.
//
//	npm pack @openai/codex@0.171.0-linux-x64   # unpack each
//	go run ./scripts/gencatalogue policy/stage/codex/catalogue.json 0.171.0=2026-11-20=package/vendor/.../codex ...
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/ctxkit/ctxkit/policy/stage/codex"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "gencatalogue: name the file to write and the releases, VERSION=DAY=PROGRAM")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "gencatalogue:", err)
		os.Exit(1)
	}
}

// begins is how a catalogue begins.
var begins = regexp.MustCompile(`\{\s*"models":\s*\[\s*\{`)

func write(path string, releases []string) error {
	table := codex.Catalogue{Note: "written by scripts/gencatalogue; do not edit", Unit: "tokens", Models: map[string][]codex.CatalogueModel{}}
	for i, r := range releases {
		parts := strings.SplitN(r, "=", 3)
		if len(parts) != 3 {
			return fmt.Errorf("%q: write VERSION=DAY=PROGRAM", r)
		}
		table.Releases = append(table.Releases, codex.CatalogueRelease{Version: parts[0], Day: parts[1]})
		program, err := os.ReadFile(parts[2])
		if err != nil {
			return err
		}
		at := begins.FindIndex(program)
		if at == nil {
			return fmt.Errorf("%s holds no catalogue", parts[2])
		}
		var list struct {
			Models []struct {
				Slug   string `json:"slug"`
				Window int    `json:"context_window"`
				Hash   string `json:"comp_hash"`
			} `json:"models"`
		}
		if err := json.NewDecoder(bytes.NewReader(program[at[0]:])).Decode(&list); err != nil {
			return fmt.Errorf("%s: %w", parts[2], err)
		}
		for _, m := range list.Models {
			row, rows := codex.CatalogueModel{Release: i, Window: m.Window, Hash: m.Hash}, table.Models[m.Slug]
			if n := len(rows); n == 0 || rows[n-1].Window != row.Window || rows[n-1].Hash != row.Hash {
				table.Models[m.Slug] = append(rows, row)
			}
		}
	}
	text, err := json.Marshal(table)
	if err != nil {
		return err
	}
	// A line for each model.
	text = regexp.MustCompile(`("[^"]*":(\[\{"|\{"[^r])|\{"version")`).ReplaceAll(text, []byte("\n$1"))
	return os.WriteFile(path, append(bytes.TrimSpace(text), '\n'), 0o644)
}
