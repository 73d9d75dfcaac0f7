package jsonl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// kept is a record that outlives the reader.
type kept struct {
	Item
	E Entry
	S SyntaxError
}

func keep(rec *Item) kept {
	k := kept{Item: *rec}
	if rec.Entry != nil {
		k.E = *rec.Entry.clone()
	}
	if rec.Err != nil {
		k.S = *rec.Err
	}
	k.Entry, k.Err = nil, nil
	return k
}

// String is one record in short: what it is, where, and its bytes.
func (k kept) String() string {
	at := fmt.Sprintf("%d@%d+%d", k.Line, k.Span.Off, k.Span.Len)
	switch k.Kind {
	case ItemEntry:
		return fmt.Sprintf("entry %s.%d %s", at, k.E.Part, k.E.Raw)
	case ItemError:
		return fmt.Sprintf("error %s col %d: %s", at, k.S.Col, k.S.Msg)
	case ItemComment:
		return "comment " + at
	}
	return "blank " + at
}

func readAll(r *Reader) ([]kept, error) {
	var all []kept
	for r.Scan() {
		all = append(all, keep(r.Item()))
	}
	return all, r.Err()
}

func read(text string, opt ReadOptions) []kept {
	all, err := readAll(NewReader(strings.NewReader(text), "f", opt))
	if err != nil {
		panic(err)
	}
	return all
}

func TestReaderHazards(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 10001)
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"empty file", "", nil},
		{"one line", "{\"a\":1}\n", []string{`entry 1@0+7.0 {"a":1}`}},
		{"no newline at the end", "{}\n{\"a\":1}", []string{`entry 1@0+2.0 {}`, `entry 2@3+7.0 {"a":1}`}},
		{"carriage returns", "{}\r\n\r\n{} \r\n", []string{`entry 1@0+2.0 {}`, `blank 2@4+1`, `entry 3@6+2.0 {}`}},
		{"byte order mark", "\ufeff{}\n{}\n", []string{`entry 1@3+2.0 {}`, `entry 2@6+2.0 {}`}},
		{"byte order mark alone", "\ufeff", nil},
		{"byte order mark within", "{}\n\ufeff{}\n", []string{`entry 1@0+2.0 {}`, `error 2@3+3 col 1: expected a value`, `entry 2@6+2.0 {}`}},
		{"blank lines", "\n  \n{}\n\n", []string{`blank 1@0+0`, `blank 2@1+2`, `entry 3@4+2.0 {}`, `blank 4@7+0`}},
		{"comments", "// one\n  //two\n/ three\n{}", []string{`comment 1@0+6`, `comment 2@7+7`, `error 3@15+7 col 1: expected a value`, `entry 4@23+2.0 {}`}},
		{"fused", `{"a":1}{"b":2} {"c":3}`, []string{`entry 1@0+7.0 {"a":1}`, `entry 1@7+7.1 {"b":2}`, `entry 1@15+7.2 {"c":3}`}},
		{"rubbish between", `{"a":1}xyz {"b":2}`, []string{`entry 1@0+7.0 {"a":1}`, `error 1@7+3 col 8: expected a value`, `entry 1@11+7.1 {"b":2}`}},
		{"rubbish behind", `{"a":1}]`, []string{`entry 1@0+7.0 {"a":1}`, `error 1@7+1 col 8: expected a value`}},
		{"rubbish before", `xyz{"a":1}`, []string{`error 1@0+3 col 1: expected a value`, `entry 1@3+7.0 {"a":1}`}},
		{"rubbish around", `x{"a":1}y{"b":2}z`, []string{`error 1@0+1 col 1: expected a value`, `entry 1@1+7.0 {"a":1}`, `error 1@8+1 col 9: expected a value`, `entry 1@9+7.1 {"b":2}`, `error 1@16+1 col 17: expected a value`}},
		{"a comma between", `{"a":1},{"b":2}`, []string{`entry 1@0+7.0 {"a":1}`, `error 1@7+1 col 8: expected a value`, `entry 1@8+7.1 {"b":2}`}},
		{"truncated", `{"type":"user","message":{"role":"us`, []string{`error 1@0+36 col 37: unexpected end of the text`}},
		{"truncated behind an object", `{"type":"user","message":{"role":"user"}`, []string{`error 1@0+40 col 41: unexpected end of the text`}},
		{"truncated and fused", `{"type":"us{"type":"summary"}`, []string{`error 1@0+11 col 14: expected a comma or a closing bracket after the value`, `entry 1@11+18.0 {"type":"summary"}`}},
		{"head lost", `"user","message":{"role":"user"},"uuid":"x"}{"b":2}`, []string{`error 1@0+44 col 1: not an object`, `entry 1@44+7.0 {"b":2}`}},
		{"not an object", "[{\"a\":1},{\"b\":2}]\n\"x\"\n1\nnull\n[] {}", []string{`error 1@0+17 col 1: not an object`, `error 2@18+3 col 1: not an object`, `error 3@22+1 col 1: not an object`, `error 4@24+4 col 1: not an object`, `error 5@29+2 col 1: not an object`, `entry 5@32+2.0 {}`}},
		{"pretty-printed", "{\n  \"a\": {\n    \"b\": 1\n  }\n}\n", []string{`error 1@0+1 col 2: unexpected end of the text`, `error 2@4+6 col 3: not an object`, `error 3@15+6 col 5: not an object`, `error 4@24+1 col 3: expected a value`, `error 5@26+1 col 1: expected a value`}},
		{"NUL-filled tail", "{}\n\x00\x00\x00\x00", []string{`entry 1@0+2.0 {}`, `error 2@3+4 col 1: NUL bytes`}},
		{"NULs behind an entry", "{}\x00\x00\n{}", []string{`entry 1@0+2.0 {}`, `error 1@2+2 col 3: NUL bytes`, `entry 2@5+2.0 {}`}},
		{"NULs before an entry", "\x00\x00{}\n", []string{`error 1@0+2 col 1: NUL bytes`, `entry 1@2+2.0 {}`}},
		{"control character", "{\"a\":\"b\tc\"}\n{}", []string{"error 1@0+11 col 8: control character in a string", `entry 2@12+2.0 {}`}},
		{"not UTF-8", "{\"a\":\"\xff\"}", []string{"entry 1@0+9.0 {\"a\":\"\xff\"}"}},
		{"too deep", deep + "\n{}", []string{fmt.Sprintf("error 1@0+%d col 50001: nested more than 10000 deep", len(deep)), fmt.Sprintf("entry 2@%d+2.0 {}", len(deep)+1)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, k := range read(c.text, ReadOptions{}) {
				got = append(got, k.String())
			}
			must.Equal(t, got, c.want)
			checkReader(t, []byte(c.text), 0)
			checkReader(t, []byte(c.text), 5)
		})
	}
}

