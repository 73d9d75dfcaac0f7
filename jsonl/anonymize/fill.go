package anonymize

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/jsonl/pattern"
)

// filler replaces texts. Every word, number and letter is drawn for its occurrence; only a line that is repeated gets the
// same substitute again, so that what was read twice is read twice. Each character keeps its place among these kinds:
// plain ASCII, ASCII that JSON escapes, white space but for single spaces, and runes of a length. So all lengths stay,
// at any cut, and with them what estimates count. Within plain ASCII the words are drawn in another order and of other
// lengths: the shape of a line tells its length.
type filler struct {
	*pools
	voc     *vocabulary
	names   *codebook
	seed    [32]byte
	avoid   func(string) bool // words that must not be in the output
	letters map[rune][]rune   // alphabet of a letter: those of as many tokens
	fixed   []string          // texts that have one substitute everywhere, the longest first
	fixedAt [256]bool
	shared  string // text with one substitute in the line of the file that is written, "" for none
	inFixed bool   // what is written is one of them
	tries   *recovery
	start   int     // where the substitute of a line, or of a fixed text, begins
	owed    balance // tokens that the substitute of a line has too few so far
}

// piece is a part of plain ASCII: a word, a number or a sign.
type piece struct {
	text   string
	length int
	tokens amounts
	word   bool
}

// text appends the substitute of a text.
func (f *filler) text(dst []byte, s string) []byte {
	from := len(dst)
	before := ""
	for line := range strings.Lines(s) {
		at := len(dst)
		text, ended := strings.CutSuffix(line, "\n")
		if follows(before, text) {
			dst = append(dst, text...)
		} else {
			dst = f.line(dst, text)
		}
		if before = text; ended { // the last line of a text repeats one that others follow
			dst = append(dst, '\n')
		}
		if f.tries != nil {
			f.tries.line(line, string(dst[at:]))
		}
	}
	return f.mend(dst, from)
}

// numbered matches how a tool begins the line of a file. (Read of Claude Code.)
var numbered = pattern.New(`^ *\d{1,9}(→|\t)`)

// follows reports whether a line is the number after that of the line before, and nothing more: a client cuts white space off
// the end of a result before it adds a reminder.
func follows(before, line string) bool {
	n, err := strconv.Atoi(strings.TrimLeft(line, " "))
	if err != nil {
		return false
	}
	was, err := strconv.Atoi(strings.Trim(numbered().FindString(before), " →\t"))
	return err == nil && n == was+1
}

func (f *filler) line(dst []byte, line string) []byte {
	if n := len(line); n > 0 && line[0] <= '9' {
		if at := numbered().FindStringIndex(line[:min(n, 64)]); at != nil {
			dst = append(dst, line[:at[1]]...)
			line = line[at[1]:]
		}
	}
	f.owed = balance{}
	f.start = len(dst)
	return f.part(dst, newDraw(&f.seed, 't', line), line)
}

// fix sets the texts that have one substitute everywhere.
func (f *filler) fix(texts map[string]bool) {
	f.fixed = slices.Sorted(maps.Keys(texts))
	slices.SortStableFunc(f.fixed, func(a, b string) int { return len(b) - len(a) })
	for _, t := range f.fixed {
		f.fixedAt[t[0]] = true
	}
}

// fixedText is the text with one substitute that s[i:] begins with, "" for none.
func (f *filler) fixedText(s string, i int) string {
	switch {
	case f.inFixed:
	case f.shared != "" && strings.HasPrefix(s[i:], f.shared):
		return f.shared
	case f.fixedAt[s[i]]:
		for _, t := range f.fixed {
			if strings.HasPrefix(s[i:], t) {
				return t
			}
		}
	}
	return ""
}

