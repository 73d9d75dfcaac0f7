package jsonl

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// packed is a text compressed.
func packed(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	must.Get(io.WriteString(z, text))(t)
	must.Do(t, z.Close())
	return b.Bytes()
}

// TestInputLimits: what is over a limit is read up to it, and no further.
func TestInputLimits(t *testing.T) {
	text := strings.Repeat("{}\n", 1000)
	bomb := strings.Repeat(strings.Repeat(" ", 1<<20-1)+"\n", 18)
	for _, c := range []struct {
		name   string
		data   []byte
		limits InputLimits
		over   string // name of the limit; "": none
		most   int64  // bytes read
	}{
		{"as long as it may be", []byte(text), InputLimits{Input: 3000}, "", 3000},
		{"a byte longer", []byte(text), InputLimits{Input: 2999}, "input", 2999},
		{"decompressed", packed(t, text), InputLimits{Input: 2000}, "input", 2000},
		{"small, whatever its ratio", packed(t, text), InputLimits{Ratio: 1}, "", 3000},
		{"many times its size", packed(t, bomb), InputLimits{}, "ratio", freeRatio},
		{"allowed", packed(t, bomb), InputLimits{Ratio: 1200}, "", int64(len(bomb))},
		{"not compressed", []byte(bomb), InputLimits{Ratio: 1}, "", int64(len(bomb))},
	} {
		s, err := c.limits.OpenReader("f", bytes.NewReader(c.data))
		if err != nil {
			t.Fatal(err)
		}
		n, err := s.WriteTo(io.Discard)
		var over *LimitError
		if name := ""; errors.As(err, &over) {
			if name = over.Name; name != c.over || n != c.most {
				t.Errorf("%s: %d bytes, then %v; want %d and %q", c.name, n, err, c.most, c.over)
			}
		} else if err != nil || c.over != "" || n != c.most {
			t.Errorf("%s: %d bytes and %v, want %d and %q", c.name, n, err, c.most, c.over)
		}
		s.Close()
	}
	path := filepath.Join(t.TempDir(), "f")
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	if _, err := (InputLimits{Input: 2999}).Open(path); err == nil || !strings.HasSuffix(err.Error(), "over the limit input=2999") {
		t.Errorf("a plain file over the limit: %v", err)
	}
	if s, err := (InputLimits{Input: 3000}).Open(path); err != nil {
		t.Error(err)
	} else {
		s.Close()
	}
}

func TestReadDocument(t *testing.T) {
	must.Rows(t, `
# most | want
5 | 12345
4 | 1234
`, func(most int64, want string) {
		got, err := InputLimits{Document: most}.ReadDocument(strings.NewReader("12345"))
		if string(got) != want || (err != nil) != (most < 5) {
			t.Errorf("limit %d: %q, %v", most, got, err)
		}
	})
}

// TestManyObjects: nothing is read of a document with more objects than the limit of entries; those in a text do not count.
func TestManyObjects(t *testing.T) {
	must.Rows(t, `
[{},{}]               | [{},{}]
[{},{"a":{}}]         | ""
["{{{\"{",{},{}]      | ["{{{\"{",{},{}]
["{{{\\",{},{},{},{}] | ""
`, func(text, want string) {
		got, err := InputLimits{Entries: 2}.ReadDocument(strings.NewReader(text))
		var over *LimitError
		if string(got) != want || errors.As(err, &over) != (want == "") {
			t.Errorf("%s: %s, %v, want %q", text, got, err, want)
		}
	})
}

func TestLimitNames(t *testing.T) {
	var l InputLimits
	for i, limit := range LimitNames() {
		if !l.Set(limit.Name, int64(i+1)) {
			t.Errorf("no limit %s", limit.Name)
		}
	}
	if want := (InputLimits{1, 2, 3, 4, 5, 6, 7, 8, 9}); l != want || l.Filled() != want || l.Set("lines", 1) {
		t.Errorf("%+v, want %+v", l, want)
	}
	must.Rows(t, `
# most | want
67108864 | line=64MiB
1536     | line=1536
5120     | line=5KiB
`, func(most int64, want string) {
		must.Equal(t, (&LimitError{"line", most}).Error(), "over the limit "+want)
	})
}
