package bpe

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// Where most pieces end can be told byte by byte. The scanner does so with a table of moves, without a branch that
// depends on the text: a processor guesses those wrong. It stops in a piece that it cannot tell, which split takes.

// kind is what a byte is to the scanner.
type kind uint8

const (
	anUpper kind = iota
	aLower
	aDigit
	aBlank // ' ', which symbols may follow in one piece
	aTab   // other white space but line ends
	aLine  // \r \n
	aSlash // which line ends may precede among symbols
	aQuote // which may begin a contraction
	aSymbol
	aRest // not the first of a character
	aWide // the first of one that is not ASCII
	kindCount
)

// state is what a piece is up to a byte.
type state uint32

const (
	begun         state = iota // nothing yet
	uppers                     // a word of capital letters
	lowers                     // a word with small ones
	sign                       // one symbol, which a word may follow
	signs                      // symbols
	tail                       // symbols and line ends
	digit                      // the first of a number
	two                        // two of them
	three                      // three, the most
	blank                      // ' '
	tab                        // one other white space
	blanks                     // white space, the last ' '
	tabs                       // white space, the last another one
	lines                      // white space, the last a line end
	inLine        state = 16   // added to blank, tab, blanks and tabs after a line end, to which another one would join them
	stopped       state = 30   // the scanner cannot tell
	stoppedInLine state = 31   // the same, and the last end may be none
	states              = 32
)

// A move is made of two bytes. Its lower bits are the next state, where the table has its row; the upper ones say
// whether a piece ends one byte before the two, before them and between them.
const (
	rowBits  = 7 // room for kindCount * kindCount
	rows     = states << rowBits
	endShift = 12
)

// scanner holds the moves of an encoding.
type scanner struct {
	first, second [256]uint8 // by byte: the kind of a first one times kindCount, and of a second one
	moves         [rows]uint16
}

// fill makes the table. Without cases, as in cl100k_base, letters are alike, a contraction is a piece by itself, and no
// slash follows line ends.
func (s *scanner) fill(c *classes, cases bool) {
	for b := range s.first {
		k := kindOf(c, byte(b), cases)
		s.first[b], s.second[b] = uint8(k*kindCount), uint8(k)
	}
	for from := range state(states) {
		for k := range kindCount * kindCount {
			at, one := from.move(k/kindCount, cases)
			to, two := at.move(k%kindCount, cases)
			s.moves[uint(from)<<rowBits|uint(k)] = uint16(to)<<rowBits | uint16(one|two<<1)<<endShift
		}
	}
}

func kindOf(c *classes, b byte, cases bool) kind {
	switch k := c.ascii[b]; {
	case b >= 0xc0:
		return aWide
	case b >= utf8.RuneSelf:
		return aRest
	case k == upper && cases:
		return anUpper
	case k&letter != 0:
		return aLower
	case k == number:
		return aDigit
	case b == ' ':
		return aBlank
	case k == space:
		return aTab
	case k == newline:
		return aLine
	case b == '/' && cases:
		return aSlash
	case b == '\'':
		return aQuote
	}
	return aSymbol
}

// starts is the state of a piece after its first byte.
var starts = [kindCount]state{
	anUpper: uppers, aLower: lowers, aDigit: digit, aBlank: blank, aTab: tab, aLine: lines, aSlash: sign, aQuote: sign,
	aSymbol: sign,
}

// move is the state after a byte and where pieces end: bit 0 for one byte before it, bit 1 for before it.
func (s state) move(k kind, cases bool) (to state, ends uint) {
	to, ends = s.plain(k)
	switch {
	case s == stopped || s == stoppedInLine || k == aRest:
		return s, 0
	case k == aWide, k == aQuote && cases && (s == uppers || s == lowers), k == aQuote && !cases && to == sign, k == aLine && s >= inLine:
		to, ends = stopped, 0
		if s >= inLine {
			to = stoppedInLine
		}
	}
	return to, ends
}

