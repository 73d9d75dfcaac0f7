package replay

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
)

// RequestList is a list of requests, in JSON an array. One of the usual form takes 128 bytes, one in a slice with what
// it points to 440. The zero value is empty. Only one copy of a list may be added to.
type RequestList struct {
	rows   []listedRequest
	others []otherRequest
	names  []string          // kinds and models, "main" first
	said   []session.Message // that answer requests, for their uuids
	uuids  []string          // of requests that none of them answers
}

// listedRequest is what most requests have.
type listedRequest struct {
	time     int64    // nanoseconds since 1970
	cost     [3]int64 // Ideal, Placement and Output of the cost; of a call of the policy's own OwnCalls, 0 and 0
	figures  [figures]int32
	recorded [4]int32
	events   [2]int32 // the first, and how many there are, each one more than the one before
	other    int32    // index into RequestList.others plus 1; 0: none
	uuid     int32    // with flagSaid index into RequestList.said, else into uuids plus 1; 0: none
	kind     uint8    // index into RequestList.names
	model    uint8    // likewise
	flags    uint8
}

// otherRequest is what few requests have.
type otherRequest struct {
	whole  *Request // one that a listedRequest cannot hold
	miss   *cache.Cause
	billed *Billed
	parts  *CostParts // nil: those of the listedRequest
}

const (
	flagTime = 1 << iota // the time is known
	flagEstimated
	flagCost
	flagOwn // the cost is that of a call of the policy's own
	flagRecorded
	flagSaid
)

// figures is how many figures a request has that are in no list.
const figures = 12

