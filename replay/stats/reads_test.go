package stats

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// reader tries files without a conversation: each Read is a block of 1,000 tokens, sent from its request on.
type reader struct {
	*files
	request int
}

func newReader() *reader { return &reader{files: newFiles(&Ledger{}), request: 1} }

func (r *reader) returns(path, text string) {
	r.request++
	r.ledger.Blocks = append(r.ledger.Blocks, LedgerBlock{Spans: []Stay{{r.request, 1000, 1000}}})
	r.read(len(r.ledger.Blocks)-1, path, text, r.request-1, r.request)
}

// state is the share of each Read that was superseded by a read, an edit and a write, and read again, in percent.
func (r *reader) state() (list []string) {
	for i := range r.reads {
		x := &r.reads[i]
		by := x.staleAt(1000, 100)
		list = append(list, fmt.Sprintf("%d %d %d again %d same %d held %d", by[byRead], by[byEdit], by[byWrite],
			portion(100, x.again, x.bytes), portion(100, x.same, x.bytes), portion(100, x.inView, x.bytes)))
	}
	return list
}

func TestSuperseded(t *testing.T) {
	must.Rows(t, `
# Reads "FILE LINE: LINES" from a line on, edits "OLD => NEW" ("all": everywhere) and writes of the file a, and after them, each Read
# in order: what of it a read, an edit and a write superseded, and what was read again. ; is the end of a line.
read once
	a 1: a;b
	= 0 0 0 again 0 same 0 held 0
the same again
	a 1: a;b
	a 1: a;b
	= 100 0 0 again 0 same 0 held 0
	= 0 0 0 again 100 same 100 held 100
another file
	a 1: a;b
	b 1: a;b
	= 0 0 0 again 0 same 0 held 0
	= 0 0 0 again 0 same 0 held 0
another range
	a 1: a;b
	a 3: c;d
	= 0 0 0 again 0 same 0 held 0
	= 0 0 0 again 0 same 0 held 0
half of it
	a 1: a;b;c;d
	a 3: c;x;e;f
	= 50 0 0 again 0 same 0 held 0
	= 0 0 0 again 50 same 25 held 25
a part, then all
	a 3: c;d
	a 1: a;b;c;d
	a 4: d
	= 100 0 0 again 0 same 0 held 0
	= 25 0 0 again 50 same 50 held 50
	= 0 0 0 again 100 same 100 held 100
with tabs after the numbers
	a: 1→a;2→b;
	a 2: b
	= 50 0 0 again 0 same 0 held 0
	= 0 0 0 again 100 same 100 held 100
a reminder behind the lines
	a: 1→a;;<system-reminder>;12 words;</system-reminder>;
	a 1: a
	= 100 0 0 again 0 same 0 held 0
	= 0 0 0 again 100 same 100 held 100
an edit of a line, and read again
	a 1: aaa;bbb
	edit bb => cc
	a 1: aaa;ccb
	= 50 50 0 again 0 same 0 held 0
	= 0 0 0 again 50 same 50 held 50
an edit of two lines
	a 1: a1;b1;c1;d1
	edit 1;c =>
	= 0 50 0 again 0 same 0 held 0
an edit that ends with a line
	a 1: a;b;c;d
	edit b; =>
	= 0 25 0 again 0 same 0 held 0
an edit moves the lines behind it
	a 1: a;b;c;d
	edit b => b1;b2;b3
	a 5: c;d
	= 50 25 0 again 0 same 0 held 0
	= 0 0 0 again 100 same 100 held 100
an edit moves no lines before it
	a 1: a;b;c;d
	edit c;d; =>
	a 1: a;b
	= 50 50 0 again 0 same 0 held 0
	= 0 0 0 again 100 same 100 held 100
everywhere
	a 1: ax;bb;cx;dd
	all x => y;
	a 3: bb;cy;ee;dd
	= 50 50 0 again 0 same 0 held 0
	= 0 0 0 again 50 same 50 held 50
the first place alone
	a 1: ax;bb;cx;dd
	edit x =>
	= 0 25 0 again 0 same 0 held 0
not across lines that were not read
	a 1: a
	a 3: c
	edit a;c =>
	= 0 0 0 again 0 same 0 held 0
	= 0 0 0 again 0 same 0 held 0
written
	a 1: a;b
	write
	a 1: a;b
	= 0 0 100 again 0 same 0 held 0
	= 0 0 0 again 0 same 0 held 0
an edit, then written
	a 1: a;b
	edit a =>
	write
	= 0 50 50 again 0 same 0 held 0
without numbers
	a: cell 1;cell 2
	a: cell 1;cell 3
	write
	= 100 0 0 again 0 same 0 held 0
	= 0 0 100 again 100 same 0 held 0
while it was gone
	a 1: a;b
	cleared
	a 1: a;b
	= 100 0 0 again 0 same 0 held 0
	= 0 0 0 again 100 same 100 held 0
`, func(name string, steps []string) {
		r := newReader()
		var want []string
		for _, step := range steps {
			verb, text, _ := strings.Cut(strings.ReplaceAll(step, ";", "\n"), " ")
			from, _, _ := strings.Cut(text, ":")
			before, after, _ := strings.Cut(text, " =>")
			switch n, err := strconv.Atoi(from); {
			case verb == "=":
				want = append(want, text)
			case verb == "write":
				r.write("a", 5)
			case verb == "edit" || verb == "all":
				r.edit("a", session.FileEdit{Old: before, New: strings.TrimPrefix(after, " "), All: verb == "all"}, 5)
			case verb == "cleared":
				r.ledger.Blocks[0].Spans, r.request = []Stay{{2, 2, 1000}, {3, 9, 10}}, 5
			case err == nil:
				r.returns(verb, file(n, strings.Split(text[len(from)+2:], "\n")...))
			default:
				r.returns(strings.TrimSuffix(verb, ":"), strings.ReplaceAll(text, "→", "\t"))
			}
		}
		must.Equal(t, r.state(), want, name)
	})
}

