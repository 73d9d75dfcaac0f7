package stats

import (
	"fmt"
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
	tests := []struct {
		name string
		do   func(r *reader)
		want []string
	}{
		{"read once", func(r *reader) { r.returns("a", file(1, "a", "b")) }, []string{"0 0 0 again 0 same 0 held 0"}},
		{"the same again", func(r *reader) {
			r.returns("a", file(1, "a", "b"))
			r.returns("a", file(1, "a", "b"))
		}, []string{"100 0 0 again 0 same 0 held 0", "0 0 0 again 100 same 100 held 100"}},
		{"another file", func(r *reader) {
			r.returns("a", file(1, "a", "b"))
			r.returns("b", file(1, "a", "b"))
		}, []string{"0 0 0 again 0 same 0 held 0", "0 0 0 again 0 same 0 held 0"}},
		{"another range", func(r *reader) {
			r.returns("a", file(1, "a", "b"))
			r.returns("a", file(3, "c", "d"))
		}, []string{"0 0 0 again 0 same 0 held 0", "0 0 0 again 0 same 0 held 0"}},
		{"half of it", func(r *reader) {
			r.returns("a", file(1, "a", "b", "c", "d"))
			r.returns("a", file(3, "c", "x", "e", "f"))
		}, []string{"50 0 0 again 0 same 0 held 0", "0 0 0 again 50 same 25 held 25"}},
		{"a part, then all", func(r *reader) {
			r.returns("a", file(3, "c", "d"))
			r.returns("a", file(1, "a", "b", "c", "d"))
			r.returns("a", file(4, "d"))
		}, []string{"100 0 0 again 0 same 0 held 0", "25 0 0 again 50 same 50 held 50", "0 0 0 again 100 same 100 held 100"}},
		{"with tabs after the numbers", func(r *reader) {
			r.returns("a", "1\ta\n2\tb\n")
			r.returns("a", file(2, "b"))
		}, []string{"50 0 0 again 0 same 0 held 0", "0 0 0 again 100 same 100 held 100"}},
		{"a reminder behind the lines", func(r *reader) {
			r.returns("a", file(1, "a")+"\n<system-reminder>\n12 words\n</system-reminder>\n")
			r.returns("a", file(1, "a"))
		}, []string{"100 0 0 again 0 same 0 held 0", "0 0 0 again 100 same 100 held 100"}},
		{"an edit of a line, and read again", func(r *reader) {
			r.returns("a", file(1, "aaa", "bbb"))
			r.edit("a", session.FileEdit{Old: "bb", New: "cc"}, 5)
			r.returns("a", file(1, "aaa", "ccb"))
		}, []string{"50 50 0 again 0 same 0 held 0", "0 0 0 again 50 same 50 held 50"}},
		{"an edit of two lines", func(r *reader) {
			r.returns("a", file(1, "a1", "b1", "c1", "d1"))
			r.edit("a", session.FileEdit{Old: "1\nc"}, 5)
		}, []string{"0 50 0 again 0 same 0 held 0"}},
		{"an edit that ends with a line", func(r *reader) {
			r.returns("a", file(1, "a", "b", "c", "d"))
			r.edit("a", session.FileEdit{Old: "b\n"}, 5)
		}, []string{"0 25 0 again 0 same 0 held 0"}},
		{"an edit moves the lines behind it", func(r *reader) {
			r.returns("a", file(1, "a", "b", "c", "d"))
			r.edit("a", session.FileEdit{Old: "b", New: "b1\nb2\nb3"}, 5)
			r.returns("a", file(5, "c", "d"))
		}, []string{"50 25 0 again 0 same 0 held 0", "0 0 0 again 100 same 100 held 100"}},
		{"an edit moves no lines before it", func(r *reader) {
			r.returns("a", file(1, "a", "b", "c", "d"))
			r.edit("a", session.FileEdit{Old: "c\nd\n", New: ""}, 5)
			r.returns("a", file(1, "a", "b"))
		}, []string{"50 50 0 again 0 same 0 held 0", "0 0 0 again 100 same 100 held 100"}},
		{"everywhere", func(r *reader) {
			r.returns("a", file(1, "ax", "bb", "cx", "dd"))
			r.edit("a", session.FileEdit{Old: "x", New: "y\n", All: true}, 5)
			r.returns("a", file(3, "bb", "cy", "ee", "dd"))
		}, []string{"50 50 0 again 0 same 0 held 0", "0 0 0 again 50 same 50 held 50"}},
		{"the first place alone", func(r *reader) {
			r.returns("a", file(1, "ax", "bb", "cx", "dd"))
			r.edit("a", session.FileEdit{Old: "x"}, 5)
		}, []string{"0 25 0 again 0 same 0 held 0"}},
		{"not across lines that were not read", func(r *reader) {
			r.returns("a", file(1, "a"))
			r.returns("a", file(3, "c"))
			r.edit("a", session.FileEdit{Old: "a\nc"}, 5)
		}, []string{"0 0 0 again 0 same 0 held 0", "0 0 0 again 0 same 0 held 0"}},
		{"written", func(r *reader) {
			r.returns("a", file(1, "a", "b"))
			r.write("a", 5)
			r.returns("a", file(1, "a", "b"))
		}, []string{"0 0 100 again 0 same 0 held 0", "0 0 0 again 0 same 0 held 0"}},
		{"an edit, then written", func(r *reader) {
			r.returns("a", file(1, "a", "b"))
			r.edit("a", session.FileEdit{Old: "a"}, 5)
			r.write("a", 6)
		}, []string{"0 50 50 again 0 same 0 held 0"}},
		{"without numbers", func(r *reader) {
			r.returns("a", "cell 1\ncell 2")
			r.returns("a", "cell 1\ncell 3")
			r.write("a", 6)
		}, []string{"100 0 0 again 0 same 0 held 0", "0 0 100 again 100 same 0 held 0"}},
		{"while it was gone", func(r *reader) {
			r.returns("a", file(1, "a", "b"))
			r.ledger.Blocks[0].Spans = []Stay{{2, 2, 1000}, {3, 9, 10}} // cleared
			r.request = 5
			r.returns("a", file(1, "a", "b"))
		}, []string{"100 0 0 again 0 same 0 held 0", "0 0 0 again 100 same 100 held 0"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newReader()
			tt.do(r)
			must.Equal(t, r.state(), tt.want)
		})
	}
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
