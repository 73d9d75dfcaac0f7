package regret

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"slices"
	"strings"
)

// prefix is how many bytes of a needle are looked up at every place of a text: as many as one word holds.
const prefix = 8

// finder finds needles in texts, all at once: a text is read byte by byte and the last eight bytes are looked up. The
// needles that begin with them are sorted; a binary search finds the one that the text continues with, by the next sixteen
// bytes first, and its shorter ones are linked. It costs the length of the texts, and the logarithm of the needles where
// one begins.
type finder struct {
	needles []entry
	sorted  bool
	filter  [filterBits >> 6]uint64 // bits by hash of prefix
	second  [filterBits >> 6]uint64 // bits by hash of prefix and the word behind it
	nodes   []node                  // by text
	seconds [][2]uint64             // of each node: its words behind the prefix
	groups  []group
	places  []place // of the groups, each at a hash of its prefix or behind it
	factor  uint64  // of that hash, which no text can know
	shift   int     // of it
	looked  int     // how often a text was compared with a needle
}

// entry is a needle as it was added.
type entry struct {
	text string
	id   int
}

// node is the needles with one text.
type node struct {
	text  string
	ids   []int
	short int // the node of the longest other needle that this text begins with, -1: none
}

// group is the nodes with one prefix.
type group struct {
	from, to int
	left     int  // needles that are not forgotten
	brief    bool // one is shorter than two words
}

// place is a group by its prefix.
type place struct {
	prefix uint64
	group  int // 1 + its number; 0: none is here
}

func newFinder() *finder { return &finder{factor: maphash.String(maphash.MakeSeed(), "") | 1} }

// reset takes all needles out.
func (s *finder) reset() {
	clear(s.filter[:])
	clear(s.second[:])
	s.sorted = false
	s.needles = s.needles[:0]
	s.nodes = s.nodes[:0]
	s.seconds = s.seconds[:0]
	s.groups = s.groups[:0]
}

// filterBits is how many bits a filter has.
const filterBits = 1 << 18

// bit is the bit of a filter that stands for a word.
func bit(p uint64) uint64 { return p * 0x9E3779B97F4A7C15 >> 46 }

// word is the first eight bytes of a text, in the order of texts; zeros where it is shorter.
func word(text []byte) uint64 {
	if len(text) >= prefix {
		return binary.BigEndian.Uint64(text)
	}
	w := uint64(0)
	for i, c := range text {
		w |= uint64(c) << (56 - 8*i)
	}
	return w
}

// words are the two words of a text behind its prefix.
func words(text []byte) [2]uint64 {
	if len(text) <= 2*prefix {
		return [2]uint64{word(text[prefix:])}
	}
	return [2]uint64{word(text[prefix:]), word(text[2*prefix:])}
}

// common is how many bytes two texts have in common at their beginning, from which on they may differ.
func common(a string, b []byte, from int) int {
	const step = 64
	n := min(len(a), len(b))
	for from+step <= n && a[from:from+step] == string(b[from:from+step]) {
		from += step
	}
	for ; from+8 <= n; from += 8 {
		if off := word64(a[from:from+8]) ^ binary.LittleEndian.Uint64(b[from:from+8]); off != 0 {
			return from + bits.TrailingZeros64(off)>>3
		}
	}
	for from < n && a[from] == b[from] {
		from++
	}
	return from
}

