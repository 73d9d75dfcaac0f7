package regret

import (
	"fmt"
	"slices"

	"github.com/ctxkit/ctxkit/policy"
)

// sight is what a view shows at one request after another, computed from the edits alone.
type sight struct {
	x        *Index
	record   bool                      // the record's own track: every message joins it
	present  []bool                    // by block: it is in view, as itself or with another content
	replaced []bool                    // by block: an edit gave it another content
	hidden   []bool                    // by block: a payload-only edit hides it
	items    []int                     // messages in view, any order
	joined   int                       // messages that have joined or were passed over
	words    map[uint64]int            // how often each word of the policy's own content is in view
	content  map[int32]*policy.Content // by block: what an edit replaced it with
	contains map[int32][]uint64        // by block: the words of that content
	texts    []string                  // of messages that the policy added
	added    []uint64                  // the words of these messages
	edit     int                       // the next edit
	blind    bool                      // do not read texts: only presence is needed

	onEdit   func(i int, e *policy.Edit) // called after each edit, or nil
	onChange func(b int32)               // called when a block came, left or changed, or nil
}

func newSight(x *Index, record bool) *sight {
	n := x.base[len(x.base)-1]
	return &sight{
		x: x, record: record, present: make([]bool, n), replaced: make([]bool, n), hidden: make([]bool, n),
		contains: map[int32][]uint64{}, content: map[int32]*policy.Content{}, words: map[uint64]int{},
	}
}

// visible reports whether a block is in view as recorded.
func (s *sight) visible(b int32) bool { return s.present[b] && !s.replaced[b] && !s.hidden[b] }

// walk replays the requests and calls visit for each use, with the view as it was sent.
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

// join adds the messages before an index to the view.
func (s *sight) join(to int) {
	for ; s.joined < to; s.joined++ {
		if s.record || !s.x.conv.Messages[s.joined].RecordOnly {
			s.show(s.joined, true)
		}
	}
}

func (s *sight) changed(b int32) {
	if s.onChange != nil {
		s.onChange(b)
	}
}

// show puts a message into view or takes it out.
func (s *sight) show(m int, in bool) {
	from, to := s.x.base[m], s.x.base[m+1]
	if from < to && s.present[from] == in {
		return
	}
	by := -1
	if in {
		by = 1
		s.items = append(s.items, m)
	}
	for b := from; b < to; b++ {
		s.present[b] = in
		s.count(s.contains[b], by)
		s.changed(b)
	}
}

// showAll is show for the recorded messages among the items.
func (s *sight) showAll(items []policy.ItemID, in bool) {
	for _, id := range items {
		if id >= 0 {
			s.show(int(id), in)
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
		return s.replace(s.target(e.Target), e)
	case policy.KindCacheEdit, policy.KindServerClear, policy.KindServerKeep:
		b := s.target(e.Target)
		s.hidden[b] = e.Kind != policy.KindServerKeep
		s.changed(b)
		return nil
	case policy.KindRemove, policy.KindCollapse:
		s.showAll(e.Items, false)
	case policy.KindSummarize:
		for _, m := range s.items {
			s.show(m, false)
		}
		s.items = s.items[:0]
		s.count(s.added, -1)
		s.added, s.texts = s.added[:0], s.texts[:0]
		s.showAll(e.Keep, true)
	case policy.KindAttach:
	default:
		return nil
	}
	return s.add(slices.Concat(e.Insert, e.Tail))
}

// target returns the number of the block that an edit names.
func (s *sight) target(t policy.Target) int32 { return s.x.base[t.Item] + int32(t.Block) }

func (s *sight) replace(b int32, e *policy.Edit) error {
	if s.present[b] {
		s.count(s.contains[b], -1)
	}
	delete(s.contains, b)
	delete(s.content, b)
	// An edit that refers to the block itself restores it.
	s.replaced[b] = e.New.Ref == nil || e.New.Stub || *e.New.Ref != e.Target
	s.changed(b)
	if !s.replaced[b] || s.blind {
		return nil
	}
	s.content[b] = e.New
	text, err := s.textOf(e.New)
	if err != nil {
		return err
	}
	if found := s.x.shared.wordsOf(text); len(found) > 0 {
		s.contains[b] = found
		if s.present[b] {
			s.count(found, 1)
		}
	}
	return nil
}

// add puts messages of the policy into view. A content that refers to a recorded block shows that block.
func (s *sight) add(messages []policy.Synthetic) error {
	if s.blind {
		return nil
	}
	for i := range messages {
		for j := range messages[i].Contents {
			text, err := s.textOf(&messages[i].Contents[j])
			if err != nil {
				return err
			}
			if text != "" {
				s.texts = append(s.texts, text)
			}
			found := s.x.shared.wordsOf(text)
			s.added = append(s.added, found...)
			s.count(found, 1)
		}
	}
	return nil
}

// textOf returns the text of a content, or of the block that it refers to.
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
		return "", fmt.Errorf("reading the replacement of an edit: %w", err)
	}
	return text, nil
}

// held reports whether anything in view holds a word.
func (s *sight) held(w *word) bool {
	return s.words[w.hash] > 0 || slices.ContainsFunc(w.holders[:w.count], s.visible)
}

// missing reports whether what a use needs is not in view.
func (s *sight) missing(u *use) (bool, error) {
	if s.visible(u.source) || slices.ContainsFunc(u.holders, s.visible) {
		return false, nil
	}
	if u.holders != nil {
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

// putBack reports whether the policy itself put what an Edit replaces or a Read shows again into view: a file
// attached after a compaction, the text of a summary, the rest of a truncated result.
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
	if slices.ContainsFunc(s.texts, func(t string) bool { return shows(t, text) }) {
		return true, nil
	}
	if u.evidence == Reread {
		return false, nil // all of it is needed
	}
	for _, b := range u.holders {
		c := s.content[b]
		if c == nil || !s.present[b] || s.hidden[b] {
			continue
		}
		if t, err := s.textOf(c); err != nil || shows(t, text) {
			return err == nil, err
		}
	}
	return false, nil
}
