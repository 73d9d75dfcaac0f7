package cmd

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// TestWritten holds that a command says on a terminal which file it wrote, and nowhere else.
func TestWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out.csv")
	for _, tt := range []struct {
		name    string
		watched bool
		args    []string
		want    string
	}{
		{"terminal", true, []string{"prices", "-o", file}, "ctxkit: " + file + " is written\n"},
		{"no terminal", false, []string{"prices", "-o", file}, ""},
		{"quiet", true, []string{"prices", "-o", file, "--quiet"}, ""},
		{"standard output", true, []string{"prices"}, ""},
		{"failed", true, []string{"diff", "../testdata/sessions/cjk.jsonl", "-p", "none", "--at", "99", "-o", file}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out, said bytes.Buffer
			sys := newSystem(strings.NewReader(""), &out, &said)
			sys.watched = tt.watched
			if err := execute(sys, tt.args); (err != nil) != (tt.name == "failed") {
				t.Error(err)
			}
			if said.String() != tt.want {
				t.Errorf("standard error is %q, want %q", said.String(), tt.want)
			}
		})
	}
}
