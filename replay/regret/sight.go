package regret

import (
	"fmt"

	"github.com/ctxkit/ctxkit/policy"
)

// sight is what a view shows at one request after another, worked out from the
// edits alone.
type sight struct {
	x        *Index
	record   bool               // the record's own track: every message joins it
	present  []bool             // by block: it is in view, as itself or as what stands in for it
	replaced []bool             // an edit stands in its place
	hidden   []bool             // a payload-only edit does
	items    []int              // messages in view, any order
	joined   int                // messages that have been offered
	standIn  map[int32][]uint64 // by block: the words of what stands in its place
	instead  map[int32]*policy.Content
	texts    []string       // of messages the policy added
	added    []uint64       // the words of messages the policy added
	words    map[uint64]int // how often each of those words is in view
	edit     int            // the next edit
	blind    bool           // only what is in view is wanted, not what it says

	onEdit   func(i int, e *policy.Edit) // after an edit has been made, where set
	onChange func(b int32)               // after a block has come, gone or changed, where set
}

func newSight(x *Index, record bool) *sight {
	n := x.base[len(x.base)-1]
	return &sight{
		x: x, record: record, present: make([]bool, n), replaced: make([]bool, n), hidden: make([]bool, n),
		standIn: map[int32][]uint64{}, instead: map[int32]*policy.Content{}, words: map[uint64]int{},
	}
}

// visible reports whether a block is in view as it was said.
func (s *sight) visible(b int32) bool { return s.present[b] && !s.replaced[b] && !s.hidden[b] }

// walk goes through the requests and calls visit for each use, with the view
// as it was sent.
func (s *sight) walk(edits []policy.Edit, visit func(u *use) error) error {
	at := 0
	for n := 1; n <= len(s.x.conv.Requests); n++ {
		if err := s.until(edits, n); err != nil {
			return err
		}
		for ; at < len(s.x.uses) && s.x.uses[at].request == n; at++ {
			if err := visit(&s.x.uses[at]); err != nil {
				return err
			}
		}
	}
	return nil
}

// until brings the view to what was sent at request n.
func (s *sight) until(edits []policy.Edit, n int) error {
	for ; s.edit < len(edits) && edits[s.edit].Request <= n && edits[s.edit].Request > 0; s.edit++ {
		e := &edits[s.edit]
		s.join(e.Joined)
		if err := s.apply(e); err != nil {
			return err
		}
		if s.onEdit != nil {
			s.onEdit(s.edit, e)
		}
	}
	s.join(s.x.conv.Requests[n-1].Message)
	return nil
}

// join has the messages before index to join.
func (s *sight) join(to int) {
	for s.joined < to {
		m := s.joined
		s.joined++
		if s.record || !s.x.conv.Messages[m].RecordOnly {
			s.show(m)
		}
	}
}

func (s *sight) changed(b int32) {
	if s.onChange != nil {
		s.onChange(b)
	}
}

// show puts a message into view, if it is not there.
func (s *sight) show(m int) {
	from, to := s.x.base[m], s.x.base[m+1]
	if from < to && s.present[from] {
		return
	}
	s.items = append(s.items, m)
	for b := from; b < to; b++ {
		s.present[b] = true
		s.count(s.standIn[b], 1)
		s.changed(b)
	}
}

func (s *sight) hide(m int) {
	for b := s.x.base[m]; b < s.x.base[m+1]; b++ {
		if s.present[b] {
			s.present[b] = false
			s.count(s.standIn[b], -1)
			s.changed(b)
		}
	}
}

func (s *sight) count(words []uint64, by int) {
	for _, w := range words {
		s.words[w] += by
	}
}

func (s *sight) apply(e *policy.Edit) error {
	switch e.Kind {
	case policy.KindClear, policy.KindPersist, policy.KindTruncate:
		return s.replace(e)
	case policy.KindCacheEdit, policy.KindServerClear:
		s.hidden[s.target(e.Target)] = true
		s.changed(s.target(e.Target))
	case policy.KindServerKeep:
		s.hidden[s.target(e.Target)] = false
		s.changed(s.target(e.Target))
	case policy.KindRemove, policy.KindCollapse:
		for _, id := range e.Items {
			if id >= 0 {
				s.hide(int(id))
			}
		}
		return s.add(e.Insert)
	case policy.KindAttach:
		return s.add(e.Insert)
	case policy.KindSummarize:
		return s.rebuild(e)
	}
	return nil
}

