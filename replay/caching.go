package replay

import (
	"cmp"
	"maps"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
)

// CacheUse is a request's input by how it is billed, simulated, and why it read less than the request before left.
type CacheUse struct {
	cache.Split
	Miss *cache.Cause `json:"miss,omitempty"`
}

// The places before the messages: one for tools and the part of the system prompt that all sessions share, one for
// the rest of it.
const (
	sharedPlace = iota
	systemPlace
	firstPlace // of the messages
)

// caching simulates the prompt cache for a replay, and what its requests cost.
type caching struct {
	sim     cache.Sim
	policy  policy.Caching
	ttl     cache.TTL
	models  *price.Table
	known   map[string]*price.Model // zero: not in the table
	head    cache.Head
	version string
	model   string
	warm    int    // tokens that other sessions keep in the cache
	ladder  ladder // what a request would read, cause by cause
	marks   [cache.MaxBreakpoints]cache.Breakpoint
}

func newCaching(use policy.Caching, models *price.Table, long bool) *caching {
	c := &caching{policy: use, models: models, known: map[string]*price.Model{}}
	if c.policy.TTL == "1h" || c.policy.TTL == "auto" && long {
		c.ttl = cache.Long
	}
	return c
}

// asksForHour reports whether a conversation's requests wrote more tokens that live for an hour than tokens that live
// for five minutes: that is the client's setting.
func asksForHour(conv *session.Conversation) bool {
	short, long := 0, 0
	for _, q := range conv.Requests {
		u := &conv.Messages[q.Message].Usage
		short += u.Write5m
		long += u.Write1h
	}
	return long > short
}

// find looks a model up once.
func (c *caching) find(id string) *price.Model {
	m := c.known[id]
	if m == nil {
		row, _ := c.models.Find(id)
		m = &row
		c.known[id] = m
	}
	return m
}

// defaultMinimum is the shortest prefix that is cached where the model is not in the table, tokens: the most common
// figure of the documentation.
const defaultMinimum = 1024

func (c *caching) minimum(model string) int {
	return cmp.Or(c.find(model).MinCacheable, defaultMinimum)
}

// cost is the cost of a request; not known where its model is not in the table.
func (c *caching) cost(model string, in cache.Split, output int) price.USD {
	m := c.find(model)
	if m.ID == "" {
		return price.USD{}
	}
	return m.Cost(in, output)
}

// refetch is the input of a request that repeats a payload, with so many tokens more.
func (c *caching) refetch(payload, tokens int) cache.Split {
	switch {
	case c.policy.Breakpoints == policy.BreakpointsNone:
		return cache.Split{Uncached: payload + tokens}
	case c.ttl == cache.Long:
		return cache.Split{Read: payload, Write1h: tokens}
	}
	return cache.Split{Read: payload, Write5m: tokens}
}

// unpriced returns the models of requests without a known price, sorted.
func (c *caching) unpriced() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(c.known)), func(id string) bool { return c.known[id].ID != "" })
}

// headOverhead is the overhead that bounds the head, tokens; below 0 where it is not known: in a file that begins in
// the middle of a conversation it is an assumption.
func (e *engine) headOverhead(k int) int {
	if e.fixed < 0 && len(e.conv.Messages) > 0 && e.conv.Messages[0].Earlier {
		return -1
	}
	return max(e.overhead(k), 0)
}

// begin changes the simulation at a new client version or model before a request: another version is another process,
// with its own tools and system prompt.
func (c *caching) begin(model, version string, overhead int) {
	first := c.model == ""
	if first || version != c.version {
		c.head = cache.HeadOf(version, overhead)
		if n := c.policy.System; n > 0 {
			if overhead >= 0 {
				n = min(n, overhead)
			}
			c.head = cache.Head{Own: n, Shared: n}
		}
		if !first {
			c.sim.Change(sharedPlace, cache.Cause{Kind: cache.ToolsChanged})
			c.ladder.limit(keepsAll, 0, "")
		}
	}
	warm := c.policy.Warm == "always" || c.policy.Warm == "auto" && c.ttl == cache.Long
	c.warm = 0
	if warm {
		c.warm = c.head.Shared
	}
	if (first || version != c.version || model != c.model) && c.warm > 0 {
		place := sharedPlace
		if c.head.Shared == c.head.Own {
			place = systemPlace
		}
		c.sim.Warm(cache.Breakpoint{Position: place, Tokens: c.head.Shared, TTL: c.ttl}, model)
	}
	c.model, c.version = model, version
}

// breakpoints are the marks of the policy's client in a request whose last block is at place last, with tokens up to
// there, and whose last message but one ends before place before, with tokensBefore up to there. before is 0 where
// there is no such message.
func (c *caching) breakpoints(last, tokens, before, tokensBefore int) []cache.Breakpoint {
	list := c.marks[:0]
	mark := func(position, n int) {
		if k := len(list); n > 0 && (k == 0 || position > list[k-1].Position && n >= list[k-1].Tokens) && n <= tokens {
			list = append(list, cache.Breakpoint{Position: position, Tokens: n, TTL: c.ttl})
		}
	}
	switch c.policy.Breakpoints {
	case policy.BreakpointsAutomatic:
		mark(last, tokens)
	case policy.BreakpointsLastTwoIfAnthropic:
		if !price.Anthropic(c.model) {
			break
		}
		fallthrough
	case policy.BreakpointsLastTwo:
		if c.head.Shared < c.head.Own {
			mark(sharedPlace, c.head.Shared)
		}
		mark(systemPlace, c.head.Own)
		if before > firstPlace {
			mark(before-1, tokensBefore)
		}
		if last >= firstPlace {
			mark(last, tokens)
		}
	}
	return list
}