// plain is move where the scanner can tell.
func (s state) plain(k kind) (to state, ends uint) {
	from, within := s&^inLine, s&inLine
	begins := from == sign || from == blank || from == tab // a word may follow
	isSpace := from >= blank && from < lines
	switch {
	case from == begun:
		return starts[k], 0
	case k == aLower && (begins || from == uppers || from == lowers), k == anUpper && (begins || from == uppers):
		return starts[k], 0
	case k >= aSlash && (from == sign || from == signs || from == blank):
		return signs, 0
	case k == aLine && (from == sign || from == signs || from == tail), k == aSlash && from == tail:
		return tail, 0
	case k == aDigit && (from == digit || from == two):
		return from + 1, 0
	case k == aLine && from >= blank:
		return lines, 0
	case isSpace && k == aBlank:
		return blanks | within, 0
	case isSpace && k == aTab:
		return tabs | within, 0
	case from == lines && (k == aBlank || k == aTab):
		return starts[k] | inLine, 2
	case from == blanks || from == tabs:
		to, ends = (from - blanks + blank).plain(k)
		return to, ends | 1
	}
	return starts[k], 2
}

// blockSize is the bytes of a block. Its ends are the bits of a word, which has room for one more; it is a multiple of 8.
const blockSize = 56

// scan counts the pieces from at, the start of one, up to one that it cannot tell, and returns where that starts.
func (c *Counter) scan(text []byte, at int) (tokens, start int) {
	from, last := at, at // of a piece that is not counted yet: its end may be none
	base, m := at, uint32(0)
	for m < uint32(stopped)<<rowBits {
		ends, to, moved := c.e.block(text, base, m)
		n := 0
		n, from, last = c.pieces(text, from, last, base-1, ends)
		tokens += n
		base, m = base+moved, to
	}
	c.steps += base - at
	if m == uint32(stopped)<<rowBits {
		tokens, from = tokens+c.piece(text, from, last), last
	}
	return tokens, from
}

// pieces counts the piece from..last and those that end at the bits of ends, from at on, but the last of them, whose
// start and end it returns.
func (c *Counter) pieces(text []byte, from, last, at int, ends uint64) (tokens, start, end int) {
	for ; ends != 0; ends &= ends - 1 {
		to := last
		last = at + bits.TrailingZeros64(ends)
		tokens += c.piece(text, from, to)
		from = to
	}
	return tokens, from, last
}

// block moves over a block of bytes at a place in a text, from a state to another. Bit i of ends says that a piece ends i-1
// bytes after the block's start. moved is how many bytes it moved over until the scanner stopped.
func (e *Encoding) block(text []byte, at int, m uint32) (ends uint64, to uint32, moved int) {
	s := &e.scanner
	for ; moved < blockSize && m < uint32(stopped)<<rowBits; moved += 8 {
		b := eightAt(text, at+moved)
		if w := load(b[:]); w&highs != 0 {
			binary.LittleEndian.PutUint64(b[:], e.alike(text, at+moved, w))
		}
		for i := 0; i < len(b); i += 2 {
			m = uint32(s.moves[(m|uint32(s.first[b[i]])+uint32(s.second[b[i+1]]))%rows])
			ends |= uint64(m>>endShift) << (moved + i)
			m %= rows
		}
	}
	return ends, m, moved
}

// eightAt returns the bytes of a text from one on, and behind its end bytes that stop the scanner.
func eightAt(text []byte, at int) (b [8]byte) {
	if at+len(b) <= len(text) {
		return [8]byte(text[at:])
	}
	b = [8]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	copy(b[:], text[min(at, len(text)):])
	return b
}

const highs = 0x8080808080808080

// alike returns eight bytes of a text with the first of each character outside ASCII as an ASCII one of its class, where
// there is one.
func (c *classes) alike(text []byte, at int, w uint64) uint64 {
	for firsts := w & (w << 1) & highs; firsts != 0; firsts &= firsts - 1 {
		shift := bits.TrailingZeros64(firsts) &^ 7
		if at+shift/8 >= len(text) {
			break
		}
		k, _ := c.wide(text, at+shift/8)
		as := uint64(0)
		switch k {
		case upper:
			as = 'A'
		case lower:
			as = 'a'
		case number:
			as = '0'
		case other:
			as = '!'
		default:
			continue
		}
		w = w&^(0xff<<shift) | as<<shift
	}
	return w
}
