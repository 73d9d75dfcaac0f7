package bpe

import (
	"encoding/binary"
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// tokens are those of an encoding by what is packed, with their ranks; without those of one byte.
func tokens(e *Encoding) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for p, rank := range e.pairs {
			if rank > 0 && !yield(string([]byte{byte(p >> 8), byte(p)}), int(rank)-1) {
				return
			}
		}
		for b := e.buckets[:len(e.buckets)-pad]; b != ""; {
			head, n := word32(b, 0), tokenBytes+int(b[3])
			if !yield(b[tokenBytes:n], int(head&(1<<24-1))-1) {
				return
			}
			b = b[n:]
		}
	}
}

func encoding(t testing.TB, name string) *Encoding {
	t.Helper()
	e := must.Get(Load(name))(t)
	return e
}

// recordedCounts is the digest of the counts of the texts by each encoding. Tests with the tag ci hold it against
// the stock encoder's.
var recordedCounts = map[string]uint64{"o200k_base": 0xfa959dd76b1418f, "cl100k_base": 0xb36e215cf64dbe18}

// countsDigest is a digest of the counts of the corners and of 2,500 random texts, whose characters are from Go's Unicode
// tables.
func countsDigest(count func(text string) int) uint64 {
	texts, g := corners(), newTexts(7)
	for range 2500 {
		texts = append(texts, g.next())
	}
	h := fnv.New64a()
	for _, text := range texts {
		h.Write(binary.AppendUvarint(nil, uint64(count(text))))
	}
	return h.Sum64()
}

func TestRecordedCounts(t *testing.T) {
	for _, name := range Names() {
		if got, want := countsDigest(encoding(t, name).NewCounter().Count), recordedCounts[name]; got != want {
			t.Errorf("%s: the counts have the digest %#x, recorded is %#x: counting or Go's Unicode tables changed: go test -tags ci names texts that are counted wrong", name, got, want)
		}
	}
}

// corners are texts that go into the corners of the patterns.
func corners() []string {
	return []string{
		"", " ", "  ", "\n", "\r\n", "a", "Hello, world!", "it's we'RE I'll you'Ve I'M he'd don'T", "'s", "'S's", "''s", "x'sx", "'ſ", "'lL'", "'l", "'r", "'v",
		"HELLO", " HELLO world", "HelloWorld", "helloWORLD", "XMLHttpRequest's", "ABCdef'll", "ÀÉÎ", "Straße", "ǅǈ ǅa aǅ",
		"12", "123", "1234567890", "٣٤٥٦", "½¼Ⅷ²³", "a1b2", " 12", "x 1", "$100,000.00",
		"  a", "   a", " \n a", "\n\n\n a", "\t\tx", "a \r\n \r\n b", " \n\n  \t", "a\n", "a  ", "\u00a0a", "\u00a0\u00a0a", "\u3000\u3000中", "a\u0085b", "\u2028\u2029",
		"//", "a//b", "/*\n*/", "x;\n//y", "x;\r\n/\n/y", "));\n\n", "!!!\n\n\n", " !!", "  !!", "\n!!",
		"中文字符", "日本語のテキスト", "한국어 텍스트", "中A", "中AB", "A中B", "中a", "Aaʰ", "ʰA", "ʰ", "\u0301", "\u0301A", "\u0301AB", "\u0301a", "\u0301\u0301", "a\u0301b", "A\u0301B", "(\u0301", "((\u0301", " \u0301", "  \u0301A", "1\u0301", "\n\u0301",
		"😀", "👨‍👩‍👧‍👦", " 😀😀", "e😀e", "🇩🇪", "नमस्ते", "ไทย", "ﷺ", "𝐀𝐁𝐚𝐛𝟏", "𠀀𠀁", "\U0010ffff", "\ue000",
		"\x00", "\x00\x00\x00", "a\x00b", "\x7f", "a\x7fb", "\x1b[0m", "\x80", "\xff\xfe", "a\xe4\xb8", "\xed\xa0\x80", "\xf4\x90\x80\x80", "ab\xffcd", "\ufffd", "\ufeffx",
		"<|endoftext|>", "<|fim_prefix|>a<|endofprompt|>", "a<|endoftext|>b",
		strings.Repeat("a", 127), strings.Repeat("a", 128), strings.Repeat("a", 129), strings.Repeat("a", 300), strings.Repeat(" ", 300), strings.Repeat("\n", 300), strings.Repeat("中", 100), strings.Repeat("=", 300), strings.Repeat("ab", 200), strings.Repeat("Ab", 200),
	}
}

