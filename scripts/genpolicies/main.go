// Genpolicies writes policies.md and policy.schema.json from the registry of stages and the built-in policies.
//
// Run it with go generate in the root of the repository.
package main

import (
	"path/filepath"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/scripts/generator"
)

func main() { generator.Generator(generate).Main() }

// generate returns the text of each generated file by path.
func generate(dir string) (map[string][]byte, error) {
	reg, err := stage.Registry()
	if err != nil {
		return nil, err
	}
	page, err := page(reg)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		filepath.Join(dir, "policies.md"):        page,
		filepath.Join(dir, "policy.schema.json"): policy.Schema(reg),
	}, nil
}
