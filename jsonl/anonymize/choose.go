package anonymize

import (
	_ "embed"
	"math"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// words.txt holds English words that are one token of o200k_base, by length;
// see scripts/genwords.
//
//go:embed words.txt
var wordList string

// use is how a word stands in a text, as far as tokenizers see it: they take
// one character before it and an 's behind it together with it.
type use struct{ before, word, after string }

// useOf is the use of the word s[from:to]; escaped where s counts as it stands
// in a JSON string.
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

// before is what stands before a word and is taken together with it.
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
	// A symbol behind a symbol or a space goes with that.
	second, size := utf8.DecodeLastRuneInString(s[:len(s)-n])
	if size == 0 && escaped || second == ' ' || size > 0 && symbol(second) {
		return ""
	}
	return s[len(s)-n:]
}

var contractions = []string{"s", "t", "re", "ve", "m", "ll", "d"}

// symbol reports whether a rune is neither letter, digit nor space.
func symbol(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return r > ' ' && !isLetter(byte(r)) && !isDigit(byte(r))
	}
	return !latinLetter(r) && !foreignLetter(r)
}

// meet counts a word that is met while noting.
func (c *codebook) meet(low string, f use) {
	uses := c.uses[low]
	if uses == nil {
		uses = map[use]int{}
		c.uses[low] = uses
	}
	uses[f]++
}

// count is how many tokens a word is in a use, by each counter.
func (c *codebook) count(f use, word string) (n [maxCounters]int) {
	text := f.before + word + f.after
	for i, count := range c.counters {
		n[i] = count(text)
	}
	return n
}

// maxCounters is how many counters stand-ins are chosen by.
const maxCounters = 2

// measured is a use, how often it is met and its tokens.
type measured struct {
	use
	times  int
	tokens [maxCounters]int
}

// measure lists the uses of a word, the most frequent first; where sessions
// share their stand-ins, or the word was not noted, those that are usual.
func (c *codebook) measure(low string) []measured {
	var list []measured
	if met := c.uses[low]; met != nil && !c.shared {
		for f, n := range met {
			list = append(list, measured{f, n, c.count(f, f.word)})
		}
	} else {
		r, n := utf8.DecodeRuneInString(low)
		title := string(sameLength(r, unicode.ToUpper(r))) + low[n:]
		for i, f := range []use{{" ", title, ""}, {"", title, ""}, {"_", low, ""}, {"", low, ""}, {" ", low, ""}} {
			list = append(list, measured{f, i + 1, c.count(f, f.word)})
		}
	}
	sort.Slice(list, func(i, j int) bool {
		a, b := list[i], list[j]
		switch {
		case a.times != b.times:
			return a.times > b.times
		case a.before != b.before:
			return a.before < b.before
		case a.word != b.word:
			return a.word < b.word
		}
		return a.after < b.after
	})
	return list[:min(len(list), maxUses)]
}

// assign chooses the stand-ins of all words that were noted, the most frequent
// first: they have the most to choose from. Where sessions share them the words
// themselves are the order, so that it is the same in each.
func (c *codebook) assign() {
	type noted struct {
		word  string
		times int
	}
	list := make([]noted, 0, len(c.uses))
	for w, uses := range c.uses {
		n := noted{word: w}
		for _, times := range uses {
			n.times += times
		}
		list = append(list, n)
	}
	sort.Slice(list, func(i, j int) bool {
		if list[i].times != list[j].times && !c.shared {
			return list[i].times > list[j].times
		}
		return list[i].word < list[j].word
	})
	for _, n := range list {
		c.wordFor(n.word)
	}
	c.uses = map[string]map[use]int{}
}

const (
	maxDraws  = 96  // stand-ins weighed for one word
	mostDraws = 512 // for one that is met often
	fewDraws  = 8   // once there is one that is as many tokens
	often     = 32  // uses
	maxPaid   = 32  // tokens one word makes up for
	maxUses   = 32  // of a word that are weighed, the most frequent
)

// choose is a stand-in that is as many tokens as its word in all its uses, or
// nearly; "" where none was found that is free. A word of one token becomes a
// word of the list, one of more is put together from as many parts. What words
// before it came to in tokens too many or too few, it makes up for if it can.
func (c *codebook) choose(low string) string {
	uses := c.measure(low)
	parts := uses[0].tokens[0]
	best, least, debt := "", math.MaxInt, [maxCounters]int{}
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
		if try%2 > 0 && c.owed != debt { // neighbours may come nearer, or pay
			n = max(1, parts+try%3-1)
		}
		s := c.compose(c.draw(low, try), low, n)
		if s == low || c.taken[s] || c.originals[s] || c.safe[s] || c.tells(s) {
			continue
		}
		off, owes := c.weigh(uses, s, least)
		if off < least {
			best, least, debt = s, off, owes
		}
		if least < 0 || least == 0 && (c.owed == [maxCounters]int{} || try >= fewDraws || times >= often) {
			break
		}
	}
	if best != "" && !c.shared {
		c.owed = debt
	}
	return best
}

// weigh is how bad a stand-in is, exactly where it is better than least, and the
// tokens that are too many with it. Each token too many or too few is bad; one
// that pays for another is better than none, but a word that is met often does
// not pay, since it may not be met where the others are.
func (c *codebook) weigh(uses []measured, stand string, least int) (off int, owes [maxCounters]int) {
	owes = c.owed
	for i := range uses {
		u := &uses[i]
		now := c.count(u.use, string(appendCased(nil, u.word, stand)))
		for k := range now {
			more := u.times * (now[k] - u.tokens[k])
			owes[k] += more
			off += max(more, -more)
		}
		if off > maxPaid && off >= least {
			break
		}
	}
	if off > maxPaid {
		return off, owes
	}
	for k := range owes {
		off += 2 * (max(owes[k], -owes[k]) - max(c.owed[k], -c.owed[k]))
	}
	return off, owes
}

// alike draws a stand-in for a word of another script: of several the one whose
// tokens come nearest, each letter's as many as those of the letter it is for.
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

// letter draws a letter of the alphabet of r that is as many tokens.
func (c *codebook) letter(d *draw, r rune) rune {
	if list := c.peers(r); len(list) >= fewPeers {
		return list[d.n(len(list))]
	}
	return d.rune(r)
}

// fewPeers is of how many letters one is drawn at least.
const fewPeers = 16

// peers are the letters of the alphabet of r that are as many tokens as r.
func (c *codebook) peers(r rune) []rune {
	at := alphabetOf(r)
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

// compose draws a stand-in of n parts, each a word of the list or, if it is too
// short for one, a few letters.
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
