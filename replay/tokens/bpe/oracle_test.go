package bpe

import (
	"iter"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"
)

// stock is tiktoken-go's own encoder, with its offline ranks.
func stock(t testing.TB, name string) *tiktoken.Tiktoken {
	t.Helper()
	enc, err := stockEncodings()[name]()
	if err != nil {
		t.Fatal(err)
	}
	return enc
}

var stockEncodings = sync.OnceValue(func() map[string]func() (*tiktoken.Tiktoken, error) {
	tiktoken.SetBpeLoader(loader.NewOfflineLoader())
	all := map[string]func() (*tiktoken.Tiktoken, error){}
	for _, name := range Names() {
		all[name] = sync.OnceValues(func() (*tiktoken.Tiktoken, error) { return tiktoken.GetEncoding(name) })
	}
	return all
})

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
	e, err := Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestCounts holds counts against the stock encoder's on texts that go into the corners of the patterns.
func TestCounts(t *testing.T) {
	texts := []string{
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
	for _, name := range Names() {
		counter, enc := encoding(t, name).NewCounter(), stock(t, name)
		for range 2 { // the second time from the cache
			for _, text := range texts {
				if got, want := counter.Count(text), len(enc.EncodeOrdinary(text)); got != want {
					t.Errorf("%s: %q: %d tokens, the stock encoder has %d", name, text, got, want)
				}
			}
		}
	}
}

// longForm is the environment variable that asks for the long tests.
const longForm = "CTXKIT_BPE_LONG"

// TestHostileTexts compares counts on random texts made to hit the patterns' corners: 100,000 of them in the long
// form.
func TestHostileTexts(t *testing.T) {
	n := 2500
	if v := os.Getenv(longForm); v != "" {
		n = 100000
		if k, err := strconv.Atoi(v); err == nil && k > 1 {
			n = k
		}
	}
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			counter, enc := encoding(t, name).NewCounter(), stock(t, name)
			g := newTexts(7)
			bytes := 0
			for i := range n {
				text := g.next()
				bytes += len(text)
				if got, want := counter.Count(text), len(enc.EncodeOrdinary(text)); got != want {
					t.Fatalf("text %d: %q: %d tokens, the stock encoder has %d", i, text, got, want)
				}
			}
			t.Logf("%d texts, %d bytes: the same counts", n, bytes)
		})
	}
}

// TestTokensOnEnd compares counts on tokens one after the other, most of them of wide characters: what one begins
// another may end, and what lies between two places no merge crosses is counted by itself.
func TestTokensOnEnd(t *testing.T) {
	n := 1500
	if os.Getenv(longForm) != "" {
		n = 50000
	}
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, enc := encoding(t, name), stock(t, name)
			counter, g := e.NewCounter(), newTexts(5)
			var all, wides []string
			for token := range tokens(e) {
				all = append(all, token)
				if strings.ContainsFunc(token, func(r rune) bool { return r >= 0x800 }) {
					wides = append(wides, token)
				}
			}
			for range n {
				var b strings.Builder
				for range 2 + g.IntN(14) {
					from := wides
					if g.IntN(12) == 0 {
						from = all
					}
					token := from[g.IntN(len(from))]
					if g.IntN(4) == 0 { // its first character alone
						_, size := utf8.DecodeRuneInString(token)
						token = token[:size]
					}
					b.WriteString(token)
				}
				text := b.String()
				if g.IntN(2) == 0 {
					text = strings.ToValidUTF8(text, "")
				}
				if got, want := counter.Count(text), len(enc.EncodeOrdinary(text)); got != want {
					t.Fatalf("%q: %d tokens, the stock encoder has %d", text, got, want)
				}
			}
		})
	}
}

// TestEveryCharacter compares counts with each character there is in some surroundings: every 97th of them in the
// short form, and all of the first 1,024.
func TestEveryCharacter(t *testing.T) {
	stride := rune(97)
	if os.Getenv(longForm) != "" {
		stride = 1
	}
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			counter, enc := encoding(t, name).NewCounter(), stock(t, name)
			for r := rune(0); r <= unicode.MaxRune; r++ {
				if r > 1024 && r%stride != 0 {
					continue
				}
				c := string(r)
				text := c + "a" + c + "B" + c + "1 " + c + " " + c + c + "'" + c + "\n" + c + "Ab;" + c + "\n'l" + c
				if got, want := counter.Count(text), len(enc.EncodeOrdinary(text)); got != want {
					t.Fatalf("%U: %q: %d tokens, the stock encoder has %d", r, text, got, want)
				}
			}
		})
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
	if got, n := c.at([]byte("a"), 1); got != 0 || n != 0 {
		t.Errorf("behind the end: class %d of %d bytes", got, n)
	}
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

// FuzzCount compares counts on what the fuzzer finds.
func FuzzCount(f *testing.F) {
	g := newTexts(1)
	for range 200 {
		f.Add(g.next())
	}
	counters := map[string]*Counter{}
	for _, name := range Names() {
		counters[name] = encoding(f, name).NewCounter()
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4000 { // the stock encoder is quadratic
			text = text[:4000]
		}
		for _, name := range Names() {
			if got, want := counters[name].Count(text), len(stock(t, name).EncodeOrdinary(text)); got != want {
				t.Fatalf("%s: %q: %d tokens, the stock encoder has %d", name, text, got, want)
			}
		}
	})
}
