package policy

import (
	"iter"
	"maps"
	"slices"
)

// EditList is a list of edits. What edits of one firing share is there once, and the lists of items and messages, which
// few edits have, take no room in the others: an edit that shares all takes 48 bytes, one in a slice 296. An edit that
// shares nothing takes as much as in a slice. The zero value is empty. To add to a copy, make it with From(0).
type EditList struct {
	edits  []listedEdit
	shared []sharedByEdits
}

// listedEdit is what an edit of a list has by itself.
type listedEdit struct {
	item, shared  int32 // shared: index into EditList.shared
	block, joined int32
	content       *Content
	messages      *editedMessages // nil: it has none
	before, after int
}

// sharedByEdits is what adjacent edits have in common.
type sharedByEdits struct {
	stage, reason, trigger string
	kind                   EditKind
	request, group         int
	call, refused          *Call
	detail                 map[string]int
	carrier                ItemID
	warm                   bool
}

// editedMessages are the messages of an edit, and its Delta.
type editedMessages struct {
	items, lead, keep []ItemID
	insert, tail      []Synthetic
	delta             int
}

// NewEditList returns a list of edits.
func NewEditList(edits ...Edit) (l EditList) {
	l.Grow(len(edits))
	for i := range edits {
		l.Add(&edits[i])
	}
	return l
}

// Grow makes room for n more edits.
func (l *EditList) Grow(n int) { l.edits = slices.Grow(l.edits, n) }

// Clear empties the list, and keeps its memory. What was made of it by From and To may not be used any more.
func (l *EditList) Clear() {
	clear(l.edits)
	clear(l.shared)
	l.edits, l.shared = l.edits[:0], l.shared[:0]
}

// Add appends an edit. What it refers to is shared with the list, and its Detail must not change any more.
func (l *EditList) Add(e *Edit) {
	if n := len(l.shared); n == 0 || !l.shared[n-1].by(e) {
		l.shared = append(l.shared, sharedByEdits{
			e.Stage, e.Reason, e.Trigger, e.Kind, e.Request, e.Group, e.Call, e.Refused, e.Detail, e.Carrier, e.Warm,
		})
	}
	one := listedEdit{
		item: int32(e.Target.Item), block: int32(e.Target.Block), shared: int32(len(l.shared) - 1),
		joined: int32(e.Joined), content: e.New, before: e.Before, after: e.After,
	}
	if e.Items != nil || e.Lead != nil || e.Keep != nil || e.Insert != nil || e.Tail != nil || e.Delta != 0 {
		one.messages = &editedMessages{e.Items, e.Lead, e.Keep, e.Insert, e.Tail, e.Delta}
	}
	l.edits = append(l.edits, one)
}

// by reports whether an edit has the same.
func (s *sharedByEdits) by(e *Edit) bool {
	return s.group == e.Group && s.request == e.Request && s.kind == e.Kind && s.stage == e.Stage && s.trigger == e.Trigger &&
		s.reason == e.Reason && s.call == e.Call && s.refused == e.Refused && s.carrier == e.Carrier && s.warm == e.Warm &&
		(s.detail == nil) == (e.Detail == nil) && maps.Equal(s.detail, e.Detail)
}

// Len is the number of edits.
func (l EditList) Len() int { return len(l.edits) }

// Request is At(i).Request, without the rest.
func (l EditList) Request(i int) int { return l.shared[l.edits[i].shared].request }

// Kind is At(i).Kind, without the rest.
func (l EditList) Kind(i int) EditKind { return l.shared[l.edits[i].shared].kind }

// Stage is At(i).Stage, without the rest.
func (l EditList) Stage(i int) string { return l.shared[l.edits[i].shared].stage }

// Target is At(i).Target, without the rest.
func (l EditList) Target(i int) Target {
	return Target{Item: ItemID(l.edits[i].item), Block: int(l.edits[i].block)}
}

// New is At(i).New, without the rest.
func (l EditList) New(i int) *Content { return l.edits[i].content }

// Joined is At(i).Joined, without the rest.
func (l EditList) Joined(i int) int { return int(l.edits[i].joined) }

// At is edit i.
func (l EditList) At(i int) Edit {
	one := &l.edits[i]
	s := &l.shared[one.shared]
	e := Edit{
		Request: s.request, Stage: s.stage, Kind: s.kind, Reason: s.reason, Trigger: s.trigger,
		Target: Target{Item: ItemID(one.item), Block: int(one.block)}, New: one.content, Carrier: s.carrier,
		Call: s.call, Refused: s.refused, Warm: s.warm, Group: s.group, Detail: s.detail,
		Joined: int(one.joined), Before: one.before, After: one.after,
	}
	if m := one.messages; m != nil {
		e.Items, e.Lead, e.Keep, e.Insert, e.Tail, e.Delta = m.items, m.lead, m.keep, m.insert, m.tail, m.delta
	}
	return e
}

// Last is the edit that was added last. There has to be one.
func (l EditList) Last() Edit { return l.At(l.Len() - 1) }

// From is the list without its first n edits. What is added to it is not added to l.
func (l EditList) From(n int) EditList {
	return EditList{l.edits[n:len(l.edits):len(l.edits)], l.shared[:len(l.shared):len(l.shared)]}
}

// To is the list's first n edits, likewise.
func (l EditList) To(n int) EditList {
	l.edits = l.edits[:n]
	return l.From(0)
}

// All calls yield with each edit and its index.
func (l EditList) All() iter.Seq2[int, Edit] {
	return func(yield func(int, Edit) bool) {
		for i := range l.edits {
			if !yield(i, l.At(i)) {
				return
			}
		}
	}
}

// Slice is the edits as a new slice.
func (l EditList) Slice() []Edit {
	list := make([]Edit, l.Len())
	for i := range list {
		list[i] = l.At(i)
	}
	return list
}
