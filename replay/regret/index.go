package regret

import (
	"cmp"
	"path"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/names"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// Index is every use the recorded conversation makes of its own blocks, independent of any policy. All policies share
// one; it does not change.
type Index struct {
	conv   *session.Conversation
	base   []int32   // by message: the number of its first block
	uses   []use     // in order of request
	joined []int     // by message: n of the first request that can hold it
	of     []int32   // by block: its message
	last   []int32   // by block: n of the last request that uses it, 0: none does
	used   []int32   // blocks that are used
	ends   [][]int32 // by n: blocks not needed from there on
	shared *shared   // nil: nothing is kept for the next policy
}

// use is one use of one block.
type use struct {
	request  int   // n
	source   int32 // the block that is used
	message  int32 // that uses it
	line     int32
	evidence Evidence
	holders  []int32 // blocks that hold what was used; nil for a quotation
	text     string  // of an edit: what must be in view
	words    []word  // of a quotation
	quote    string
}

// word is a distinctive word of a quotation and the blocks that held it.
type word struct {
	hash    uint64
	length  int32
	count   int32
	holders [maxHolders]int32
}

// NewIndex reads the whole conversation. recorded are the edits of the record's own track: they give the view that
// the agent had.
func NewIndex(conv *session.Conversation, recorded []policy.Edit) (*Index, error) {
	x := &Index{conv: conv, base: make([]int32, len(conv.Messages)+1), joined: make([]int, len(conv.Messages))}
	next := 0
	for m := range conv.Messages {
		x.base[m+1] = x.base[m] + int32(len(conv.Messages[m].Blocks))
		for range conv.Messages[m].Blocks {
			x.of = append(x.of, int32(m))
		}
		for next < len(conv.Requests) && conv.Requests[next].Message <= m {
			next++
		}
		x.joined[m] = next + 1
	}
	folder := names.Trim(conv.CWD)
	b := &builder{
		Index: x, folder: folder, folderName: path.Base(folder),
		seen: map[uint64]int32{}, files: map[string]*file{}, reads: map[readRange]int32{},
	}
	for m := range conv.Messages {
		if err := b.message(m); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(x.uses, func(a, b use) int { return cmp.Compare(a.request, b.request) })
	if err := x.dropUnforced(recorded); err != nil {
		return nil, err
	}
	x.lastUses()
	return x, nil
}

// dropUnforced drops the repeated reads that the agent made with the first result still in its view: no policy is to
// blame for them.
func (x *Index) dropUnforced(recorded []policy.Edit) error {
	s := newSight(x, true)
	kept := x.uses[:0]
	err := s.walk(recorded, func(u *use) error {
		if u.evidence == Reread {
			if missing, err := s.missing(u); err != nil || !missing {
				return err
			}
		}
		kept = append(kept, *u)
		return nil
	})
	x.uses = kept
	return err
}

// at returns the message of a block and its index there.
func (x *Index) at(block int32) (message, index int) {
	message = int(x.of[block])
	return message, int(block - x.base[message])
}

func (x *Index) block(block int32) *session.Block {
	m, b := x.at(block)
	return &x.conv.Messages[m].Blocks[b]
}

// builder reads a conversation in order.
type builder struct {
	*Index
	words    []word           // every distinctive word so far
	seen     map[uint64]int32 // hash -> index into words
	files    map[string]*file
	reads    map[readRange]int32 // the newest Read result of a range
	calls    []call              // without a result so far
	attached []int32             // the newest attached files

	folder     string // the client's working folder: every request names it
	folderName string

	quotes  []quotation // of the current block, by source
	quoting map[int32]int
	counted map[uint64]bool
}

type quotation struct {
	use
	length int32
}

func (b *builder) message(m int) error {
	msg := &b.conv.Messages[m]
	if msg.Lost || msg.Earlier {
		return nil
	}
	request := b.joined[m]
	if msg.Class == session.ClassResponse {
		request-- // what it uses was in the view it answers
	}
	uses := !msg.RecordOnly && (msg.Class == session.ClassResponse || msg.Class == session.ClassPrompt) &&
		request >= 1 && request <= len(b.conv.Requests)
	for i := range msg.Blocks {
		bl := &msg.Blocks[i]
		if !evictable(bl.Kind) && bl.Kind != jsonl.KindAttachment {
			continue
		}
		at := b.base[m] + int32(i)
		text, err := b.text(at)
		if err != nil {
			return err
		}
		switch bl.Kind {
		case jsonl.KindToolUse:
			var in input
			if in, text, err = readInput(text); err != nil {
				text = "" // an input that is no object names nothing
			}
			if uses {
				if err := b.call(m, i, request, in); err != nil {
					return err
				}
			}
		case jsonl.KindToolResult:
			if err := b.result(bl, at, text); err != nil {
				return err
			}
		case jsonl.KindAttachment:
			b.attachment(at, bl.Type)
		}
		b.addWords(m, at, request, text, uses && bl.Kind != jsonl.KindToolResult)
	}
	return nil
}

// addWords notes that a block holds the distinctive words of its text. Words that an earlier message held are
// quotations, if quotes is set.
func (b *builder) addWords(m int, at int32, request int, text string, quotes bool) {
	b.quotes, b.quoting, b.counted = b.quotes[:0], map[int32]int{}, map[uint64]bool{}
	words(text, func(w string) {
		h := names.Hash(w)
		if b.counted[h] || w == b.folder || w == b.folderName {
			return
		}
		b.counted[h] = true
		i, known := b.seen[h]
		if !known {
			i = int32(len(b.words))
			b.seen[h] = i
			b.words = append(b.words, word{hash: h, length: int32(len(w))})
		}
		e := &b.words[i]
		if quotes && e.count > 0 && e.count <= maxHolders && e.holders[e.count-1] < b.base[m] {
			b.quote(e, w, m, request)
		}
		if e.count < maxHolders {
			e.holders[e.count] = at
		}
		e.count++
	})
	for i := range b.quotes {
		if b.quotes[i].length >= minQuoted {
			b.uses = append(b.uses, b.quotes[i].use)
		}
	}
}

// quote notes one word shared with the block that held it first: a result, or a person's text. The agent may repeat
// from its own knowledge what it wrote first.
func (b *builder) quote(e *word, w string, m, request int) {
	source := e.holders[0]
	from := &b.conv.Messages[b.of[source]]
	if from.RecordOnly || from.Role == session.Assistant || !evictable(b.block(source).Kind) {
		return
	}
	i, ok := b.quoting[source]
	if !ok {
		i = len(b.quotes)
		b.quoting[source] = i
		b.quotes = append(b.quotes, quotation{use: use{
			request: request, source: source, message: int32(m), line: b.conv.Messages[m].Line, evidence: Quoted,
		}})
	}
	q := &b.quotes[i]
	if len(q.words) == maxWords {
		return
	}
	q.words = append(q.words, *e)
	q.length += e.length
	if len(w) > len(q.quote) {
		q.quote = w
	}
}
