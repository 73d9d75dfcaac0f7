package session_test

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// corpusFiles are the real sessions of the folder CTXKIT_CORPUS names, those in folders below it included; without it
// the test is skipped.
func corpusFiles(t *testing.T) (dir string, files []string) {
	t.Helper()
	dir = os.Getenv("CTXKIT_CORPUS")
	if dir == "" {
		t.Skip("CTXKIT_CORPUS names no folder of real sessions")
	}
	must.Do(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.Contains(filepath.Base(path), ".jsonl") {
			files = append(files, path)
		}
		return err
	}))
	if len(files) == 0 {
		t.Fatalf("no session file in %s", dir)
	}
	return dir, files
}

// TestCorpus holds what must be true of every real file.
func TestCorpus(t *testing.T) {
	dir, files := corpusFiles(t)
	for _, path := range files {
		name, _ := filepath.Rel(dir, path)
		t.Run(name, func(t *testing.T) {
			f := must.Get(session.Load(path, session.LoadOptions{}))(t)
			defer f.Close()
			balanced(t, f)
			for _, conv := range f.Conversations() {
				checkConversation(t, conv)
				checkTexts(t, conv)
				for i := range conv.Messages {
					if m := &conv.Messages[i]; m.Lost {
						t.Logf("agent %q: lost at message %d of %d, line %d, before a boundary: %v", conv.Agent, i, len(conv.Messages), m.Line, beforeBoundary(conv, i))
					}
				}
				for _, w := range conv.Warnings {
					t.Logf("agent %q: line %d: %s", conv.Agent, w.Line, w.Message)
				}
			}
			if len(f.Main.Messages) == 0 {
				t.Error("no message found")
			}
			// A file directly in the folder is named after what recorded it.
			product, _, _ := strings.Cut(name, "-")
			if filepath.Dir(name) == "." && f.Main.Product != product && f.Main.Product != product+"-code" {
				t.Errorf("recorded by %s", f.Main.Product)
			}
		})
	}
}

func beforeBoundary(conv *session.Conversation, i int) bool {
	for _, b := range conv.Boundaries {
		if b.Before == i+1 {
			return true
		}
	}
	return false
}

// checkTexts fetches every text and compares it with the lengths taken when the file was read.
func checkTexts(t *testing.T, conv *session.Conversation) {
	t.Helper()
	for m := range conv.Messages {
		for b := range conv.Messages[m].Blocks {
			bl := &conv.Messages[m].Blocks[b]
			text, err := conv.Text(m, b)
			if err != nil {
				t.Fatalf("message %d, block %d: %v", m, b, err)
			}
			want := bl.Text
			switch {
			case bl.Kind == jsonl.KindAttachment:
				continue // its lengths hold the fixed words around it too
			case bl.Kind == jsonl.KindToolResult && !bl.IsString:
				// The parts' lengths are added up; the text joins them.
				n := 0
				for _, p := range bl.Parts {
					if p.Kind == jsonl.KindText {
						n++
					}
				}
				if n > 1 {
					want.UTF16 += 2 * (n - 1)
					want.Bytes += 2 * (n - 1)
				}
			case bl.Kind == jsonl.KindText || bl.Kind == jsonl.KindThinking || bl.Kind == jsonl.KindRedactedThinking || bl.Kind == jsonl.KindToolResult:
			default:
				want = bl.JSON
			}
			if got := len(utf16.Encode([]rune(text))); got != want.UTF16 || len(text) != want.Bytes {
				t.Errorf("line %d: a %s block is %d units, %d bytes when fetched; %d, %d when read", bl.Line, bl.Type, got, len(text), want.UTF16, want.Bytes)
			}
		}
	}
}

// TestCorpusRecorded compares what is recognised as recorded by the client with the corpus's own tables.
func TestCorpusRecorded(t *testing.T) {
	dir, files := corpusFiles(t)
	var compactions, micros []string
	for _, path := range files {
		if filepath.Dir(path) != filepath.Clean(dir) {
			continue
		}
		f := must.Get(session.Load(path, session.LoadOptions{}))(t)
		for _, conv := range f.Conversations() {
			for _, b := range conv.Boundaries {
				compactions = append(compactions, fmt.Sprintf("%s %d %s %d", filepath.Base(path), b.Line, b.Trigger, b.PreTokens))
			}
			for _, m := range conv.Micro {
				micros = append(micros, fmt.Sprintf("%s %d %d %d", filepath.Base(path), m.Line, m.PreTokens, m.TokensSaved))
			}
		}
		f.Close()
	}
	compare(t, compactions, table(t, filepath.Join(dir, "recorded-compactions.tsv"), "file", "line", "trigger", "pre_tokens"))
	compare(t, micros, table(t, filepath.Join(dir, "recorded-microcompactions.tsv"), "file", "line", "micro_pre_tokens", "tokens_saved"))
}

func compare(t *testing.T, got, want []string) {
	t.Helper()
	for _, s := range got {
		if !slices.Contains(want, s) {
			t.Errorf("found, but not in the table: %s", s)
		}
	}
	for _, s := range want {
		if !slices.Contains(got, s) {
			t.Errorf("in the table, but not found: %s", s)
		}
	}
	same(t, len(want), len(got))
}

// table reads the named columns of a tab-separated file.
func table(t *testing.T, path string, columns ...string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Skip(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	head := strings.Split(lines[0], "\t")
	var rows []string
	for _, line := range lines[1:] {
		cells := strings.Split(line, "\t")
		var row []string
		for _, c := range columns {
			row = append(row, cells[slices.Index(head, c)])
		}
		rows = append(rows, strings.Join(row, " "))
	}
	return rows
}

// TestCorpusLines compares the number of lines read with a count of its own.
func TestCorpusLines(t *testing.T) {
	_, files := corpusFiles(t)
	for _, path := range files {
		lines := must.Get(countLines(path))(t)
		f := must.Get(session.Load(path, session.LoadOptions{}))(t)
		if a := f.Main.Lines; a.Read-a.Fused != lines {
			t.Errorf("%s: %d lines read, %d objects of them fused; the file has %d lines", filepath.Base(path), a.Read, a.Fused, lines)
		}
		f.Close()
	}
}

func countLines(path string) (int, error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	var r io.Reader = file
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(file); err != nil {
			return 0, err
		}
	}
	n, br := 0, bufio.NewReader(r)
	for {
		line, err := br.ReadSlice('\n')
		switch {
		case err == nil:
			n++
		case err == io.EOF && len(line) > 0:
			return n + 1, nil
		case err == io.EOF:
			return n, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return 0, err
		}
	}
}
