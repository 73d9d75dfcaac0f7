package bpe

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"math/bits"
)

// The packed form of a vocabulary is read where it lies in the program, without a table that is built first. All
// numbers are little endian.
//
//	the lengths in bytes of the pairs, of both sets and of the buckets: four of 32 bits
//	the start of every 64th bucket: 32 bits each
//	the start of each bucket, and the end of the last, from there: 16 bits each
//	pairs, tokens of two bytes: both and the rank, 24 bits
//	the set joined, then the set partial (see joins): gaps between members, as varints
//	buckets of the longer tokens by their hashes: rank+1, 24 bits, the length, 8 bits, and the bytes of each
//	pad bytes that may be read
const (
	bucketBits = 16
	groupBits  = 6 // buckets that share a start
	groups     = 1<<(bucketBits-groupBits) + 1
	headBytes  = 4 * 4
	relative   = headBytes + 4*groups
	tableBytes = relative + 2*(1<<bucketBits+1)
	pairBytes  = 5
	tokenBytes = 4 // before a token's own
)

// TestRanksAreCurrent packs the vocabularies from the ranks of github.com/pkoukk/tiktoken-go-loader.

//go:embed o200k_base.ranks
var o200kRanks string

//go:embed cl100k_base.ranks
var cl100kRanks string

// vocabulary finds the rank of a token by its bytes. It holds rank+1, and 0 for no token.
type vocabulary struct {
	pairs   []uint32 // tokens of two bytes, by both
	packed  string   // the starts of the buckets are in it
	buckets string   // the longer tokens, and pad bytes
	joined  []uint64 // bits: see joins
	partial []uint64 // bits: see joins
}

// pad is how many bytes after a piece may be read.
const pad = 8

var errRanks = errors.New("the vocabulary in the program is damaged: build it again")

// fill opens a packed vocabulary.
func (v *vocabulary) fill(data string) error {
	if len(data) < tableBytes {
		return errRanks
	}
	var parts [4]string
	rest := data[tableBytes:]
	for i := range parts {
		n := int(word32(data, 4*i))
		if n > len(rest) {
			return errRanks
		}
		parts[i] = rest[:n]
		rest = rest[n:]
	}
	v.packed = data
	v.buckets = data[len(data)-len(rest)-len(parts[3]):]
	if len(rest) != pad || len(parts[0])%pairBytes != 0 || v.start(1<<bucketBits) != len(parts[3]) {
		return errRanks
	}
	for i := range 1 << bucketBits {
		if v.start(i) > v.start(i+1) {
			return errRanks
		}
	}
	v.pairs = make([]uint32, 1<<16)
	for p := parts[0]; p != ""; p = p[pairBytes:] {
		v.pairs[pair(p[0], p[1])] = (uint32(p[2]) | uint32(p[3])<<8 | uint32(p[4])<<16) + 1
	}
	v.joined, v.partial = bitset(parts[1], joinBits), bitset(parts[2], 16)
	return nil
}

// bitset is a packed set of numbers below 1<<size.
func bitset(gaps string, size int) []uint64 {
	set := make([]uint64, 1<<size/64)
	n := uint(0)
	gap := uint(0)
	shift := 0
	for i := range len(gaps) {
		gap |= uint(gaps[i]&0x7f) << shift
		if shift += 7; gaps[i] < 0x80 {
			n = (n + gap) % (1 << size)
			set[n/64] |= 1 << (n % 64)
			gap = 0
			shift = 0
		}
	}
	return set
}

// start returns the start of a bucket.
func (v *vocabulary) start(bucket int) int {
	i := relative + 2*bucket
	return int(word32(v.packed, headBytes+4*(bucket>>groupBits))) + int(v.packed[i]) + int(v.packed[i+1])<<8
}

// lookup returns the rank+1 of the token buf[from:to], of at least two bytes, or 0. At least pad bytes of buf must
// follow.
func (v *vocabulary) lookup(buf []byte, from, to int) uint32 {
	n := to - from
	if n == 2 {
		return v.pairs[pair(buf[from], buf[from+1])]
	}
	mask := ^uint64(0)
	if n < 8 {
		mask = 1<<(8*n) - 1
	}
	first := load(buf[from:]) & mask
	bucket := int(hash(buf, from, n) >> (64 - bucketBits))
	end := v.start(bucket + 1)
	for at := v.start(bucket); at < end; {
		head := word32(v.buckets, at)
		at += tokenBytes
		size := int(head >> 24)
		if size == n && word64(v.buckets, at)&mask == first && (n <= 8 || v.buckets[at+8:at+n] == string(buf[from+8:to])) {
			return head & (1<<24 - 1)
		}
		at += size
	}
	return 0
}

// joinBits is the size of the set of windows, as a power of two.
const joinBits = 20

// wide reports whether a byte begins a character of three bytes.
func wide(b byte) bool { return b>>4 == 0xe }

// joins reports whether a token may cross the middle of a window of six bytes, two wide characters: a token with all
// of them, or one with fewer and the two bytes in the middle. It may report true for a window that no token crosses,
// never false for one that a token crosses.
func (v *vocabulary) joins(window []byte) bool {
	p := pair(window[2], window[3])
	h := joinHash(window)
	return v.partial[p/64]>>(p%64)&1 != 0 || v.joined[h/64]>>(h%64)&1 != 0
}

func joinHash(w []byte) uint64 {
	key := uint64(binary.LittleEndian.Uint32(w)) | uint64(binary.LittleEndian.Uint16(w[4:]))<<32
	return key * goldenRatio >> (64 - joinBits)
}

func pair(a, b byte) int { return int(a)<<8 | int(b) }

// goldenRatio is 2^64 divided by the goldenRatio ratio, odd: it spreads neighbours.
const goldenRatio = 0x9E3779B97F4A7C15

// hash is a hash of n bytes, n > 2.
func hash(buf []byte, at, n int) uint64 {
	if n < 8 {
		return mix(load(buf[at:])&(1<<(8*n)-1), uint64(n))
	}
	h := mix(load(buf[at:]), load(buf[at+n-8:])+uint64(n))
	for i := 8; i < n-8; i += 8 {
		h = mix(h, load(buf[at+i:]))
	}
	return h
}

// mix hashes two words.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^goldenRatio, b^0xD6E8FEB86659FD93)
	return hi ^ lo
}

// load returns the first 8 bytes of b, the first lowest.
func load(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// word32 returns 4 bytes of s, the first lowest; word64 returns 8.
func word32(s string, at int) uint32 {
	s = s[at : at+4]
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

func word64(s string, at int) uint64 {
	return uint64(word32(s, at)) | uint64(word32(s, at+4))<<32
}
