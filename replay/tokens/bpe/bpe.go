// Package bpe counts the tokens of a text in OpenAI's encodings o200k_base and cl100k_base. The counts are those of
// tiktoken-go's EncodeOrdinary; the tokens themselves are not made.
//
// It has no special tokens: "<|endoftext|>" in a transcript is text, as in EncodeOrdinary. A byte that is not part of
// valid UTF-8 counts as U+FFFD. Of a word or another piece of over a gigabyte, each gigabyte is counted by itself: that
// can be a few tokens more.
//
// The vocabularies are part of the program (see ranks.go).
package bpe

//go:generate go test -run TestRanksAreCurrent -update

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Names of the encodings.
const (
	O200K  = "o200k_base"
	CL100K = "cl100k_base"
)

// Names lists the encodings.
func Names() []string { return []string{O200K, CL100K} }

// Encoding is the vocabulary of one encoding and its rule for splitting text. It does not change; several goroutines
// may use it.
type Encoding struct {
	split func(c *classes, text []byte, at int) (end, seen int)
	classes
	vocabulary
}

// Load returns a new encoding from the vocabulary in the program. It takes less than a millisecond and half a megabyte.
func Load(name string) (*Encoding, error) {
	e := &Encoding{}
	var data string
	switch name {
	case O200K:
		data = o200kRanks
		e.split = splitO200K
	case CL100K:
		data = cl100kRanks
		e.split = splitCL100K
	default:
		return nil, fmt.Errorf("unknown encoding %q: use %s", name, strings.Join(Names(), " or "))
	}
	if err := e.vocabulary.fill(data); err != nil {
		return nil, fmt.Errorf("encoding %s: %w", name, err)
	}
	e.classes.fill()
	return e, nil
}

// Counter counts texts in one encoding. It keeps counts of pieces in a cache of fixed size. Only one goroutine may
// use it at a time.
type Counter struct {
	e     *Encoding
	merge merger
	most  int // bytes that are merged at once
	steps int // positions examined and levels of the heap climbed: a measure of the work
	cache [1 << cacheBits]cached
}

// NewCounter returns a counter of about 0.8 MB.
func (e *Encoding) NewCounter() *Counter {
	return &Counter{e: e, most: maxMerged}
}

// Count returns the number of tokens of a text.
func (c *Counter) Count(text string) int { return c.CountBytes([]byte(text)) }

// CountBytes is Count of a text in a buffer, which it does not change.
func (c *Counter) CountBytes(text []byte) int {
	if !utf8.Valid(text) {
		text = bytes.Map(func(r rune) rune { return r }, text) // each invalid byte becomes U+FFFD
	}
	return c.CountValid(text)
}

// CountValid is CountBytes of a text that is known to be valid UTF-8.
func (c *Counter) CountValid(text []byte) (tokens int) {
	for at := 0; at < len(text); {
		end, seen := c.e.split(&c.e.classes, text, at)
		c.steps += seen - at
		tokens += c.piece(text, at, end)
		at = end
	}
	return tokens
}

// The cache holds counts of pieces of up to maxCached bytes, each at its hash.
const (
	cacheBits = 15
	maxCached = 16
)

// cached is a piece, with zeros behind it, and its count.
type cached struct {
	low, high    uint64
	size, tokens uint8
}

// piece counts text[at:end].
func (c *Counter) piece(text []byte, at, end int) int {
	n := end - at
	if n > maxCached {
		return c.count(text[at:end])
	}
	rest := text[at:]
	if len(rest) < maxCached {
		var b [maxCached]byte
		copy(b[:], rest)
		rest = b[:]
	}
	low := load(rest) & (1<<(8*n) - 1)
	high := load(rest[8:]) & (1<<(8*max(n-8, 0)) - 1)
	slot := &c.cache[mix(low, high|uint64(n)<<56)>>(64-cacheBits)]
	if slot.low != low || slot.high != high || int(slot.size) != n {
		*slot = cached{low, high, uint8(n), uint8(c.count(text[at:end]))}
	}
	return int(slot.tokens)
}

// count counts a piece of at least two bytes without the cache.
func (c *Counter) count(piece []byte) int {
	switch len(piece) {
	case 0, 1:
		return len(piece)
	case 2:
		if c.e.pairs[pair(piece[0], piece[1])] != 0 {
			return 1
		}
		return 2
	}
	if len(piece) <= maxCached {
		return c.part(piece)
	}
	// No merge crosses some pairs of characters. The segments between such pairs are counted separately; most are
	// short enough for the cache.
	n := 0
	from := 0
	for i := 3; i+3 <= len(piece); i++ {
		if wide(piece[i]) && wide(piece[i-3]) && !c.e.joins(piece[i-3:i+3]) {
			n += c.segment(piece, from, i)
			from = i
		}
	}
	c.steps += len(piece)
	if from == 0 {
		return c.part(piece)
	}
	return n + c.segment(piece, from, len(piece))
}

// segment counts a segment of a piece.
func (c *Counter) segment(piece []byte, from, to int) int {
	if to-from > maxCached {
		return c.part(piece[from:to])
	}
	return c.piece(piece, from, to)
}

// part counts a piece or a segment by merging.
func (c *Counter) part(piece []byte) int {
	if len(piece) > c.most {
		return c.part(piece[:c.most]) + c.part(piece[c.most:])
	}
	buf := c.merge.padded(piece)
	if c.e.lookup(buf, 0, len(piece)) != 0 {
		return 1
	}
	count := 0
	if len(piece) <= maxScan {
		count = c.merge.scan(&c.e.vocabulary, len(piece))
	} else {
		count = c.merge.queued(&c.e.vocabulary, len(piece))
	}
	c.steps += c.merge.steps
	return count
}
