package program

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
)

// block is what a content block says and what it is known by.
type block struct {
	typ   string
	key   string   // equal for the same block in two lists
	says  string   // the text of a text, the input of a tool_use, what a tool_result says
	parts []string // of a tool_result whose content is a list: its blocks, canonical; nil: the content is a text
}

// read reads a content block.
func read(js []byte) (block, error) {
	var m map[string]any
	dec := json.NewDecoder(bytes.NewReader(js))
	dec.UseNumber()
	if err := dec.Decode(&m); err != nil {
		return block{}, fmt.Errorf("a block is no object: %s", excerpt(js))
	}
	word := func(name string) string { s, _ := m[name].(string); return s }
	b := block{typ: word("type")}
	switch b.typ {
	case "text":
		b.says = word("text")
		b.key = "text " + b.says
	case "tool_use":
		b.says = canonical(m["input"])
		b.key = "tool_use " + word("id") + " " + word("name")
	case "tool_result":
		b.key = "tool_result " + word("tool_use_id")
		b.says, b.parts = resultText(m["content"])
	case "":
		return block{}, fmt.Errorf("a block has no type: %s", excerpt(js))
	default:
		delete(m, "cache_control")
		b.key = b.typ + " " + canonical(m)
	}
	return b, nil
}

// resultText is what the content of a tool_result says: its texts, one after the other.
func resultText(content any) (text string, parts []string) {
	switch x := content.(type) {
	case string:
		return x, nil
	case []any:
		var texts []string
		parts = []string{}
		for _, one := range x {
			m, ok := one.(map[string]any)
			if !ok {
				continue
			}
			delete(m, "cache_control")
			parts = append(parts, canonical(m))
			if s, ok := m["text"].(string); ok && m["type"] == "text" {
				texts = append(texts, s)
			}
		}
		return strings.Join(texts, "\n"), parts
	}
	return "", nil
}

// canonical is a value as JSON with sorted names.
func canonical(v any) string {
	js, err := encode(v)
	if err != nil {
		return ""
	}
	return string(js)
}

// texts reports whether a result's content is nothing but texts.
func (b *block) texts() bool {
	return !slices.ContainsFunc(b.parts, func(p string) bool { return !strings.Contains(p, `"type":"text"`) })
}

// same reports whether two blocks of one key say the same. A list of one text is that text.
func (b *block) same(o *block) bool {
	if b.typ != "tool_result" || b.parts == nil && o.parts == nil {
		return b.says == o.says
	}
	if (b.parts == nil) != (o.parts == nil) {
		return b.says == o.says && len(b.parts)+len(o.parts) <= 1 && b.texts() && o.texts()
	}
	return slices.Equal(b.parts, o.parts)
}

// said is the text of a block that may be rewritten.
func said(b *policy.SentBlock) (text string, ok bool) {
	switch b.Type {
	case "text", "tool_use", "tool_result":
		read, err := read(b.JSON)
		return read.says, err == nil
	}
	return "", false
}

// plain reports whether a block says nothing but its text.
func plain(b *policy.SentBlock) bool {
	read, err := read(b.JSON)
	return err == nil && len(read.parts) == 0
}

// piece is a block of the list that the program was given.
type piece struct {
	d *draft
	i int // of its parts
	block
	kept bool
}

// given is a block of the list that the program answered.
type given struct {
	block
	role string
	of   int // the message in the answer
}

// matching finds the blocks of a whole list of messages among those that the program was given.
type matching struct {
	*editing
	pieces []piece
	byKey  map[string][]int // ascending
	begin  map[*draft]int   // its first piece
	added  []given          // in no message, from the last to the first
	before int              // the piece that what was added stands before
}

// match makes the edits that turn the messages into a list. It looks for the blocks of the list from the end: what
// stands twice is taken to be the newer of the two.
func (e *editing) match(list []messageAnswer, call *callLine) error {
	m := matching{editing: e, byKey: map[string][]int{}, begin: map[*draft]int{}, before: -1}
	for _, d := range e.drafts {
		m.begin[d] = len(m.pieces)
		says, err := d.read()
		if err != nil {
			return err
		}
		for i, b := range says {
			m.byKey[b.key] = append(m.byKey[b.key], len(m.pieces))
			m.pieces = append(m.pieces, piece{d: d, i: i, block: b})
		}
	}
	to := len(m.pieces)
	for i := len(list) - 1; i >= 0; i-- {
		var err error
		if list[i].ID != "" {
			to, err = m.named(&list[i], to)
		} else {
			to, err = m.unnamed(i, &list[i], to)
		}
		if err != nil {
			return fmt.Errorf("message %d of %d: %w", i+1, len(list), err)
		}
	}
	return m.edits(call)
}

