package session

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
)

// TestPlainRead holds which inputs of Read are read without a decoder, and that a decoder reads the same of them.
func TestPlainRead(t *testing.T) {
	for raw, want := range map[string]string{
		`{"file_path":"/a/b.go"}`:                                "/a/b.go",
		`{"file_path":"/a/b.go","offset":12,"limit":3}`:          "/a/b.go",
		`{"file_path":"/a/b.go","limit":3}`:                      "/a/b.go",
		`{"file_path":""}`:                                       "",
		`{"file_path":"/a/b.go","offset":"12"}`:                  "",
		`{"file_path":"/a/b.go","offset":-1}`:                    "",
		`{"file_path":"/a/b.go","limit":3,"offset":1}`:           "",
		`{"file_path":"/a\u0062.go"}`:                            "",
		`{"file_path":"/ä.go"}`:                                  "",
		`{"file_path":"/a/b.go","file_path":"/c.go"}`:            "",
		`{"file_path":"/a/b.go","FILE_PATH":"/c.go"}`:            "",
		`{"file_path":"/a/b.go","offset":1,"file_path":"/c.go"}`: "",
		`{ "file_path":"/a/b.go"}`:                               "",
		`{"path":"/a/b.go"}`:                                     "",
		`{"file_path":"/a/b.go`:                                  "",
		`{"file_path":"/a/b.go"`:                                 "",
		`{"file_path":`:                                          "",
		``:                                                       "",
	} {
		if got := string(plainRead([]byte(raw))); got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
		if want != "" {
			if in, err := DecodeFileInput([]byte(raw)); err != nil || in.FilePath != want {
				t.Errorf("%s: decoded as %q, %v", raw, in.FilePath, err)
			}
		}
	}
}

func FuzzPlainRead(f *testing.F) {
	f.Add(`{"file_path":"/a/b.go","offset":12,"limit":3}`)
	f.Fuzz(func(t *testing.T, raw string) {
		name := plainRead([]byte(raw))
		if len(name) == 0 || !json.Valid([]byte(raw)) { // lines are valid before it is asked
			return
		}
		if in, err := DecodeFileInput([]byte(raw)); err != nil || in.FilePath != string(name) {
			t.Errorf("%s: %q, decoded as %q, %v", raw, name, in.FilePath, err)
		}
	})
}

// TestReadFile holds the files that a session's calls read, of more files than are kept.
func TestReadFile(t *testing.T) {
	var lines strings.Builder
	const calls = 3 * mostFiles / 2
	name := func(i int) string {
		switch {
		case i%7 == 0:
			return fmt.Sprintf("/twice/%d", i%5)
		case i%11 == 0:
			return strings.Repeat("x", mostFileName+1)
		}
		return fmt.Sprintf("/a/%d", i)
	}
	for i := range calls {
		fmt.Fprintf(&lines, `{"type":"assistant","uuid":"u%d","parentUuid":"u%d","message":{"role":"assistant","content":[`+
			`{"type":"tool_use","id":"t%d","name":"Read","input":{"file_path":"%s"}},{"type":"tool_use","id":"w%d","name":"Write","input":{"file_path":"/w"}}]}}`+"\n", i, i-1, i, name(i), i)
	}
	path := filepath.Join(t.TempDir(), "s.jsonl")
	if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Load(path, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	known := 0
	for _, conv := range f.Conversations() {
		for m := range conv.Messages {
			for b := range conv.Messages[m].Blocks {
				bl := &conv.Messages[m].Blocks[b]
				if bl.Kind != jsonl.KindToolUse {
					continue
				}
				got := conv.ReadFile(bl)
				if got != "" {
					known++
				}
				raw, err := conv.Raw(m, b)
				if err != nil {
					t.Fatal(err)
				}
				in, err := DecodeFileInput(raw)
				if err != nil || got != "" && (got != in.FilePath || bl.Name() != "Read") || bl.Signature() != 0 {
					t.Fatalf("%s %s: %q is known, signature of %d, %v", bl.Name(), raw, got, bl.Signature(), err)
				}
			}
		}
	}
	if known < mostFiles || len(f.Main.files.list) > mostFiles {
		t.Errorf("%d calls are known to read %d files, want at most %d of them", known, len(f.Main.files.list), mostFiles)
	}
	odd := NewBlock(jsonl.ContentBlock{Kind: jsonl.KindToolUse, Signature: 3})
	if got := f.Main.ReadFile(&odd); got != "" {
		t.Errorf("a block made by hand reads %q", got)
	}
}
