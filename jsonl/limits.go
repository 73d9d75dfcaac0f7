package jsonl

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// InputLimits are the most that one input, and a replay of it, may cost. 0 means the default, which no recorded session
// comes near.
type InputLimits struct {
	Line     int64 // bytes of a line without its newline: a longer one is set aside and never held in memory as a whole
	Document int64 // bytes of a session that is one document
	Input    int64 // bytes of an input, decompressed
	Ratio    int64 // times its size that a compressed input may become; not counted below 16 MiB
	Offload  int64 // bytes of one offloaded tool result
	Offloads int64 // bytes of all offloaded tool results of a conversation
	Entries  int64 // objects of an input, with their content blocks and the parts of these
	Edits    int64 // edits of a replay of a conversation, and of its record: 800 bytes each, about
	Findings int64 // warnings and findings of a kind that are kept of an input: the first ones; all are counted
}

// InputLimit is one of InputLimits.
type InputLimit struct {
	Name    string
	Bytes   bool // its unit is a byte
	Default int64
	Means   string

	field func(l *InputLimits) *int64
}

// LimitNames lists the limits.
func LimitNames() []InputLimit {
	return []InputLimit{
		{"line", true, 64 << 20, "a line; a longer one is set aside", func(l *InputLimits) *int64 { return &l.Line }},
		{"document", true, 256 << 20, "a session that is one JSON document", func(l *InputLimits) *int64 { return &l.Document }},
		{"input", true, 2 << 30, "a session file or stream, decompressed", func(l *InputLimits) *int64 { return &l.Input }},
		{"ratio", false, 200, "how many times its size a compressed file becomes, from 16 MiB on", func(l *InputLimits) *int64 { return &l.Ratio }},
		{"offload", true, 64 << 20, "the file of one offloaded tool result", func(l *InputLimits) *int64 { return &l.Offload }},
		{"offloads", true, 256 << 20, "all of those of a conversation", func(l *InputLimits) *int64 { return &l.Offloads }},
		{"entries", false, 2_000_000, "JSON objects of a file, with the content blocks in them", func(l *InputLimits) *int64 { return &l.Entries }},
		{"edits", false, 1_000_000, "what the client, or a policy, changes of a conversation: blocks and messages cleared, removed or put back", func(l *InputLimits) *int64 { return &l.Edits }},
		{"findings", false, 10_000, "warnings and findings of one kind that are kept of a file; all are counted", func(l *InputLimits) *int64 { return &l.Findings }},
	}
}

// Most is the largest value that the limit may have: lengths within a line or a document are numbers of 32 bits.
func (l *InputLimit) Most() int64 {
	if l.Name == "line" || l.Name == "document" {
		return math.MaxInt32
	}
	return math.MaxInt64
}

// Set changes the limit of a name. It reports whether there is one.
func (l *InputLimits) Set(name string, n int64) bool {
	for _, limit := range LimitNames() {
		if limit.Name == name {
			*limit.field(l) = n
			return true
		}
	}
	return false
}

// Filled are the limits with the defaults in the place of 0.
func (l InputLimits) Filled() InputLimits {
	for _, limit := range LimitNames() {
		if at := limit.field(&l); *at <= 0 {
			*at = limit.Default
		}
	}
	return l
}

// String lists the limits that are not the defaults.
func (l InputLimits) String() string {
	var list []string
	for _, limit := range LimitNames() {
		if n := *limit.field(&l); n > 0 && n != limit.Default {
			list = append(list, limit.Name+"="+limit.text(n))
		}
	}
	return strings.Join(list, " ")
}

// LimitError says that an input is over a limit.
type LimitError struct {
	Name string // of the InputLimit
	Most int64
}

// overLimit begins the text of every LimitError.
const overLimit = "over the limit "

func (e *LimitError) Error() string { return overLimit + e.Name + "=" + e.amount() }

func (e *LimitError) amount() string {
	for _, limit := range LimitNames() {
		if limit.Name == e.Name {
			return limit.text(e.Most)
		}
	}
	return fmt.Sprint(e.Most)
}

// DefaultText is the default: of bytes with its unit.
func (l *InputLimit) DefaultText() string { return l.text(l.Default) }

// text is a value of the limit: of bytes in the largest unit that gives a whole number.
func (l *InputLimit) text(n int64) string {
	for i, unit := range []string{"GiB", "MiB", "KiB"} {
		if size := int64(1) << (30 - 10*i); l.Bytes && n%size == 0 {
			return fmt.Sprintf("%d%s", n/size, unit)
		}
	}
	return fmt.Sprint(n)
}

// over is the error of an input that is longer than it may be.
func over(name string, most int64) error { return &LimitError{name, most} }

// ReadDocument reads a document. Its error is a *LimitError where it is longer than the limit of documents; what was read
// before is returned with it, as with any other. Nothing is returned of one that has more objects than the limit of entries:
// each takes far more memory than its text.
func (l InputLimits) ReadDocument(r io.Reader) ([]byte, error) {
	l = l.Filled()
	text, err := readMost(r, "document", l.Document)
	quoted := false
	objects := int64(0)
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case b == '"':
			quoted = !quoted
		case b == '\\':
			i++
		case b == '{' && !quoted:
			if objects++; objects > l.Entries {
				return nil, over("entries", l.Entries)
			}
		}
	}
	return text, err
}

// ReadOffload reads an offloaded tool result as ReadDocument reads a document.
func (l InputLimits) ReadOffload(r io.Reader) ([]byte, error) {
	return readMost(r, "offload", l.Filled().Offload)
}

func readMost(r io.Reader, name string, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if int64(len(text)) > most {
		text = text[:most]
		err = over(name, most)
	}
	return text, err
}

// freeRatio is how much content of a compressed input is read whatever its ratio is, in bytes.
const freeRatio = 16 << 20

// budget reads content up to a limit.
type budget struct {
	r      io.Reader
	limits InputLimits
	got    int64
	packed *counter // compressed bytes read; nil: the input is not compressed
}

func (b *budget) Read(p []byte) (int, error) {
	name := "input"
	most := b.limits.Input
	if b.packed != nil {
		if by := max(freeRatio, b.packed.n*b.limits.Ratio); by < most {
			name = "ratio"
			most = by
		}
	}
	if b.got >= most {
		if name == "ratio" {
			return 0, over(name, b.limits.Ratio)
		}
		var one [1]byte // there may be no more
		if n, err := b.r.Read(one[:]); n == 0 {
			return 0, err
		}
		return 0, over(name, most)
	}
	n, err := b.r.Read(p[:min(int64(len(p)), most-b.got)])
	b.got += int64(n)
	return n, err
}

// counter counts what is read.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