// noteChanges passes on to the simulation what edits have changed of the last payload.
func (e *engine) noteChanges() {
	c, ok := e.view.FirstChange()
	if !ok {
		return
	}
	ed := &e.view.Edits()[c.Edit]
	cause := cache.Cause{Kind: cache.Compacted}
	switch {
	case ed.Stage == stageServer:
		cause.Kind = cache.Thinking
	case ed.Kind != policy.KindSummarize:
		cause = cache.Cause{Kind: cache.Edited, Stage: ed.Stage, Message: e.uuid(c.Item)}
	}
	e.cache.sim.Change(firstPlace+c.Place, cause)
}

// cacheRequest simulates main request k, and prices it.
func (e *engine) cacheRequest(k int, row *Request) {
	c, v := e.cache, e.view
	msg := &e.conv.Messages[e.conv.Requests[k].Message]
	model := cmp.Or(e.opt.Model, msg.Model)
	c.begin(model, msg.Version, e.headOverhead(k))
	if kind, ok := e.r.settings[k]; ok {
		c.sim.Change(firstPlace, cache.Cause{Kind: kind})
		c.ladder.limit(keepsAll, c.head.Own, "")
	}
	e.noteChanges()
	payload := row.Payload
	e.ladderChanges(payload)
	for _, d := range v.ServerDrops() {
		c.sim.Shrink(firstPlace+d.Place, d.Tokens)
	}
	last, tail := e.lastMessage()
	// By the documentation an entry lives from the start of the request that wrote or read it. In recorded 5-minute
	// sessions it lives from the end of the response: pauses of 4 to 7 minutes were hits up to 303 seconds after it
	// (one of them 364 seconds after the start) and misses from 302 seconds on.
	start := e.now
	if start.IsZero() {
		start = msg.Time
	}
	request := cache.CachedRequest{
		Start: start, Lives: msg.End, Model: model, Minimum: c.minimum(model), Tokens: payload,
		Breakpoints: c.breakpoints(firstPlace+v.Places()-1, payload, firstPlace+last, payload-tail),
	}
	split, cause, err := c.sim.Request(request)
	if err != nil { // breakpoints follows the rules
		e.fail(err)
	}
	v.Sent()
	row.Cache = CacheUse{Split: split}
	if cause.Kind != cache.None {
		row.Cache.Miss = &cause
	}
	row.CostUSD = c.cost(model, split, row.Output)
	read, stage := c.ladder.request(&request, c.warm, c.ttl)
	row.CostParts = c.mainParts(row, model, read, stage)
}

// lastMessage is the place at which the last message begins, and its tokens in the payload. Adjacent messages of one
// role are one.
func (e *engine) lastMessage() (place, tokens int) {
	role, any := session.User, false
	for id := range e.view.Backward {
		if r := e.view.Role(id); !any {
			role, any = r, true
		} else if r != role {
			break
		}
		place, _ = e.view.Place(id)
		tokens += e.view.PayloadWeight(id)
	}
	return place, tokens
}

// cacheCall simulates a call of the policy's own, of input tokens, before main request k (0-based). A call with the
// session's prefix reads what the last main request left, up to the first block that it omits; any other reads
// nothing, and is written to the cache only where the client marks every request.
func (e *engine) cacheCall(call *policy.Call, input, k int) CacheUse {
	c := e.cache
	plain := CacheUse{Split: cache.Split{Uncached: input}}
	if k < 0 || c.policy.Breakpoints == policy.BreakpointsNone {
		return plain
	}
	msg := &e.conv.Messages[e.conv.Requests[k].Message]
	model := cmp.Or(e.opt.Model, msg.Model)
	if call.Prefix != "session" {
		if c.policy.Breakpoints == policy.BreakpointsLastTwoIfAnthropic && price.Anthropic(model) && input >= c.minimum(model) {
			return CacheUse{Split: cache.Split{Write5m: input}}
		}
		return plain
	}
	c.begin(model, msg.Version, e.headOverhead(k))
	end := firstPlace + e.view.Places()
	from := end
	if call.Cut != nil {
		if place, ok := e.view.Place(call.Cut.Item); ok {
			from = firstPlace + place + call.Cut.Block
		}
	}
	request := cache.CachedRequest{
		Start: e.now, Model: model, Minimum: c.minimum(model), Tokens: input, Breakpoints: c.breakpoints(end, input, 0, 0),
	}
	split, err := c.sim.Branch(from, request)
	c.ladder.call(&request, c.head.Own, c.ttl)
	if err != nil {
		e.fail(err)
	}
	return CacheUse{Split: split}
}

// scaled is the usage of a total in the proportions of s.
func scaled(s cache.Split, total int) jsonl.Usage {
	in := s.Input()
	if in <= 0 {
		return jsonl.Usage{Input: total}
	}
	part := func(n int) int { return int(int64(n) * int64(total) / int64(in)) }
	u := jsonl.Usage{CacheRead: part(s.Read), Write5m: part(s.Write5m), Write1h: part(s.Write1h)}
	u.CacheWrite = u.Write5m + u.Write1h
	u.Input = total - u.CacheRead - u.CacheWrite
	return u
}
