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
	base   []int32  // by message: the number of its first block
	of     []int32  // by block: its message
	first  []int32  // by block: the first one that is known to have the same text
	joined []int    // by message: n of the first request that can hold it
	uses   []needle // in order of request
	lines  []needle // of what was read again
	chance Chance   // quotes and edits of what the record's agent no longer had
	floor  *Chance  // of many recorded sessions
	gone   []int    // by block: n of the first request without it on the record's own track; 0: it stayed
}

// needle is a text that the agent used, and the blocks that held it before.
type needle struct {
	holders  []int32 // first what each place where it is found needs; of what is read again the first block with each text
	evidence Evidence
	at       int32 // the block that uses it
	dropped  bool
	single   bool // one block alone holds it
	others   int  // holders that are neither the agent's own nor on the record's track alone

	text          string     // in its normal form
	quote         string     // for people
	offset        int        // of the quote in the text of the use
	before, after string     // a quote: what stands around it in the use, in the normal form
	request       int        // n
	message, line int32      // that uses it
	sources       []int32    // the holders that it can have been taken from
	shown         *shownText // by a Read again
	lines         []int32    // its lines of some length: the view can hold them in several pieces
}

// NewIndex reads the whole conversation. recorded are the edits of the record's own track: they give the view that
// the agent had.
func NewIndex(conv *session.Conversation, recorded policy.EditList) (*Index, error) {
	x := &Index{conv: conv, base: make([]int32, len(conv.Messages)+1), joined: make([]int, len(conv.Messages))}
	var err error
	if x.floor, err = Floor(); err != nil {
		return nil, err
	}
	next, length := 0, 0
	for m := range conv.Messages {
		x.base[m+1] = x.base[m] + int32(len(conv.Messages[m].Blocks))
		for b := range conv.Messages[m].Blocks {
			x.of = append(x.of, int32(m))
			length += conv.Messages[m].Blocks[b].Whole().Bytes
		}
		for next < len(conv.Requests) && conv.Requests[next].Message <= m {
			next++
		}
		x.joined[m] = next + 1
	}
	kept := newForms(len(x.of), length)
	lost := len(conv.Requests) + 1 // n of the first request that the record may have lost something at
	if recorded.Len() > 0 {
		lost = recorded.At(0).Request
	}
	found, err := x.candidates(kept, lost)
	if err != nil {
		return nil, err
	}
	x.first = kept.firsts()
	x.split(found)
	if err := x.locate(found, kept); err != nil {
		return nil, err
	}
	for i := range found {
		n := &found[i]
		n.sources = slices.DeleteFunc(n.sources, func(b int32) bool { return !slices.Contains(n.holders, x.holder(n, b)) })
	}
	found = slices.DeleteFunc(found, func(n needle) bool { return n.dropped || len(n.sources) == 0 })
	slices.SortStableFunc(found, func(a, b needle) int { return cmp.Compare(a.request, b.request) })
	return x, x.divide(found, recorded)
}

