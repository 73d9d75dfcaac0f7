package replay

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strconv"

	"github.com/ctxkit/ctxkit/policy"
)

// eventRow is what an event has beside its form.
type eventRow struct {
	form    int // index into EventList.forms plus 1; 0: the event is whole, in others
	columns [eventColumns]int64
	figures []int64 // of Detail, in the order of the form's names, and then those in Reason
}

// The columns of an eventRow. Most are 0.
const (
	colEventRequest = iota // 0: none
	colEventBefore
	colEventSaved // Before - After
	colEventMore  // Saved less that
	colEventResults
	colEventMessages
	colEventOther // index into EventList.others plus 1; 0: none
	eventColumns
)

// eventForm is what many events have in common.
type eventForm struct {
	stage   string
	kind    policy.EditKind
	trigger string
	names   []string // of Detail, sorted
	reason  string   // with a mark for each number
	numbers int      // marks in the reason
}

// The marks of numbers in a reason.
const (
	markGrouped = 0 // with commas, or below 1000
	markPlain   = 1
)

// mostForms is how many forms a list knows: where every reason is another text, the events are whole.
const mostForms = 1 << 10

// usualRow is as long as a row usually is at most, bytes.
const usualRow = 64

// append writes the row: which columns are not 0, these, and the figures.
func (row *eventRow) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(row.form))
	set := byte(0)
	for i, n := range row.columns {
		if n != 0 {
			set |= 1 << i
		}
	}
	b = append(b, set)
	for ; set != 0; set &= set - 1 {
		b = binary.AppendVarint(b, row.columns[bits.TrailingZeros8(set)])
	}
	for _, n := range row.figures {
		b = binary.AppendVarint(b, n)
	}
	return b
}

// read reads what append wrote, with so many figures.
func (row *eventRow) read(b []byte, figures int) {
	form, k := binary.Uvarint(b)
	row.form, row.columns, row.figures = int(form), [eventColumns]int64{}, row.figures[:0]
	set := b[k]
	k++
	for ; set != 0; set &= set - 1 {
		n, size := binary.Varint(b[k:])
		row.columns[bits.TrailingZeros8(set)] = n
		k += size
	}
	for range figures {
		n, size := binary.Varint(b[k:])
		row.figures = append(row.figures, n)
		k += size
	}
}

// split makes the row of an event to be added, without its form where the row cannot hold it. Its figures are valid until
// the next call.
func (l *EventList) split(e *Event) (row eventRow, other otherEvent) {
	if e.N != len(l.at) || e.Request != nil && *e.Request == 0 {
		return row, other
	}
	row.figures = l.figures[:0]
	l.names = l.names[:0]
	for name := range e.Detail {
		l.names = append(l.names, name)
	}
	slices.Sort(l.names)
	for _, name := range l.names {
		row.figures = append(row.figures, int64(e.Detail[name]))
	}
	n := len(l.names)
	l.names = append(l.names, e.Stage, string(e.Kind), e.Trigger)
	form := eventForm{stage: e.Stage, kind: e.Kind, trigger: e.Trigger, names: l.names[:n]}
	var room [256]byte
	key := binary.AppendUvarint(room[:0], uint64(n))
	for _, s := range l.names {
		key = append(binary.AppendUvarint(key, uint64(len(s))), s...)
	}
	reason, ok := len(key), false
	if key, row.figures, ok = splitNumbers(key, row.figures, e.Reason); !ok {
		return row, other
	}
	l.figures = row.figures
	if row.form = l.known[string(key)]; row.form == 0 && len(l.forms) < mostForms {
		form.names, form.reason, form.numbers = slices.Clone(form.names), string(key[reason:]), len(row.figures)-len(form.names)
		l.forms = append(l.forms, form)
		if l.known == nil {
			l.known = map[string]int{}
		}
		row.form = len(l.forms)
		l.known[string(key)] = row.form
	}
	if e.Request != nil {
		row.columns[colEventRequest] = int64(*e.Request)
	}
	row.columns[colEventBefore], row.columns[colEventSaved] = int64(e.Before), int64(e.Before-e.After)
	row.columns[colEventMore] = int64(e.Saved - (e.Before - e.After))
	row.columns[colEventResults], row.columns[colEventMessages] = int64(e.Results), int64(e.Messages)
	return row, otherEvent{targets: e.Targets, kept: e.Kept, recorded: e.Recorded}
}

