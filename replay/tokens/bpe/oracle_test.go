//go:build ci

package bpe

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// stock is tiktoken-go's own encoder, with its offline ranks.
func stock(t testing.TB, name string) *tiktoken.Tiktoken {
	t.Helper()
	enc := must.Get(stockEncodings()[name]())(t)
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

// TestCounts holds counts against the stock encoder's on texts that go into the corners of the patterns.
func TestCounts(t *testing.T) {
	for _, name := range Names() {
		counter, enc := encoding(t, name).NewCounter(), stock(t, name)
		for range 2 { // the second time from the cache
			for _, text := range corners() {
				if got, want := counter.Count(text), len(enc.EncodeOrdinary(text)); got != want {
					t.Errorf("%s: %q: %d tokens, the stock encoder has %d", name, text, got, want)
				}
			}
		}
	}
}

// TestRecorded holds the recorded digests against the stock encoder's counts.
func TestRecorded(t *testing.T) {
	for _, name := range Names() {
		enc := stock(t, name)
		if got, want := countsDigest(func(text string) int { return len(enc.EncodeOrdinary(text)) }), recordedCounts[name]; got != want {
			t.Errorf("%s: the stock encoder's counts have the digest %#x, recorded is %#x: Go's Unicode tables changed: record it", name, got, want)
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
