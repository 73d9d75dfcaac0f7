package program

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
)

// editing turns an answer into edits. It follows what each does to the messages, so that what the API would refuse is
// an error of the program.
type editing struct {
	c       *policy.Context
	title   string
	before  []*message
	at      map[string]*draft
	drafts  []*draft
	edits   []policy.Edit
	summary *summary
}

// draft is a message as the answer leaves it.
type draft struct {
	*message
	parts []part
	gone  bool
}

// part is a block of a draft.
type part struct {
	*policy.SentBlock
	gone bool
	text *string // in place of what it says
}

// summary is a message that takes the place of others.
type summary struct {
	of     []*draft
	after  *draft // the draft it stands behind; nil: it stands first
	texts  []string
	role   string
	reason string
	call   *callLine
}

func newEditing(c *policy.Context, l *list, title string) *editing {
	e := &editing{c: c, title: title, before: l.messages(), at: map[string]*draft{}}
	for _, m := range e.before {
		d := &draft{message: m, parts: make([]part, len(m.blocks))}
		for i := range m.blocks {
			d.parts[i].SentBlock = &m.blocks[i]
		}
		e.drafts = append(e.drafts, d)
		e.at[m.name] = d
	}
	return e
}

// apply makes the edits that the program lists.
func (e *editing) apply(list []editLine) error {
	for i := range list {
		if err := e.edit(&list[i]); err != nil {
			return fmt.Errorf("edit %d of %d, %s: %w", i+1, len(list), strconv.Quote(clean(list[i].Edit)), err)
		}
	}
	return nil
}

func (e *editing) edit(l *editLine) error {
	if err := l.fits(); err != nil {
		return err
	}
	for _, name := range l.Blocks {
		d, i, err := e.block(name)
		if err != nil {
			return err
		}
		switch l.Edit {
		case "remove":
			e.removeBlock(d, i, l.Reason)
		case "clear":
			if d.parts[i].Type != "tool_result" {
				return fmt.Errorf("block %s has the type %s: only a tool_result is cleared", name, d.parts[i].Type)
			}
			err = e.put(d, i, *l.Text, false, l.Reason)
		case "replace":
			text := string(l.Input)
			if l.Text != nil {
				text = *l.Text
			}
			if use := d.parts[i].Type == "tool_use"; use != (l.Text == nil) {
				return fmt.Errorf("block %s has the type %s: give an input for a tool_use, and a text for all else", name, d.parts[i].Type)
			}
			err = e.put(d, i, text, true, l.Reason)
		}
		if err != nil {
			return err
		}
	}
	var named []*draft
	for _, name := range l.Messages {
		d := e.at[name]
		if d == nil || d.gone {
			return fmt.Errorf("there is no message %s", strconv.Quote(clean(name)))
		}
		if slices.Contains(named, d) {
			return fmt.Errorf("message %s is named twice", name)
		}
		named = append(named, d)
	}
	switch {
	case l.Edit == "remove":
		e.remove(named, l.Reason)
	case l.Edit == "summarize":
		return e.summarize(&summary{of: named, texts: []string{*l.Text}, role: l.Role, reason: l.Reason, call: l.Call})
	}
	return nil
}

// fits reports members that an edit of the kind does not have, or lacks.
func (l *editLine) fits() error {
	if err := l.Call.check(); err != nil {
		return err
	}
	forms := map[string]struct{ needs, may string }{
		"clear":     {"blocks text", ""},
		"replace":   {"blocks", "text input"},
		"remove":    {"", "blocks messages"},
		"summarize": {"messages text", "role call"},
	}
	form, ok := forms[l.Edit]
	if !ok {
		return errors.New("there is no such edit: write clear, replace, remove or summarize")
	}
	for _, m := range [...]struct {
		name string
		set  bool
	}{
		{"blocks", len(l.Blocks) > 0}, {"messages", len(l.Messages) > 0}, {"text", l.Text != nil}, {"input", len(l.Input) > 0},
		{"role", l.Role != ""}, {"call", l.Call != nil},
	} {
		needs := slices.Contains(strings.Fields(form.needs), m.name)
		switch {
		case needs && !m.set:
			return fmt.Errorf("it has no %s", m.name)
		case m.set && !needs && !slices.Contains(strings.Fields(form.may), m.name):
			return fmt.Errorf("it takes no %s", m.name)
		}
	}
	if l.Edit == "remove" && len(l.Blocks)+len(l.Messages) == 0 {
		return errors.New("it names neither blocks nor messages")
	}
	return nil
}

// block finds a block by its name: m12.0.
func (e *editing) block(name string) (*draft, int, error) {
	of, number, _ := strings.Cut(name, ".")
	d := e.at[of]
	i, err := strconv.Atoi(number)
	if err != nil || d == nil || d.gone || i < 0 || i >= len(d.parts) || d.parts[i].gone {
		return nil, 0, fmt.Errorf("there is no block %s", strconv.Quote(clean(name)))
	}
	return d, i, nil
}

// reason is why an edit is made, for people.
func (e *editing) reason(given string) string {
	const most = 200
	if given = clean(given); given == "" {
		return "asked for by " + e.title
	}
	if r := []rune(given); len(r) > most {
		given = string(r[:most]) + "…"
	}
	return given
}

