package regret

import (
	"maps"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/session"
)

// confirmation reads again the blocks that seem to hold what was used, where more has to be known of them.
type confirmation struct {
	*locator
	found  []needle
	whole  *finder             // of what is read again
	shown  []*shownText        // by id in the finder
	asked  map[*shownText]bool // it is in the finder
	held   map[shownBy]bool    // what a block holds as a whole
	named  []bool              // by needle: a block has its name
	blocks map[int32][]int32   // to be read, with the needles whose names may stand there
	names  map[uint64][]int32  // scratch of answer
}

// shownBy is what was read again, and a block.
type shownBy struct {
	shown *shownText
	block int32
}

// confirm drops the sources that do not hold what was read again as a whole, and the quotes of names that none but the
// agent wrote as such.
func (l *locator) confirm(found []needle) error {
	c := confirmation{
		locator: l, found: found, whole: newFinder(), asked: map[*shownText]bool{}, held: map[shownBy]bool{},
		named: make([]bool, len(found)), blocks: map[int32][]int32{}, names: map[uint64][]int32{},
	}
	for i := range found {
		switch n := &found[i]; n.evidence {
		case Quoted:
			c.askName(int32(i))
		case Reread:
			c.askWhole(n)
		}
	}
	for _, b := range slices.Sorted(maps.Keys(c.blocks)) {
		if err := c.read(b); err != nil {
			return err
		}
	}
	for i := range found {
		switch n := &found[i]; n.evidence {
		case Quoted:
			n.dropped = n.dropped || !c.named[i]
		case Reread:
			n.sources = slices.DeleteFunc(n.sources, func(b int32) bool { return !c.holds(n, c.forms.first[b]) })
		}
	}
	return nil
}

// askName asks whether a block of others has the name of a quote, and not only a longer one that contains it.
func (c *confirmation) askName(i int32) {
	n := &c.found[i]
	if n.dropped || len(n.sources) == 0 {
		return
	}
	for _, b := range n.holders {
		if m := &c.conv.Messages[c.of[b]]; m.Role != session.Assistant && !m.Lost && !m.Earlier && !m.RecordOnly {
			c.blocks[b] = append(c.blocks[b], i)
		}
	}
}

// askWhole asks which sources hold what was read again, of those that hold its lines.
func (c *confirmation) askWhole(n *needle) {
	for _, source := range n.sources {
		b := c.forms.first[source]
		of := shownBy{n.shown, b}
		if _, ok := c.held[of]; ok || len(n.shown.lines) == 0 || b == c.forms.first[n.result] {
			continue
		}
		c.held[of] = false
		if slices.ContainsFunc(n.shown.lines, func(line int32) bool { return !c.lines[line].in(b) }) {
			continue
		}
		if !c.asked[n.shown] {
			c.asked[n.shown] = true
			c.whole.add(n.shown.text, int32(len(c.shown)))
			c.shown = append(c.shown, n.shown)
		}
		if _, ok := c.blocks[b]; !ok {
			c.blocks[b] = nil
		}
	}
}

// in reports whether a block holds the needle.
func (n *needle) in(b int32) bool {
	_, ok := slices.BinarySearch(n.holders, b)
	return ok
}

// holds reports whether a block, the first with its text, holds what was read again as a whole.
func (c *confirmation) holds(n *needle, b int32) bool {
	if len(n.shown.lines) == 0 {
		return n.in(b)
	}
	return b == c.forms.first[n.result] || c.held[shownBy{n.shown, b}]
}

// read answers what is asked of a block.
func (c *confirmation) read(b int32) error {
	text, _, err := c.texts.text(b)
	if err != nil {
		return err
	}
	c.folded = fold(reused(c.folded), text)
	c.whole.each(c.folded, func(id int32, _ int) bool {
		c.held[shownBy{c.shown[id], b}] = true
		return true
	})
	clear(c.names)
	for _, i := range c.blocks[b] {
		h := hashName([]byte(c.found[i].text))
		c.names[h] = append(c.names[h], i)
	}
	if len(c.names) > 0 {
		eachName(text, func(name []byte, _ int) {
			for _, i := range c.names[hashName(name)] {
				c.named[i] = true
			}
		})
	}
	return nil
}
