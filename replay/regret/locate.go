package regret

import "slices"

// locate finds every block that holds a needle or a line before its use, and those it can have been taken from. It
// drops what the agent had written before and what many blocks hold.
func (x *Index) locate(found []needle, known *knownTexts) error {
	x.forms = newForms(len(x.of))
	if len(found) == 0 {
		return nil
	}
	l := &locator{Index: x, finder: newFinder(), whole: newFinder(), known: known, texts: x.reader(), asks: map[int][]*shownText{}, held: map[shownBy]bool{}}
	last := 0
	for i := range found {
		n := &found[i]
		for _, line := range n.lines() {
			x.lines[line].at = max(x.lines[line].at, n.at)
		}
		if last = max(last, n.at); len(n.lines()) == 0 { // else its lines say whether the view has it
			l.finder.add(n.text, len(l.needles))
			l.needles = append(l.needles, n)
			continue
		}
		for _, b := range n.sources {
			if list := l.asks[b]; len(list) == 0 || list[len(list)-1] != n.shown {
				l.asks[b] = append(list, n.shown)
			}
		}
	}
	for i := range x.lines {
		l.finder.add(x.lines[i].text, ^i)
	}
	for b := range last {
		if err := l.block(b); err != nil {
			return err
		}
	}
	for i := range found {
		if n := &found[i]; n.reread {
			n.sources = slices.DeleteFunc(n.sources, func(b int) bool { return !l.holds(n, x.forms.first[b]) })
		}
	}
	return l.confirm(found)
}

// locator searches blocks for needles.
type locator struct {
	*Index
	finder  *finder
	needles []*needle // by id in the finder; an id below 0 is the complement of a line's number
	known   *knownTexts
	texts   *reader
	same    hits
	asks    map[int][]*shownText // by block: what may be a part of it that was read again
	held    map[shownBy]bool     // the answers
	whole   *finder              // scratch of answer
}

// shownBy is what was read again, and a block: the first one with its text.
type shownBy struct {
	shown *shownText
	block int
}

// block searches the text of a block.
func (l *locator) block(b int) error {
	var raw []byte
	known := &knownText{}
	if l.plain(b) {
		var err error
		if raw, err = l.texts.raw(b); err != nil {
			return err
		}
		known = l.known.of(raw)
	}
	first := known.block - 1
	asked := []*shownText(nil)
	if first >= 0 {
		l.forms.repeat(first, b)
		if asked = l.unanswered(b, known); len(asked) == 0 && l.same.none(first) {
			return nil
		}
	}
	form, err := l.texts.form(b, raw)
	if err != nil {
		return err
	}
	if first < 0 {
		first = b
		known.block = b + 1
	}
	only := l.conv.Messages[l.of[b]].RecordOnly
	l.same.each(first, b, l.finder, form, func(id int, from int) (again, ok bool) {
		if id < 0 {
			return false, l.lines[^id].holdAgain(first, b)
		}
		n := l.needles[id]
		switch {
		case n.reread:
			return false, n.holdAgain(first, b)
		case n.at <= b || n.dropped:
			return false, false
		}
		n.hold(l.Index, b, only, form, from)
		return true, !n.dropped
	})
	if asked == nil {
		asked = l.unanswered(b, known)
	}
	l.answer(asked, first, form)
	return nil
}

// unanswered lists what is asked of a block and not known of the first one with its text. That its own lines are what was
// read again is known.
func (l *locator) unanswered(b int, known *knownText) []*shownText {
	list := l.asks[b]
	if len(list) == 0 {
		return nil
	}
	delete(l.asks, b)
	first := l.forms.first[b]
	return slices.DeleteFunc(list, func(s *shownText) bool {
		of := shownBy{s, first}
		if _, ok := l.held[of]; ok {
			return true
		}
		l.held[of] = known.shown == s
		lacks := func(line int) bool { return !l.lines[line].in(first) }
		return l.held[of] || slices.ContainsFunc(s.lines, lacks)
	})
}

// answer finds out which texts a block, the first one with its form, holds as a whole.
func (l *locator) answer(list []*shownText, block int, form []byte) {
	if len(list) == 0 {
		return
	}
	l.whole.reset()
	for i, s := range list {
		l.whole.add(s.text, i)
	}
	l.whole.each(form, func(id int, _ int) bool {
		l.held[shownBy{list[id], block}] = true
		return false
	})
}

// in reports whether a block holds the needle.
func (n *sought) in(b int) bool {
	_, ok := slices.BinarySearch(n.holders, b)
	return ok
}

// holds reports whether a block, the first one with its text, holds what was read again as a whole.
func (l *locator) holds(n *needle, block int) bool {
	if len(n.lines()) == 0 {
		return n.in(block)
	}
	return l.held[shownBy{n.shown, block}]
}

// holdAgain notes that a block holds what is read again. Only the first block with a text counts. It reports whether that
// is before the last use.
func (n *sought) holdAgain(first, b int) bool {
	if n.at <= b {
		return false
	}
	if k := len(n.holders); first == b && (k == 0 || n.holders[k-1] != b) {
		n.holders = append(n.holders, b)
	}
	return true
}

// hold notes that a block holds a quote or a line of an edit at a place of its normal form.
func (n *needle) hold(x *Index, b int, only bool, text []byte, from int) {
	if x.own(b) && !only {
		n.dropped = true
		return
	}
	if k := len(n.holders); k == 0 || n.holders[k-1] != b {
		n.holders = append(n.holders, b)
		if n.others++; only {
			n.others--
		}
		n.dropped = n.others > maxHolders && !n.common
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
