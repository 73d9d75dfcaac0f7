package session

import "github.com/ctxkit/ctxkit/jsonl"

// reply is what the lines of one response repeat, and what its message has beside its blocks.
type reply struct {
	id       string
	voice    *voice
	whole    *jsonl.Usage // a usage that the numbers cannot hold, else nil
	end      int64        // of the message, the time of its last line: see ticks
	tokens   tokens
	writes   writes
	recorded bool // the usage
	endRest  uint8
	taken    bool // by a message
}

// tokens are the numbers of most usages, in a third of their memory.
type tokens struct{ input, cacheWrite, cacheRead, output, thinking int32 }

// writes is how long what a response wrote to the cache is kept.
type writes uint8

const (
	writesUnknown writes = iota
	writes5m
	writes1h
)

func (r *reply) setUsage(u *jsonl.Usage) {
	r.whole, r.writes = nil, writesUnknown
	r.tokens = tokens{int32(u.Input), int32(u.CacheWrite), int32(u.CacheRead), int32(u.Output), int32(u.Thinking)}
	switch {
	case u.Write5m > 0:
		r.writes = writes5m
	case u.Write1h > 0:
		r.writes = writes1h
	}
	if r.usage() != *u {
		whole := *u // allocated only here
		r.whole, r.writes, r.tokens = &whole, writesUnknown, tokens{}
	}
}

func (r *reply) usage() jsonl.Usage {
	if r.whole != nil {
		return *r.whole
	}
	t := &r.tokens
	u := jsonl.Usage{Input: int(t.input), CacheWrite: int(t.cacheWrite), CacheRead: int(t.cacheRead), Output: int(t.output), Thinking: int(t.thinking)}
	switch r.writes {
	case writes5m:
		u.Write5m = u.CacheWrite
	case writes1h:
		u.Write1h = u.CacheWrite
	}
	return u
}

// merge adds what another line of the response says of its usage.
func (r *reply) merge(line *reply) {
	switch {
	case !line.recorded || r.recorded && r.whole == line.whole && r.writes == line.writes && r.tokens == line.tokens:
		return
	case !r.recorded:
		r.recorded, r.whole, r.writes, r.tokens = true, line.whole, line.writes, line.tokens
		return
	}
	sum, u := r.usage(), line.usage()
	out, think := max(sum.Output, u.Output), max(sum.Thinking, u.Thinking)
	if u.Iterated() && !sum.Iterated() {
		sum = u
	}
	sum.Output, sum.Thinking = out, think
	r.setUsage(&sum)
}

// take makes it a message's, which no other message is to share: of a reply that one has, or that says something else,
// it is a copy.
func (r *reply) take(of *reply) *reply {
	r.taken = true
	if line := *of; !line.taken {
		line.end, line.endRest, line.taken = r.end, r.endRest, true
		if line == *r {
			*of = line
			return of
		}
	}
	kept := *r // allocated only here
	return &kept
}

// voice is what many responses have in common.
type voice struct {
	model, stop string
	window      int
}
