package bpe

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	loader "github.com/pkoukk/tiktoken-go-loader"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/report/golden"
)

// TestRanksAreCurrent holds that the vocabularies of the program are those of tiktoken-go-loader, packed; -update packs
// them again.
func TestRanksAreCurrent(t *testing.T) {
	for _, name := range Names() {
		ranks := must.Get(loader.NewOfflineLoader().LoadTiktokenBpe(name + ".tiktoken"))(t)
		data := must.Get(packRanks(ranks))(t)
		golden.Check(t, name+".ranks", data)
	}
}

func TestPackRefuses(t *testing.T) {
	whole := func() map[string]int {
		ranks := map[string]int{}
		for b := range 256 {
			ranks[string([]byte{byte(b)})] = b
		}
		return ranks
	}
	must.Get(packRanks(whole()))(t)
	tests := []struct {
		name   string
		change func(map[string]int)
	}{
		{"a gap", func(r map[string]int) { r["ab"] = 300 }},
		{"a rank twice", func(r map[string]int) { r["b"] = r["a"] }},
		{"a byte missing", func(r map[string]int) { r["ab"] = r["a"]; delete(r, "a") }},
		{"an empty token", func(r map[string]int) { r[""] = 256 }},
		{"a token too long", func(r map[string]int) { r[string(make([]byte, 256))] = 256 }},
	}
	for _, tt := range tests {
		ranks := whole()
		tt.change(ranks)
		if _, err := packRanks(ranks); err == nil {
			t.Errorf("%s is packed", tt.name)
		}
	}
}

// longestText is the most bytes that a token may have: its length is a byte.
const longestText = 255

// packRanks returns the packed form of a vocabulary. The ranks are 0 to n-1, and every byte is a token.
func packRanks(ranks map[string]int) ([]byte, error) {
	byRank := make([]string, len(ranks))
	for token, r := range ranks {
		if r < 0 || r >= len(ranks) || byRank[r] != "" {
			return nil, fmt.Errorf("rank %d is out of order: ranks must be 0 to %d, each once", r, len(ranks)-1)
		}
		if len(token) == 0 || len(token) > longestText {
			return nil, fmt.Errorf("the token of rank %d has %d bytes: 1 to %d can be written", r, len(token), longestText)
		}
		byRank[r] = token
	}
	for b := range 256 {
		if _, ok := ranks[string([]byte{byte(b)})]; !ok {
			return nil, fmt.Errorf("byte %#02x is no token: merging starts from all 256", b)
		}
	}
	return pack(byRank)
}

// pack is packRanks of the tokens by rank, of which those of one byte may be missing.
func pack(tokens []string) ([]byte, error) {
	if len(tokens) >= 1<<24 {
		return nil, fmt.Errorf("%d tokens: less than %d can be written", len(tokens), 1<<24)
	}
	var pairs, text []byte
	buckets := make([][]byte, 1<<bucketBits)
	var joined, partial []int
	for rank, token := range tokens {
		joined, partial = join(joined, partial, token)
		switch n := len(token); {
		case n == 2:
			pairs = binary.LittleEndian.AppendUint32(append(pairs, token...), uint32(rank))[:len(pairs)+pairBytes]
		case n > 2:
			at := hash(append([]byte(token), make([]byte, pad)...), 0, n) >> (64 - bucketBits)
			buckets[at] = append(binary.LittleEndian.AppendUint32(buckets[at], uint32(n)<<24|uint32(rank+1)), token...)
		}
	}
	var starts, parts []byte
	base := 0
	for i, bucket := range append(buckets, nil) {
		if i%(1<<groupBits) == 0 {
			base = len(text)
			starts = binary.LittleEndian.AppendUint32(starts, uint32(base))
		}
		if len(text)-base >= 1<<16 {
			return nil, fmt.Errorf("bucket %d: more than %d bytes before it", i, 1<<16)
		}
		parts = binary.LittleEndian.AppendUint16(parts, uint16(len(text)-base))
		text = append(text, bucket...)
	}
	one, two := gaps(joined), gaps(partial)
	var data []byte
	for _, part := range [][]byte{pairs, one, two, text} {
		data = binary.LittleEndian.AppendUint32(data, uint32(len(part)))
	}
	return slices.Concat(data, starts, parts, pairs, one, two, text, make([]byte, pad)), nil
}

// join adds the places in a token where a wide character follows another one to the two sets.
func join(joined, partial []int, token string) (one, two []int) {
	for i := 1; i < len(token); i++ {
		switch {
		case !wide(token[i]):
		case i >= 3 && i+3 <= len(token):
			joined = append(joined, int(joinHash([]byte(token[i-3:i+3]))))
		default:
			partial = append(partial, pair(token[i-1], token[i]))
		}
	}
	return joined, partial
}

// gaps is a set of numbers as the differences of one to the next.
func gaps(set []int) (data []byte) {
	slices.Sort(set)
	last := 0
	for _, n := range slices.Compact(set) {
		data = binary.AppendUvarint(data, uint64(n-last))
		last = n
	}
	return data
}
