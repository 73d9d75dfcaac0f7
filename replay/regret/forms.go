package regret

// formsRoom is the most memory for the normal forms of texts, bytes: those of a session of some megabytes.
const formsRoom = 8 << 20

// forms keeps the normal forms of the texts of blocks, the oldest first, so that both passes over a conversation read
// these texts once.
type forms struct {
	text   []byte
	blocks []form // by block
	full   bool
}

// form is where the normal form of a block's text stands.
type form struct {
	from, to int32
	kept     bool
}

// newForms makes room for the texts of so many blocks, of a length in bytes.
func newForms(blocks, length int) *forms {
	return &forms{blocks: make([]form, blocks), text: make([]byte, 0, min(length, formsRoom))}
}

// keep keeps the form of a block's text while there is room.
func (f *forms) keep(block int32, text []byte) {
	if f.full = f.full || len(f.text)+len(text) > formsRoom; f.full {
		return
	}
	from := int32(len(f.text))
	f.text = fold(f.text, text)
	f.blocks[block] = form{from, int32(len(f.text)), true}
}

// of is the form that is kept of a block.
func (f *forms) of(block int32) (text []byte, ok bool) {
	b := f.blocks[block]
	return f.text[b.from:b.to], b.kept
}