// blocks reads the content of a message in an answer.
func (a *messageAnswer) blocks() (list []block, err error) {
	content := bytes.TrimSpace(a.Content)
	if len(content) > 0 && content[0] == '"' {
		var text string
		if err := json.Unmarshal(content, &text); err != nil {
			return nil, err
		}
		return []block{{typ: "text", key: "text " + text, says: text}}, nil
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(content, &raw); err != nil {
		return nil, errors.New("its content is neither a text nor a list of blocks")
	}
	for _, js := range raw {
		b, err := read(js)
		if err != nil {
			return nil, err
		}
		list = append(list, b)
	}
	return list, nil
}

// named matches a message with an id, which belongs to that message alone. It returns the place of its first block.
func (m *matching) named(a *messageAnswer, to int) (int, error) {
	d := m.at[a.ID]
	switch {
	case d == nil:
		return 0, fmt.Errorf("there is no message %s", strconv.Quote(clean(a.ID)))
	case m.begin[d]+len(d.parts) > to:
		return 0, fmt.Errorf("message %s is not where it was, or stands twice", a.ID)
	case a.Role != "" && a.Role != d.role:
		return 0, fmt.Errorf("message %s is the %s's", a.ID, d.role)
	}
	from := m.begin[d]
	mine := m.pieces[from : from+len(d.parts)]
	if a.Content == nil {
		for i := range mine {
			mine[i].kept = true
		}
		return from, nil
	}
	blocks, err := a.blocks()
	if err != nil {
		return 0, err
	}
	var left []block // texts that it did not have
	next := 0
	for k := range blocks {
		b := &blocks[k]
		i := slices.IndexFunc(mine[next:], func(p piece) bool { return p.key == b.key })
		switch {
		case i >= 0:
			next += i + 1
			if err := m.keep(&mine[next-1], b); err != nil {
				return 0, err
			}
		case b.typ == "text":
			left = append(left, *b)
		default:
			return 0, fmt.Errorf("message %s has no such %s, or not there: %s", a.ID, b.typ, excerpt([]byte(b.key)))
		}
	}
	for i := range mine { // rewritten texts, in their order
		if p := &mine[i]; !p.kept && p.typ == "text" && len(left) > 0 {
			p.kept = true
			if err := m.put(p.d, p.i, left[0].says, true, ""); err != nil {
				return 0, err
			}
			left = left[1:]
		}
	}
	if len(left) > 0 {
		return 0, fmt.Errorf("message %s gets a further text: add a message without an id", a.ID)
	}
	return from, nil
}

// unnamed matches a message without an id block by block.
func (m *matching) unnamed(number int, a *messageAnswer, to int) (int, error) {
	if a.Role != "user" && a.Role != "assistant" {
		return 0, fmt.Errorf("there is no role %s: write user or assistant", strconv.Quote(clean(a.Role)))
	}
	blocks, err := a.blocks()
	if err != nil {
		return 0, err
	}
	for k := len(blocks) - 1; k >= 0; k-- {
		b := &blocks[k]
		at := m.byKey[b.key]
		i := sort.SearchInts(at, to) - 1
		switch {
		case i >= 0 && m.pieces[at[i]].d.role == a.Role:
			to = at[i]
			if err := m.keep(&m.pieces[to], b); err != nil {
				return 0, err
			}
		case b.typ == "text" && b.says == "":
			return 0, errors.New("an empty text")
		case b.typ == "text":
			if m.before >= 0 && m.before != to {
				return 0, errors.New("texts are added in two places: add them in one")
			}
			m.before = to
			m.added = append(m.added, given{*b, a.Role, number})
		case len(at) > 0:
			return 0, fmt.Errorf("a %s stands twice, at another place or in another role: %s", b.typ, excerpt([]byte(b.key)))
		default:
			return 0, fmt.Errorf("a %s that is in no message: only texts can be added or rewritten: %s", b.typ, excerpt([]byte(b.key)))
		}
	}
	return to, nil
}

// keep keeps a block, with what the answer has it say.
func (m *matching) keep(p *piece, b *block) error {
	p.kept = true
	if p.same(b) {
		return nil
	}
	if !b.texts() {
		return fmt.Errorf("the tool_result %s gets content that is no text: %s", p.d.name, excerpt([]byte(b.says)))
	}
	return m.put(p.d, p.i, b.says, p.typ != "tool_result" || cut(p.says, b.says), "")
}

// cut reports whether a text is part of another: it begins or ends as that does for half of its length.
func cut(whole, left string) bool {
	half := (len(left) + 1) / 2
	return half > 0 && len(left) < len(whole) && (strings.HasPrefix(whole, left[:half]) || strings.HasSuffix(whole, left[len(left)-half:]))
}

// edits makes the edits for what the list leaves out and adds.
func (m *matching) edits(call *callLine) error {
	var whole, gap []*draft // that leave; those of them where texts were added
	for i := 0; i < len(m.pieces); {
		d := m.pieces[i].d
		mine := m.pieces[i : i+len(d.parts)]
		if !slices.ContainsFunc(mine, func(p piece) bool { return p.kept }) {
			whole = append(whole, d)
		}
		i += len(mine)
	}
	if len(m.added) > 0 {
		at := m.before
		if at < len(m.pieces) && at > m.begin[m.pieces[at].d] && slices.ContainsFunc(m.pieces[m.begin[m.pieces[at].d]:at], func(p piece) bool { return p.kept }) {
			return fmt.Errorf("a text is added inside message %s: give the message's id to rewrite it", m.pieces[at].d.name)
		}
		for i := at - 1; i >= 0 && !m.pieces[i].kept; i-- {
			if d := m.pieces[i].d; slices.Contains(whole, d) && !slices.Contains(gap, d) {
				gap = append(gap, d)
			}
		}
		if len(gap) == 0 {
			return errors.New("a message is added where none was taken away: " + excerpt([]byte(m.added[0].says)))
		}
		slices.Reverse(gap)
	}
	for i := range m.pieces {
		if p := &m.pieces[i]; !p.kept && !slices.Contains(whole, p.d) {
			m.removeBlock(p.d, p.i, "")
		}
	}
	m.remove(slices.DeleteFunc(slices.Clone(whole), func(d *draft) bool { return slices.Contains(gap, d) }), "")
	if len(gap) == 0 {
		if call != nil {
			return errors.New("it states a call, and adds no message that the call could have made")
		}
		return nil
	}
	slices.Reverse(m.added)
	s := &summary{of: gap, role: m.added[0].role, call: call}
	for _, g := range m.added {
		if g.role != s.role {
			return errors.New("messages of both roles are added: add those of one")
		}
		s.texts = append(s.texts, g.says)
	}
	return m.summarize(s)
}
