package bpe

import (
	"unicode"
	"unicode/utf8"
)

// class is the class of a character in the encodings' patterns. Each character has exactly one. Categories and white
// space are Go's, as in the regular expressions.
type class uint8

const (
	upper   class = 1 << iota // \p{Lu} \p{Lt}
	lower                     // \p{Ll}
	uncased                   // \p{Lm} \p{Lo}
	mark                      // \p{M}
	number                    // \p{N}
	space                     // \s but for \r and \n
	newline                   // \r \n
	other                     // the rest

	letter   = upper | lower | uncased
	capital  = upper | uncased | mark // what a word may start with in o200k_base
	small    = lower | uncased | mark // what it may go on with
	prefix   = mark | space | other   // [^\r\n\p{L}\p{N}]
	symbol   = mark | other           // [^\s\p{L}\p{N}]
	anySpace = space | newline        // \s
)

// tabled is the first character whose class is not in the table.
const tabled = 0x20000

// classes returns the class of each character.
type classes struct {
	table []class
	ascii [256]class // by byte; 0 for one that is no character by itself
}

func (c *classes) fill() {
	c.table = make([]class, tabled)
	for i := range c.table {
		c.table[i] = other
	}
	set := func(lo, hi, stride uint32, k class) {
		for r := lo; r <= hi && r < tabled; r += stride {
			c.table[r] = k
		}
	}
	for _, k := range kinds {
		for _, r := range k.table.R16 {
			set(uint32(r.Lo), uint32(r.Hi), uint32(r.Stride), k.class)
		}
		for _, r := range k.table.R32 {
			set(r.Lo, r.Hi, r.Stride, k.class)
		}
	}
	c.table['\r'], c.table['\n'] = newline, newline
	copy(c.ascii[:utf8.RuneSelf], c.table)
}

var kinds = [...]struct {
	table *unicode.RangeTable
	class class
}{
	{unicode.Lu, upper}, {unicode.Lt, upper}, {unicode.Ll, lower},
	{unicode.Lm, uncased}, {unicode.Lo, uncased}, {unicode.M, mark},
	{unicode.N, number}, {unicode.White_Space, space},
}

// at returns the class of the character at text[i:] and its length in bytes; at the end both are 0.
func (c *classes) at(text []byte, i int) (class, int) {
	if k := c.plain(text, i); k != 0 {
		return k, 1
	}
	return c.wide(text, i)
}

// plain returns the class of the character at text[i:] where it is ASCII, else 0. Unlike at, the compiler puts it in the
// place of its calls.
func (c *classes) plain(text []byte, i int) class {
	if i >= len(text) {
		return 0
	}
	return c.ascii[text[i]]
}

// wide is at for characters outside ASCII, and for the end.
func (c *classes) wide(text []byte, i int) (class, int) {
	if i >= len(text) {
		return 0, 0
	}
	if rest := text[i:]; wide(rest[0]) && len(rest) >= 3 { // the text is valid
		return c.table[uint16(rest[0])<<12|uint16(rest[1]&0x3f)<<6|uint16(rest[2]&0x3f)], 3
	}
	r, n := utf8.DecodeRune(text[i:])
	if r < tabled {
		return c.table[r], n
	}
	for _, k := range kinds {
		if unicode.Is(k.table, r) {
			return k.class, n
		}
	}
	return other, n
}

// run returns the end of the run of characters of some classes that starts at i.
func (c *classes) run(text []byte, i int, of class) int {
	for i < len(text) {
		k := c.ascii[text[i]]
		n := 1
		if k == 0 {
			k, n = c.wide(text, i)
		}
		if k&of == 0 {
			break
		}
		i += n
	}
	return i
}
