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
	again    bool // another block has the same one
}

// newForms makes room for the texts of so many blocks, of a length in bytes.
func newForms(blocks, length int) *forms {
	return &forms{
		blocks: make([]form, blocks), text: make([]byte, 0, min(length, formsRoom)), seed: maphash.MakeSeed(), known: map[uint64]int32{},
	}
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
			f.blocks[first].again = true
			f.blocks[block] = f.blocks[first]
			return
		}
	}
	f.known[hash] = block
	f.blocks[block] = form{from: int32(from), to: int32(len(f.text)), first: block, kept: true}
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

// each is [finder.each] of the text of a block, which is searched once for all blocks that have it. found may be called
// again with a needle that it wants to forget.
func (h *hits) each(f form, block int32, s *finder, text []byte, found func(id int32, from int) bool) {
	if list, ok := h.of[f.first]; ok && f.again {
		for _, at := range list {
			found(at.id, int(at.from))
		}
		return
	}
	if !f.again || f.first != block {
		s.each(text, found)
		return
	}
	room := mostHits - h.all
	var list []hit
	s.each(text, func(id int32, from int) bool {
		ok := found(id, from)
		if ok && len(list) <= room {
			list = append(list, hit{id, int32(from)})
		}
		return ok
	})
	if len(list) > room {
		return
	}
	h.all += len(list)
	if h.of == nil {
		h.of = map[int32][]hit{}
	}
	h.of[block] = list
}