// word64 is eight bytes of a text, the first lowest.
func word64(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// add adds a needle of at least prefix bytes. All are added before the first text is read.
func (s *finder) add(needle string, id int) { s.needles = append(s.needles, entry{needle, id}) }

// sort groups the needles. It puts their texts side by side in their order, in which they are likely to be found.
func (s *finder) sort() {
	s.sorted = true
	var texts strings.Builder
	for _, e := range s.needles {
		texts.WriteString(e.text)
	}
	all := texts.String()
	for i := range s.needles {
		e := &s.needles[i]
		e.text, all = all[:len(e.text)], all[len(e.text):]
	}
	slices.SortStableFunc(s.needles, func(a, b entry) int { return cmp.Compare(a.text, b.text) })
	ids := make([]int, len(s.needles))
	s.nodes, s.seconds = slices.Grow(s.nodes, len(s.needles)), slices.Grow(s.seconds, len(s.needles))
	for k, e := range s.needles {
		ids[k] = e.id
		last := len(s.nodes) - 1
		if last >= 0 && s.nodes[last].text == e.text {
			s.nodes[last].ids = ids[k-len(s.nodes[last].ids) : k+1]
			s.groups[len(s.groups)-1].left++
			continue
		}
		for last >= 0 && !strings.HasPrefix(e.text, s.nodes[last].text) {
			last = s.nodes[last].short
		}
		i := len(s.nodes)
		s.nodes = append(s.nodes, node{e.text, ids[k : k+1], last})
		head := []byte(e.text[:min(len(e.text), 3*prefix)])
		s.seconds = append(s.seconds, words(head))
		if i == 0 || s.nodes[i-1].text[:prefix] != e.text[:prefix] {
			p := word(head)
			s.filter[bit(p)>>6] |= 1 << (bit(p) & 63)
			s.groups = append(s.groups, group{from: i})
		}
		g := &s.groups[len(s.groups)-1]
		g.to = i + 1
		g.left++
		g.brief = g.brief || len(e.text) < 2*prefix
		b := bit(word(head) ^ bits.RotateLeft64(s.seconds[i][0], 1))
		s.second[b>>6] |= 1 << (b & 63)
	}
	s.needles = s.needles[:0]
	s.place()
}

// place makes the table of groups, at most half full.
func (s *finder) place() {
	s.shift = bits.LeadingZeros64(2*uint64(len(s.groups)) + 1)
	s.places = make([]place, 1<<(64-s.shift))
	for k := range s.groups {
		p := word([]byte(s.nodes[s.groups[k].from].text[:prefix]))
		i := p * s.factor >> s.shift
		for s.places[i].group != 0 {
			i = (i + 1) % uint64(len(s.places))
		}
		s.places[i] = place{p, k + 1}
	}
}

// group is the group with a prefix, nil where there is none.
func (s *finder) group(p uint64) *group {
	mask := uint64(len(s.places) - 1)
	for i := p * s.factor >> s.shift; ; i++ {
		switch at := &s.places[i&mask]; {
		case at.group == 0:
			return nil
		case at.prefix == p:
			return &s.groups[at.group-1]
		}
	}
}

// each calls found with every needle of a text and the place where it begins. found returns false to forget the needle.
func (s *finder) each(text []byte, found func(id, from int) bool) {
	if !s.sorted {
		s.sort()
	}
	p := uint64(0)
	for i, c := range text {
		p = p<<8 | uint64(c)
		if i+1 < prefix {
			continue
		}
		b := bit(p)
		if s.filter[b>>6]>>(b&63)&1 == 0 {
			continue
		}
		g := s.group(p)
		if g == nil || g.left == 0 {
			continue
		}
		if !g.brief {
			b := bit(p ^ bits.RotateLeft64(word(text[i+1:]), 1))
			if s.second[b>>6]>>(b&63)&1 == 0 {
				continue
			}
		}
		s.begin(g, text, i+1-prefix, found)
	}
}

// begin calls found with the needles of a group that begin at a place of a text.
func (s *finder) begin(g *group, text []byte, from int, found func(id, from int) bool) {
	rest := text[from:]
	next := words(rest)
	below := g.from
	above := g.to
	least, most := 0, 0 // bytes that the text has in common with the nodes below-1 and above, as far as they are known
	for below < above { // above becomes the first node behind the text
		k := (below + above) / 2
		s.looked++
		behind := false
		same := 0
		if w := s.seconds[k]; w == next {
			node := s.nodes[k].text
			same = common(node, rest, max(min(least, most), min(len(node), len(rest), 3*prefix)))
			behind = same < len(node) && (same == len(rest) || node[same] > rest[same])
		} else {
			behind = w[0] > next[0] || w[0] == next[0] && w[1] > next[1]
		}
		if behind {
			above = k
			most = same
		} else {
			below = k + 1
			least = same
		}
	}
	same := -1 // bytes that the text has in common with the first node, all of which the shorter ones have, too
	for k := above - 1; k >= g.from; k = s.nodes[k].short {
		n := &s.nodes[k]
		s.looked++
		if same < 0 {
			same = common(n.text, rest, max(least, prefix))
		}
		if len(n.text) > same {
			continue
		}
		kept := n.ids[:0]
		for _, id := range n.ids {
			if found(id, from) {
				kept = append(kept, id)
			}
		}
		g.left -= len(n.ids) - len(kept)
		n.ids = kept
	}
}