// figures are the figures of a request that are in no list. What is uncached is the rest of the payload.
func (r *Request) figures() [figures]int {
	return [...]int{
		r.N, r.Raw, r.Tokens, r.Payload, r.Overhead, r.Used, r.Messages, r.Output, r.Repeated, r.Cache.Read, r.Cache.Write5m, r.Cache.Write1h,
	}
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
func (l *RequestList) grow(n int) { l.rows = slices.Grow(l.rows, n) }

// Len is the number of requests.
func (l RequestList) Len() int { return len(l.rows) }

// addAnswered is Add of a request that message m of those in said answers.
func (l *RequestList) addAnswered(r *Request, m int) {
	r.UUID = UUID{}
	l.Add(r)
	if row := &l.rows[len(l.rows)-1]; row.other > 0 && l.others[row.other-1].whole != nil {
		l.others[row.other-1].whole.UUID = UUIDOf(&l.said[m])
	} else {
		row.uuid = int32(m)
		row.flags |= flagSaid
	}
}

// uuid is that of a request.
func (l *RequestList) uuid(row *listedRequest) UUID {
	switch {
	case row.flags&flagSaid != 0:
		return UUIDOf(&l.said[row.uuid])
	case row.uuid > 0:
		return UUID{text: l.uuids[row.uuid-1]}
	}
	return UUID{}
}

// Add appends a copy of a request. The stages of its cost must not change any more.
func (l *RequestList) Add(r *Request) {
	var row listedRequest
	var other otherRequest
	if !l.list(r, &row, &other) {
		row, other = listedRequest{kind: row.kind}, otherRequest{whole: cloned(r)}
	}
	if other != (otherRequest{}) {
		l.others = append(l.others, other)
		row.other = int32(len(l.others))
	}
	l.rows = append(l.rows, row)
}

// list splits a request; ok is false where the parts cannot hold it.
func (l *RequestList) list(r *Request, row *listedRequest, other *otherRequest) (ok bool) {
	*row = listedRequest{kind: l.name(r.Kind), model: l.name(r.Model)}
	if !r.UUID.IsZero() {
		l.uuids = append(l.uuids, r.UUID.String())
		row.uuid = int32(len(l.uuids))
	}
	if r.Estimated {
		row.flags |= flagEstimated
	}
	ok = max(row.kind, row.model) < mostNames && r.Cache.Input() == r.Payload && row.setTime(r.Time) && row.setEvents(r.Events) && row.setRecorded(r.Recorded)
	for i, n := range r.figures() {
		row.figures[i] = int32(n)
		ok = ok && int(row.figures[i]) == n
	}
	other.miss = r.Cache.Miss
	if r.Recorded != nil {
		other.billed = r.Recorded.Billed
	}
	switch p := r.CostParts; {
	case p == nil:
		return ok && r.CostUSD == price.USD{}
	case !row.setCost(p):
		other.parts = p.clone()
	}
	return ok && r.CostUSD == r.CostParts.Sum()
}

// mostNames is how many kinds and models a list names by their index.
const mostNames = 255

// name is the index of a name, mostNames for one too many.
func (l *RequestList) name(s string) uint8 {
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
	return uint8(i)
}

func (o *listedRequest) setTime(t time.Time) bool {
	if !t.IsZero() {
		o.time = t.UnixNano()
		o.flags |= flagTime
	}
	return t.Location() == time.UTC && o.at().Equal(t)
}

// at is the time of the request.
func (o *listedRequest) at() time.Time {
	if o.flags&flagTime == 0 {
		return time.Time{}
	}
	return time.Unix(0, o.time).UTC()
}

func (o *listedRequest) setEvents(list []int) bool {
	if len(list) == 0 {
		return true
	}
	o.events = [2]int32{int32(list[0]), int32(len(list))}
	for i, n := range list {
		if n != int(o.events[0])+i {
			return false
		}
	}
	return true
}

func (o *listedRequest) setRecorded(u *Recorded) bool {
	if u == nil {
		return true
	}
	o.flags |= flagRecorded
	for i, n := range [...]int{u.Input, u.CacheWrite, u.CacheRead, u.Output} {
		if o.recorded[i] = int32(n); int(o.recorded[i]) != n {
			return false
		}
	}
	return true
}

// setCost reports false for parts that it does not hold.
func (o *listedRequest) setCost(p *CostParts) bool {
	o.flags |= flagCost
	if o.cost = [3]int64{p.Ideal.Nano, p.Placement.Nano, p.Output.Nano}; p.OwnCalls.Nano != 0 {
		o.cost = [3]int64{p.OwnCalls.Nano}
		o.flags |= flagOwn
	}
	var q CostParts
	return o.parts(&q) == p.Sum() && p.ByStage == nil && p.amounts() == q.amounts()
}

// parts sets the parts of the cost, and returns their sum.
func (o *listedRequest) parts(p *CostParts) price.USD {
	usd := func(n int64) price.USD { return price.USD{Nano: n, Known: true} }
	ideal, own := o.cost[0], int64(0)
	if o.flags&flagOwn != 0 {
		ideal, own = own, ideal
	}
	p.Ideal, p.Restarts, p.Changes, p.Breaks, p.Lifetime = usd(ideal), price.USD{}, price.USD{}, usd(0), usd(0)
	p.Placement, p.OwnCalls, p.Output, p.ByStage = usd(o.cost[1]), usd(own), usd(o.cost[2]), nil
	return usd(o.cost[0] + o.cost[1] + o.cost[2])
}

// readRequest is a request with what it points to.
type readRequest struct {
	Request
	parts    CostParts
	recorded Recorded
	few      [4]int // for Events
}

// read sets r to request i.
func (l *RequestList) read(i int, r *readRequest) {
	row, other := &l.rows[i], &otherRequest{}
	if row.other > 0 {
		other = &l.others[row.other-1]
	}
	if other.whole != nil {
		r.Request = *other.whole
		return
	}
	f := &row.figures
	r.UUID, r.Time, r.Kind, r.Model, r.Estimated = l.uuid(row), row.at(), l.names[row.kind], l.names[row.model], row.flags&flagEstimated != 0
	r.N, r.Raw, r.Tokens, r.Payload, r.Overhead, r.Used = int(f[0]), int(f[1]), int(f[2]), int(f[3]), int(f[4]), int(f[5])
	r.Messages, r.Output, r.Repeated = int(f[6]), int(f[7]), int(f[8])
	r.Cache.Read, r.Cache.Write5m, r.Cache.Write1h, r.Cache.Miss = int(f[9]), int(f[10]), int(f[11]), other.miss
	r.Cache.Uncached = r.Payload - r.Cache.Read - r.Cache.Write5m - r.Cache.Write1h
	r.Events = r.few[:0]
	for k := range row.events[1] {
		r.Events = append(r.Events, int(row.events[0]+k))
	}
	r.CostUSD, r.CostParts, r.Recorded = price.USD{}, nil, nil
	if row.flags&flagCost != 0 {
		r.CostParts = &r.parts
		if r.CostUSD = row.parts(&r.parts); other.parts != nil {
			r.CostUSD, r.CostParts = other.parts.Sum(), other.parts
		}
	}
	if row.flags&flagRecorded != 0 {
		u := &row.recorded
		r.recorded = Recorded{int(u[0]), int(u[1]), int(u[2]), int(u[3]), other.billed}
		r.Recorded = &r.recorded
	}
}

// cloned is a copy of a request that shares nothing with it that may change.
func cloned(r *Request) *Request {
	c := *r
	c.UUID = NewUUID(r.UUID.String())
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
func (l RequestList) At(i int) Request {
	var r readRequest
	l.read(i, &r)
	return r.Request
}

// All calls yield with each request and its index. The request, and what it points to, is valid until yield returns.
func (l RequestList) All() iter.Seq2[int, *Request] { return l.Between(0, l.Len()) }

// Between is All of the requests from one on and before another.
func (l RequestList) Between(from, to int) iter.Seq2[int, *Request] {
	return func(yield func(int, *Request) bool) {
		var r readRequest
		for i := from; i < to; i++ {
			if l.read(i, &r); !yield(i, &r.Request) {
				return
			}
		}
	}
}

// Main is All of the main requests, with the index among them.
func (l RequestList) Main() iter.Seq2[int, *Request] {
	return func(yield func(int, *Request) bool) {
		var r readRequest
		n := 0
		for i := range l.rows {
			if l.rows[i].kind != 0 {
				continue
			}
			if l.read(i, &r); !yield(n, &r.Request) {
				return
			}
			n++
		}
	}
}

// MarshalJSON implements json.Marshaler.
func (l RequestList) MarshalJSON() ([]byte, error) {
	b := bytes.NewBufferString("[")
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	for i, r := range l.All() {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := enc.Encode(r); err != nil {
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
