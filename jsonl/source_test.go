package jsonl

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// manyLines is a text of several blocks and store frames.
func manyLines() []byte {
	return []byte(strings.Repeat(strings.Join(append(sessionLines(), "// comment", "", `{"a":`, `{}{}`), "\n")+"\n", 130))
}

func packGzip(t testing.TB, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, part := range [][]byte{text[:len(text)/3], text[len(text)/3:]} { // two members
		z := gzip.NewWriter(&b)
		must.Get(z.Write(part))(t)
		must.Do(t, z.Close())
	}
	return b.Bytes()
}

func packZstd(t testing.TB, text []byte) []byte {
	t.Helper()
	z := must.Get(zstd.NewWriter(nil))(t)
	b := []byte("\x51\x2A\x4D\x18\x03\x00\x00\x00abc") // a skippable frame
	b = z.EncodeAll(text[:len(text)/3], b)
	return z.EncodeAll(text[len(text)/3:], b)
}

func writeFile(t testing.TB, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must.Do(t, os.WriteFile(path, b, 0o600))
	return path
}

// The same records come from every packing, opened by every way, and every span reads again what its record was made
// of.
func TestSource(t *testing.T) {
	text := manyLines()
	want := read(string(text), ReadOptions{})
	packings := map[string][]byte{"plain": text, "gzip": packGzip(t, text), "zstd": packZstd(t, text)}
	for name, packed := range packings {
		path := writeFile(t, "session.jsonl", packed) // the name says nothing
		opens := map[string]func() (*Source, error){
			"file":   func() (*Source, error) { return Open(path) },
			"stream": func() (*Source, error) { return OpenReader(path, bytes.NewReader(packed)) },
		}
		for how, open := range opens {
			t.Run(name+" "+how, func(t *testing.T) {
				s := must.Get(open())(t)
				defer s.Close()
				if size := s.Size(); how == "file" && size != int64(len(packed)) || how == "stream" && size != 0 {
					t.Errorf("Size() = %d", size)
				}
				for round, jobs := range []int{1, 2, 3} { // the later rounds read the store
					i := 0
					err := s.Each(jobs, ReadOptions{}, func(rec *Item) error {
						if got, w := keep(rec), want[i]; got.Kind != w.Kind || got.Line != w.Line || got.Span != w.Span || got.E.Part != w.E.Part || got.E.UUID != w.E.UUID {
							t.Fatalf("round %d: record %d is %v, want %v", round, i, got, w)
						}
						if i%5 == 0 {
							got, err := s.ReadSpan(rec.Span)
							if off := rec.Span.Off; err != nil || !bytes.Equal(got, text[off:int(off)+rec.Span.Len]) {
								t.Fatalf("round %d: record %d: ReadSpan(%v) = %q, %v", round, i, rec.Span, got, err)
							}
						}
						i++
						return nil
					})
					if err != nil || i != len(want) {
						t.Fatalf("round %d: %d of %d records, %v", round, i, len(want), err)
					}
				}
				var wg sync.WaitGroup
				for g := range 4 {
					wg.Add(1)
					go func() {
						defer wg.Done()
						for i := g; i < len(want); i += 3 {
							sp := want[i].Span
							if got, err := s.ReadSpan(sp); err != nil || !bytes.Equal(got, text[sp.Off:int(sp.Off)+sp.Len]) {
								t.Errorf("ReadSpan(%v): %v", sp, err)
							}
						}
					}()
				}
				wg.Wait()
				all := Span{0, len(text)}
				if got, err := s.ReadSpan(all); err != nil || !bytes.Equal(got, text) {
					t.Errorf("ReadSpan of everything: %v", err)
				}
				for _, sp := range []Span{{1, len(text)}, {int64(len(text)), 1}, {1 << 40, 5}, {0, 1 << 40}} {
					if _, err := s.ReadSpan(sp); !errors.Is(err, io.ErrUnexpectedEOF) {
						t.Errorf("ReadSpan(%v): %v", sp, err)
					}
				}
				if _, err := s.ReadSpan(Span{-1, 1}); err == nil {
					t.Error("ReadSpan of a negative offset")
				}
				if _, err := s.ReadSpan(Span{0, -1}); err == nil {
					t.Error("ReadSpan of a negative length")
				}
			})
		}
	}
}

