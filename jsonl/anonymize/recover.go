package anonymize

import (
	"hash/fnv"
	"strings"
)

// recovery counts the words that a reader could recover who knows half of the original lines. That half, each different
// line once, tells which words had which substitutes. In the other half, the guess for a substitute is the word that it
// stood for at least twice and in at least 60 % of the cases.
type recovery struct {
	told  map[string]map[string]int // substitute -> words
	asked []pair                    // of the other half
	seen  map[uint64]bool           // lines: a repetition tells of nothing else
	lines int
}

// pair is a substitute and its word.
type pair struct{ standIn, word string }

// maxPairs bounds both halves.
const maxPairs = 1 << 20

// line takes a line of a text and its substitute.
func (r *recovery) line(text, standIn string) {
	key := fnv.New64a()
	key.Write([]byte(text))
	if r.seen[key.Sum64()] || len(r.seen) >= maxPairs {
		return
	}
	r.seen[key.Sum64()] = true
	r.lines++
	for i := 0; i < len(standIn); {
		if !isLetter(standIn[i]) {
			i++
			continue
		}
		n := 1
		for i+n < len(standIn) && isLetter(standIn[i+n]) {
			n++
		}
		if n > 2 && n <= maxNoted {
			p := pair{strings.ToLower(standIn[i : i+n]), strings.ToLower(text[i : i+n])}
			if r.lines%2 == 0 && len(r.asked) < maxPairs {
				r.asked = append(r.asked, p)
			} else if r.told[p.standIn] != nil || len(r.told) < maxPairs {
				if r.told[p.standIn] == nil {
					r.told[p.standIn] = map[string]int{}
				}
				r.told[p.standIn][p.word]++
			}
		}
		i += n
	}
}

// result is how many words were tried, and how many of them are found.
func (r *recovery) result() (tried, found int) {
	for _, p := range r.asked {
		best := ""
		times := 0
		sum := 0
		for w, n := range r.told[p.standIn] {
			if sum += n; n > times || n == times && w < best {
				best = w
				times = n
			}
		}
		if best == p.word && times > 1 && 10*times >= 6*sum {
			found++
		}
	}
	return len(r.asked), found
}
