package regret

import (
	"bytes"
	"hash/maphash"
)

// formsRoom is the most memory for the normal forms of texts, bytes: those of a session of 200 MB.
const formsRoom = 24 << 20

// forms keeps the normal forms of the texts of blocks, the oldest first and equal ones once, so that both passes over a
// conversation read these texts once, and the second searches equal ones once.
type forms struct {
	text   []byte
	blocks []form // by block
	full   bool
	seed   maphash.Seed
	known  map[uint64]int32 // by hash of a form: the first block with one of it
}

// form is where the normal form of a block's text stands.
type form struct {
	from, to int32
	first    int32 // the first block with the same one, or this
	kept     bool
	second   int32 // the next block with the same one, where this is the first; 0: none
}

// newForms makes room for the texts of so many blocks, of a length in bytes.
func newForms(blocks, length int) *forms {
	f := &forms{
		blocks: make([]form, blocks), text: make([]byte, 0, min(length, formsRoom)), seed: maphash.MakeSeed(), known: map[uint64]int32{},
	}
	for b := range f.blocks {
		f.blocks[b].first = int32(b)
	}
	return f
}

// keep keeps the form of a block's text while there is room.
func (f *forms) keep(block int32, text []byte) {
	if f.full = f.full || len(f.text)+len(text) > formsRoom; f.full {
		return
	}
	from := len(f.text)
	f.text = fold(f.text, text)
	hash := maphash.Bytes(f.seed, f.text[from:])
	if first, ok := f.known[hash]; ok {
		if same, _ := f.of(first); bytes.Equal(same, f.text[from:]) {
			f.text = f.text[:from]
			f.repeat(first, block)
			return
		}
	}
	f.known[hash] = block
	f.blocks[block] = form{from: int32(from), to: int32(len(f.text)), first: block, kept: true}
}

// repeat notes that a block has the same form as the first one with it.
func (f *forms) repeat(first, block int32) {
	if f.blocks[first].second == 0 {
		f.blocks[first].second = block
	}
	f.blocks[block] = f.blocks[first]
}

// shared reports whether another block before one has the same form as the first one with it.
func (f *forms) shared(first, before int32) bool {
	second := f.blocks[first].second
	return second > 0 && second < before
}

// firsts is by block the first one that is known to have the same form.
func (f *forms) firsts() []int32 {
	first := make([]int32, len(f.blocks))
	for b := range f.blocks {
		first[b] = f.blocks[b].first
	}
	return first
}

// of is the form that is kept of a block.
func (f *forms) of(block int32) (text []byte, ok bool) {
	b := f.blocks[block]
	return f.text[b.from:b.to], b.kept
}

// mostHits is how many places are kept of texts that several blocks have.
const mostHits = 1 << 20

// hits keeps where needles were found in a text that several blocks have, by the first of these.
type hits struct {
	of  map[int32][]hit
	all int
}

// hit is a place where a needle was found.
type hit struct{ id, from int32 }

// each is [finder.each] of the text of a block, which is searched once for all blocks that have it. again reports whether
// found wants to know of the needle in the others, too. found may be called again with a needle that it wants to forget.
func (h *hits) each(f form, block int32, s *finder, text []byte, found func(id int32, from int) (again, ok bool)) {
	if list, ok := h.of[f.first]; ok && f.first != block {
		for _, at := range list {
			found(at.id, int(at.from))
		}
		return
	}
	room := mostHits - h.all
	keep := f.first == block && f.second > 0
	var list []hit
	s.each(text, func(id int32, from int) bool {
		again, ok := found(id, from)
		if again && ok && keep && len(list) <= room {
			list = append(list, hit{id, int32(from)})
		}
		return ok
	})
	if !keep || len(list) > room {
		return
	}
	h.all += len(list)
	if h.of == nil {
		h.of = map[int32][]hit{}
	}
	h.of[block] = list
}
