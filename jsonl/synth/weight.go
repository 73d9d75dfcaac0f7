package synth

import (
	"fmt"
	"math/rand/v2"
	"time"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/jsonl"
)

// What the simulated API counts for a text, in thousandths of a token: integers, so that every machine gets the same
// sums.
const (
	toolRate     = 345  // per ASCII character of tool output: 2.9 characters a token
	proseRate    = 278  // per ASCII character of prompts, answers, thinking and summaries: 3.6 characters a token
	inputRate    = 333  // per ASCII character of a tool's input: 3.0 characters a token
	latinRate    = 700  // per rune of two UTF-8 bytes
	wideRate     = 1100 // per rune of three bytes: arrows, CJK
	emojiRate    = 2600 // per rune of four bytes
	messageFrame = 4000 // per message, in addition to its text
	toolUseFrame = 24000
	resultFrame  = 9000
)

// milli is the weight of s in thousandths of a token, at a rate for ASCII characters.
func milli(s string, ascii int64) int64 {
	var w int64
	for _, r := range s {
		w += [...]int64{1: ascii, 2: latinRate, 3: wideRate, 4: emojiRate}[utf8.RuneLen(r)]
	}
	return w
}

// tokens rounds thousandths of a token.
func tokens(milli int64) int { return int((milli + 500) / 1000) }

// units is the length of s in UTF-16 units, as JavaScript counts it.
func units(s string) int { return jsonl.Measure(s).UTF16 }

// estimate is the client's estimate for a text of n UTF-16 units, in tokens: Math.round(n / 4), halves rounded up.
func estimate(n int) int { return (n + 2) / 4 }

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
	if v.number >= v21(70) {
		n = 16
	}
	return s.chars("a", n, hex)
}

// signature is the opaque signature of a thinking block.
func (s ids) signature(n int) string { return s.chars("Er", n-3, base64ish) + "=" }

// uuid is a random UUID of version 4.
func (s ids) uuid() string {
	hi := s.r.Uint64()
	lo := s.r.Uint64()
	hi = hi&^0xf000 | 0x4000
	lo = lo&^(3<<62) | 2<<62
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", hi>>32, hi>>16&0xffff, hi&0xffff, lo>>48, lo&(1<<48-1))
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
