package regret

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/names"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// Index is every use the recorded conversation makes of its own blocks,
// whatever the policy. It is made once, shared by all policies, and does not
// change.
type Index struct {
	conv   *session.Conversation
	base   []int32   // by message: the number of its first block
	uses   []use     // in order of request
	joined []int     // by message: n of the first request that can hold it
	of     []int32   // by block: its message
	last   []int32   // by block: n of the last request that uses it, 0: none does
	used   []int32   // blocks that are used
	ends   [][]int32 // by n: blocks not needed any more

	texts   *known   // nil: nothing is kept for the next policy
	windows *windows // likewise
}

// Share has the index keep the words of texts that policies put in, about so
// many bytes of them, for further policies that put in the same. It must be
// called before the first Judge.
func (x *Index) Share(room int) {
	x.texts = &known{byText: map[string][]uint64{}, room: room / 2}
	x.windows = &windows{kept: map[[2]int]*window{}, room: room / 2}
}

// use is one use of one block.
type use struct {
	request  int   // n
	source   int32 // the block to blame
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

// NewIndex reads the whole conversation. recorded are the edits of the
// record's own track: they say what the agent had before its eyes.
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
	b := &builder{Index: x, folder: folder, folderName: path.Base(folder), seen: map[uint64]int32{}, files: map[string]*file{}, reads: map[readRange]int32{}}
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

// dropUnforced drops the reads that the record itself made with the first
// result before its eyes: no policy is to blame for them.
func (x *Index) dropUnforced(recorded []policy.Edit) error {
	s := newSight(x, true)
	kept := x.uses[:0]
	err := s.walk(recorded, func(u *use) error {
		if u.evidence == Reread {
			missing, err := s.missing(u)
			if err != nil {
				return err
			}
			if !missing {
				return nil
			}
		}
		kept = append(kept, *u)
		return nil
	})
	x.uses = kept
	return err
}

// at is where a block stands.
func (x *Index) at(block int32) (message, index int) {
	message = int(x.of[block])
	return message, int(block - x.base[message])
}

func (x *Index) block(block int32) *session.Block {
	m, b := x.at(block)
	return &x.conv.Messages[m].Blocks[b]
}

// builder goes through a conversation in order.
type builder struct {
	*Index
	words []word           // every distinctive word met so far
	seen  map[uint64]int32 // hash -> index into words
	files map[string]*file
	reads map[readRange]int32 // the newest Read result of a range
	calls []call              // whose results are still to come

	attached []int32 // the newest files attached

	folder     string // that the client works in: every request names it
	folderName string

	quotes  []quotation // of the block at hand, by source
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
	uses := !msg.RecordOnly && (msg.Class == session.ClassResponse || msg.Class == session.ClassPrompt)
	request := b.joined[m]
	if msg.Class == session.ClassResponse {
		request-- // what it uses was in the view it answers
	}
	uses = uses && request >= 1 && request <= len(b.conv.Requests)
	for i := range msg.Blocks {
		bl := &msg.Blocks[i]
		if !evictable(bl.Kind) && bl.Kind != jsonl.KindAttachment {
			continue
		}
		text, err := b.text(m, i)
		if err != nil {
			return fmt.Errorf("looking for uses: %w", err)
		}
		at := b.base[m] + int32(i)
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
		b.block(m, at, request, text, uses && bl.Kind != jsonl.KindToolResult)
	}
	return nil
}

// result notes what a Read has shown, and what was not written.
func (b *builder) result(bl *session.Block, at int32, text string) error {
	for i := range b.calls {
		if b.calls[i].id != bl.ID {
			continue
		}
		c := b.calls[i]
		b.calls = append(b.calls[:i], b.calls[i+1:]...)
		switch f := b.files[c.read.path]; {
		case c.write >= 0 && bl.IsError:
			b.unchange(&c)
		case c.write < 0 && !bl.IsError && !strings.HasPrefix(text, session.UnchangedFile):
			if c.again != nil {
				if err := b.readAgain(&c, at); err != nil {
					return err
				}
			}
			b.reads[c.read] = at
			f.providers = append(f.providers, at)
			f.reads = append(f.reads, read{at, c.read.state})
		}
		return nil
	}
	return nil
}

// text is what raw history holds of a block.
func (b *builder) text(m, i int) (string, error) { return b.conv.WholeText(m, i) }

// block notes the distinctive words of one block: those met before are
// quotations, where the block can quote, and the block holds them all from now
// on.
func (b *builder) block(m int, at int32, request int, text string, quotes bool) {
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

// quote notes one word shared with the block that held it first: a result, or
// what a person said. What the agent wrote first itself it may write again
// from what it knows.
func (b *builder) quote(e *word, w string, m, request int) {
	source := e.holders[0]
	from, _ := b.at(source)
	if msg := &b.conv.Messages[from]; msg.RecordOnly || msg.Role == session.Assistant || !evictable(b.Index.block(source).Kind) {
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
	if len(w) > len(q.use.quote) {
		q.use.quote = w
	}
}
