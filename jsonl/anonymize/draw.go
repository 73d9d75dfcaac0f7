package anonymize

import (
	"crypto/sha256"
	"encoding/binary"
	"unicode/utf8"
)

// draw is a random stream.
type draw struct {
	seed  [32]byte
	block [32]byte
	at    int
	round uint64
}

// newDraw is the stream of random numbers of a text for a use. It cannot be derived without the seed.
func newDraw(seed *[32]byte, use byte, text string) *draw {
	return &draw{seed: sha256.Sum256(append(append(seed[:], use), text...)), at: 32}
}

// n draws a number from 0 to below-1.
func (d *draw) n(below int) int {
	if d.at+4 > len(d.block) {
		var in [40]byte
		copy(in[:], d.seed[:])
		binary.LittleEndian.PutUint64(in[32:], d.round)
		d.block = sha256.Sum256(in[:])
		d.at = 0
		d.round += 1
	}
	v := binary.LittleEndian.Uint32(d.block[d.at:])
	d.at += 4
	return int(uint64(v) * uint64(below) >> 32)
}

// digits draws a number of as many digits; the first is 0 only where it was.
func (d *draw) digits(dst []byte, s string) []byte {
	for i := range len(s) {
		if i == 0 && s[0] != '0' {
			dst = append(dst, '1'+byte(d.n(9)))
		} else {
			dst = append(dst, '0'+byte(d.n(10)))
		}
	}
	return dst
}

// rune draws a letter of the alphabet of r, or one of the same length.
func (d *draw) rune(r rune) rune {
	if i := rangeOf(alphabets, r); i >= 0 {
		a := alphabets[i]
		return a[0] + rune(d.n(int(a[1]-a[0]+1)))
	}
	switch utf8.RuneLen(r) {
	case 2:
		return 0x101 + rune(d.n(0x17E-0x101))
	case 3:
		return 0x4E00 + rune(d.n(0x9FA5-0x4E00))
	}
	return 0x20000 + rune(d.n(0x2A6D6-0x20000))
}

// each fills out with substitutes for the runes of s, those of ASCII by ascii.
func (d *draw) each(s string, out []byte, ascii func(byte) byte) {
	out = out[:0]
	for _, r := range s {
		if r < utf8.RuneSelf {
			out = append(out, ascii(byte(r)))
		} else {
			out = utf8.AppendRune(out, d.rune(r))
		}
	}
}
