package regret

import (
	"hash/maphash"

	"github.com/ctxkit/ctxkit/jsonl"
)

// knownTexts are the texts of blocks that were read, by a hash of their JSON of 128 bits: what was worked out of one holds
// for an equal one.
type knownTexts struct {
	seeds [2]maphash.Seed
	at    map[[2]uint64]int // the index in list
	list  []knownText
}

// knownText is what was worked out of a text.
type knownText struct {
	block int        // 1 + the first block with its form; 0: none was searched
	shown *shownText // by a Read with it; nil: it was not asked for
}

func newKnownTexts() *knownTexts { return &knownTexts{seeds: newSeeds(), at: map[[2]uint64]int{}} }

func newSeeds() [2]maphash.Seed { return [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()} }

// keyOf is a hash of 128 bits.
func keyOf(seeds *[2]maphash.Seed, text []byte) [2]uint64 {
	return [2]uint64{maphash.Bytes(seeds[0], text), maphash.Bytes(seeds[1], text)}
}

// shortest is the length of the JSON of a text that is known, bytes.
const shortest = 64

// of is what is known of a text by its JSON. It holds until the next call. What is worked out of a short one is not kept.
func (k *knownTexts) of(raw []byte) *knownText {
	if len(raw) < shortest {
		return &knownText{}
	}
	key := keyOf(&k.seeds, raw)
	i, ok := k.at[key]
	if !ok {
		k.list = append(k.list, knownText{})
		i = len(k.list) - 1
		k.at[key] = i
	}
	return &k.list[i]
}

// plain reports whether the text of a block is what its JSON says: not that of a call, nor that of a file.
func (x *Index) plain(block int) bool {
	bl := x.block(block)
	return bl.Kind != jsonl.KindToolUse && bl.Offload == nil
}

// raw reads the JSON of a block. It holds until the next call.
func (r *reader) raw(block int) ([]byte, error) {
	raw, err := r.texts.Raw(r.x.at(block))
	return raw, lookingFor(err)
}

// decode is the text of a block that is [Index.plain] by its JSON.
func (r *reader) decode(block int, raw []byte) ([]byte, error) {
	m, b := r.x.at(block)
	text, err := r.texts.Decode(m, b, raw)
	return text, lookingFor(err)
}

// form is the normal form of the text of a block. raw is its JSON where that was read; nil: it was not.
func (r *reader) form(block int, raw []byte) ([]byte, error) {
	var text []byte
	var err error
	if raw == nil {
		text, _, err = r.text(block)
	} else {
		if body, ok := quoted(raw); ok {
			if folded, ok := foldJSON(nil, body, nil); ok {
				return folded, nil
			}
		}
		text, err = r.decode(block, raw)
	}
	return fold(nil, text), err
}
