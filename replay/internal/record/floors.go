package record

import (
	"time"

	"github.com/ctxkit/ctxkit/replay/cache"
)

// floors are what the requests to providers that cache by themselves read whatever the conversation sent before: tools
// and system prompt, which all sessions of a client share. The first request's is given: it read what it read. A later
// one's is what is usual for the client, else what the first one read; after a pause longer than the TTL, what the
// request after the last such pause read, if that was less than half of what the one before it had sent. None is taken
// from a later request.
func (r *Record) floors() []int {
	r.kindOf = map[string]cache.CacheKind{}
	first := 0
	rested := 0
	before := 0
	var end time.Time
	clock := headLearner{conv: r.Conv}
	floors := make([]int, len(r.Conv.Requests))
	for k := range floors {
		msg := r.Conv.Response(k)
		kind := r.Kind(msg.Model)
		r.kindOf[msg.Model] = kind
		if kind.Mode != cache.Auto {
			continue
		}
		read := 0
		sent := 0
		if msg.HasUsage {
			u := r.Usage(msg)
			read = u.CacheRead
			sent = u.Context()
		}
		pause := k > 0 && clock.sent(k).Sub(end) > kind.Lifetime()
		end = msg.End
		if k == 0 {
			if !r.Conv.BeginsMidway() {
				floors[k] = read
			}
			if read <= r.Overhead[0] {
				first = read
			}
			before = sent
			continue
		}
		usual, known := kind.Floors[r.Conv.Product]
		if !known {
			usual = first
		}
		if floors[k] = usual; pause && rested > 0 {
			floors[k] = rested
		}
		if pause && read < before/2 {
			rested = read
		}
		before = sent
	}
	return floors
}