// TestClasses: each character has the class its categories give it.
func TestClasses(t *testing.T) {
	var c classes
	c.fill()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		var want class
		switch {
		case r == '\r' || r == '\n':
			want = newline
		case unicode.IsSpace(r):
			want = space
		case unicode.IsUpper(r) || unicode.IsTitle(r):
			want = upper
		case unicode.IsLower(r):
			want = lower
		case unicode.IsLetter(r):
			want = uncased
		case unicode.IsMark(r):
			want = mark
		case unicode.IsNumber(r):
			want = number
		default:
			want = other
		}
		text := string(r)
		if got, n := c.at([]byte(text), 0); got != want || n != len(text) {
			t.Fatalf("%U: class %d of %d bytes, want %d of %d", r, got, n, want, len(text))
		}
	}
	must.Both(c.at([]byte("a"), 1))(t, 0, 0)
}

// texts makes random texts out of what the patterns and the merges tell apart.
type texts struct {
	*rand.Rand
	scripts []*unicode.RangeTable
}

func newTexts(seed uint64) *texts {
	g := &texts{Rand: rand.New(rand.NewPCG(seed, 1))}
	names := make([]string, 0, len(unicode.Scripts))
	for name := range unicode.Scripts {
		names = append(names, name)
	}
	for name := range unicode.Categories {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if t := unicode.Scripts[name]; t != nil {
			g.scripts = append(g.scripts, t)
		} else {
			g.scripts = append(g.scripts, unicode.Categories[name])
		}
	}
	return g
}

func (g *texts) next() string {
	var b strings.Builder
	for range 1 + g.IntN(12) {
		g.chunk(&b)
	}
	text := b.String()
	if g.IntN(8) == 0 && len(text) > 0 { // cut in the middle of a character
		text = text[g.IntN(len(text)):]
	}
	return text
}

func (g *texts) chunk(b *strings.Builder) {
	n := 1 + g.IntN(8)
	if g.IntN(50) == 0 {
		n = 1 + g.IntN(400)
	}
	switch g.IntN(12) {
	case 0: // a script or a category
		t := g.scripts[g.IntN(len(g.scripts))]
		for range n {
			b.WriteRune(g.from(t))
		}
	case 1: // anything
		for range n {
			b.WriteRune(rune(g.IntN(unicode.MaxRune + 1)))
		}
	case 2: // any bytes
		for range n {
			b.WriteByte(byte(g.IntN(256)))
		}
	case 3: // white space
		for range n {
			b.WriteString(g.one(" ", " ", " ", "\t", "\n", "\r", "\r\n", "\v", "\f", "\u00a0", "\u0085", "\u2003", "\u3000", "\u2028"))
		}
	case 4: // digits
		for range n {
			b.WriteString(g.one("0", "1", "9", "5", "٣", "½", "Ⅷ", "𝟏"))
		}
	case 5: // one thing again and again
		b.WriteString(strings.Repeat(g.one("a", "A", " ", "\n", "=", "中", "é", "ab", "ʰ", "\u0301", "-", "0", "😀", "\x7f", "\xff", "Ll", "/", "\r\n"), n*(1+g.IntN(4))))
	case 6: // contractions
		for range n {
			b.WriteString(g.one("'", "s", "S", "t", "re", "RE", "ve", "m", "ll", "Ll", "d", "'s", "'LL", "ſ", "K", "x", " "))
		}
	case 7: // case
		for range n {
			b.WriteString(g.one("a", "b", "A", "B", "é", "É", "ǅ", "ʰ", "中", "ª", "\u0301", "ß", "Ω", "я", "Я"))
		}
	case 8: // symbols
		for range n {
			b.WriteString(g.one("!", "/", "//", "\n", "\r\n", "(", ")", ";", "{", "}", "\"", "\\", "…", "—", "€", "🙂", "\u200d", "\ufe0f", "\u0301", " ", "\x00", "\x1b", "\x7f"))
		}
	case 9: // code
		for range n {
			b.WriteString(g.one("func ", "return", "\t", "    ", "\n", "if (", ") {\n", "userID", "getHTTPResponse", "0x1F", " == ", "nil", "\"name\":", ",", "<|endoftext|>"))
		}
	case 10: // base64 and letters at random
		const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
		span := 64
		if g.IntN(2) == 0 {
			span = 52
		}
		for range n * 3 {
			b.WriteByte(alphabet[g.IntN(span)])
		}
	case 11: // words
		for range n {
			b.WriteString(g.one("the ", "token", " Compaction", "context's ", "WINDOW ", "naïve ", "Größe ", "слово ", "λέξη ", "كلمة ", "शब्द ", "คำ", "単語", "단어 ", "🤷🏽‍♀️ "))
		}
	}
}

// from is one character of a table.
func (g *texts) from(t *unicode.RangeTable) rune {
	i := g.IntN(len(t.R16) + len(t.R32))
	if i < len(t.R16) {
		r := t.R16[i]
		return rune(r.Lo) + rune(g.IntN(int((r.Hi-r.Lo)/r.Stride)+1))*rune(r.Stride)
	}
	r := t.R32[i-len(t.R16)]
	return rune(r.Lo) + rune(g.IntN(int((r.Hi-r.Lo)/r.Stride)+1))*rune(r.Stride)
}

func (g *texts) one(of ...string) string { return of[g.IntN(len(of))] }
