// Genpolicies writes policies.md and policy.schema.json from the registry of
// stages and the built-in policies into the folder docs, or the one it is given.
//
// Run it with go generate in the root of the repository.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage"
)

func main() {
	dir := "docs"
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	if err := write(dir); err != nil {
		fmt.Fprintln(os.Stderr, "genpolicies:", err)
		os.Exit(1)
	}
}

func write(dir string) error {
	files, err := generate()
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate is the text of each generated file, by name.
func generate() (map[string][]byte, error) {
	reg, err := stage.Registry()
	if err != nil {
		return nil, err
	}
	page, err := page(reg)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		"policies.md":        page,
		"policy.schema.json": policy.Schema(reg),
	}, nil
}
