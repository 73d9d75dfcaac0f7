package record

import (
	"time"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
)

// KindRecorded is the confidence of the kind of a cache of which nothing but the record shows that it is there.
const KindRecorded = "recorded"

// Kind is how a model is cached: as the table of models says, else by the family. Where neither is known, Claude Code marks
// what is to be cached all the same, and input that the record reports as read shows that the provider caches by itself.
func (r *Record) Kind(model string) cache.CacheKind {
	if k, ok := r.kindOf[model]; ok {
		return k
	}
	id := price.Normalize(model)
	k := r.Kinds.Find(id)
	switch m, like, _ := r.Models.FindLike(model); {
	case m.Cache != "" && !like:
		return cache.CacheKind{Families: []string{id}, Mode: cache.Mode(m.Cache), Minimum: m.MinCacheable, Confidence: "stated", Source: m.Source}
	case k.Mode == "" && r.Conv.Product == session.Product:
		k.Mode = cache.Breakpoints
	case k.Mode == "" && r.reads(model):
		return cache.CacheKind{Families: []string{id}, Mode: cache.Auto, Confidence: KindRecorded, Source: "cached input in the usage of the session"}
	}
	return k
}

// reads reports whether the record has input of a model that was read from a cache.
func (r *Record) reads(model string) bool {
	for k := range r.Conv.Requests {
		if m := r.Conv.Response(k); m.Model == model && m.HasUsage && m.Usage.CacheRead > 0 {
			return true
		}
	}
	return false
}

// floors are what the requests to providers that cache by themselves read whatever the conversation sent before: tools
// and system prompt, which all sessions of a client share. The first request's is given: it read what it read. A later
// one's is what is usual for the client, else what the first one read; after a pause longer than the lifetime, what the
// request after the last such pause read, if that was less than half of what the one before it had sent. None is taken
// from a later request.
func (r *Record) floors() []int {
	r.kindOf = map[string]cache.CacheKind{}
	first, rested, before := 0, 0, 0
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
		read, sent := 0, 0
		if msg.HasUsage {
			u := r.Usage(msg)
			read, sent = u.CacheRead, u.Context()
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
