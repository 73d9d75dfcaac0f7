package main

import (
	"path/filepath"
	"testing"

	"github.com/ctxkit/ctxkit/scripts/generator"
)

func TestRanksAreCurrent(t *testing.T) {
	stale, err := generator.Generator(generate).Stale(filepath.FromSlash("../../replay/tokens/bpe"))
	if err != nil {
		t.Fatal(err)
	}
	for path := range stale {
		t.Errorf("%s is stale: run go generate ./replay/tokens/bpe", path)
	}
}
