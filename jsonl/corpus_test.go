package jsonl

import (
	"os"
	"path/filepath"
	"testing"
)

// corpusFiles lists the session files under $CTXKIT_CORPUS.
func corpusFiles(t testing.TB) []string {
	dir := os.Getenv("CTXKIT_CORPUS")
	if dir == "" {
		t.Skip("CTXKIT_CORPUS names no folder of real session files")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no session files in %s: %v", dir, err)
	}
	return files
}

func TestCorpus(t *testing.T) {
	for _, path := range corpusFiles(t) {
		s, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		types := map[string]int{}
		err = s.Each(2, Options{}, func(rec *Record) error {
			if rec.Err != nil {
				t.Log(rec.Err)
			}
			if rec.Entry != nil {
				types[rec.Entry.Type]++
			}
			return nil
		})
		t.Logf("%s %+v %v %v", filepath.Base(path), s.Lines(), types, err)
		s.Close()
	}
}