// divide separates the uses from the coincidences: the record's agent had what it quoted or edited, and had lost what it
// read again.
func (x *Index) divide(found []needle, recorded policy.EditList) error {
	j := newJudge(x, recorded, true)
	counted := make([]bool, len(x.of))
	x.uses = found[:0]
	at := 0
	for n := 1; n <= len(x.conv.Requests); n++ {
		if err := j.until(recorded, n); err != nil {
			return err
		}
		for ; at < len(found) && found[at].request == n; at++ {
			u := &found[at]
			missing := j.missing(u)
			if missing == (u.evidence == Reread) {
				x.uses = append(x.uses, *u)
			} else if i := slices.IndexFunc(u.sources, func(b int32) bool { return j.removedAt(b) > 0 && !counted[b] }); missing && i >= 0 {
				source := u.sources[i]
				counted[source] = true
				x.chance.coincidence(u.evidence, n-j.removedAt(source))
			}
		}
	}
	x.gone = make([]int, len(x.of))
	for b := range x.of {
		if x.gone[b] = j.removedAt(int32(b)); x.gone[b] > 0 && x.can(int32(b)) {
			x.chance.Blocks++
			gained(&x.chance.Requests, x.gone[b], len(x.conv.Requests)+1)
		}
	}
	return nil
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

// own reports whether the agent wrote a block.
func (x *Index) own(block int32) bool { return x.conv.Messages[x.of[block]].Role == session.Assistant }

// can reports whether something can be taken from a block: a tool result, or what a person or the client said.
func (x *Index) can(block int32) bool {
	m := &x.conv.Messages[x.of[block]]
	return !m.RecordOnly && m.Role != session.Assistant && evictable(x.block(block).Kind)
}

// reader reads the texts of blocks in raw history, one after another. What it returns holds until its next call.
type reader struct {
	x     *Index
	texts *session.BlockReader
	buf   []byte
}

// mostReused is the length of the largest buffer that is used again, elements.
const mostReused = 1 << 20

// reused is a buffer to append to, without memory where it was grown for a long text.
func reused[T any](buf []T) []T {
	if cap(buf) > mostReused {
		return nil
	}
	return buf[:0]
}

func (x *Index) reader() *reader { return &reader{x: x, texts: x.conv.NewBlockReader()} }

// text returns the text of a block; of a call, the strings of its input, one a line, and the input.
func (r *reader) text(block int32) (text, input []byte, err error) {
	if text, err = r.texts.WholeText(r.x.at(block)); err != nil {
		return nil, nil, lookingFor(err)
	}
	if r.x.block(block).Kind == jsonl.KindToolUse {
		r.buf = inputTexts(reused(r.buf), text)
		return r.buf, text, nil
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

// split lists the lines of what is read again, each once.
func (x *Index) split(found []needle) {
	known := map[string]int32{}
	for i := range found {
		n := &found[i]
		if n.shown == nil {
			continue
		}
		if n.shown.lines == nil {
			n.shown.lines = x.linesOf(n.shown, known)
		}
		n.lines = n.shown.lines
		for _, l := range n.lines {
			x.lines[l].at = max(x.lines[l].at, n.at)
		}
	}
}

// linesOf lists the lines of a text that are of some length, and adds those that are not known.
func (x *Index) linesOf(shown *shownText, known map[string]int32) []int32 {
	lines, from := make([]int32, 0, len(shown.ends)), int32(0)
	for _, end := range shown.ends {
		line := shown.text[from:end]
		if from = end; len(line) < minLine {
			continue
		}
		l, ok := known[line]
		if !ok {
			l = int32(len(x.lines))
			known[line] = l
			x.lines = append(x.lines, needle{evidence: Reread, text: line})
		}
		lines = append(lines, l)
	}
	return lines
}

// locate finds every block that holds a needle or a line before its use, and those it can have been taken from. It
// drops what the agent had written before and what many blocks hold.
func (x *Index) locate(found []needle, kept *forms) error {
	s := newFinder()
	last := int32(0)
	needles := make([]*needle, 0, len(found)+len(x.lines))
	for _, list := range [...][]needle{found, x.lines} {
		for i := range list {
			s.add(list[i].text, int32(len(needles)))
			needles = append(needles, &list[i])
			last = max(last, list[i].at)
		}
	}
	if len(found) == 0 {
		return nil
	}
	r := x.reader()
	var folded []byte
	same := hits{}
	for b := range last {
		form, ok := kept.of(b)
		if !ok {
			text, _, err := r.text(b)
			if err != nil {
				return err
			}
			folded = fold(reused(folded), text)
			form = folded
		}
		only := x.conv.Messages[x.of[b]].RecordOnly
		same.each(kept.blocks[b], b, s, form, func(id int32, from int) (again, ok bool) {
			n := needles[id]
			if n.dropped || n.at <= b {
				return false, false
			}
			n.hold(x, b, only, form, from)
			return n.evidence != Reread, !n.dropped
		})
	}
	for _, n := range needles {
		n.single = len(n.holders) == 1 && (n.evidence != Reread || !kept.shared(n.holders[0], n.at))
	}
	return nil
}

// holder is the block that stands for a block among the holders of a needle.
func (x *Index) holder(n *needle, b int32) int32 {
	if n.evidence == Reread {
		return x.first[b]
	}
	return b
}

// hold notes that a block holds the needle at a place of its normal form. Of what is read again only the first block with
// a text counts.
func (n *needle) hold(x *Index, b int32, only bool, text []byte, from int) {
	if n.evidence == Reread {
		if k := len(n.holders); x.first[b] == b && (k == 0 || n.holders[k-1] != b) {
			n.holders = append(n.holders, b)
		}
		return // the sources are known
	}
	if x.own(b) && !only {
		n.dropped = true
		return
	}
	if k := len(n.holders); k == 0 || n.holders[k-1] != b {
		n.holders = append(n.holders, b)
		if n.others++; only {
			n.others--
		}
		n.dropped = n.others > maxHolders
	}
	if !x.can(b) || len(n.sources) > 0 && n.sources[len(n.sources)-1] == b {
		return
	}
	run := len(n.text)
	for i := 1; i <= min(len(n.before), from) && n.before[len(n.before)-i] == text[from-i]; i++ {
		run++
	}
	rest := text[from+len(n.text):]
	for i := 0; i < min(len(n.after), len(rest)) && n.after[i] == rest[i]; i++ {
		run++
	}
	if run >= minQuote || n.evidence == Edited {
		n.sources = append(n.sources, b)
	}
}
