package cmd

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// TestWritten holds that a command says on a terminal which file it wrote, and nowhere else.
func TestWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out.txt")
	anonymous := filepath.Join(filepath.Dir(file), "a.jsonl")
	for _, tt := range []struct {
		name    string
		watched bool
		args    []string
		want    string
	}{
		{"terminal", true, []string{"prices", "-o", file}, "ctxkit: " + file + " is written\n"},
		{"folder", true, []string{"anonymize", "../testdata/sessions/subagent/b32e519c-43e7-4331-9b9b-59720f862fab.jsonl", "-o", anonymous},
			"ctxkit: " + anonymous + " is written, and the files next to it in " + strings.TrimSuffix(anonymous, ".jsonl") + "\n"},
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

func TestBrokenLines(t *testing.T) {
	const text = "ctxkit: /a/very/long/path/that/is/copied/in/one/piece.jsonl:12: the line was skipped: 短い 行 of the file"
	for n, want := range map[int]string{
		0:   text,
		200: text,
		40:  "ctxkit:\n  /a/very/long/path/that/is/copied/in/one/piece.jsonl:12:\n  the line was skipped: 短い 行 of the\n  file",
		80:  "ctxkit: /a/very/long/path/that/is/copied/in/one/piece.jsonl:12: the line was\n  skipped: 短い 行 of the file",
	} {
		if got := strings.Join(brokenLines(text, n), "\n"); got != want {
			t.Errorf("%d columns:\n%s\nwant\n%s", n, got, want)
		}
	}
}

// TestPager holds that only --pager starts a pager, only on a terminal and without -o, and that the output is printed
// where there is none.
func TestPager(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out.csv")
	pager := filepath.Join(t.TempDir(), "pager")
	if err := os.WriteFile(pager, []byte("#!/bin/sh\necho \"paged $1\"\n"), 0o755); err != nil || runtime.GOOS == "windows" {
		t.Skip(err)
	}
	must.Rows(t, `
# what | on a terminal | $PAGER | arguments | what is printed
on a terminal | true  | PAGER page    | --pager | "paged page\n"
not asked for | true  | PAGER         | ""      | write   write
turned off    | true  | PAGER         | --pager=false | write   write
no terminal   | false | PAGER         | --pager | write   write
to a file     | true  | PAGER         | --pager -o FILE | ""
not installed | true  | PAGER-missing | --pager | write   write
`, func(name string, terminal bool, with, args, want string) {
		var out bytes.Buffer
		sys := newSystem(strings.NewReader(""), &out, io.Discard)
		sys.terminal = terminal
		sys.env = func(name string) string {
			return map[string]string{"PAGER": strings.Replace(with, "PAGER", pager, 1)}[name]
		}
		must.Do(t, execute(sys, append([]string{"prices"}, strings.Fields(strings.Replace(args, "FILE", file, 1))...)))
		sys.out.flush()
		if got := out.String(); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("printed %q, want %q", got, want)
		}
	})
}
