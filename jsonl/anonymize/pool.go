package anonymize

import (
	_ "embed"
	"strings"
)

// words.txt holds English words that are one token of o200k_base (see scripts/genwords).
//
//go:embed words.txt
var wordList string

// maxCounters is the largest number of counters.
const maxCounters = 2

type amounts [maxCounters]uint16

// casing is how a word is written.
type casing uint8

const (
	lower casing = iota
	title
	upper
)

func casingOf(w string) casing {
	switch {
	case w[0] >= 'a':
		return lower
	case len(w) > 1 && w[1] < 'a':
		return upper
	}
	return title
}

// apply writes a word in lower case in this way.
func (c casing) apply(w []byte) []byte {
	for i := range w {
		if c == upper || c == title && i == 0 {
			w[i] &^= 0x20
		}
	}
	return w
}

// kind is what substitutes of a word have in common with it: its length, how it is written, and with the character before
// it its tokens by each counter.
type kind struct {
	before byte // 0: none that is in a token with it
	casing casing
	length uint8
	tokens amounts
}

const (
	maxPool   = 64   // substitutes of a kind to draw from
	maxDraws  = 256  // tries to find them
	stride    = 7919 // a prime, by which a pool goes through the words of a length: they are sorted
	maxCached = 1 << 19
	maxWord   = 24 // bytes of a word that is drawn as one
)

// pools draws words of a kind. Which of the public list are drawn is secret, and none is a long word of the session.
type pools struct {
	counters []func([]byte) int
	seed     [32]byte
	avoid    func(word string) bool
	lists    [maxWord + 1][]string
	pools    map[kind][]string
	counted  map[string]amounts
}

func newPools(counters []func([]byte) int, seed [32]byte, avoid func(string) bool) *pools {
	p := &pools{counters: counters, seed: seed, avoid: avoid, pools: map[kind][]string{}, counted: map[string]amounts{}}
	for _, w := range strings.Fields(wordList) {
		// Half of the list is left out, by the seed: that a word does not occur does not say that the session has it.
		if len(w) <= maxWord && (len(w) < 4 || newDraw(&seed, 'l', w).n(2) == 0) && !avoid(w) {
			p.lists[len(w)] = append(p.lists[len(w)], w)
		}
	}
	return p
}

// joins is the character before a word as far as it may be in a token with it.
func joins(c byte) byte {
	switch {
	case c <= ' ' && c != ' ' && c != '\t', isDigit(c), c >= 0x80:
		return 0
	case isLetter(c):
		return 'a'
	}
	return c
}

// count is the tokens of a word behind a character.
func (p *pools) count(before byte, word string) (n amounts) {
	if len(p.counters) == 0 {
		return n
	}
	var text []byte
	if before != 0 {
		text = append(text, before)
	}
	text = append(text, word...)
	if n, ok := p.counted[string(text)]; ok {
		return n
	}
	for i, count := range p.counters {
		n[i] = uint16(min(count(text), 1<<15))
	}
	if len(p.counted) >= maxCached {
		clear(p.counted)
	}
	p.counted[string(text)] = n
	return n
}

// of is the pool of a kind: those of as many tokens, or of the closest number.
func (p *pools) of(k kind) []string {
	if list, ok := p.pools[k]; ok {
		return list
	}
	d := newDraw(&p.seed, 'p', string([]byte{k.before, byte(k.casing), k.length, byte(k.tokens[0]), byte(k.tokens[1])}))
	var list []string
	least := 1 << 20
	seen := map[string]bool{}
	words := p.lists[k.length]
	first := 0
	if len(words) > 0 {
		first = d.n(len(words))
	}
	for try := 0; try < len(words)+maxDraws && (len(list) < maxPool || least > 0); try++ {
		var w []byte
		if try < len(words) {
			w = []byte(words[(first+try*stride)%len(words)])
		} else { // the character before may be a token of its own
			w = p.compose(d, int(k.length), max(1, int(k.tokens[0])+try%3-1))
		}
		s := string(k.casing.apply(w))
		if seen[s] || p.avoid(s) {
			continue
		}
		seen[s] = true
		off := 0
		for i, n := range p.count(k.before, s) {
			off += max(int(n)-int(k.tokens[i]), int(k.tokens[i])-int(n))
		}
		if off < least {
			least = off
			list = list[:0]
		}
		if off == least {
			list = append(list, s)
		}
	}
	if len(list) < 4 { // too few to hide among
		for range 16 {
			w := make([]byte, k.length)
			for i := range w {
				w[i] = 'a' + byte(d.n(26))
			}
			list = append(list, string(k.casing.apply(w)))
		}
	}
	p.pools[k] = list
	return list
}

// compose draws a word of n parts, each a word of the list or, if the list has none of that length, letters.
func (p *pools) compose(d *draw, length, n int) []byte {
	out := make([]byte, 0, length)
	for len(out) < length {
		size := length - len(out)
		if n > 1 && size > 1 {
			size = 1 + d.n(min(size-1, 2*size/n))
			n--
		}
		if size <= maxWord && len(p.lists[size]) > 0 {
			out = append(out, p.lists[size][d.n(len(p.lists[size]))]...)
			continue
		}
		for range size {
			out = append(out, 'a'+byte(d.n(26)))
		}
	}
	return out
}