// target is the number of the block an edit names.
func (s *sight) target(t policy.Target) int32 { return s.x.base[t.Item] + int32(t.Block) }

func (s *sight) replace(e *policy.Edit) error {
	b := s.target(e.Target)
	if s.present[b] {
		s.count(s.standIn[b], -1)
	}
	delete(s.standIn, b)
	delete(s.instead, b)
	// What an edit names as the block itself is the block again.
	s.replaced[b] = e.New.Ref == nil || e.New.Stub || *e.New.Ref != e.Target
	s.changed(b)
	if !s.replaced[b] {
		return nil
	}
	if s.blind {
		return nil
	}
	s.instead[b] = e.New
	found, _, err := s.wordsOf(e.New)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		s.standIn[b] = found
		if s.present[b] {
			s.count(found, 1)
		}
	}
	return nil
}

func (s *sight) rebuild(e *policy.Edit) error {
	for _, m := range s.items {
		s.hide(m)
	}
	s.items = s.items[:0]
	s.count(s.added, -1)
	s.added, s.texts = s.added[:0], s.texts[:0]
	for _, id := range e.Keep {
		if id >= 0 {
			s.show(int(id))
		}
	}
	if err := s.add(e.Insert); err != nil {
		return err
	}
	return s.add(e.Tail)
}

// add puts messages a policy made into view. What quotes a recorded block
// shows that block.
func (s *sight) add(messages []policy.Synthetic) error {
	if s.blind {
		return nil
	}
	for i := range messages {
		for j := range messages[i].Contents {
			c := &messages[i].Contents[j]
			found, text, err := s.wordsOf(c)
			if err != nil {
				return err
			}
			if text != "" {
				s.texts = append(s.texts, text)
			}
			s.added = append(s.added, found...)
			s.count(found, 1)
		}
	}
	return nil
}

// wordsOf is the distinctive words of a content and its text.
func (s *sight) wordsOf(c *policy.Content) (found []uint64, text string, err error) {
	if text, err = s.textOf(c); err != nil {
		return nil, "", err
	}
	return s.x.texts.words(text), text, nil
}

// textOf is the text of a content; what names a block is read from there.
func (s *sight) textOf(c *policy.Content) (string, error) {
	if c.Ref == nil {
		return c.Text, nil
	}
	read := s.x.conv.WholeText
	if c.Stub {
		read = s.x.conv.Text
	}
	text, err := read(int(c.Ref.Item), c.Ref.Block)
	if err != nil {
		return "", fmt.Errorf("reading what an edit puts there: %w", err)
	}
	return text, nil
}

// held reports whether anything in view holds a word.
func (s *sight) held(w *word) bool {
	if s.words[w.hash] > 0 {
		return true
	}
	for _, b := range w.holders[:w.count] {
		if s.visible(b) {
			return true
		}
	}
	return false
}

// missing reports whether what a use needs is not in view.
func (s *sight) missing(u *use) (bool, error) {
	if s.visible(u.source) {
		return false, nil
	}
	if u.holders != nil {
		for _, b := range u.holders {
			if s.visible(b) {
				return false, nil
			}
		}
		put, err := s.putBack(u)
		return !put, err
	}
	length := 0
	for i := range u.words {
		if !s.held(&u.words[i]) {
			length += int(u.words[i].length)
		}
	}
	return length >= minQuoted, nil
}

// putBack reports whether what the policy itself put into view holds what an
// Edit replaces or a Read shows again: a file attached after a compaction, the
// text of a summary, what a truncation left.
func (s *sight) putBack(u *use) (bool, error) {
	text := u.text
	if u.evidence == Reread && len(s.texts) > 0 {
		var err error
		if text, err = s.x.shown(u.source); err != nil {
			return false, err
		}
	}
	if text == "" {
		return false, nil
	}
	for _, t := range s.texts {
		if shows(t, text) {
			return true, nil
		}
	}
	if u.evidence == Reread {
		return false, nil // the whole of it was wanted
	}
	for _, b := range u.holders {
		c := s.instead[b]
		if c == nil || !s.present[b] || s.hidden[b] {
			continue
		}
		t, err := s.textOf(c)
		if err != nil {
			return false, err
		}
		if shows(t, text) {
			return true, nil
		}
	}
	return false, nil
}