func TestMaxLine(t *testing.T) {
	text := "{}\n" + `{"a":"12345678"}` + "\n{}\n" + strings.Repeat(" ", 50)
	var got []string
	for _, k := range read(text, ReadOptions{MaxLine: 15}) {
		got = append(got, k.String())
	}
	want := []string{"entry 1@0+2.0 {}", "error 2@3+16 col 1: over the limit line=15", "entry 3@20+2.0 {}", "error 4@23+50 col 1: over the limit line=15"}
	must.Equal(t, got, want)
	must.Equal(t, len(read(text, ReadOptions{MaxLine: 16})), 4)
	checkReader(t, []byte(text), 15)
}

// A line over the limit must not be held in memory.
func TestMaxLineMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 1 GiB")
	}
	long := io.MultiReader(strings.NewReader(`{}`+"\n"+`{"a":"`), io.LimitReader(repeat('x'), 1<<30), strings.NewReader("\"}\n{}\n"))
	r := NewReader(long, "f", ReadOptions{MaxLine: 1 << 20})
	all, err := readAll(r)
	if err != nil || len(all) != 3 || all[1].Span.Len != 1<<30+8 || all[2].E.Line != 3 || all[2].E.Offset != 3+1<<30+8+1 {
		t.Errorf("%v, %v", all, err)
	}
	if n := len(r.walk.blk.fill); n > 4<<20 {
		t.Errorf("the buffer grew to %d bytes", n)
	}
}

type repeat byte

func (r repeat) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r)
	}
	return len(p), nil
}

func TestReaderError(t *testing.T) {
	broken := errors.New("the disk is gone")
	r := NewReader(io.MultiReader(strings.NewReader("{}\n{}\n{\"a\""), iotest.ErrReader(broken)), "f.jsonl", ReadOptions{})
	all, err := readAll(r)
	must.Say(t, "true f.jsonl:4: the disk is gone", errors.Is(err, broken), err.Error())
	if len(all) != 3 || all[2].Kind != ItemError {
		t.Errorf("got %v", all)
	}
}