// part appends the substitute of a part of a line.
func (f *filler) part(dst []byte, d *draw, line string) []byte {
	for i := 0; i < len(line); {
		if m := f.voc.markerAt(line, i); m != "" {
			dst = append(dst, m...)
			i += len(m)
			if f.voc.before[m] {
				n := prefix(line[i:], nameRune)
				dst = f.names.name(dst, line[i:i+n])
				i += n
			}
			continue
		}
		if t := f.fixedText(line, i); t != "" {
			owed := f.owed
			start := f.start
			f.inFixed = true
			f.owed = balance{}
			f.start = len(dst)
			dst = f.part(dst, newDraw(&f.seed, 'f', t), t)
			for k := range owed {
				f.owed[k] += owed[k]
			}
			f.inFixed = false
			f.start = start
			i += len(t)
			continue
		}
		if n := f.plain(line, i); n > 0 {
			dst = f.refill(dst, d, line, i, i+n)
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(line[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			dst = append(dst, inertByte(line[i]))
		case r >= utf8.RuneSelf && (foreignLetter(r) || unicode.IsDigit(r)):
			dst = utf8.AppendRune(dst, f.letter(d, r))
		default:
			dst = utf8.AppendRune(dst, inert(r))
		}
		i += n
	}
	return dst
}

// nameRune reports whether a rune is one of an id or a path without spaces.
func nameRune(r rune) bool {
	return r < utf8.RuneSelf && (isLetter(byte(r)) || isDigit(byte(r)) || strings.IndexByte(`_-./\:~@+`, byte(r)) >= 0)
}

// plain is the length of the plain ASCII at s[i:], with the single spaces in it.
func (f *filler) plain(s string, i int) int {
	from := i
	for ; i < len(s); i++ {
		c := s[i]
		if c == ' ' {
			if i == from || i+1 == len(s) || s[i+1] <= ' ' || s[i+1] >= 0x7f || s[i+1] == '"' || s[i+1] == '\\' {
				break
			}
			continue
		}
		if c < ' ' || c >= 0x7f || c == '"' || c == '\\' || i > from && (f.voc.markerAt(s, i) != "" || f.fixedText(s, i) != "") {
			break
		}
	}
	for i > from && s[i-1] == ' ' {
		i--
	}
	return i - from
}

// refill appends the substitute of the plain ASCII s[from:to].
func (f *filler) refill(dst []byte, d *draw, s string, from, to int) []byte {
	var pieces []piece
	var chunks [][2]int
	var slots []int // words
	begin := 0
	for i := from; i < to; {
		n := 1
		p := piece{}
		switch c := s[i]; {
		case c == ' ':
			chunks = append(chunks, [2]int{begin, len(pieces)})
			begin = len(pieces)
			i++
			continue
		case isLetter(c) && repeats(s[i:to]) > maxNoted: // tells nothing but its letter
			n = repeats(s[i:to])
		case isLetter(c):
			for i+n < to && isLetter(s[i+n]) && n < maxWord && !(s[i+n] < 'a' && s[i+n-1] >= 'a') &&
				!(s[i+n] < 'a' && n > 1 && i+n+1 < to && s[i+n+1] >= 'a' && isLetter(s[i+n+1])) && !(n > 1 && s[i+n] >= 'a' && s[i+n-1] < 'a') {
				n++
			}
			p.word = !(i > from+1 && s[i-1] == '\'' && contraction(s[i:i+n]) && isLetter(s[i-2]))
			if p.word {
				before := byte(0)
				if i > 0 {
					before = joins(s[i-1])
				}
				p.tokens = f.count(before, s[i:i+n])
				slots = append(slots, len(pieces))
			}
		case isDigit(c):
			for i+n < to && isDigit(s[i+n]) {
				n++
			}
		}
		p.text = s[i : i+n]
		p.length = n
		pieces = append(pieces, p)
		i += n
	}
	chunks = append(chunks, [2]int{begin, len(pieces)})
	after := s[to : to+signs(s[to:])]
	before := signsBefore(s[max(0, from-maxSigns):from])
	wanted := make([]balance, 0, len(chunks)) // tokens
	for i, c := range chunks {
		var text []byte
		for _, p := range pieces[c[0]:c[1]] {
			text = append(text, p.text...)
		}
		wanted = append(wanted, f.tokens(before, after, i, len(chunks), text))
	}
	move(d, pieces, slots)
	// A chunk between spaces is as many tokens at any place. The first and one next to other signs stay.
	first := min(1, len(chunks)-1)
	last := len(chunks)
	if after != "" || !isLetter(s[to-1]) {
		last--
	}
	for i := last - 1; i > first; i-- {
		k := first + d.n(i+1-first)
		chunks[i], chunks[k] = chunks[k], chunks[i]
		wanted[i], wanted[k] = wanted[k], wanted[i]
	}
	before = signsBefore(string(dst[max(0, len(dst)-min(from, maxSigns, len(dst)-f.start)):]))
	for i, c := range chunks {
		if i > 0 {
			dst = append(dst, ' ')
		}
		for k := range f.owed {
			f.owed[k] += wanted[i][k]
		}
		dst = f.chunk(dst, d, pieces[c[0]:c[1]], func(chunk []byte) (short balance) {
			have := f.tokens(before, after, i, len(chunks), chunk)
			for k := range short {
				short[k] = f.owed[k] - have[k]
			}
			return short
		})
	}
	return dst
}

// chunkTries bounds how often words of a chunk are drawn again until it has the wanted number of tokens.
const chunkTries = 32

// chunk appends the substitute of a chunk. It draws single words again while that makes short smaller, and what remains
// is owed to the next chunks of the line.
func (f *filler) chunk(dst []byte, d *draw, pieces []piece, short func(chunk []byte) balance) []byte {
	from := len(dst)
	words := 0
	ends := make([]int, 0, len(pieces))
	for _, p := range pieces {
		dst = f.piece(dst, d, p, 0)
		ends = append(ends, len(dst)-from)
		if p.word {
			words++
		}
	}
	f.owed = short(dst[from:])
	if len(f.counters) == 0 || words == 0 {
		return dst
	}
	best := slices.Clone(dst[from:])
	for range min(chunkTries, 6+2*words) {
		if f.owed == (balance{}) {
			break
		}
		i := d.n(len(pieces))
		for !pieces[i].word {
			i = (i + 1) % len(pieces)
		}
		start := ends[i] - pieces[i].length
		dst = f.piece(append(dst[:from], best[:start]...), d, pieces[i], max(-1, min(f.owed[0], 1)))
		dst = append(dst, best[ends[i]:]...)
		if now := short(dst[from:]); now.size() <= f.owed.size() {
			f.owed, best = now, slices.Clone(dst[from:])
		}
	}
	return append(dst[:from], best...)
}

// piece appends a substitute of a piece; a word has more tokens by a number.
func (f *filler) piece(dst []byte, d *draw, p piece, more int) []byte {
	switch {
	case p.word:
		before := byte(0)
		if len(dst) > f.start {
			before = joins(dst[len(dst)-1])
		}
		for k := range f.counters {
			p.tokens[k] = uint16(max(1, int(p.tokens[k])+more))
		}
		list := f.of(kind{before, casingOf(p.text), uint8(p.length), p.tokens})
		return append(dst, list[d.n(len(list))]...)
	case isDigit(p.text[0]):
		return d.digits(dst, p.text)
	}
	return append(dst, p.text...)
}

// balance is a difference of tokens by each counter.
type balance [maxCounters]int

// size is how far it is from none: the first counter counts most.
func (b balance) size() int {
	return 4*max(b[0], -b[0]) + max(b[1], -b[1])
}

// tokens is the number of tokens that the i-th of some chunks adds behind signs, and with those behind it.
func (f *filler) tokens(before, after string, i, chunks int, chunk []byte) (n balance) {
	var b []byte
	if i > 0 {
		before = ""
		b = append(b, ' ')
	}
	b = append(append(b, before...), chunk...)
	if i == chunks-1 {
		b = append(b, after...)
	}
	for k, count := range f.counters {
		n[k] = count(b)
		if before != "" {
			n[k] -= count(b[:len(before)])
		}
	}
	return n
}

// maxSigns is the number of signs next to plain ASCII that tokens are counted with.
const maxSigns = 4

// signs is the number of signs at the beginning of s.
func signs(s string) int {
	n := 0
	for n < min(len(s), maxSigns) && s[n] < utf8.RuneSelf && !isLetter(s[n]) && !isDigit(s[n]) {
		n++
	}
	return n
}

// signsBefore are the signs at the end of s.
func signsBefore(s string) string {
	n := len(s)
	for n > max(0, len(s)-maxSigns) && s[n-1] < utf8.RuneSelf && !isLetter(s[n-1]) && !isDigit(s[n-1]) {
		n--
	}
	return s[n:]
}

// repeats is how often s begins with its first byte.
func repeats(s string) int {
	return len(s) - len(strings.TrimLeft(s, s[:1]))
}

// contraction reports whether letters behind an apostrophe are the rest of an English word.
func contraction(s string) bool {
	switch s {
	case "s", "t", "re", "ve", "m", "ll", "d":
		return true
	}
	return false
}

// move moves letters between the pieces at slots, words, that have as many tokens.
func move(d *draw, pieces []piece, slots []int) {
	n := len(slots)
	if n < 2 {
		return
	}
	for i := range n {
		a := &pieces[slots[i]]
		b := &pieces[slots[d.n(n)]]
		if a == b || a.tokens != b.tokens {
			continue
		}
		least := max(1, int(a.tokens[0]))
		most := 9 * max(1, int(a.tokens[0]))
		by := d.n(7) - 3
		if x, y := a.length+by, b.length-by; min(x, y) >= least && max(x, y) <= min(most, maxWord) {
			a.length = x
			b.length = y
		}
	}
}

// letter draws a letter of the alphabet of r with as many tokens.
func (f *filler) letter(d *draw, r rune) rune {
	list, ok := f.letters[r]
	if !ok {
		list = f.peers(r)
		f.letters[r] = list
	}
	if len(list) >= fewPeers {
		return list[d.n(len(list))]
	}
	return d.rune(r)
}

// fewPeers is the least number of letters to draw from.
const fewPeers = 16

// peers are some letters of the alphabet of r with as many tokens as r.
func (f *filler) peers(r rune) (list []rune) {
	at := rangeOf(alphabets, r)
	if at < 0 || len(f.counters) == 0 {
		return nil
	}
	want := f.count(0, string(r))
	d := newDraw(&f.seed, 'r', string(r))
	for range 4 * maxPool {
		if o := d.rune(r); f.count(0, string(o)) == want {
			list = append(list, o)
		}
	}
	return list
}

// mend replaces the words of dst[from:] that must not be in the output, as two parts may make one.
func (f *filler) mend(dst []byte, from int) []byte {
	out := dst[from:]
	for i := 0; i < len(out); {
		if !isLetter(out[i]) && out[i] < utf8.RuneSelf {
			i++
			continue
		}
		n := 0
		for i+n < len(out) && (isLetter(out[i+n]) || out[i+n] >= utf8.RuneSelf) {
			n++
		}
		if n > longWord && n <= 4*maxNoted {
			letterRuns(string(out[i:i+n]), func(run string) {
				if !f.avoid(run) {
					return
				}
				at := i + strings.Index(string(out[i:i+n]), run)
				d := newDraw(&f.seed, 'm', run)
				for k := at; k < at+len(run); k++ {
					if isLetter(out[k]) {
						out[k] = out[k]&0x20 | 'A' + byte(d.n(26))
					}
				}
			})
		}
		i += n
	}
	return dst
}
