package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestTableIsCurrent(t *testing.T) {
	folder := filepath.Join("..", "..", "replay", "price")
	want, err := generate(filepath.Join(folder, "models.json"), filepath.Join(folder, "providers.json"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(folder, "table_gen.go"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("replay/price/table_gen.go is stale: run go generate ./replay/price")
	}
}
