package regret

// forms tells which blocks are known to have the same normal form, so that it is searched once.
type forms struct {
	first []int // by block: the first one with the same form, or this
}

func newForms(blocks int) *forms {
	f := &forms{first: make([]int, blocks)}
	for b := range f.first {
		f.first[b] = b
	}
	return f
}

// repeat notes that a block has the same form as the first one with it.
func (f *forms) repeat(first, block int) { f.first[block] = first }

// mostHits is how many places are kept of texts that several blocks may have.
const mostHits = 1 << 20

// hits keeps where needles were found in a text that several blocks may have, by the first of these.
type hits struct {
	of   map[int][]hit
	lost map[int]bool // those of which not all places are kept
	all  int
}

// hit is a place where a needle was found.
type hit struct{ id, from int }

// none reports whether nothing is to be found in the text of a block that has the form of an earlier one.
func (h *hits) none(first int) bool { return len(h.of[first]) == 0 && !h.lost[first] }

// each is [finder.each] of the text of a block, which is searched once for all blocks that have it. again reports whether
// found wants to know of the needle in the others, too. found may be called again with a needle that it wants to forget.
func (h *hits) each(first, block int, s *finder, text []byte, found func(id int, from int) (again, ok bool)) {
	if first != block && !h.lost[first] {
		for _, at := range h.of[first] {
			found(at.id, at.from)
		}
		return
	}
	room := mostHits - h.all
	var list []hit
	s.each(text, func(id, from int) bool {
		again, ok := found(id, from)
		if again && ok && len(list) <= room {
			list = append(list, hit{id, from})
		}
		return ok
	})
	switch {
	case first != block:
	case len(list) > room:
		if h.lost == nil {
			h.lost = map[int]bool{}
		}
		h.lost[block] = true
	case len(list) > 0:
		if h.of == nil {
			h.of = map[int][]hit{}
		}
		h.of[block] = list
		h.all += len(list)
	}
}
