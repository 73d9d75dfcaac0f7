package anonymize

import (
	"cmp"
	_ "embed"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// words.txt holds English words that are one token of o200k_base (see scripts/genwords).
//
//go:embed words.txt
var wordList string

// use is a word with its neighbours in a token: one character before it, and a contraction such as 's after it.
type use struct{ before, word, after string }

// useOf is the use of the word s[from:to]; escaped: tokens are those of a JSON string.
func useOf(s string, from, to int, begins, ends, escaped bool) use {
	u := use{word: s[from:to]}
	if begins {
		u.before = before(s[:from], escaped, s[from] >= 'a')
	}
	if ends && to < len(s) && s[to] == '\'' {
		for _, c := range contractions {
			if strings.HasPrefix(s[to+1:], c) {
				u.after = s[to : to+1+len(c)]
				break
			}
		}
	}
	return u
}

// before is the text before a word that is in a token with it.
func before(s string, escaped, small bool) string {
	r, n := utf8.DecodeLastRuneInString(s)
	switch {
	case n == 0, foreignLetter(r), r == '\r':
		return ""
	case escaped && (r == '\n' || r == '\t') && small:
		return map[rune]string{'\n': `\n`, '\t': `\t`}[r]
	case r == '\n', escaped && (r == '\t' || r == '"' || r == '\\'):
		return ""
	case r == ' ', r == '\t':
		return s[len(s)-n:]
	}
	// A symbol after a symbol or a space is in a token with that.
	second, size := utf8.DecodeLastRuneInString(s[:len(s)-n])
	if size == 0 && escaped || second == ' ' || size > 0 && symbol(second) {
		return ""
	}
	return s[len(s)-n:]
}

var contractions = []string{"s", "t", "re", "ve", "m", "ll", "d"}

// symbol reports whether a rune is neither letter, digit nor space.
func symbol(r rune) bool {
	return r > ' ' && !latin(r) && (r < utf8.RuneSelf || !foreignLetter(r))
}

// countUse counts one use of a word.
func (c *codebook) countUse(low string, f use) {
	uses := c.uses[low]
	if uses == nil {
		uses = map[use]int{}
		c.uses[low] = uses
	}
	uses[f]++
}

// count is the number of tokens of a use with another word, by each counter.
func (c *codebook) count(f use, word string) (n [maxCounters]int) {
	text := f.before + word + f.after
	for i, count := range c.counters {
		n[i] = count(text)
	}
	return n
}

// maxCounters is the largest number of counters.
const maxCounters = 2

// measured is a use, its frequency and its tokens.
type measured struct {
	use
	times  int
	tokens [maxCounters]int
}

// measure lists the uses of a word, the most frequent first. Where sessions share their substitutes, or the word was
// not noted, it lists the usual ones.
func (c *codebook) measure(low string) []measured {
	var list []measured
	if uses := c.uses[low]; uses != nil && !c.shared {
		for f, n := range uses {
			list = append(list, measured{f, n, c.count(f, f.word)})
		}
	} else {
		r, n := utf8.DecodeRuneInString(low)
		title := string(sameLength(r, unicode.ToUpper(r))) + low[n:]
		for i, f := range []use{{" ", title, ""}, {"", title, ""}, {"_", low, ""}, {"", low, ""}, {" ", low, ""}} {
			list = append(list, measured{f, i + 1, c.count(f, f.word)})
		}
	}
	slices.SortFunc(list, func(a, b measured) int {
		return cmp.Or(b.times-a.times, cmp.Compare(a.before, b.before), cmp.Compare(a.word, b.word), cmp.Compare(a.after, b.after))
	})
	return list[:min(len(list), maxUses)]
}

// assign chooses the substitutes of all noted words, the most frequent first, which so have the widest choice. Where
// sessions share substitutes the order is alphabetic, the same for each.
func (c *codebook) assign() {
	times := make(map[string]int, len(c.uses))
	for w, uses := range c.uses {
		for _, n := range uses {
			times[w] += n
		}
	}
	words := slices.Sorted(maps.Keys(times))
	if !c.shared {
		slices.SortStableFunc(words, func(a, b string) int { return times[b] - times[a] })
	}
	for _, w := range words {
		c.wordFor(w)
	}
	c.uses = map[string]map[use]int{}
}

const (
	maxDraws  = 96  // candidates for a word
	mostDraws = 512 // candidates for a frequent word
	fewDraws  = 8   // enough once one has the same number of tokens
	often     = 32  // uses of a frequent word
	maxPaid   = 32  // tokens of the surplus that one word compensates
	maxUses   = 32  // uses of a word that are compared, the most frequent
)

// choose is a free substitute with about as many tokens as its word in all its uses, or "". A word of one token
// becomes a word of the list, one of several tokens a compound of as many parts. Where possible a word compensates
// the surplus of the words before it.
func (c *codebook) choose(low string) string {
	uses := c.measure(low)
	parts := uses[0].tokens[0]
	best, least, surplus := "", math.MaxInt, [maxCounters]int{}
	times := 0
	for i := range uses {
		times += uses[i].times
	}
	draws := maxDraws
	if times >= often {
		draws = mostDraws
	}
	for try := range draws {
		n := parts
		if try%2 > 0 && c.surplus != surplus { // neighbours may be closer, or compensate
			n = max(1, parts+try%3-1)
		}
		s := c.compose(c.draw(low, try), low, n)
		if s == low || c.taken[s] || c.originals[s] || c.safe[s] || c.reveals(s) {
			continue
		}
		off, after := c.weigh(uses, s, least)
		if off < least {
			best, least, surplus = s, off, after
		}
		if least < 0 || least == 0 && (c.surplus == [maxCounters]int{} || try >= fewDraws || times >= often) {
			break
		}
	}
	if best != "" && !c.shared {
		c.surplus = surplus
	}
	return best
}

// weigh is the penalty of a substitute, exact where it is below least, and the surplus with it. Each token too many
// or too few costs one; one that reduces the surplus costs less than none. A frequent word does not compensate, since
// it may not occur where the others do.
func (c *codebook) weigh(uses []measured, substitute string, least int) (off int, surplus [maxCounters]int) {
	surplus = c.surplus
	for i := range uses {
		u := &uses[i]
		now := c.count(u.use, string(appendCased(nil, u.word, substitute)))
		for k := range now {
			more := u.times * (now[k] - u.tokens[k])
			surplus[k] += more
			off += max(more, -more)
		}
		if off > maxPaid && off >= least {
			break
		}
	}
	if off > maxPaid {
		return off, surplus
	}
	for k := range surplus {
		off += 2 * (max(surplus[k], -surplus[k]) - max(c.surplus[k], -c.surplus[k]))
	}
	return off, surplus
}

// alike draws a substitute for a word of another script: of several the one with the closest number of tokens, each
// letter with the tokens of the original one.
func (c *codebook) alike(d *draw, w string) string {
	want := c.count(use{}, w)
	best, least := "", 0
	for range fewDraws / 2 {
		out := make([]byte, 0, len(w))
		for _, r := range w {
			out = utf8.AppendRune(out, c.letter(d, r))
		}
		off := 0
		for k, n := range c.count(use{}, string(out)) {
			off += max(n-want[k], want[k]-n)
		}
		if best == "" || off < least {
			best, least = string(out), off
		}
	}
	return best
}

// letter draws a letter of the alphabet of r with as many tokens.
func (c *codebook) letter(d *draw, r rune) rune {
	if list := c.peers(r); len(list) >= fewPeers {
		return list[d.n(len(list))]
	}
	return d.rune(r)
}

// fewPeers is the least number of letters to draw from.
const fewPeers = 16

// peers are the letters of the alphabet of r with as many tokens as r.
func (c *codebook) peers(r rune) []rune {
	at := rangeOf(alphabets, r)
	if at < 0 {
		return nil
	}
	byTokens := c.letters[at]
	if byTokens == nil {
		byTokens = map[[maxCounters]int][]rune{}
		for o := alphabets[at][0]; o <= alphabets[at][1]; o++ {
			n := c.count(use{}, string(o))
			byTokens[n] = append(byTokens[n], o)
		}
		c.letters[at] = byTokens
	}
	return byTokens[c.count(use{}, string(r))]
}

// compose draws a substitute of n parts, each a word of the list or, if the list has none of that length, letters.
func (c *codebook) compose(d *draw, low string, n int) string {
	out := make([]byte, 0, len(low))
	for i := 0; i < len(low); {
		if low[i] >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(low[i:])
			out = utf8.AppendRune(out, c.letter(d, r))
			i += size
			continue
		}
		to := i
		for to < len(low) && low[to] < utf8.RuneSelf {
			to++
		}
		for i < to {
			size := to - i
			if n > 1 && size > 1 {
				size = 1 + d.n(min(size-1, 2*size/n))
				n--
			}
			out = append(out, c.part(d, size)...)
			i += size
		}
	}
	return string(out)
}

// part draws a word of the list, or letters where there is none of that length.
func (c *codebook) part(d *draw, size int) string {
	if c.lists == nil {
		c.lists = map[int][]string{}
		for _, w := range strings.Fields(wordList) {
			c.lists[len(w)] = append(c.lists[len(w)], w)
		}
	}
	if list := c.lists[size]; len(list) > 0 {
		return list[d.n(len(list))]
	}
	out := make([]byte, size)
	for i := range out {
		out[i] = 'a' + byte(d.n(26))
	}
	return string(out)
}