// splitNumbers appends a text with a mark in place of each number, and the numbers. It reports false for a text that
// holds a mark.
func splitNumbers(out []byte, numbers []int64, text string) ([]byte, []int64, bool) {
	for i := 0; i < len(text); {
		c := text[i]
		if c <= markPlain {
			return out, numbers, false
		}
		if c < '0' || c > '9' {
			out = append(out, c)
			i++
			continue
		}
		n, mark, size := leadingNumber(text[i:])
		if i += size; mark > markPlain {
			out = append(out, text[i-size:i]...)
			continue
		}
		out, numbers = append(out, mark), append(numbers, n)
	}
	return out, numbers, true
}

// leadingNumber is the number that a text begins with, and its length in bytes. The mark is none of the known ones
// where the number is written in another form.
func leadingNumber(text string) (n int64, mark byte, size int) {
	const most = 18 // digits that an int64 holds
	digits := func(from, to int) bool {
		for ; from < to; from++ {
			if from >= len(text) || text[from] < '0' || text[from] > '9' {
				return false
			}
			n = n*10 + int64(text[from]-'0')
		}
		return true
	}
	for digits(size, size+1) {
		size++
	}
	switch {
	case text[0] == '0' && size > 1 || size > most:
		return 0, markPlain + 1, size
	case size > 3:
		return n, markPlain, size
	}
	for k := size; text[0] != '0' && k+3 <= most && size < len(text) && text[size] == ','; k += 3 {
		if was := n; !digits(size+1, size+4) || digits(size+4, size+5) {
			return was, markGrouped, size
		}
		size += 4
	}
	return n, markGrouped, size
}

// joinNumbers appends what splitNumbers split.
func joinNumbers(out []byte, numbers []int64, text string) []byte {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case markGrouped:
			out, numbers = policy.AppendThousands(out, int(numbers[0])), numbers[1:]
		case markPlain:
			out, numbers = strconv.AppendInt(out, numbers[0], 10), numbers[1:]
		default:
			out = append(out, c)
		}
	}
	return out
}

// form is that of event i, or all of it.
func (l *EventList) form(i int) (*eventForm, *Event) {
	b := l.rows[l.at[i]:]
	if form, _ := binary.Uvarint(b); form > 0 {
		return &l.forms[form-1], nil
	}
	var row eventRow
	row.read(b, 0)
	return nil, l.others[row.columns[colEventOther]-1].whole
}

// checkValid checks that the events are numbered in order, and belong to one of so many requests or to the next.
func (l *EventList) checkValid(requests int) error {
	for i := range l.at {
		_, whole := l.form(i)
		if whole != nil && whole.N != i {
			return fmt.Errorf("event %d has n %d", i, whole.N)
		}
		if n := l.Request(i); n < 0 || n > requests+1 || n == 0 && whole != nil && whole.Request != nil {
			return fmt.Errorf("event %d belongs to request %d of %d", i, n, requests)
		}
	}
	return nil
}

// readEvent is an event with what it points to, as it is read from a list.
type readEvent struct {
	Event
	row     eventRow
	request int
	detail  map[string]int
}

// read sets the event: event i.
func (r *readEvent) read(l *EventList, i int) *Event {
	form, whole := l.form(i)
	if whole != nil {
		r.Event = *whole
		return &r.Event
	}
	r.row.read(l.rows[l.at[i]:], len(form.names)+form.numbers)
	columns, other := &r.row.columns, &otherEvent{}
	if k := columns[colEventOther]; k > 0 {
		other = &l.others[k-1]
	}
	var room [256]byte
	r.Event = Event{
		N: i, Stage: form.stage, Kind: form.kind, Trigger: form.trigger,
		Reason: string(joinNumbers(room[:0], r.row.figures[len(form.names):], form.reason)),
		Before: int(columns[colEventBefore]), After: int(columns[colEventBefore] - columns[colEventSaved]),
		Saved:   int(columns[colEventSaved] + columns[colEventMore]),
		Results: int(columns[colEventResults]), Messages: int(columns[colEventMessages]),
		Targets: other.targets, Kept: other.kept, Recorded: other.recorded,
	}
	if r.Targets == nil {
		r.Targets = []EventTarget{}
	}
	if n := columns[colEventRequest]; n != 0 {
		r.request = int(n)
		r.Request = &r.request
	}
	if len(form.names) > 0 {
		if clear(r.detail); r.detail == nil {
			r.detail = make(map[string]int, len(form.names))
		}
		for k, name := range form.names {
			r.detail[name] = int(r.row.figures[k])
		}
		r.Detail = r.detail
	}
	return &r.Event
}
