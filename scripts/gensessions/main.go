// Command gensessions writes the sample sessions of testdata/sessions.
//
//	go run ./scripts/gensessions [folder]
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/ctxkit/ctxkit/jsonl/synth"
)

func main() {
	folder := filepath.Join("testdata", "sessions")
	if len(os.Args) > 1 {
		folder = os.Args[1]
	}
	if err := write(folder); err != nil {
		fmt.Fprintln(os.Stderr, "gensessions:", err)
		os.Exit(1)
	}
}

func write(folder string) error {
	samples, err := synth.Samples()
	if err != nil {
		return err
	}
	for _, s := range samples {
		name := filepath.Join(folder, filepath.FromSlash(s.Path))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, s.Data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
