//go:build ci

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// TestBill makes the bill of this test program, twice, and of a program with every kind of module.
func TestBill(t *testing.T) {
	self := must.Get(os.Executable())(t)
	data := must.Get(os.ReadFile(self))(t)
	var texts []string
	for _, name := range []string{"one.json", "two.json"} {
		file := filepath.Join(t.TempDir(), name)
		must.Do(t, run([]string{self, file}))
		text := must.Get(os.ReadFile(file))(t)
		texts = append(texts, string(text))
	}
	sum := sha256.Sum256(data)
	if texts[0] != texts[1] || !strings.Contains(texts[0], hex.EncodeToString(sum[:])) || !json.Valid([]byte(texts[0])) {
		t.Errorf("two bills of a program:\n%s\n%s", texts[0], texts[1])
	}

	b := must.Get(newBill(&debug.BuildInfo{
		GoVersion: "go1.26.8", Path: "example.com/a/tool",
		Main: debug.Module{Path: "example.com/a", Version: "v1.0.0+incompatible"},
		Deps: []*debug.Module{
			{Path: "example.com/b", Version: "v2.0.0", Sum: "h1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="},
			{Path: "example.com/c", Version: "v3.0.0", Replace: &debug.Module{Path: "example.com/d", Version: "v4.0.0"}},
		},
		Settings: []debug.BuildSetting{{Key: "-trimpath", Value: "true"}, {Key: "GOOS", Value: "plan9"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}},
	}, sum))(t)
	got := must.Get(json.MarshalIndent(b, "", "  "))(t)
	want := strings.ReplaceAll(`{
  "bomFormat": "CycloneDX",
  "specVersion": "1.6",
  "version": 1,
  "metadata": {
    "timestamp": "2026-01-02T03:04:05Z",
    "component": {
      "bom-ref": "pkg:golang/example.com/a@v1.0.0%2Bincompatible",
      "type": "application",
      "name": "tool",
      "version": "v1.0.0+incompatible",
      "hashes": [
        {
          "alg": "SHA-256",
          "content": "SUM"
        }
      ],
      "licenses": [
        {
          "license": {
            "id": "MIT"
          }
        }
      ],
      "purl": "pkg:golang/example.com/a@v1.0.0%2Bincompatible",
      "properties": [
        {
          "name": "cdx:gomod:build:env:GOOS",
          "value": "plan9"
        }
      ]
    }
  },
  "components": [
    {
      "bom-ref": "pkg:golang/std@1.26.8",
      "type": "library",
      "name": "std",
      "version": "1.26.8",
      "purl": "pkg:golang/std@1.26.8"
    },
    {
      "bom-ref": "pkg:golang/example.com/b@v2.0.0",
      "type": "library",
      "name": "example.com/b",
      "version": "v2.0.0",
      "hashes": [
        {
          "alg": "SHA-256",
          "content": "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
        }
      ],
      "purl": "pkg:golang/example.com/b@v2.0.0"
    },
    {
      "bom-ref": "pkg:golang/example.com/d@v4.0.0",
      "type": "library",
      "name": "example.com/d",
      "version": "v4.0.0",
      "purl": "pkg:golang/example.com/d@v4.0.0"
    }
  ],
  "dependencies": [
    {
      "ref": "pkg:golang/example.com/a@v1.0.0%2Bincompatible",
      "dependsOn": [
        "pkg:golang/std@1.26.8",
        "pkg:golang/example.com/b@v2.0.0",
        "pkg:golang/example.com/d@v4.0.0"
      ]
    },
    {
      "ref": "pkg:golang/std@1.26.8"
    },
    {
      "ref": "pkg:golang/example.com/b@v2.0.0"
    },
    {
      "ref": "pkg:golang/example.com/d@v4.0.0"
    }
  ]
}`, "SUM", hex.EncodeToString(sum[:]))
	must.Equal(t, string(got), want)
}

// TestNoProgram holds that what is no Go program has no bill.
func TestNoProgram(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.json")
	for _, args := range [][]string{nil, {"main.go"}, {"main.go", out}, {"missing", out}} {
		if err := run(args); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a file was written")
	}
}
