package regret

import (
	"cmp"
	"slices"
	"strings"
)

// prefix is how many bytes of a needle are looked up at every place of a text: as many as one word holds.
const prefix = 8

// finder finds needles in texts, all at once: a text is read byte by byte and the last eight bytes are looked up. The
// needles that begin with them are sorted; a binary search finds the one that the text continues with, by the next eight
// bytes first, and its shorter ones are linked. It costs the length of the texts, and the logarithm of the needles where
// one begins.
type finder struct {
	needles []entry
	sorted  bool
	filter  [1 << 12]uint64 // bits by hash of prefix
	nodes   []node          // by text
	seconds []uint64        // of each node: its word behind the prefix
	groups  []group
	at      map[uint64]int32 // a group by its prefix
	looked  int              // how often a text was compared with a needle
}

// entry is a needle as it was added.
type entry struct {
	text string
	id   int32
}

// node is the needles with one text.
type node struct {
	text  string
	ids   []int32
	short int32 // the node of the longest other needle that this text begins with, -1: none
}

// group is the nodes with one prefix.
type group struct {
	from, to int32
	left     int32 // needles that are not forgotten
}

func newFinder() *finder { return &finder{at: map[uint64]int32{}} }

func bit(p uint64) uint64 { return p * 0x9E3779B97F4A7C15 >> 46 }

// word is the first eight bytes of a text, in the order of texts; zeros where it is shorter.
func word[T string | []byte](text T) uint64 {
	w := uint64(0)
	for i := range min(len(text), prefix) {
		w |= uint64(text[i]) << (56 - 8*i)
	}
	return w
}

// add adds a needle of at least prefix bytes. All are added before the first text is read.
func (s *finder) add(needle string, id int32) { s.needles = append(s.needles, entry{needle, id}) }

// sort groups the needles.
func (s *finder) sort() {
	s.sorted = true
	slices.SortStableFunc(s.needles, func(a, b entry) int { return cmp.Compare(a.text, b.text) })
	for _, e := range s.needles {
		last := int32(len(s.nodes)) - 1
		if last >= 0 && s.nodes[last].text == e.text {
			s.nodes[last].ids = append(s.nodes[last].ids, e.id)
			s.groups[len(s.groups)-1].left++
			continue
		}
		for last >= 0 && !strings.HasPrefix(e.text, s.nodes[last].text) {
			last = s.nodes[last].short
		}
		i := int32(len(s.nodes))
		s.nodes = append(s.nodes, node{e.text, []int32{e.id}, last})
		s.seconds = append(s.seconds, word(e.text[prefix:]))
		if i == 0 || s.nodes[i-1].text[:prefix] != e.text[:prefix] {
			p := word(e.text)
			s.filter[bit(p)>>6] |= 1 << (bit(p) & 63)
			s.at[p] = int32(len(s.groups))
			s.groups = append(s.groups, group{from: i})
		}
		g := &s.groups[len(s.groups)-1]
		g.to = i + 1
		g.left++
	}
	s.needles = nil
}

// each calls found with every needle of a text and the place where it begins. found returns false to forget the needle.
func (s *finder) each(text []byte, found func(id int32, from int) bool) {
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
		k, ok := s.at[p]
		if !ok {
			continue
		}
		if g := &s.groups[k]; s.begin(g, text, i+1-prefix, found) {
			delete(s.at, p)
		}
	}
}

// begin calls found with the needles of a group that begin at a place of a text, and reports whether all of the group
// are forgotten.
func (s *finder) begin(g *group, text []byte, from int, found func(id int32, from int) bool) bool {
	rest := text[from:]
	second := word(rest[prefix:])
	below, above := g.from, g.to
	for below < above { // above becomes the first node behind the text
		k := (below + above) / 2
		s.looked++
		if w := s.seconds[k]; w > second || w == second && s.nodes[k].text > string(rest) {
			above = k
		} else {
			below = k + 1
		}
	}
	same := -1 // bytes that the text has in common with the first node, all of which the shorter ones have, too
	for k := above - 1; k >= g.from; k = s.nodes[k].short {
		n := &s.nodes[k]
		s.looked++
		if same < 0 {
			for same = 0; same < min(len(n.text), len(rest)) && n.text[same] == rest[same]; same++ {
			}
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
		g.left -= int32(len(n.ids) - len(kept))
		n.ids = kept
	}
	return g.left == 0
}
