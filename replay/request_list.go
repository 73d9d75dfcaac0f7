package replay

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"

	"github.com/ctxkit/ctxkit/replay/cache"
)

// RequestList is a list of requests, in JSON an array. A request of the usual form takes about 50 bytes, one in a slice
// with what it points to 440. The zero value is empty. No copy of a list may be
// read after more was added to the list.
type RequestList struct {
	full   [][]byte    // rows of chunkRows requests each
	slabs  slabs[byte] // of these
	open   []byte      // rows of the requests that followed
	last   requestRow
	uuids  []string
	others []otherRequest
	names  []string // kinds and models, "main" first
	apart  bool     // see PayloadsDiffer
	checks requestChecks
}

// chunkRows is how many rows are read in order. The first of them is whole, each other has what differs from the one
// before it.
const chunkRows = 32

// otherRequest is what few requests have.
type otherRequest struct {
	whole  *Request // one that a requestRow cannot hold
	miss   *cache.Cause
	billed *Billed
	parts  *CostParts // nil: those of the requestRow
}

// NewRequestList returns a list of requests.
func NewRequestList(requests ...Request) (l RequestList) {
	l.grow(len(requests))
	for i := range requests {
		l.Add(&requests[i])
	}
	return l
}

// grow makes room for n more requests.
func (l *RequestList) grow(n int) { l.uuids = slices.Grow(l.uuids, n) }

// Len is the number of requests.
func (l RequestList) Len() int { return len(l.uuids) }

// PayloadsDiffer reports whether the payload of a request is another than its model view, in tokens.
func (l RequestList) PayloadsDiffer() bool { return l.apart }

// Add appends a copy of a request. The stages of its cost must not change any more.
func (l *RequestList) Add(r *Request) {
	var row requestRow
	var other otherRequest
	row[colKind], row[colModel] = l.name(r.Kind), l.name(r.Model)
	fits := row.set(r, &other)
	if l.checks.add(r, fits); !fits {
		row, other = requestRow{colKind: row[colKind]}, otherRequest{whole: cloned(r)}
	}
	if other != (otherRequest{}) {
		l.others = append(l.others, other)
		row[colOther] = int64(len(l.others))
	}
	l.apart = l.apart || r.Payload != r.Tokens
	l.uuids = append(l.uuids, r.UUID)
	l.open = row.append(l.open, &l.last)
	if l.last = row; len(l.uuids)%chunkRows == 0 {
		l.full = append(l.full, l.slabs.keep(l.open, 32<<10))
		l.open, l.last = l.open[:0], requestRow{}
	}
}

// clear empties the list, and keeps its memory. No copy of it may be used any more.
func (l *RequestList) clear() {
	l.slabs.clear()
	clear(l.full)
	clear(l.others)
	*l = RequestList{full: l.full[:0], slabs: l.slabs, open: l.open[:0], uuids: l.uuids[:0], others: l.others[:0]}
}

// mostNames is how many kinds and models a list names by their index.
const mostNames = 255

// name is the index of a name, mostNames for one too many.
func (l *RequestList) name(s string) int64 {
	if l.names == nil {
		l.names = []string{"main"}
	}
	i := slices.Index(l.names, s)
	if i < 0 {
		if i = len(l.names); i == mostNames {
			return mostNames
		}
		l.names = append(l.names, s)
	}
	return int64(i)
}

// cloned is a copy of a request that shares nothing with it that may change.
func cloned(r *Request) *Request {
	c := *r
	c.Events = append([]int{}, r.Events...)
	if c.Recorded != nil {
		u := *c.Recorded
		c.Recorded = &u
	}
	if c.CostParts != nil {
		c.CostParts = c.CostParts.clone()
	}
	return &c
}

// At is request i, from 0.
func (l RequestList) At(i int) (found Request) {
	for _, r := range l.Between(i, i+1) {
		found = *r
	}
	return found
}

// All calls yield with each request and its index. The request, and what it points to, is valid until yield returns.
func (l RequestList) All() iter.Seq2[int, *Request] { return l.Between(0, l.Len()) }

// Between is All of the requests from one on and before another.
func (l RequestList) Between(from, to int) iter.Seq2[int, *Request] {
	_ = l.uuids[from:to] // as an index of a slice would, it panics where there are fewer
	return func(yield func(int, *Request) bool) {
		r := readRequest{list: &l}
		for i := from - from%chunkRows; i < to; i++ {
			r.next(i)
			if i < from {
				continue
			}
			if r.read(i); !yield(i, &r.Request) {
				return
			}
		}
	}
}

// Main is All of the main requests, with the index among them.
func (l RequestList) Main() iter.Seq2[int, *Request] {
	return func(yield func(int, *Request) bool) {
		r, n := readRequest{list: &l}, 0
		for i := range l.Len() {
			if r.next(i); r.row[colKind] != 0 {
				continue
			}
			if r.read(i); !yield(n, &r.Request) {
				return
			}
			n++
		}
	}
}

// MainSizes calls yield with the payload and the model view of each main request, tokens.
func (l RequestList) MainSizes() iter.Seq2[int, int] {
	return func(yield func(payload, model int) bool) {
		r := readRequest{list: &l}
		for i := range l.Len() {
			r.next(i)
			payload, model := int(r.row[colPayload]), int(r.row[colPayload]+r.row[colTokens])
			if other := r.other(); other.whole != nil {
				payload, model = other.whole.Payload, other.whole.Tokens
			}
			if r.row[colKind] == 0 && !yield(payload, model) {
				return
			}
		}
	}
}

// MarshalJSON implements json.Marshaler.
func (l RequestList) MarshalJSON() ([]byte, error) { return marshalList(l.All()) }

// marshalList is a list as an array.
func marshalList[T any](all iter.Seq2[int, *T]) ([]byte, error) {
	b := bytes.NewBufferString("[")
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	for i, one := range all {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := enc.Encode(one); err != nil {
			return nil, err
		}
	}
	b.WriteByte(']')
	return b.Bytes(), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (l *RequestList) UnmarshalJSON(data []byte) error {
	var list []Request
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	*l = NewRequestList(list...)
	return nil
}