// TestFilesAreLimited holds that files beyond the limits are dropped and that the others are followed.
func TestFilesAreLimited(t *testing.T) {
	r := newReader()
	r.room = 100
	r.returns("big", file(1, strings.Repeat("x", 200)))
	r.returns("a", file(1, "a", "b"))
	r.returns("a", file(1, "a", "b"))
	r.steps = 10
	r.returns("b", file(1, "abcdefghijkl"))
	r.steps = 1 << 20
	r.returns("b", file(1, "abcdefghijkl"))
	must.Equal(t, r.state(), []string{
		"0 0 0 again 0 same 0 held 0", "100 0 0 again 0 same 0 held 0", "0 0 0 again 100 same 100 held 100",
		"0 0 0 again 0 same 0 held 0", "0 0 0 again 0 same 0 held 0",
	})
	if !r.dropped["big"] || !r.dropped["b"] || len(r.dropped) != 2 || r.room != 98 {
		t.Errorf("dropped: %v, room %d", r.dropped, r.room)
	}
}

func TestFilePath(t *testing.T) {
	for _, tt := range [][3]string{
		{"/home/dev", "/home/dev/a.go", "a.go"},
		{"/home/dev", "a.go", "a.go"},
		{"/home/dev", "./x/../a.go", "a.go"},
		{"/home/dev/", "/home//dev/b/a.go", "b/a.go"},
		{"/home/dev", "/home/other/a.go", "/home/other/a.go"},
		{"/home/dev", "../a.go", "/home/a.go"},
		{"/home/dev", "~/a.go", "~/a.go"},
		{"/", "/a.go", "/a.go"},
		{`C:\dev`, `C:\dev\x\a.go`, "x/a.go"},
		{`C:\dev`, `x\a.go`, "x/a.go"},
		{"/home/dev", "", "/home/dev"},
	} {
		must.Equal(t, filePath(tt[0], tt[1]), tt[2])
	}
}

// FuzzFiles holds that no order of reads and changes supersedes more than was read, and that room is given back.
func FuzzFiles(f *testing.F) {
	f.Add([]byte("r\x01\x05r\x03\x04e\x02\x01w\x00\x00r\x01\x05"))
	f.Fuzz(func(t *testing.T, ops []byte) {
		r := newReader()
		for ; len(ops) >= 3 && r.request < 300; ops = ops[3:] {
			a, b := int(ops[1]%16), int(ops[2]%16)
			switch ops[0] % 4 {
			case 0, 1:
				var lines []string
				for i := range b {
					lines = append(lines, strings.Repeat("x", (a+i)%7))
				}
				r.returns("a", file(a, lines...))
			case 2:
				r.edit("a", session.FileEdit{Old: strings.Repeat("x\n", a%3) + "x", New: strings.Repeat("y\n", b%3), All: b > 7}, r.request)
			default:
				r.write("a", r.request)
			}
			last := -1
			for _, l := range r.held["a"] {
				if l.number <= last && len(r.held["a"]) > 1 {
					t.Fatalf("line %d behind line %d", l.number, last)
				}
				last = l.number
			}
		}
		for i := range r.reads {
			x := &r.reads[i]
			sum := 0
			for _, n := range x.staleAt(1000, 1000) {
				sum += n
			}
			if sum > 1000 || x.inView > x.same || x.same > x.again || x.again > x.bytes {
				t.Errorf("read %d: %+v", i, x)
			}
		}
		r.write("a", r.request)
		must.Equal(t, r.room, maxHeld)
	})
}
