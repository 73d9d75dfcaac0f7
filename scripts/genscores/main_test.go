//go:build ci

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
)

func TestScoresAreCurrent(t *testing.T) {
	var folders []string
	for _, name := range strings.Fields("CTXKIT_CORPUS CTXKIT_CODEX CTXKIT_AGENTS") {
		folder := os.Getenv(name)
		if folder == "" {
			t.Skip(name + " is not set: no recorded sessions")
		}
		folders = append(folders, folder)
	}
	want := must.Get(generate(folders...))(t)
	got := must.Get(os.ReadFile(filepath.Join("..", "..", file)))(t)
	if !bytes.Equal(got, want) {
		t.Errorf("%s is stale: run go run ./scripts/genscores %s", file, strings.Join(folders, " "))
	}
}

// Scores are of built-in policies, and no figure of one contradicts another.
func TestScores(t *testing.T) {
	reg := must.Get(stage.Registry())(t)
	s := preset.ReadScores()
	recorded := map[string]int{}
	for name, score := range s.Policies {
		p := must.Get(preset.Load(name, reg))(t)
		must.Equal(t, p.Score, score, name)
		if score.Decided > score.Recorded || score.Free > score.Recorded {
			t.Errorf("%s: %+v", name, score)
		}
		if prunes := score.Prunes; prunes != nil && prunes.Same > prunes.Recorded {
			t.Errorf("%s: %+v", name, prunes)
		}
		recorded[p.Product] += score.Recorded
	}
	all := 0
	for product, sum := range s.Products {
		if all += sum.Recorded; recorded[product] != sum.Recorded {
			t.Errorf("%d compactions of %s are scored, want %d", recorded[product], product, sum.Recorded)
		}
	}
	if all == 0 {
		t.Error("no compaction is scored")
	}
}
