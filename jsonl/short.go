package jsonl

import (
	"hash/fnv"
	"strconv"
	"strings"
)

// shortDigits is how many characters a short id has.
const shortDigits = 6

// ShortID derives the six characters that identify a uuid: its first ten hexadecimal digits as a number, in base 36,
// of which the first six digits. A text that does not begin with ten hexadecimal digits (hyphens left out) is hashed
// (FNV-1a, 64 bits) instead.
func ShortID(uuid string) string {
	const hex = 10
	digits := make([]byte, 0, hex)
	for i := 0; i < len(uuid) && len(digits) < hex; i++ {
		if uuid[i] != '-' {
			digits = append(digits, uuid[i])
		}
	}
	n, err := strconv.ParseUint(string(digits), 16, 64)
	if err != nil || len(digits) < hex {
		return ShortHash(uuid)
	}
	return shortened(n)
}

// ShortHash is six characters for any text.
func ShortHash(s string) string {
	h := fnv.New64a()
	h.Write([]byte(s))
	return shortened(h.Sum64())
}

func shortened(n uint64) string {
	s := strconv.FormatUint(n, 36)
	if len(s) < shortDigits {
		return strings.Repeat("0", shortDigits-len(s)) + s
	}
	return s[:shortDigits]
}
