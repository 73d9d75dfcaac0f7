package regret

import (
	"hash/maphash"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// knownTexts are the texts of blocks that were read, by a hash of their JSON of 128 bits: an equal one is not decoded again.
type knownTexts struct {
	seeds [2]maphash.Seed
	at    map[[2]uint64]int32 // the index in texts
	texts []knownText
	names []int32 // of the texts, one after another
	from  int     // where the names of the text begin that is being read
}

// knownText is what was worked out of a text.
type knownText struct {
	key      [2]uint64
	block    int32      // the first one with its form
	from, to int32      // its names
	notice   bool       // a Read with it says that the file has not changed
	keyed    bool       // it has a key
	seen     bool       // it came before
	shown    *shownText // by a Read with it; nil: nobody asked
}

func newKnownTexts() *knownTexts {
	return &knownTexts{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, at: map[[2]uint64]int32{}}
}

const (
	shortest    = 64      // JSON of a text that may be known, bytes
	mostNames   = 1 << 21 // of all texts that are known
	noticeBytes = 100     // more than the notice of a file that has not changed begins with
)

// read reads the text of a block as [reader.text] does, or finds what is known of it; then it returns no text. What the
// agent uses something in is always read. What is known holds until the next call.
func (b *builder) read(at int32, uses bool) (known *knownText, text, input []byte, err error) {
	k, m, i := b.known, int(b.of[at]), int(at-b.base[b.of[at]])
	k.from = len(k.names)
	known = &b.scratch
	*known = knownText{}
	if bl := b.block(at); uses || bl.Kind == jsonl.KindToolUse || bl.Offload() != nil {
		text, input, err = b.texts.text(at)
	} else {
		var raw []byte
		if raw, err = b.texts.texts.Raw(m, i); err != nil {
			return nil, nil, nil, lookingFor(err)
		}
		if len(raw) >= shortest && raw[0] == '"' {
			known.keyed, known.key = true, [2]uint64{maphash.Bytes(k.seeds[0], raw), maphash.Bytes(k.seeds[1], raw)}
			if same, ok := k.at[known.key]; ok {
				return &k.texts[same], nil, nil, nil
			}
		}
		text, err = b.texts.texts.Decode(m, i, raw)
		err = lookingFor(err)
	}
	known.notice = session.IsUnchangedFile(string(text[:min(len(text), noticeBytes)]))
	return known, text, input, err
}

// name notes a name of the text that is being read.
func (k *knownTexts) name(i int32) {
	if len(k.names) < mostNames {
		k.names = append(k.names, i)
	}
}

// add adds the text that was read, whose names were noted, if its form is kept.
func (k *knownTexts) add(one *knownText, at int32, kept *forms) {
	if _, ok := kept.of(at); !ok || !one.keyed || len(k.names) == mostNames {
		k.names = k.names[:k.from]
		return
	}
	one.block, one.from, one.to, one.seen = kept.blocks[at].first, int32(k.from), int32(len(k.names)), true
	k.at[one.key] = int32(len(k.texts))
	k.texts = append(k.texts, *one)
}
