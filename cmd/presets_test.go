package cmd

import (
	"bytes"
	"io/fs"
	"strings"
	"sync"
	"testing"

	"github.com/ctxkit/ctxkit/policy/stage"
)

// countedFS counts how often each file is opened.
type countedFS struct {
	fs.FS
	mu    *sync.Mutex
	times map[string]int
}

func (o countedFS) Open(name string) (fs.File, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.times[name]++
	return o.FS.Open(name)
}

// A policy that is chosen by session is read once in a run, not once a session.
func TestPresetsAreReadOnce(t *testing.T) {
	sessions := []string{
		"../testdata/sessions/big.jsonl", "../testdata/sessions/big-2.1.139.jsonl", "../testdata/sessions/compaction.jsonl",
	}
	for _, command := range strings.Fields("replay compare cost backtest") {
		t.Run(command, func(t *testing.T) {
			var out, said bytes.Buffer
			times := map[string]int{}
			sys := newSystem(strings.NewReader(""), &out, &said)
			sys.families = stage.Families()
			var mu sync.Mutex
			for i := range sys.families {
				if f := &sys.families[i]; f.Presets != nil {
					f.Presets = countedFS{f.Presets, &mu, times}
				}
			}
			args := append([]string{command, "-q", "-p", "claude-code@recorded-version"}, sessions...)
			if err := execute(sys, args); err != nil {
				t.Fatalf("%v\n%s", err, said.String())
			}
			if times["claude-code-2.1.19.yaml"] == 0 {
				t.Error("the policy's file was not opened")
			}
			delete(times, ".") // the lists of the files
			for file, n := range times {
				if n > 1 {
					t.Errorf("%s: opened %d times", file, n)
				}
			}
		})
	}
}
