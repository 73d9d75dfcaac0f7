package bpe

import (
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// shape is a text of any length that is hard on an encoder.
type shape struct {
	name string
	text func(size int) string
}

// hostile are shapes of texts: mostly such that are one piece, or few.
func hostile(g *rand.Rand) []shape {
	same := func(s string) func(int) string {
		return func(size int) string { return strings.Repeat(s, size/len(s)) }
	}
	from := func(alphabet string) func(int) string {
		runes := []rune(alphabet)
		return func(size int) string {
			var b strings.Builder
			for b.Len() < size {
				b.WriteRune(runes[g.IntN(len(runes))])
			}
			return b.String()
		}
	}
	const letters = "abcdefghijklmnopqrstuvwxyz"
	return []shape{
		{"letter", same("a")}, {"capital", same("A")}, {"space", same(" ")}, {"newline", same("\n")}, {"cjk", same("中")}, {"emoji", same("😀")},
		{"mark", same("\u0301")}, {"digit", same("7")}, {"sign", same("=")}, {"delete", same("\x7f")}, {"invalid", same("\xff")},
		{"letters", from(letters)}, {"lines", same(" \n")}, {"blank", same(" \t")}, {"capitals after one", same("中" + strings.Repeat("A", 1000))},
		{"ideographs", from("的一是不了人我在有他这为之大来以个中上们到说国和地也子时道出而要于就下得可你年生")},
		{"base64", from(letters + strings.ToUpper(letters) + "0123456789+/")},
		{"signs", from("!#$%&()*+,-.:;<=>?@[]^_`{|}~")},
		{"contractions", same("a'")}, {"ideograph after letter", same("a中")}, {"indented", same("\n" + strings.Repeat(" ", 60))},
	}
}

// TestHostileWork holds that the work grows with the text, not with its square:
// by counting positions looked at and heap levels, not by the clock.
func TestHostileWork(t *testing.T) {
	g := rand.New(rand.NewPCG(3, 4))
	sizes := []int{1 << 15}
	if must.CI() {
		sizes = append(sizes, 1<<17)
	}
	for _, name := range Names() {
		e := encoding(t, name)
		for _, kind := range hostile(g) {
			for _, size := range sizes {
				counter := e.NewCounter()
				counter.Count(kind.text(size))
				one := counter.steps
				counter = e.NewCounter()
				counter.Count(kind.text(2 * size))
				if two := counter.steps; two*10 > one*21 {
					t.Errorf("%s: %s: %d steps for %d bytes, %d for twice as many: more than 2.1 times", name, kind.name, one, size, two)
				}
				if most := size * 14; one > most {
					t.Errorf("%s: %s: %d steps for %d bytes, more than %d", name, kind.name, one, size, most)
				}
			}
		}
	}
}

// TestHostileMemory holds that what is allocated grows with the text, also where long pieces
// and short ones take turns.
func TestHostileMemory(t *testing.T) {
	g := rand.New(rand.NewPCG(5, 6))
	shapes := append(hostile(g), shape{"turns", func(size int) string {
		long := strings.Repeat("a", 1<<17) + " " + strings.Repeat("word =\n", 20)
		return strings.Repeat(long, max(1, size/len(long)))
	}})
	for _, name := range Names() {
		counter := encoding(t, name).NewCounter()
		for _, kind := range shapes {
			text := kind.text(1 << 19)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			counter.Count(text)
			runtime.ReadMemStats(&after)
			if n := (after.TotalAlloc - before.TotalAlloc) / uint64(len(text)); n > 48 {
				t.Errorf("%s: %s: %d bytes are allocated for each of the text, more than 48", name, kind.name, n)
			}
		}
	}
}

// TestLongestPiece: a piece longer than what is merged at once is counted in parts.
func TestLongestPiece(t *testing.T) {
	for _, name := range Names() {
		c := encoding(t, name).NewCounter()
		text := strings.Repeat("aab", 1000) + "a"
		want := c.Count(text[:1000]) + c.Count(text[1000:2000]) + c.Count(text[2000:3000]) + c.Count(text[3000:])
		c.most = 1000
		must.Equal(t, c.Count(text), want, name)
	}
}

// TestQueueAsScan holds the two ways of merging against each other.
func TestQueueAsScan(t *testing.T) {
	g := newTexts(11)
	for _, name := range Names() {
		e := encoding(t, name)
		c := e.NewCounter()
		for range 4000 {
			text := string([]rune(g.next()))
			if len(text) < 2 || len(text) > maxScan {
				continue
			}
			c.merge.padded([]byte(text))
			scan := c.merge.scan(&e.vocabulary, len(text))
			if queue := c.merge.queued(&e.vocabulary, len(text)); queue != scan {
				t.Fatalf("%s: %q: %d tokens by the queue, %d by scanning", name, text, queue, scan)
			}
		}
	}
}
