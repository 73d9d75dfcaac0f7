package synth

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// ids makes identifiers in the format of the real ones. They have a random stream of their own: a change of content
// does not change them.
type ids struct{ r *rand.Rand }

const base58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
const base64ish = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

func (s ids) chars(prefix string, n int, alphabet string) string {
	b := []byte(prefix)
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
	n := 6
	if v >= v21(70) {
		n = 16
	}
	return s.chars("a", n, hex)
}

// signature is the opaque signature of a thinking block.
func (s ids) signature(n int) string { return s.chars("Er", n-3, base64ish) + "=" }

// uuid is a random UUID of version 4.
func (s ids) uuid() string {
	hi, lo := s.r.Uint64(), s.r.Uint64()
	hi = hi&^0xf000 | 0x4000
	lo = lo&^(3<<62) | 2<<62
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", hi>>32, hi>>16&0xffff, hi&0xffff, lo>>48, lo&(1<<48-1))
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
