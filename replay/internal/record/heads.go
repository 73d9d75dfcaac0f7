package record

import (
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/cache"
)

// heads are the heads of a conversation's requests as the reported usage shows them. The head of the first request is
// taken from its own read. The head of a later one is taken from the reads of requests before it whose messages were not
// in the cache. All replays of the conversation have the same heads.
func (r *Record) heads() []cache.Head {
	l := headLearner{r: r, conv: r.Conv, rebuilt: map[int]bool{}}
	for i := range l.conv.Boundaries {
		l.rebuilt[l.conv.Boundaries[i].Request-1] = true
	}
	for i := range l.conv.Micro {
		l.rebuilt[l.conv.Micro[i].Request-1] = true
	}
	for k, kind := range r.Settings {
		l.rebuilt[k] = l.rebuilt[k] || kind != cache.ToolsChanged
	}
	heads := make([]cache.Head, len(l.conv.Requests))
	for k := range heads {
		if k == 0 {
			l.first()
		}
		heads[k] = l.head(k)
		l.learn(k)
	}
	return heads
}

// headLearner is what some requests of a conversation have shown of its head.
type headLearner struct {
	r       *Record
	conv    *session.Conversation
	rebuilt map[int]bool // requests (0-based) before which messages were rebuilt, and tools and system prompt stayed

	version     string
	client      policy.ClientVersion
	reads       cache.Head // what reads have shown
	shared, own bool       // reads.Shared, reads.Own are known
	most        int        // no head is larger; 0: not known
	left        int        // what the last request with usage read and wrote
	end         time.Time
	joined      int       // messages before the request
	now         time.Time // of the last of them
}

// first takes what the first request read. Other sessions had left it in the cache.
func (l *headLearner) first() {
	msg := l.conv.Response(0)
	if !msg.HasUsage || l.conv.BeginsMidway() {
		return
	}
	u := l.r.Usage(msg)
	l.most = u.Context()
	if u.CacheRead > 0 && u.CacheRead <= l.r.Overhead[0] {
		l.reads.Shared = u.CacheRead
		l.reads.Kept = true
		l.shared = true
	}
}

// head is what is known of the head of request k (0-based).
func (l *headLearner) head(k int) cache.Head {
	version := l.conv.Response(k).Version
	if k == 0 || version != l.version {
		v := l.r.Client.At(version)
		if l.version, l.client = version, v; !l.conv.BeginsMidway() {
			over := max(l.r.Overhead[k], 0)
			l.client.Head = min(v.Head, over)
			l.client.Shared = min(v.Shared, over)
		}
	}
	h := l.reads
	h.Same = l.client.SameSystem
	if !l.shared {
		h.Shared = l.client.Shared
	}
	if !l.own {
		h.Own = l.client.Head
		if l.shared && h.Shared > 0 && l.client.OneHead {
			h.Own = h.Shared
		}
	}
	h.Own = max(h.Own, h.Shared)
	return h
}

// learn takes what request k (0-based) read, if it read no more than a head.
func (l *headLearner) learn(k int) {
	msg := l.conv.Response(k)
	if !msg.HasUsage {
		return
	}
	u := l.r.Usage(msg)
	left, end, ttl := l.left, l.end, l.r.TTLs[max(k-1, 0)] // of what the request before wrote
	long := ttl == cache.Long
	l.left = u.CacheRead + u.CacheWrite
	l.end = msg.End
	most := l.most
	if most == 0 {
		most = left / 2
	}
	read := u.CacheRead
	switch {
	case k == 0:
		// No other session keeps an entry alive that lives five minutes; mostly one keeps an entry that lives an hour.
		l.reads.Kept = l.reads.Kept && long
	case read > most || float64(read) >= brokenRead*float64(left):
		// It read messages, too.
	case l.sent(k).Sub(end) > ttl.Duration():
		if l.reads.Kept = long && read > 0; read > 0 {
			l.reads.Shared = read
			l.shared = true
		}
	case !l.rebuilt[k]:
		// Another process, or other tools.
		l.reads.Shared = read
		l.shared = true
		l.reads.Kept = l.reads.Kept && read > 0
	case read > 0:
		l.reads.Own = read
		l.own = true
		l.reads.Shared = min(l.reads.Shared, read)
	}
}

// brokenRead is the share of what a request left in the cache below which the next one lost something.
const brokenRead = 0.95

// sent is when request k (0-based) was sent, as far as its lines show it. It is asked for one request after another.
func (l *headLearner) sent(k int) time.Time {
	q := l.conv.Requests[k].Message
	for ; l.joined < q; l.joined++ {
		if m := &l.conv.Messages[l.joined]; m.Class != session.ClassAttachment && !m.Time.IsZero() {
			l.now = m.Time
		}
	}
	if l.now.IsZero() {
		return l.conv.Messages[q].Time
	}
	return l.now
}

// TTLs lists the TTL that each request of a conversation asked for, by what it wrote. A request that wrote nothing asked
// for that of the one before, and the first ones for that of most tokens.
func lifetimes(conv *session.Conversation) []cache.TTL {
	var all jsonl.Usage
	for _, q := range conv.Requests {
		u := conv.Messages[q.Message].Usage
		all.Write5m += u.Write5m
		all.Write1h += u.Write1h
	}
	list := make([]cache.TTL, len(conv.Requests))
	ttl := cache.AskedFor(all.Write5m, all.Write1h, cache.Short)
	for k := range list {
		u := &conv.Response(k).Usage
		ttl = cache.AskedFor(u.Write5m, u.Write1h, ttl)
		list[k] = ttl
	}
	return list
}
