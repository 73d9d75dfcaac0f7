package replay

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"time"

	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
)

// requestRow is what most requests have, in columns. Where it can it has a difference, because fewer of these differ
// from those of the row before.
type requestRow [columns]int64

// The columns: those that mostly differ from the row before come first.
const (
	colN       = iota
	colMillis  // of the time, since 1970
	colPayload // tokens, as most that follow
	colUsed    // less the payload
	colMessages
	colOutput
	colRepeated  // less the payload
	colRead      // less what is repeated
	colIdeal     // of the cost, in billionths of a dollar; of a call of the policy's own all of it
	colPlacement // likewise
	colOutputCost
	colRecordedWrite
	colRecordedRead
	colRecordedOutput // less the output
	colRaw            // less the payload
	colOverhead
	colUncached
	colRecordedInput
	colTokens // less the payload
	colWrite1h
	colKind  // index into RequestList.names
	colModel // likewise
	colFlags
	colEvent  // the first
	colEvents // how many there are, each one more than the one before
	colOther  // index into RequestList.others plus 1; 0: none
	colNanos  // of the time, beyond the milliseconds
	columns
)

// The bits of colFlags.
const (
	flagTime = 1 << iota // the time is known
	flagEstimated
	flagCost
	flagOwn // the cost is that of a call of the policy's own
	flagRecorded
)

// mostBytes is the most that a row takes.
const mostBytes = (1 + columns) * binary.MaxVarintLen64

// append writes which columns differ from those of the row before, and by how much.
func (row *requestRow) append(b []byte, before *requestRow) []byte {
	differ := uint64(0)
	for i := range row {
		if row[i] != before[i] {
			differ |= 1 << i
		}
	}
	b = binary.AppendUvarint(slices.Grow(b, mostBytes), differ)
	n, room := len(b), b[:cap(b)]
	for ; differ != 0; differ &= differ - 1 {
		i := bits.TrailingZeros64(differ)
		by := row[i] - before[i]
		z := uint64(by<<1) ^ uint64(by>>63) // as binary.AppendVarint does, without a check of the room
		for ; z >= 0x80; z >>= 7 {
			room[n] = byte(z) | 0x80
			n++
		}
		room[n] = byte(z)
		n++
	}
	return room[:n]
}

// next reads the row that follows, and returns the rest.
func (row *requestRow) next(b []byte) []byte {
	differ, k := binary.Uvarint(b)
	for ; differ != 0; differ &= differ - 1 {
		by := uint64(b[k]) // binary.Varint, in half the time
		k++
		for shift := 7; by>>shift != 0; shift += 7 {
			by = by&(1<<shift-1) | uint64(b[k])<<shift
			k++
		}
		row[bits.TrailingZeros64(differ)] += int64(by>>1) ^ -int64(by&1)
	}
	return b[k:]
}

// set splits a request whose kind and model are set. It reports false where the parts cannot hold it.
func (row *requestRow) set(r *Request, other *otherRequest) bool {
	in, payload, repeated, output := &r.Cache.Split, int64(r.Payload), int64(r.Repeated), int64(r.Output)
	row[colN], row[colPayload], row[colTokens], row[colRaw] = int64(r.N), payload, int64(r.Tokens)-payload, int64(r.Raw)-payload
	row[colOverhead], row[colUsed], row[colMessages], row[colOutput] = int64(r.Overhead), int64(r.Used)-payload, int64(r.Messages), output
	row[colRepeated], row[colRead], row[colWrite1h], row[colUncached] = repeated-payload, int64(in.Read)-repeated, int64(in.Write1h), int64(in.Uncached)
	if r.Estimated {
		row[colFlags] |= flagEstimated
	}
	if u := r.Recorded; u != nil {
		row[colFlags] |= flagRecorded
		row[colRecordedInput], row[colRecordedWrite] = int64(u.Input), int64(u.CacheWrite)
		row[colRecordedRead], row[colRecordedOutput] = int64(u.CacheRead), int64(u.Output)-output
		other.billed = u.Billed
	}
	other.miss = r.Cache.Miss
	return max(row[colKind], row[colModel]) < mostNames && in.Input() == r.Payload && row.setTime(r.Time) && row.setEvents(r.Events) && row.setCost(r, other)
}

func (row *requestRow) setTime(t time.Time) bool {
	if t.Location() != time.UTC {
		return false
	}
	if t.IsZero() {
		return true
	}
	seconds, nanos := t.Unix(), int64(t.Nanosecond())
	row[colMillis], row[colNanos] = seconds*1e3+nanos/1e6, nanos%1e6
	row[colFlags] |= flagTime
	return max(seconds, -seconds) < mostSeconds
}

// mostSeconds bounds the seconds before and after 1970 of which the nanoseconds fit an int64.
const mostSeconds = 1 << 33

func (row *requestRow) time() time.Time {
	if row[colFlags]&flagTime == 0 {
		return time.Time{}
	}
	return time.Unix(0, row[colMillis]*1e6+row[colNanos]).UTC()
}