func (e *editing) add(kind policy.EditKind, reason string, edit policy.Edit) {
	edit.Kind, edit.Trigger, edit.Reason = kind, "auto", e.reason(reason)
	e.edits = append(e.edits, edit)
}

func (e *editing) removeBlock(d *draft, i int, reason string) {
	p := &d.parts[i]
	p.gone = true
	if !slices.ContainsFunc(d.parts, func(p part) bool { return !p.gone }) {
		// What the blocks before became does not matter: the whole message goes.
		e.edits = slices.DeleteFunc(e.edits, func(x policy.Edit) bool { return len(x.Items) == 0 && x.Target.Item == d.id })
		e.remove([]*draft{d}, reason)
		return
	}
	kind := policy.KindTruncate
	if p.Type == "tool_result" {
		kind = policy.KindClear
	}
	e.add(kind, reason, policy.Edit{Target: p.Source, New: &policy.Content{Kind: e.c.View.Kind(p.Source), Gone: true}})
}

func (e *editing) remove(list []*draft, reason string) {
	if len(list) == 0 {
		return
	}
	var ids []policy.ItemID
	for _, d := range list {
		d.gone = true
		ids = append(ids, d.id)
	}
	e.add(policy.KindRemove, reason, policy.Edit{Items: ids})
}

// put puts a text in the place of what a block says; partial: it is what is left of it.
func (e *editing) put(d *draft, i int, text string, partial bool, reason string) error {
	p := &d.parts[i]
	was, ok := said(p.SentBlock)
	switch block := d.name + "." + strconv.Itoa(i); {
	case !ok:
		return fmt.Errorf("block %s has the type %s: it may be removed, not rewritten", block, p.Type)
	case d.id < 0 || p.Source.Block == policy.WholeItem:
		return fmt.Errorf("block %s belongs to no recorded message: remove or summarize the message", block)
	case text == "" && p.Type == "text":
		return fmt.Errorf("block %s would be an empty text: remove it", block)
	case p.Type == "tool_use" && !isObject([]byte(text)):
		return fmt.Errorf("block %s would have an input that is no object: %s", block, excerpt([]byte(text)))
	}
	if was == text && plain(p.SentBlock) && p.text == nil {
		return nil
	}
	p.text = &text
	content := policy.NewContent(e.c.View.Kind(p.Source), text)
	kind := policy.KindClear
	if partial {
		kind = policy.KindTruncate
		content.Partial = p.Type == "tool_result"
	}
	e.add(kind, reason, policy.Edit{Target: p.Source, New: &content})
	return nil
}

func isObject(text []byte) bool {
	text = bytes.TrimSpace(text)
	return len(text) > 0 && text[0] == '{' && json.Valid(text)
}

func (e *editing) summarize(s *summary) error {
	switch {
	case e.summary != nil:
		return errors.New("a second summary in one answer")
	case s.role != "" && s.role != "user" && s.role != "assistant":
		return fmt.Errorf("there is no role %s: write user or assistant", strconv.Quote(clean(s.role)))
	case slices.Contains(s.texts, ""):
		return errors.New("the summary is empty")
	}
	if s.role == "" {
		s.role = "user"
	}
	for _, d := range e.drafts {
		if slices.Contains(s.of, d) {
			break
		}
		if !d.gone {
			s.after = d
		}
	}
	for _, d := range s.of {
		d.gone = true
	}
	e.summary = s
	return nil
}

// finish checks the messages that the answer leaves, and returns the edits.
func (e *editing) finish() ([]policy.Edit, error) {
	if len(e.edits) == 0 && e.summary == nil {
		return nil, nil
	}
	if err := e.check(); err != nil {
		return nil, err
	}
	s := e.summary
	if s == nil {
		return e.edits, nil
	}
	inserted := policy.Synthetic{Role: s.role, Label: "summary", Summary: true}
	for _, text := range s.texts {
		inserted.Contents = append(inserted.Contents, policy.Text(text))
	}
	leaves := map[policy.ItemID]bool{}
	tokens := 0
	for _, d := range s.of {
		leaves[d.id] = true
		tokens += e.c.View.Weight(d.id)
	}
	for i := range e.edits {
		for _, id := range e.edits[i].Items {
			leaves[id] = true
		}
	}
	e.edits = slices.DeleteFunc(e.edits, func(x policy.Edit) bool { return len(x.Items) == 0 && leaves[x.Target.Item] })
	edit := policy.Edit{Insert: []policy.Synthetic{inserted}}
	to := &edit.Lead
	if s.after == nil {
		to = &edit.Keep
	}
	for id := range e.c.View.Items {
		if !leaves[id] {
			*to = append(*to, id)
		}
		if s.after != nil && id == s.after.id {
			to = &edit.Keep
		}
	}
	if e.c.Window > 0 { // no call is sent more
		tokens = min(tokens, e.c.Window)
	}
	call := policy.Call{Kind: "compaction", Prefix: "own", Input: tokens}
	if s.call != nil {
		call.Input = s.call.Input
		call.Output = s.call.Output
	}
	if s.call == nil || *s.call != (callLine{}) {
		edit.Call = &call
	}
	e.add(policy.KindSummarize, s.reason, edit)
	return e.edits, nil
}
