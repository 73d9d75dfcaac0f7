package regret

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// Index is every use the recorded conversation makes of its own blocks, independent of any policy. All policies share
// one; it does not change.
type Index struct {
	conv   *session.Conversation
	base   []int    // by message: the number of its first block
	of     []int    // by block: its message
	forms  *forms   // of the blocks before the last use
	joined []int    // by message: n of the first request that can hold it
	uses   []needle // in order of request
	lines  []sought // of what was read again
}

// sought is a text that the agent used, or a line of one, and the blocks that held it before.
type sought struct {
	text    string // in its normal form
	holders []int  // the blocks where it is found; of what is read again the first one with each text
	at      int    // the block that uses it last
	reread  bool   // it is what was read again, or a line of that
	dropped bool
}

// needle is a use.
type needle struct {
	sought
	quote    string // for people
	evidence Evidence
	sources  []int      // the holders that it can have been taken from
	shown    *shownText // by a Read again; nil: it is none
	before   string     // a quote: what stands around it in the use, in the normal form
	after    string
	request  int  // n
	offset   int  // of the quote in the text of the use
	common   bool // however many blocks hold it
	others   int  // holders that are neither the agent's own nor on the recorded session's track alone
}

// lines are those of what was read again that have some length. The view can hold them in several pieces; where there
// are none, it must hold the text.
func (n *needle) lines() []int {
	if n.shown == nil {
		return nil
	}
	return n.shown.lines
}

// NewIndex reads the whole conversation. recorded are the edits of the recorded session's own track: they give the view
// that the agent had.
func NewIndex(conv *session.Conversation, recorded []policy.Edit) (*Index, error) {
	x := &Index{conv: conv, base: make([]int, len(conv.Messages)+1), joined: make([]int, len(conv.Messages))}
	next := 0
	for m := range conv.Messages {
		x.base[m+1] = x.base[m] + len(conv.Messages[m].Blocks)
		for range conv.Messages[m].Blocks {
			x.of = append(x.of, m)
		}
		for next < len(conv.Requests) && conv.Requests[next].Message <= m {
			next++
		}
		x.joined[m] = next + 1
	}
	lost := len(conv.Requests) + 1 // n of the first request that the recorded session may have lost something at
	if len(recorded) > 0 {
		lost = recorded[0].Request
	}
	known := newKnownTexts()
	found, err := x.candidates(known, lost)
	if err != nil {
		return nil, err
	}
	if err := x.locate(found, known); err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(n needle) bool { return n.dropped || len(n.sources) == 0 })
	slices.SortStableFunc(found, func(a, b needle) int { return cmp.Compare(a.request, b.request) })
	return x, x.keep(found, recorded)
}

// keep keeps the uses: the recorded session's agent had what it quoted or edited, and had lost what it read again. What it
// wrote without having it came from elsewhere.
func (x *Index) keep(found []needle, recorded []policy.Edit) error {
	s := newSight(x, true)
	x.uses = found[:0]
	at := 0
	for n := 1; n <= len(x.conv.Requests); n++ {
		if err := s.until(recorded, n); err != nil {
			return err
		}
		for ; at < len(found) && found[at].request == n; at++ {
			if u := &found[at]; s.missing(u) == u.reread {
				x.uses = append(x.uses, *u)
			}
		}
	}
	return nil
}

// at returns the message of a block and its index there.
func (x *Index) at(block int) (message, index int) {
	message = x.of[block]
	return message, block - x.base[message]
}

func (x *Index) block(block int) *session.Block {
	m, b := x.at(block)
	return &x.conv.Messages[m].Blocks[b]
}

// own reports whether the agent wrote a block.
func (x *Index) own(block int) bool { return x.conv.Messages[x.of[block]].Role == session.Assistant }

// can reports whether something can be taken from a block: a tool result, or what a person or the client said.
func (x *Index) can(block int) bool {
	m := &x.conv.Messages[x.of[block]]
	return !m.RecordOnly && m.Role != session.Assistant && evictable(x.block(block).Kind)
}

// reader reads the texts of blocks in raw history, one after another. What it returns holds until its next call.
type reader struct {
	x     *Index
	texts *session.BlockReader
}

func (x *Index) reader() *reader { return &reader{x: x, texts: x.conv.NewBlockReader()} }

// text returns the text of a block; of a call, the strings of its input, one a line, and the input.
func (r *reader) text(block int) (text, input []byte, err error) {
	if text, err = r.texts.WholeText(r.x.at(block)); err != nil {
		return nil, nil, lookingFor(err)
	}
	if r.x.block(block).Kind == jsonl.KindToolUse {
		return inputTexts(text), text, nil
	}
	return text, nil, nil
}

// lookingFor says in an error what a text was read for.
func lookingFor(err error) error {
	if err != nil {
		return fmt.Errorf("looking for uses: %w", err)
	}
	return nil
}

// What makes a quotation distinctive.
const (
	minLine    = 12 // letters and digits of a line of what is read again; shorter ones stand anywhere
	minRun     = 24 // letters and digits of a line of an old_string, and of what is read again
	minQuote   = 32 // letters and digits that stand in both texts in one piece, with a name in it
	maxHolders = 3  // a text in more blocks identifies none of them
)
