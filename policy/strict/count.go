package strict

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/pattern"
)

const (
	unitTokens = "tokens"
	formCount  = "count"

	// MaxCount is the largest number that [ParseCount] reads, -MaxCount the smallest.
	MaxCount = 1 << 40
)

// unitForm is a count with a letter behind it.
const unitForm = `(0|[1-9][0-9]*(_[0-9]+)*)(\.[0-9]+)?[kKmMgG]`

var countForm = pattern.New(`^[+-]?(` + unitForm + `|(0|[1-9][0-9]*(_[0-9]+)*))$`)

// ParseCount reads a whole number as people write numbers of tokens: 200000, 200_000, 40k, 1.5k, 1M. The letters are
// powers of 1,000. It refuses what is not whole, and more than MaxCount.
func ParseCount(s string) (int, bool) {
	if !countForm().MatchString(s) {
		return 0, false
	}
	digits := s
	exponent := ""
	if i := strings.IndexByte("kmg", s[len(s)-1]|0x20); i >= 0 {
		digits = s[:len(s)-1]
		exponent = "e" + strconv.Itoa(3*(i+1))
	}
	r, ok := new(big.Rat).SetString(strings.ReplaceAll(digits, "_", "") + exponent)
	if !ok || !r.IsInt() || r.Num().CmpAbs(big.NewInt(MaxCount)) > 0 {
		return 0, false
	}
	return int(r.Num().Int64()), true
}

// counts reports whether a number may be written as [ParseCount] reads it, as text.
func (p *Param) counts() bool { return p.Unit == unitTokens || p.Form == formCount }

// Amount reads a finite number, or one that [ParseCount] reads.
func Amount(n *Node) (float64, bool) {
	if x, ok := Number(n); ok {
		return x, true
	}
	i, ok := textCount(n)
	return float64(i), ok
}

// textCount reads a count with a letter, which YAML takes for text.
func textCount(n *Node) (int, bool) {
	if n.ShortTag() != "!!str" {
		return 0, false
	}
	return letterCount(n.Value)
}

func letterCount(s string) (int, bool) {
	i, ok := ParseCount(s)
	return i, ok && strings.ContainsAny(s, "kKmMgG")
}

// PlainCount is a plain value, see [Custom], that is a whole number, or a count with a letter as text, of at
// most MaxNumber.
func PlainCount(plain any) (int, bool) {
	n, ok := plain.(int)
	if text, isText := plain.(string); isText {
		n, ok = letterCount(text)
	}
	return n, ok && n <= MaxNumber && n >= -MaxNumber
}

// CountSchema is a JSON Schema of whole numbers, with counts as text next to it: "40k".
func CountSchema(number map[string]any) map[string]any {
	return AnyOf(number, map[string]any{"type": "string", "pattern": "^" + unitForm + "$"})
}