func TestNotRead(t *testing.T) {
	s := must.Get(OpenReader("f", bytes.NewReader(manyLines())))(t)
	if _, err := s.ReadSpan(Span{0, 10}); !errors.Is(err, ErrNotRead) {
		t.Errorf("ReadSpan before Each: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Each(1, ReadOptions{}, func(*Item) error { return nil }); err == nil {
		t.Error("Each after Close")
	}
}

// A truncated file gives its readable entries, then an error that says so.
func TestTruncated(t *testing.T) {
	text := manyLines()
	want := read(string(text), ReadOptions{})
	for name, packed := range map[string][]byte{"gzip": packGzip(t, text), "zstd": packZstd(t, text)} {
		for _, cut := range []int{5, len(packed) / 2, len(packed) - 1} {
			for jobs := 1; jobs <= 2; jobs++ {
				s, err := Open(writeFile(t, "f", packed[:cut]))
				if err != nil {
					if cut > 5 || !strings.Contains(err.Error(), "truncated "+name) {
						t.Errorf("%s cut at %d: %v", name, cut, err)
					}
					continue
				}
				n, bad := 0, 0
				err = s.Each(jobs, ReadOptions{}, func(rec *Item) error {
					if k := keep(rec); k.String() != want[n].String() {
						if bad++; bad > 1 { // the line that was cut
							t.Errorf("%s cut at %d: record %d is %s", name, cut, n, k)
						}
					}
					n++
					return nil
				})
				if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), ": truncated "+name) {
					t.Errorf("%s cut at %d: %v", name, cut, err)
				}
				if cut == len(packed)/2 && n < len(want)/5 {
					t.Errorf("%s cut at %d: %d of %d records", name, cut, n, len(want))
				}
				s.Close()
			}
		}
	}
}

func TestCorruptGzip(t *testing.T) {
	packed := packGzip(t, manyLines())
	packed[len(packed)-6] ^= 1 // the checksum
	s, err := Open(writeFile(t, "f", packed))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = s.Each(1, ReadOptions{}, func(*Item) error { return nil })
	if !errors.Is(err, gzip.ErrChecksum) {
		t.Errorf("got %v", err)
	}
}

func TestOpenErrors(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := Open(t.TempDir()); err == nil || !strings.HasSuffix(err.Error(), "is a directory") {
		t.Errorf("got %v", err)
	}
	if _, err := OpenReader("f", io.MultiReader(strings.NewReader("{"), badReader{})); !errors.Is(err, errBad) {
		t.Errorf("got %v", err)
	}
}

var errBad = errors.New("bad")

type badReader struct{}

func (badReader) Read([]byte) (int, error) { return 0, errBad }

func TestEmpty(t *testing.T) {
	for _, b := range [][]byte{nil, packGzip(t, nil), packZstd(t, nil)} {
		s := must.Get(Open(writeFile(t, "f", b)))(t)
		if err := s.Each(2, ReadOptions{}, func(*Item) error { return errBad }); err != nil {
			t.Error(err)
		}
		s.Close()
	}
}

// An error of fn ends Each at once, and a second Each begins anew.
func TestEachStops(t *testing.T) {
	text := manyLines()
	for jobs := 1; jobs <= 3; jobs++ {
		for _, packed := range [][]byte{text, packGzip(t, text)} {
			s, err := OpenReader("f", bytes.NewReader(packed))
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			err = s.Each(jobs, ReadOptions{}, func(*Item) error {
				if n++; n == 100 {
					return errBad
				}
				return nil
			})
			if !errors.Is(err, errBad) || n != 100 {
				t.Errorf("%d jobs: %v after %d records", jobs, err, n)
			}
			n = 0
			if err := s.Each(jobs, ReadOptions{}, func(*Item) error { n++; return nil }); err != nil || n != len(read(string(text), ReadOptions{})) {
				t.Errorf("%d jobs: %d records in the second round, %v", jobs, n, err)
			}
			s.Close()
		}
	}
}

// A file of very short records must not need more memory than one of long ones.
func TestShortRecords(t *testing.T) {
	for _, text := range []string{strings.Repeat("{}", 200_000), strings.Repeat("{}\n", 100_000), strings.Repeat("\n", 300_000), strings.Repeat("1 ", 300_000)} {
		r := NewReader(strings.NewReader(text), "f", ReadOptions{})
		want, got := 0, 0
		for r.Scan() {
			want++
		}
		s := must.Get(OpenReader("f", strings.NewReader(text)))(t)
		if err := s.Each(2, ReadOptions{}, func(*Item) error { got++; return nil }); err != nil || got != want {
			t.Errorf("%v: %d records, want %d", err, got, want)
		}
		s.Close()
	}
}

// TestSourceGrows: a file that a client still writes is read again as it was when it was opened.
func TestSourceGrows(t *testing.T) {
	path := writeFile(t, "s.jsonl", []byte("{\"n\":1}\n"))
	s := must.Get(Open(path))(t)
	defer s.Close()
	for range 2 {
		n := 0
		if err := s.Each(1, ReadOptions{}, func(*Item) error { n++; return nil }); err != nil || n != 1 {
			t.Errorf("%d lines, %v", n, err)
		}
		must.Do(t, os.WriteFile(path, []byte("{\"n\":1}\n{\"n\":2}\n"), 0o600))
	}
}
