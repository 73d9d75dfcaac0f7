package regret

// locate finds every block that holds a needle or a line before its use, and those it can have been taken from. It
// drops what the agent had written before and what many blocks hold.
func (x *Index) locate(found []needle, known *knownTexts) error {
	x.forms = newForms(len(x.of))
	if len(found) == 0 {
		return nil
	}
	l := &locator{Index: x, finder: newFinder(), known: known, texts: x.reader()}
	last := int32(0)
	for i := range found {
		n := &found[i]
		for _, line := range n.lines() {
			x.lines[line].at = max(x.lines[line].at, n.at)
		}
		if last = max(last, n.at); len(n.lines()) == 0 { // else its lines say whether the view has it
			l.seek(n)
		}
	}
	for i := range x.lines {
		l.seek(&x.lines[i])
	}
	for b := range last {
		if err := l.block(b); err != nil {
			return err
		}
	}
	for _, n := range l.needles {
		n.single = len(n.holders) == 1 && (n.evidence != Reread || !x.forms.shared(n.holders[0], n.at))
	}
	return l.confirm(found)
}

// locator searches blocks for needles.
type locator struct {
	*Index
	finder  *finder
	needles []*needle // by id in the finder
	known   *knownTexts
	texts   *reader
	same    hits
	folded  []byte // scratch of block
}

// seek adds a needle.
func (l *locator) seek(n *needle) {
	l.finder.add(n.text, int32(len(l.needles)))
	l.needles = append(l.needles, n)
}

// block searches the text of a block.
func (l *locator) block(b int32) error {
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
	if first >= 0 {
		if l.forms.repeat(first, b); l.same.none(first) {
			return nil
		}
	}
	form, err := l.texts.form(reused(l.folded), b, raw)
	if err != nil {
		return err
	}
	l.folded = form
	if first < 0 {
		first = l.forms.note(b, form)
		known.block = first + 1
	}
	only := l.conv.Messages[l.of[b]].RecordOnly
	l.same.each(first, b, l.finder, form, func(id int32, from int) (again, ok bool) {
		n := l.needles[id]
		if n.dropped || n.at <= b {
			return false, false
		}
		n.hold(l.Index, b, only, form, from)
		return n.evidence != Reread, !n.dropped
	})
	return nil
}

// hold notes that a block holds the needle at a place of its normal form. Of what is read again only the first block with
// a text counts.
func (n *needle) hold(x *Index, b int32, only bool, text []byte, from int) {
	if n.evidence == Reread {
		if k := len(n.holders); x.forms.first[b] == b && (k == 0 || n.holders[k-1] != b) {
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
