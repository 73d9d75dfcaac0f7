package program

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/ctxkit/ctxkit/policy"
)

// message is an item of the view as the program knows it.
type message struct {
	id     policy.ItemID
	name   string
	role   string
	blocks []policy.SentBlock
	says   []block // of the blocks, once a whole list was matched; nil before
}

// read reads the message's blocks, once.
func (m *message) read() ([]block, error) {
	if m.says == nil {
		m.says = make([]block, len(m.blocks))
		for i := range m.blocks {
			var err error
			if m.says[i], err = read(m.blocks[i].JSON); err != nil {
				return nil, err
			}
		}
	}
	return m.says, nil
}

// list is what the program knows of the view: the messages that are sent.
type list struct {
	order  []policy.ItemID
	known  map[policy.ItemID]*message
	unsent map[policy.ItemID]bool // items in view that are not sent
	edits  int                    // edits of the view that are known
}

// messages lists the messages in order.
func (l *list) messages() []*message {
	all := make([]*message, len(l.order))
	for i, id := range l.order {
		all[i] = l.known[id]
	}
	return all
}

// update brings the list up to the view and returns the news for the program: the ids of messages that left,
// and the messages that are new or changed.
func (l *list) update(c *policy.Context) (removed []string, fresh []messageLine, err error) {
	if l.known == nil {
		l.known = map[policy.ItemID]*message{}
		l.unsent = map[policy.ItemID]bool{}
	}
	touched := l.touched(c.View)
	var order, changed []policy.ItemID
	now := map[policy.ItemID]bool{}
	for id := range c.View.Items {
		m := l.known[id]
		if m == nil && !l.unsent[id] || touched[id] {
			blocks, err := c.Sent(id)
			if err != nil {
				return nil, nil, err
			}
			if l.unsent[id] = len(blocks) == 0; l.unsent[id] {
				continue
			}
			if m == nil || !slices.EqualFunc(m.blocks, blocks, sameBlock) {
				l.known[id] = &message{id: id, name: name(id), role: c.View.Role(id).String(), blocks: blocks}
				changed = append(changed, id)
			}
		} else if m == nil {
			continue
		}
		order = append(order, id)
		now[id] = true
	}
	old := map[policy.ItemID]bool{}
	for _, id := range l.order {
		old[id] = true
	}
	if !slices.Equal(intersection(l.order, now), intersection(order, old)) { // they stand in another order: all are sent again
		removed = names(l.order)
		old = map[policy.ItemID]bool{}
		changed = order
	} else {
		removed = names(slices.DeleteFunc(slices.Clone(l.order), func(id policy.ItemID) bool { return now[id] }))
	}
	for _, id := range l.order {
		if !now[id] {
			delete(l.known, id)
		}
	}
	l.order = order
	return removed, l.lines(c.View, changed, old), nil
}

// lines are the messages that changed, those that are not in old with their place.
func (l *list) lines(v policy.View, changed []policy.ItemID, old map[policy.ItemID]bool) []messageLine {
	last := -1 // of the messages that the program knows
	at := make(map[policy.ItemID]int, len(l.order))
	for i, id := range l.order {
		at[id] = i
		if old[id] {
			last = i
		}
	}
	out := make([]messageLine, 0, len(changed))
	for _, id := range changed {
		m := l.known[id]
		line := messageLine{ID: m.name, Role: m.role, Tokens: v.Weight(id), Content: make([]json.RawMessage, len(m.blocks))}
		for i := range m.blocks {
			line.Content[i] = m.blocks[i].JSON
		}
		if i := at[id]; !old[id] && i < last {
			after := ""
			if i > 0 {
				after = name(l.order[i-1])
			}
			line.After = &after
		}
		out = append(out, line)
	}
	return out
}

// touched are the items that edits since the last update have changed, or removed and perhaps brought back.
func (l *list) touched(v policy.View) map[policy.ItemID]bool {
	touched := map[policy.ItemID]bool{}
	all := v.Edits()
	for ; l.edits < len(all); l.edits++ {
		switch e := all[l.edits]; {
		case e.Kind.KeepsView():
		case e.Kind == policy.KindSummarize:
			kept := map[policy.ItemID]bool{}
			for _, id := range slices.Concat(e.Lead, e.Keep) {
				kept[id] = true
			}
			for _, id := range l.order {
				touched[id] = touched[id] || !kept[id]
			}
		case len(e.Items) > 0:
			for _, id := range e.Items {
				touched[id] = true
			}
		case e.New != nil:
			touched[e.Target.Item] = true
		}
	}
	return touched
}

func intersection(list []policy.ItemID, set map[policy.ItemID]bool) (out []policy.ItemID) {
	for _, id := range list {
		if set[id] {
			out = append(out, id)
		}
	}
	return out
}

func names(list []policy.ItemID) (out []string) {
	for _, id := range list {
		out = append(out, name(id))
	}
	return out
}

func sameBlock(a, b policy.SentBlock) bool {
	return a.Source == b.Source && a.Type == b.Type && bytes.Equal(a.JSON, b.JSON)
}
