package synth

import (
	"math/rand/v2"
	"time"
)

// ids makes identifiers in the format of the real ones. They have a random
// stream of their own: a change of content does not change them.
type ids struct{ r *rand.Rand }

const base58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
const base64ish = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

func (s ids) chars(prefix string, n int, alphabet string) string {
	b := make([]byte, len(prefix), len(prefix)+n)
	copy(b, prefix)
	for range n {
		b = append(b, alphabet[s.r.IntN(len(alphabet))])
	}
	return string(b)
}

func (s ids) toolID() string    { return s.chars("toolu_01", 22, base58) }
func (s ids) messageID() string { return s.chars("msg_01", 22, base58) }
func (s ids) requestID() string { return s.chars("req_011C", 20, base58) }

// agentID is a subagent's id: 7 hex digits, 17 in newer clients.
func (s ids) agentID(v release) string {
	if v >= v21(70) {
		return s.chars("a", 16, hex)
	}
	return s.chars("a", 6, hex)
}

// signature is the opaque signature of a thinking block.
func (s ids) signature(n int) string { return s.chars("Er", n-3, base64ish) + "=" }

// uuid is a random UUID of version 4.
func (s ids) uuid() string {
	var b [36]byte
	hi, lo := s.r.Uint64(), s.r.Uint64()
	n := 0
	for i := range 32 {
		if i == 8 || i == 12 || i == 16 || i == 20 {
			b[n] = '-'
			n++
		}
		var d byte
		if i < 16 {
			d = byte(hi>>(60-4*i)) & 15
		} else {
			d = byte(lo>>(60-4*(i-16))) & 15
		}
		switch i {
		case 12:
			d = 4
		case 16:
			d = 8 | d&3
		}
		b[n] = hex[d]
		n++
	}
	return string(b[:])
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
