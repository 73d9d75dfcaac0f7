package regret

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// sight is what a view shows at one request after another, computed from the edits alone.
type sight struct {
	*Index
	record   bool           // the recorded session's own track: every message joins it
	present  []bool         // by block: it is in view, as itself or with another content
	replaced []bool         // by block: an edit gave it another content
	hidden   []bool         // by block: a payload-only edit hides it
	copies   []int          // by the first block with a text: how many with it are visible
	items    []int          // messages in view, any order
	joined   int            // messages that have joined or were passed over
	shows    map[string]int // texts that edits put into view, in the normal form, and how often
	content  map[int]string // by block: the text that an edit replaced it with
	added    []string       // texts of messages that the policy added
	grams    []uint64       // bits by hash of every eight bytes of a text that was ever in shows
	edit     int            // the next edit
	now      policy.Edit    // the one before
	reader   *session.BlockReader

	onEdit func(i int, e *policy.Edit) // called after each edit, or nil
}

func newSight(x *Index, record bool) *sight {
	n := len(x.of)
	return &sight{
		Index: x, record: record, present: make([]bool, n), replaced: make([]bool, n), hidden: make([]bool, n), copies: make([]int, n),
		content: map[int]string{}, shows: map[string]int{}, reader: x.conv.NewBlockReader(),
	}
}

// visible reports whether a block is in view as recorded.
func (s *sight) visible(b int) bool { return s.present[b] && !s.replaced[b] && !s.hidden[b] }

// change changes what is known of a block.
func (s *sight) change(b int, what []bool, to bool) {
	if s.visible(b) {
		s.copies[s.forms.first[b]]--
	}
	if what[b] = to; s.visible(b) {
		s.copies[s.forms.first[b]]++
	}
}

// until brings the view to what was sent at request n.
func (s *sight) until(edits []policy.Edit, n int) error {
	for ; s.edit < len(edits); s.edit++ {
		s.now = edits[s.edit]
		e := &s.now
		if e.Request > n || e.Request <= 0 {
			break
		}
		s.join(e.Joined)
		if err := s.apply(e); err != nil {
			return err
		}
		if s.onEdit != nil {
			s.onEdit(s.edit, e)
		}
	}
	s.join(s.conv.Requests[n-1].Message)
	return nil
}

// join adds the messages before an index to the view.
func (s *sight) join(to int) {
	for ; s.joined < to; s.joined++ {
		if s.record || !s.conv.Messages[s.joined].RecordOnly {
			s.show(s.joined, true)
		}
	}
}

// show puts a message into view or takes it out.
func (s *sight) show(m int, in bool) {
	from := s.base[m]
	to := s.base[m+1]
	if from < to && s.present[from] == in {
		return
	}
	by := -1
	if in {
		by = 1
		s.items = append(s.items, m)
	}
	for b := from; b < to; b++ {
		if s.change(b, s.present, in); s.replaced[b] { // else it has no other content
			s.count(s.content[b], by)
		}
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

// count notes that a text came into view or left it.
func (s *sight) count(text string, by int) {
	if text == "" {
		return
	}
	if s.shows[text] += by; s.shows[text] == 0 {
		delete(s.shows, text)
	}
}

func (s *sight) apply(e *policy.Edit) error {
	if e.New != nil && e.New.Gone {
		s.change(s.target(e.Target), s.hidden, true)
		return nil
	}
	switch e.Kind {
	case policy.KindClear, policy.KindPersist, policy.KindTruncate, policy.KindWrap:
		return s.replace(s.target(e.Target), e)
	case policy.KindTag:
		return s.put(e.New)
	case policy.KindCacheEdit, policy.KindServerClear, policy.KindServerKeep:
		s.change(s.target(e.Target), s.hidden, e.Kind != policy.KindServerKeep)
		return nil
	case policy.KindRemove, policy.KindCollapse:
		s.showAll(e.Items, false)
	case policy.KindSummarize:
		for _, m := range s.items {
			s.show(m, false)
		}
		s.items = nil
		for _, text := range s.added {
			s.count(text, -1)
		}
		s.added = nil
		s.showAll(e.Lead, true)
		s.showAll(e.Keep, true)
	case policy.KindAttach:
	default:
		return nil
	}
	for _, m := range e.Made() {
		for i := range m.Contents {
			if err := s.put(&m.Contents[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// target returns the number of the block that an edit names.
func (s *sight) target(t policy.Target) int { return s.base[t.Item] + t.Block }

func (s *sight) replace(b int, e *policy.Edit) error {
	if s.present[b] {
		s.count(s.content[b], -1)
	}
	delete(s.content, b)
	// An edit that refers to the block itself restores it.
	s.change(b, s.replaced, e.New.Ref == nil || e.New.Stub || *e.New.Ref != e.Target)
	if !s.replaced[b] {
		return nil
	}
	text, err := s.textOf(e.New)
	if err != nil || text == "" {
		return err
	}
	s.content[b] = text
	if s.present[b] {
		s.count(text, 1)
	}
	return nil
}

// put puts a text of the policy into view.
func (s *sight) put(c *policy.Content) error {
	text, err := s.textOf(c)
	s.added = append(s.added, text)
	s.count(text, 1)
	return err
}

// textOf returns the text of a content, or of the block that it refers to or whose words it has, in the normal form.
func (s *sight) textOf(c *policy.Content) (string, error) {
	of := cmp.Or(c.Ref, c.Words)
	if of == nil {
		return s.shown([]byte(c.Text)), nil
	}
	read := s.reader.WholeText
	if c.Stub {
		read = s.reader.Text
	}
	text, err := read(int(of.Item), of.Block)
	if err != nil {
		return "", fmt.Errorf("reading the replacement of an edit: %w", err)
	}
	return s.shown(text), nil
}

// shown is the normal form of a text, after noting its eight bytes from every place on.
func (s *sight) shown(text []byte) string {
	text = fold(nil, text)
	if s.grams == nil {
		s.grams = make([]uint64, filterBits>>6)
	}
	p := uint64(0)
	for i, c := range text {
		if p = p>>8 | uint64(c)<<56; i+1 >= prefix {
			b := bit(p)
			s.grams[b>>6] |= 1 << (b & 63)
		}
	}
	return string(text)
}

// mayShow reports whether one of the texts in shows can hold another text: all of its eight bytes were noted.
func (s *sight) mayShow(text string) bool {
	for ; len(text) >= prefix && s.grams != nil; text = text[prefix:] {
		if b := bit(word64(text)); s.grams[b>>6]>>(b&63)&1 == 0 {
			return false
		}
	}
	return s.grams != nil
}

// missing reports whether something that was used is in no part of the view: no block, and no text of the policy. Of
// what was read again, each line may be in another part.
func (s *sight) missing(u *needle) bool {
	if lines := u.lines(); len(lines) > 0 { // what holds all of it holds each line
		return slices.ContainsFunc(lines, func(l int) bool { return !s.holds(&s.lines[l]) })
	}
	return !s.holds(&u.sought)
}

// holds reports whether one part of the view holds a text as a whole. The view is more likely to have a later block.
func (s *sight) holds(n *sought) bool {
	for _, b := range slices.Backward(n.holders) {
		if n.reread && s.copies[b] > 0 || !n.reread && s.visible(b) {
			return true
		}
	}
	if !s.mayShow(n.text) {
		return false
	}
	for text := range s.shows {
		if strings.Contains(text, n.text) {
			return true
		}
	}
	return false
}
