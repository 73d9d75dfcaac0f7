package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
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

// TestBuildsWithoutTable: a table that does not compile does not keep the generator from writing another one.
func TestBuildsWithoutTable(t *testing.T) {
	table, err := filepath.Abs(filepath.Join("..", "..", "replay", "price", "table_gen.go"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	broken, overlay := filepath.Join(t.TempDir(), "table_gen.go"), filepath.Join(t.TempDir(), "overlay.json")
	replaced, err := json.Marshal(map[string]any{"Replace": map[string]string{table: broken}})
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string][]byte{broken: append(text, "var _ = missing\n"...), overlay: replaced} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("go", "build", "-tags", "genpricetable", "-overlay", overlay, "-o", os.DevNull, ".").CombinedOutput(); err != nil {
		t.Errorf("the generator does not build: %v\n%s", err, out)
	}
}
