package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
)

func TestScoresAreCurrent(t *testing.T) {
	corpus := os.Getenv("CTXKIT_CORPUS")
	if corpus == "" {
		t.Skip("CTXKIT_CORPUS is not set")
	}
	want, err := generate(corpus)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join("..", "..", file))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is stale: run go run ./scripts/genscores %s", file, corpus)
	}
}

// Scores are of built-in policies, and no figure of one contradicts another.
func TestScores(t *testing.T) {
	reg, err := stage.Registry()
	if err != nil {
		t.Fatal(err)
	}
	s := preset.ReadScores()
	recorded := 0
	for name, score := range s.Policies {
		p, err := preset.Load(name, reg)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(p.Score, score) {
			t.Errorf("%s: its score is %v, want %v", name, p.Score, score)
		}
		if score.Decided > score.Recorded || score.Free > score.Recorded || score.Recorded > s.Corpus.Recorded {
			t.Errorf("%s: %+v of %+v", name, score, s.Corpus)
		}
		if p.Product != "" {
			recorded += score.Recorded
		}
	}
	if recorded != s.Corpus.Recorded || recorded == 0 {
		t.Errorf("%d compactions are scored, want %d", recorded, s.Corpus.Recorded)
	}
}
