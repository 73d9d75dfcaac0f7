package bpe

import "math/bits"

// The patterns split a text into pieces; no token crosses two pieces. The code is written by hand and makes the
// choices of a backtracking engine: alternatives in order, repetition as long as possible. Sources: tiktoken's
// openai_public.py, and tiktoken-go's encoding.go, which has the same two.
//
// cl100k_base:
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)
//	[^\r\n\p{L}\p{N}]?\p{L}+
//	\p{N}{1,3}
//	 ?[^\s\p{L}\p{N}]+[\r\n]*
//	\s*[\r\n]+
//	\s+(?!\S)
//	\s+
//
// o200k_base has for the first two, with U for [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}] and L for [\p{Ll}\p{Lm}\p{Lo}\p{M}],
//
//	[^\r\n\p{L}\p{N}]?U*L+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	[^\r\n\p{L}\p{N}]?U+L*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//
// and [\r\n/]* after symbols.
//
// A split function returns the end of the piece that starts at i, and the end of the text that it examined.

// splitCL100K splits as cl100k_base does.
func splitCL100K(c *classes, text []byte, i int) (end, seen int) {
	k, n := c.at(text, i)
	if text[i] == '\'' {
		if end = contraction(text, i); end > i {
			return end, end
		}
	}
	switch {
	case k&letter != 0:
		end = c.run(text, i+n, letter)
		return end, end
	case k&prefix != 0:
		if first, size := c.at(text, i+n); first&letter != 0 {
			end = c.run(text, i+n+size, letter)
			return end, end
		}
	}
	return c.rest(text, i, k, n, false)
}

// splitO200K splits as o200k_base does.
func splitO200K(c *classes, text []byte, i int) (end, seen int) {
	k := c.ascii[text[i]]
	n := 1
	// Most pieces are words of small ASCII letters, with a sign before them.
	end = i
	if k&prefix != 0 {
		end++
	}
	start := end
	for end+8 <= len(text) {
		n := smalls(load(text[end:]))
		end += n
		if n < 8 {
			break
		}
	}
	for c.plain(text, end) == lower {
		end++
	}
	next := c.plain(text, end)
	if end > start && (end == len(text) || next != 0 && text[end] != '\'') {
		return end, end
	}
	switch {
	case k == 0:
		k, n = c.wide(text, i)
	case end == start && next != 0 && (k|next)&letter == 0: // no word either
		return c.rest(text, i, k, n, true)
	}
	switch {
	case k&letter != 0:
		end, seen, _ = c.word(text, i)
	case k&prefix != 0:
		var small bool
		if end, seen, small = c.word(text, i+n); k == mark && !small {
			// The mark starts a word itself before it stands before one.
			end, seen, _ = c.word(text, i)
		}
		if end == i+n && k != mark {
			end = i
		}
	default:
		end = i
	}
	if end > i {
		end = contraction(text, end)
		return end, max(seen, end)
	}
	return c.rest(text, i, k, n, true)
}

// smalls returns how many of eight bytes, the lowest first, are small ASCII letters up to the first that is none.
func smalls(word uint64) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	low := word &^ highs
	is := (low + (0x80-'a')*ones) &^ (low + (0x7f-'z')*ones) &^ word & highs
	return bits.TrailingZeros64(is^highs) >> 3
}

// word returns the end of U*L+ (isSmall), or else of U+L*, at i; i if no one matches.
func (c *classes) word(text []byte, i int) (end, seen int, isSmall bool) {
	start := i
	both := -1 // end of the last character that is in U and in L
	for {
		k := c.plain(text, i)
		n := 1
		if k == 0 {
			k, n = c.wide(text, i)
		}
		if k&capital == 0 {
			if k == lower {
				end = c.run(text, i+n, small)
				return end, end, true
			}
			break
		}
		i += n
		if k&small != 0 {
			both = i
		}
	}
	if both > start {
		return both, i, true
	}
	return i, i, false
}

// rest returns the end of a piece that starts with no letter: numbers, symbols and space.
func (c *classes) rest(text []byte, i int, k class, n int, slash bool) (end, seen int) {
	if k == number {
		end = i + n
		for range 2 {
			k = c.plain(text, end)
			n = 1
			if k == 0 {
				k, n = c.wide(text, end)
			}
			if k != number {
				break
			}
			end += n
		}
		return end, end
	}
	symbols := i
	if text[i] == ' ' {
		symbols++
		if k = c.plain(text, symbols); k == 0 {
			k, _ = c.wide(text, symbols)
		}
	}
	if k&symbol != 0 {
		end = c.run(text, symbols, symbol)
		for end < len(text) && (text[end] == '\r' || text[end] == '\n' || slash && text[end] == '/') {
			end++
		}
		return end, end
	}
	return c.blank(text, i)
}

// blank returns the end of a piece of white space: up to the last line end; without one, all but the last character,
// which may belong to the next piece; or that.
func (c *classes) blank(text []byte, i int) (end, seen int) {
	line := -1
	last := i
	j := i
	for {
		k := c.plain(text, j)
		n := 1
		if k == 0 {
			k, n = c.wide(text, j)
		}
		if k&anySpace == 0 {
			break
		}
		last = j
		j += n
		if k == newline {
			line = j
		}
	}
	switch {
	case line > i:
		return line, j
	case j == len(text) || last == i:
		return j, j
	}
	return last, j
}

// contraction returns the end of 's, 't, 're, 've, 'm, 'll or 'd in either case at i; i if there is none.
func contraction(text []byte, i int) int {
	if i+1 >= len(text) || text[i] != '\'' {
		return i
	}
	c := text[i+1] | 0x20
	if c == 's' || c == 't' || c == 'm' || c == 'd' {
		return i + 2
	}
	if i+2 < len(text) {
		switch string([]byte{c, text[i+2] | 0x20}) {
		case "re", "ve", "ll":
			return i + 3
		}
	}
	return i
}