// checkReader reads text with every reader and compares the records with each other, with the text, and with
// encoding/json.
func checkReader(t testing.TB, text []byte, maxLine int) {
	t.Helper()
	opt := ReadOptions{MaxLine: maxLine}
	r := NewReader(bytes.NewReader(text), "f", opt)
	var all []kept
	at, line := 0, 0
	if bytes.HasPrefix(text, []byte(byteOrderMark)) {
		at = 3
	}
	for r.Scan() {
		rec := r.Item()
		all = append(all, keep(rec))
		gap := text[at:rec.Span.Off]
		if len(bytes.Trim(gap, " \t\r\n")) > 0 {
			t.Fatalf("%q: %q is in no record", text, gap)
		}
		if line == 0 {
			line = 1
		}
		line += bytes.Count(gap, []byte("\n"))
		if line != rec.Line {
			t.Fatalf("%q: record at %d says line %d, it is on %d", text, rec.Span.Off, rec.Line, line)
		}
		at = int(rec.Span.Off) + rec.Span.Len
		if e := r.Item().Entry; e != nil {
			if !json.Valid(e.Raw) || e.Raw[0] != '{' {
				t.Fatalf("%q: entry of %q", text, e.Raw)
			}
			checkEntry(t, e, text)
		}
	}
	if gap := text[min(at, len(text)):]; len(bytes.Trim(gap, " \t\r\n")) > 0 {
		t.Fatalf("%q: %q is in no record", text, gap)
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	checkObjects(t, text, all, maxLine)
	same := func(how string, got []kept, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%q: %s: %v", text, how, err)
		}
		if len(got) != len(all) {
			t.Fatalf("%q: %s: %d records, want %d", text, how, len(got), len(all))
		}
		for i := range all {
			if d := fmt.Sprint(got[i]); d != fmt.Sprint(all[i]) {
				t.Fatalf("%q: %s: record %d is %s, want %s", text, how, i, d, all[i])
			}
			diff(t, &all[i].E, how, got[i].E, all[i].E)
		}
	}
	for _, size := range []int{3, 7, 64} {
		r := &Reader{cut: newCutter(iotest.OneByteReader(bytes.NewReader(text)), opt, size), walk: newWalker("f", opt)}
		got, err := readAll(r)
		same(fmt.Sprint("blocks of ", size), got, err)
		cut := newCutter(iotest.HalfReader(bytes.NewReader(text)), opt, size)
		cut.whole = true
		got = nil
		lines, err := eachParallel(cut, "f", 3, opt, func(rec *Item) error {
			got = append(got, keep(rec))
			return nil
		})
		same(fmt.Sprint("parallel blocks of ", size), got, err)
		if len(all) > 0 && lines != all[len(all)-1].Line {
			t.Fatalf("%q: %d lines, want %d", text, lines, all[len(all)-1].Line)
		}
	}
	for jobs := 1; jobs <= 2; jobs++ {
		s, err := OpenReader("f", bytes.NewReader(text))
		if err != nil {
			return // taken for compressed
		}
		if packing(text[:min(4, len(text))]) == "" {
			var got []kept
			err = s.Each(jobs, opt, func(rec *Item) error { got = append(got, keep(rec)); return nil })
			same(fmt.Sprint("each ", jobs), got, err)
		}
		s.Close()
	}
}

// checkObjects holds the lines that are one JSON object against the entries.
func checkObjects(t testing.TB, text []byte, all []kept, maxLine int) {
	t.Helper()
	text = bytes.TrimPrefix(text, []byte(byteOrderMark))
	i := 0
	for n, line := range bytes.Split(text, []byte("\n")) {
		for i < len(all) && all[i].Line <= n {
			i++
		}
		if trimmed := bytes.Trim(line, " \t\r"); (maxLine == 0 || len(line) <= maxLine) && len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(trimmed) {
			if i >= len(all) || all[i].Line != n+1 || all[i].Kind != ItemEntry || !bytes.Equal(all[i].E.Raw, trimmed) {
				t.Fatalf("%q: line %d is an object, but no entry", text, n+1)
			}
		}
	}
}

func FuzzReader(f *testing.F) {
	for _, line := range sessionLines() {
		if len(line) < 2000 {
			f.Add([]byte(line), uint8(0))
		}
	}
	for _, line := range hazardLines() {
		f.Add([]byte(line), uint8(0))
	}
	f.Add([]byte("\ufeff{}\r\n\n// x\n{\"a\":1}{\"b\":2}x{\"c\":3}\n[1]\n{\"a\"\n\x00\x00"), uint8(9))
	f.Fuzz(func(t *testing.T, text []byte, maxLine uint8) {
		if len(text) < 4<<10 {
			checkReader(t, text, int(maxLine))
		}
	})
}