func (row *requestRow) setEvents(list []int) bool {
	for i, n := range list {
		if n != list[0]+i {
			return false
		}
		row[colEvent], row[colEvents] = int64(list[0]), int64(len(list))
	}
	return true
}

func (row *requestRow) setCost(r *Request, other *otherRequest) bool {
	p := r.CostParts
	if p == nil {
		return r.CostUSD == price.USD{}
	}
	row[colFlags] |= flagCost
	row[colIdeal], row[colPlacement], row[colOutputCost] = p.Ideal.Nano, p.Placement.Nano, p.Output.Nano
	if p.OwnCalls.Nano != 0 {
		row[colIdeal] = p.OwnCalls.Nano
		row[colFlags] |= flagOwn
	}
	if p.usual() && r.CostUSD == (price.USD{Nano: p.Ideal.Nano + p.Placement.Nano + p.OwnCalls.Nano + p.Output.Nano, Known: true}) {
		return true
	}
	other.parts = p.clone()
	return r.CostUSD == p.Sum()
}

// usual reports whether the parts are what requestRow.parts can return.
func (p *CostParts) usual() bool {
	none, zero := price.USD{}, price.USD{Known: true}
	return p.Restarts == none && p.Changes == none && p.Breaks == zero && p.Lifetime == zero && p.ByStage == nil &&
		p.Ideal.Known && p.Placement.Known && p.OwnCalls.Known && p.Output.Known && (p.Ideal.Nano == 0 || p.OwnCalls.Nano == 0)
}

// parts sets the parts of the cost, and returns their sum.
func (row *requestRow) parts(p *CostParts) price.USD {
	usd := func(n int64) price.USD { return price.USD{Nano: n, Known: true} }
	ideal, own := row[colIdeal], int64(0)
	if row[colFlags]&flagOwn != 0 {
		ideal, own = own, ideal
	}
	p.Ideal, p.Restarts, p.Changes, p.Breaks, p.Lifetime = usd(ideal), price.USD{}, price.USD{}, usd(0), usd(0)
	p.Placement, p.OwnCalls, p.Output, p.ByStage = usd(row[colPlacement]), usd(own), usd(row[colOutputCost]), nil
	return usd(row[colIdeal] + row[colPlacement] + row[colOutputCost])
}

// readRequest is a request with what it points to, as it is read from a list.
type readRequest struct {
	Request
	list     *RequestList
	rest     []byte // of the chunk
	row      requestRow
	parts    CostParts
	recorded Recorded
	few      [4]int // for Events
}

// next goes on to request i: the one that follows, or the first of a chunk.
func (r *readRequest) next(i int) {
	if i%chunkRows == 0 {
		r.row, r.rest = requestRow{}, r.list.open
		if k := i / chunkRows; k < len(r.list.full) {
			r.rest = r.list.full[k]
		}
	}
	r.rest = r.row.next(r.rest)
}

// other is what few requests have, of the row's.
func (r *readRequest) other() *otherRequest {
	if k := r.row[colOther]; k > 0 {
		return &r.list.others[k-1]
	}
	return &otherRequest{}
}

// read sets the request by the row: request i.
func (r *readRequest) read(i int) {
	row, other := &r.row, r.other()
	if other.whole != nil {
		r.Request = *other.whole
		return
	}
	r.Time, r.Kind, r.Model = row.time(), r.list.names[row[colKind]], r.list.names[row[colModel]]
	r.UUID = r.list.uuids[i]
	r.N, r.Payload, r.Overhead, r.Messages, r.Output = int(row[colN]), int(row[colPayload]), int(row[colOverhead]), int(row[colMessages]), int(row[colOutput])
	r.Tokens, r.Raw, r.Used, r.Repeated = int(row[colTokens])+r.Payload, int(row[colRaw])+r.Payload, int(row[colUsed])+r.Payload, int(row[colRepeated])+r.Payload
	r.Cache = CacheUse{Split: cache.Split{Read: int(row[colRead]) + r.Repeated, Write1h: int(row[colWrite1h]), Uncached: int(row[colUncached])}, Miss: other.miss}
	r.Cache.Write5m = r.Payload - r.Cache.Input()
	r.Estimated = row[colFlags]&flagEstimated != 0
	r.Events = r.few[:0]
	for k := range row[colEvents] {
		r.Events = append(r.Events, int(row[colEvent]+k))
	}
	r.CostUSD, r.CostParts, r.Recorded = price.USD{}, nil, nil
	if row[colFlags]&flagCost != 0 {
		r.CostParts = &r.parts
		if r.CostUSD = row.parts(&r.parts); other.parts != nil {
			r.CostUSD, r.CostParts = other.parts.Sum(), other.parts
		}
	}
	if row[colFlags]&flagRecorded != 0 {
		r.recorded = Recorded{
			int(row[colRecordedInput]), int(row[colRecordedWrite]), int(row[colRecordedRead]), int(row[colRecordedOutput]) + r.Output, other.billed,
		}
		r.Recorded = &r.recorded
	}
}
