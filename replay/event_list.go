package replay

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"

	"github.com/ctxkit/ctxkit/policy"
)

// EventList is a list of events, in JSON an array. An event of a form that others have takes about 30 bytes and its
// targets, one in a slice with what it points to 500. The zero value is empty. No copy of a list may be read, or added to,
// after more was added to the list.
type EventList struct {
	at     []int // where the row of each begins
	rows   []byte
	forms  []eventForm
	known  map[string]int // forms by what identifies them
	others []otherEvent
	slabs  slabs[EventTarget] // of the targets of these

	figures []int64  // memory for adding an event: of its row
	names   []string // and of its form
}

// otherEvent is what few events have.
type otherEvent struct {
	whole    *Event // one that an eventRow cannot hold
	targets  []EventTarget
	kept     *Segment
	recorded *RecordedEvent
}

// NewEventList returns a list of events.
func NewEventList(events ...Event) (l EventList) {
	for i := range events {
		l.Add(&events[i])
	}
	return l
}

// Len is the number of events.
func (l EventList) Len() int { return len(l.at) }

// Add appends a copy of an event. What it points to must not change any more, its Detail, Targets and Request may.
func (l *EventList) Add(e *Event) {
	row, other := l.split(e)
	if row.form == 0 {
		c := *e
		if c.Request != nil {
			n := *c.Request
			c.Request = &n
		}
		c.Detail, c.Targets = maps.Clone(c.Detail), append([]EventTarget{}, c.Targets...)
		row, other = eventRow{}, otherEvent{whole: &c}
	}
	if other.whole != nil || len(other.targets) > 0 || other.kept != nil || other.recorded != nil {
		other.targets = l.slabs.keep(other.targets, 512)
		l.others = append(l.others, other)
		row.columns[colEventOther] = int64(len(l.others))
	}
	l.add(&row)
}

// add appends the event of a row.
func (l *EventList) add(row *eventRow) {
	l.at = append(l.at, len(l.rows))
	if cap(l.rows)-len(l.rows) < usualRow {
		l.rows = slices.Grow(l.rows, max(len(l.rows), usualRow))
	}
	l.rows = row.append(l.rows)
}

// clear empties the list, and keeps its memory. No copy of it may be used any more.
func (l *EventList) clear() {
	clear(l.forms)
	clear(l.known)
	clear(l.others)
	l.slabs.clear()
	clear(l.names[:cap(l.names)])
	*l = EventList{
		at: l.at[:0], rows: l.rows[:0], forms: l.forms[:0], known: l.known, others: l.others[:0], slabs: l.slabs,
		figures: l.figures, names: l.names,
	}
}

// At is event i, from 0.
func (l EventList) At(i int) Event {
	var r readEvent
	e := *r.read(&l, i)
	if e.Request != nil {
		n := *e.Request
		e.Request = &n
	}
	return e
}

// All calls yield with each event and its index. The event, and what it points to, is valid until yield returns.
func (l EventList) All() iter.Seq2[int, *Event] {
	return func(yield func(int, *Event) bool) {
		var r readEvent
		for i := range l.at {
			if !yield(i, r.read(&l, i)) {
				return
			}
		}
	}
}

// Of is All of the events of some kinds.
func (l EventList) Of(kinds ...policy.EditKind) iter.Seq2[int, *Event] {
	return func(yield func(int, *Event) bool) {
		var r readEvent
		for i := range l.at {
			if slices.Contains(kinds, l.Kind(i)) && !yield(i, r.read(&l, i)) {
				return
			}
		}
	}
}

// Slice is the events as a new slice.
func (l EventList) Slice() []Event {
	list := make([]Event, l.Len())
	for i := range list {
		list[i] = l.At(i)
	}
	return list
}

// Kind is At(i).Kind, without the rest.
func (l EventList) Kind(i int) policy.EditKind {
	form, whole := l.form(i)
	if whole != nil {
		return whole.Kind
	}
	return form.kind
}

// Stage is At(i).Stage, without the rest.
func (l EventList) Stage(i int) string {
	form, whole := l.form(i)
	if whole != nil {
		return whole.Stage
	}
	return form.stage
}

// Request is At(i).Request, without the rest; 0: after the last request.
func (l EventList) Request(i int) int {
	row, whole := l.row(i, 0)
	switch {
	case whole == nil:
		return int(row.columns[colEventRequest])
	case whole.Request == nil:
		return 0
	}
	return *whole.Request
}

// freed is At(i).Before and At(i).Saved, without the rest.
func (l EventList) freed(i int) (before, saved int) {
	row, whole := l.row(i, 0)
	if whole != nil {
		return whole.Before, whole.Saved
	}
	return int(row.columns[colEventBefore]), int(row.columns[colEventSaved] + row.columns[colEventMore])
}

// Recorded is At(i).Recorded, without the rest.
func (l EventList) Recorded(i int) *RecordedEvent {
	row, whole := l.row(i, 0)
	if whole != nil {
		return whole.Recorded
	}
	if k := row.columns[colEventOther]; k > 0 {
		return l.others[k-1].recorded
	}
	return nil
}

// Figure is At(i).Detail[name], without the rest.
func (l EventList) Figure(i int, name string) int {
	form, whole := l.form(i)
	if whole != nil {
		return whole.Detail[name]
	}
	k := slices.Index(form.names, name)
	if k < 0 {
		return 0
	}
	row, _ := l.row(i, k+1)
	return int(row.figures[k])
}

// row is the row of event i with the first of its figures; whole is not nil where it has none.
func (l EventList) row(i, figures int) (row eventRow, whole *Event) {
	if _, whole = l.form(i); whole == nil {
		row.read(l.rows[l.at[i]:], figures)
	}
	return row, whole
}

// MarshalJSON implements json.Marshaler.
func (l EventList) MarshalJSON() ([]byte, error) { return marshalList(l.All()) }

// UnmarshalJSON implements json.Unmarshaler.
func (l *EventList) UnmarshalJSON(data []byte) error {
	var list []Event
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	*l = NewEventList(list...)
	return nil
}
