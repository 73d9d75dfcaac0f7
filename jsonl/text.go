package jsonl

import (
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/scan"
)

// Unquote decodes a JSON string literal, quotes included. As in encoding/json, each lone surrogate and each byte that
// is not UTF-8 becomes U+FFFD. It returns false where raw is not one string literal.
func Unquote(raw []byte) (string, bool) {
	text, ok := scan.Unquote(raw)
	return string(text), ok
}

// Measure returns the lengths of a decoded text.
func Measure(s string) Metrics {
	m := Metrics{Bytes: len(s), JSON: 2}
	for _, r := range s {
		n := 1
		if r > 0xFFFF {
			n = 2
		}
		m.UTF16 += n
		switch {
		case r == '"' || r == '\\' || r == '\b' || r == '\f' || r == '\n' || r == '\r' || r == '\t':
			n = 2
		case r < 0x20:
			n = 6
		}
		m.JSON += n
	}
	return m
}

// shortDigits is how many characters a short id has.
const shortDigits = 6

// ShortID derives the six characters that identify a uuid: its first ten hexadecimal digits as a number, in base 36,
// of which the first six digits. A text that does not begin with ten hexadecimal digits (hyphens left out) is hashed
// (FNV-1a, 64 bits) instead.
func ShortID(uuid string) string {
	const hex = 10
	digits := make([]byte, 0, hex)
	for i := 0; i < len(uuid) && len(digits) < hex; i++ {
		if uuid[i] != '-' {
			digits = append(digits, uuid[i])
		}
	}
	n, err := strconv.ParseUint(string(digits), 16, 64)
	if err != nil || len(digits) < hex {
		return ShortHash(uuid)
	}
	return shortened(n)
}

// ShortHash is six characters for any text.
func ShortHash(s string) string {
	h := fnv.New64a()
	h.Write([]byte(s))
	return shortened(h.Sum64())
}

func shortened(n uint64) string {
	s := strconv.FormatUint(n, 36)
	if len(s) < shortDigits {
		return strings.Repeat("0", shortDigits-len(s)) + s
	}
	return s[:shortDigits]
}

// locate turns the spans of a decoded entry, indexes into its line, into file offsets.
func (e *entry) locate(line int64) {
	content := e.Message.Content
	for i := range content {
		bl := &content[i]
		bl.Span.Off += line
		if bl.Value.Len > 0 {
			bl.Value.Off += line
		}
		for k := range bl.Parts {
			bl.Parts[k].Span.Off += line
		}
	}
}

// index is the position of raw in e.Raw, or -1.
func (e *Entry) index(raw []byte) int {
	if len(raw) == 0 {
		return -1
	}
	// Both slices end at the end of the same memory.
	i := cap(e.Raw) - cap(raw)
	if i < 0 || i+len(raw) > len(e.Raw) || &e.Raw[i] != &raw[0] {
		return -1
	}
	return i
}

// SpanOf returns the position in the file of one of the entry's raw fields, or of a slice of one; false if raw is not
// a part of e.Raw.
func (e *Entry) SpanOf(raw []byte) (Span, bool) {
	i := e.index(raw)
	if i < 0 {
		return Span{}, false
	}
	return Span{e.Offset + int64(i), len(raw)}, true
}

// Bounds on what an interner keeps, so that a hostile file cannot make it grow.
const (
	internEntries = 4096
	internBytes   = 512 // of one string
)

// interner gives equal strings the same memory. Without it a replay takes too much (bars in docs/performance.md).
type interner struct{ all map[string]string }

// intern returns b as a string of low cardinality.
func (in *interner) intern(b []byte) string {
	s, ok := in.all[string(b)]
	if !ok {
		s = string(b)
		if len(b) <= internBytes && len(in.all) < internEntries {
			if in.all == nil {
				in.all = make(map[string]string)
			}
			in.all[s] = s
		}
	}
	return s
}

// Set is the set of the words of a text.
func Set(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}
