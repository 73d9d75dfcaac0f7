package bpe

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"math/bits"
)

// scripts/genranks writes the vocabularies from the ranks of github.com/pkoukk/tiktoken-go-loader: the number of
// tokens (32 bits, little endian), the length of each in bytes, then their bytes; all by rank.

//go:embed o200k_base.ranks
var o200kRanks string

//go:embed cl100k_base.ranks
var cl100kRanks string

// vocabulary finds the rank of a token by its bytes. It holds rank+1, and 0 for no token.
type vocabulary struct {
	pairs   []uint32 // tokens of two bytes, by both
	short   []uint64 // of 3 to maxShort bytes: rank+1, length and bytes in one word
	long    []uint32 // longer ones: bits of the hash above, rank+1 below
	offset  []uint32 // token of rank r: bytes[offset[r]:offset[r+1]]
	bytes   string
	longest int
	joined  []uint64 // bits: see joins
	partial []uint64 // bits: see joins
}

const (
	maxShort   = 5
	shortBits  = 17
	longBits   = 18
	rankMask   = 1<<longBits - 1
	shortBytes = uint64(1)<<43 - 1 // the length in the upper three bits
	pad        = 8                 // bytes after a piece that may be read
)

var errRanks = errors.New("the vocabulary in the program is damaged: build it again")

// fill reads a vocabulary and indexes it.
func (v *vocabulary) fill(data string) error {
	if len(data) < 4 {
		return errRanks
	}
	n := int(binary.LittleEndian.Uint32([]byte(data[:4])))
	if len(data) < 4+n || n >= 1<<longBits {
		return errRanks
	}
	lengths := data[4 : 4+n]
	v.bytes = data[4+n:]
	v.offset = make([]uint32, n+1)
	v.pairs = make([]uint32, 1<<16)
	v.short = make([]uint64, 1<<shortBits)
	v.long = make([]uint32, 1<<longBits)
	v.joined = make([]uint64, 1<<joinBits/64)
	v.partial = make([]uint64, 1<<16/64)
	at := 0
	var buf [256 + pad]byte
	for r := range n {
		l := int(lengths[r])
		if l == 0 || at+l > len(v.bytes) {
			return errRanks
		}
		v.longest = max(v.longest, l)
		copy(buf[:], v.bytes[at:at+l])
		v.add(buf[:], l, uint32(r)+1)
		v.join(v.bytes[at : at+l])
		at += l
		v.offset[r+1] = uint32(at)
	}
	if at != len(v.bytes) {
		return errRanks
	}
	return nil
}

func (v *vocabulary) add(buf []byte, n int, rank uint32) {
	switch {
	case n == 1: // every byte is a token
	case n == 2:
		v.pairs[pair(buf[0], buf[1])] = rank
	case n <= maxShort:
		key := shortKey(buf, 0, n)
		i := shortHash(key)
		for v.short[i] != 0 {
			i = (i + 1) & (1<<shortBits - 1)
		}
		v.short[i] = uint64(rank)<<43 | key
	default:
		h := hash(buf, 0, n)
		i := h >> (64 - longBits)
		for v.long[i] != 0 {
			i = (i + 1) & (1<<longBits - 1)
		}
		v.long[i] = uint32(h)&^rankMask | rank
	}
}

// lookup returns the rank+1 of the token buf[from:to], of at least two bytes, or 0. At least pad bytes of buf must
// follow.
func (v *vocabulary) lookup(buf []byte, from, to int) uint32 {
	n := to - from
	switch {
	case n == 2:
		return v.pairs[pair(buf[from], buf[from+1])]
	case n <= maxShort:
		key := shortKey(buf, from, n)
		for i := shortHash(key); ; i = (i + 1) & (1<<shortBits - 1) {
			switch slot := v.short[i]; {
			case slot&shortBytes == key:
				return uint32(slot >> 43)
			case slot == 0:
				return 0
			}
		}
	case n > v.longest:
		return 0
	}
	h := hash(buf, from, n)
	for i := h >> (64 - longBits); ; i = (i + 1) & (1<<longBits - 1) {
		slot := v.long[i]
		if slot == 0 {
			return 0
		}
		if (slot^uint32(h))&^rankMask == 0 {
			rank := slot & rankMask
			if v.bytes[v.offset[rank-1]:v.offset[rank]] == string(buf[from:to]) {
				return rank
			}
		}
	}
}

// joinBits is the size of the set of windows, as a power of two.
const joinBits = 20

// wide reports whether a byte begins a character of three bytes.
func wide(b byte) bool { return b>>4 == 0xe }

// join notes the places in a token where a wide character follows another one.
func (v *vocabulary) join(token string) {
	for i := 1; i < len(token); i++ {
		switch {
		case !wide(token[i]):
		case i >= 3 && i+3 <= len(token):
			h := joinHash([]byte(token[i-3 : i+3]))
			v.joined[h/64] |= 1 << (h % 64)
		default:
			p := pair(token[i-1], token[i])
			v.partial[p/64] |= 1 << (p % 64)
		}
	}
}

// joins reports whether a token may cross the middle of a window of six bytes, two wide characters: a token with all
// of them, or one with fewer and the two bytes in the middle. It may report true for a window that no token crosses,
// never false for one that a token crosses.
func (v *vocabulary) joins(window []byte) bool {
	p := pair(window[2], window[3])
	h := joinHash(window)
	return v.partial[p/64]>>(p%64)&1 != 0 || v.joined[h/64]>>(h%64)&1 != 0
}

func joinHash(w []byte) uint64 {
	_ = w[5]
	key := uint64(w[0]) | uint64(w[1])<<8 | uint64(w[2])<<16 | uint64(w[3])<<24 | uint64(w[4])<<32 | uint64(w[5])<<40
	return key * golden >> (64 - joinBits)
}

func pair(a, b byte) int { return int(a)<<8 | int(b) }

// shortKey is a token of up to maxShort bytes with its length as one number.
func shortKey(buf []byte, at, n int) uint64 {
	return load(buf[at:])&(1<<(8*n)-1) | uint64(n)<<40
}

func shortHash(key uint64) uint64 { return key * golden >> (64 - shortBits) }

// golden is 2^64 divided by the golden ratio, odd: it spreads neighbours.
const golden = 0x9E3779B97F4A7C15

// hash is a hash of n bytes, n > maxShort.
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
	hi, lo := bits.Mul64(a^golden, b^0xD6E8FEB86659FD93)
	return hi ^ lo
}

// load returns the first 8 bytes of b, the first lowest.
func load(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
