package replay

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
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
	sim     cache.Sim       // of models whose clients mark what is cached
	auto    cache.Automatic // of models whose providers cache by themselves
	kinds   func(model string) cache.CacheKind
	kind    *cache.CacheKind // of the model of the last request
	policy  policy.Caching
	product string // that recorded the conversation
	ttl     cache.TTL
	models  *price.Table
	known   map[string]*price.Model // zero: not in the table
	kindOf  map[string]*cache.CacheKind
	head    cache.Head
	version string
	model   string
	again   bool            // the client was started again since the last request
	warm    int             // tokens that other sessions keep in the cache
	sent    int             // by the last main request, tokens
	marked  int             // its last marked place
	ladder  ladder          // what a request would read, cause by cause
	heads   [firstPlace]int // how often what stands at the places before the messages has changed
}

func newCaching(use policy.Caching, models *price.Table, kinds func(string) cache.CacheKind, long bool) *caching {
	c := &caching{policy: use, models: models, kinds: kinds, known: map[string]*price.Model{}, kindOf: map[string]*cache.CacheKind{}}
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
		u := conv.Messages[q.Message].Usage
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

// kindFor looks the kind of a model's cache up once. Where the policy has no cache, no provider has one.
func (c *caching) kindFor(model string) *cache.CacheKind {
	k := c.kindOf[model]
	if k == nil {
		kind := c.kinds(model)
		if c.policy.Breakpoints == policy.BreakpointsNone {
			kind = cache.CacheKind{Mode: cache.Breakpoints}
		}
		k = &kind
		c.kindOf[model] = k
	}
	return k
}

// unasked reports whether the provider of the last request's model caches by itself.
func (c *caching) unasked() bool { return c.kind.Mode == cache.Auto }

// life is how long what a request leaves is cached.
func (c *caching) life() time.Duration {
	if c.unasked() {
		return c.kind.Lifetime()
	}
	return c.ttl.Duration()
}

// read is the split of an input of which so many tokens are read, and all others written where writes are billed.
func (c *caching) read(kind *cache.CacheKind, tokens, others int) cache.Split {
	switch {
	case kind.Mode == cache.Auto:
		return cache.Split{Read: tokens, Uncached: others}
	case c.ttl == cache.Long:
		return cache.Split{Read: tokens, Write1h: others}
	}
	return cache.Split{Read: tokens, Write5m: others}
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

// refetch is the input of a request to a model that repeats a payload, with so many tokens more.
func (c *caching) refetch(model string, payload, tokens int) cache.Split {
	if c.policy.Breakpoints == policy.BreakpointsNone {
		return cache.Split{Uncached: payload + tokens}
	}
	return c.read(c.kindFor(model), payload, tokens)
}

// unpriced returns the models of requests without a known price, sorted.
func (c *caching) unpriced() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(c.known)), func(id string) bool { return c.known[id].ID != "" })
}

// automatic lists the models of requests whose provider caches without being asked, sorted.
func (c *caching) automatic() (list []ModelCache) {
	for _, model := range slices.Sorted(maps.Keys(c.kindOf)) {
		if k := c.kindOf[model]; k.Mode == cache.Auto {
			list = append(list, ModelCache{model, *k})
		}
	}
	return list
}

// unknown lists the models of requests of which it is not known how they are cached, sorted.
func (c *caching) unknown() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(c.kindOf)), func(model string) bool { return c.kindOf[model].Mode != "" })
}

// head is the head of request k (0-based): the policy's, or what the record shows.
func (e *engine) head(k int) cache.Head {
	h := e.r.head[k]
	if n := e.cache.policy.System; n > 0 {
		h.Own, h.Shared = n, n
	}
	if e.fixed >= 0 {
		h.Own, h.Shared = min(h.Own, e.fixed), min(h.Shared, e.fixed)
	}
	return h
}

// begin changes the simulation at a new client version or model before a request: another version is another process,
// with its own tools and system prompt. head is what is known of them now, and floor what a provider that caches by itself
// has of them in any case.
func (c *caching) begin(model, version string, head cache.Head, floor int) {
	first := c.model == ""
	c.kind = c.kindFor(model)
	restarted := c.again && !first
	if restarted && (!head.Same || version != c.version) {
		c.startAgain(version, head.Shared)
	}
	c.again = c.again && first
	if !first && version != c.version {
		c.newHead(sharedPlace, cache.ToolsChanged)
		c.auto.Limit(0, cache.Cause{Kind: cache.ToolsChanged})
		if !restarted { // else the restart has lost it
			c.ladder.limit(keepsMost, 0, "")
		}
	}
	kept := head.Shared > 0 && (c.policy.Warm == "always" || c.policy.Warm == "auto" && head.Kept)
	if first || head != c.head || model != c.model || version != c.version {
		c.sim.Cool()
		c.sim.Resize(sharedPlace, head.Shared)
		c.sim.Resize(systemPlace, head.Own)
	}
	c.warm = 0
	switch {
	case c.unasked() && c.policy.Warm != "never":
		c.warm = floor
	case kept && !c.unasked():
		c.warm = head.Shared
	}
	c.model, c.version, c.head = model, version, head
	c.warmUp()
}

// warmUp puts into the cache what other sessions keep there.
func (c *caching) warmUp() {
	if c.warm > 0 && !c.unasked() {
		c.sim.Warm(cache.Breakpoint{Position: sharedPlace, Tokens: c.warm, TTL: c.ttl}, c.model)
	}
}

// newTools changes the simulation where the client sends other tools: of the head only what other sessions keep is in
// the cache.
func (c *caching) newTools() {
	c.newHead(sharedPlace, cache.ToolsChanged)
	c.auto.Limit(0, cache.Cause{Kind: cache.ToolsChanged})
	c.warmUp()
	c.ladder.limit(keepsMost, c.warm, "")
}

// startAgain changes the simulation where a new process of the client goes on: it has its own system prompt behind the
// part of so many tokens that all processes share. Another version has other tools, too.
func (c *caching) startAgain(version string, shared int) {
	place, kept := systemPlace, shared
	if version != c.version {
		place, kept = sharedPlace, 0
	}
	c.newHead(place, cache.Restart)
	if !c.unasked() { // whose client keeps its system prompt
		c.ladder.limit(keepsAll, kept, "")
	}
}

// newHead notes that what stands at a place before the messages, and all behind it, is not what was sent before.
func (c *caching) newHead(place int, kind cache.BreakCause) {
	c.sim.Change(place, cache.Cause{Kind: kind})
	if place == sharedPlace || !c.unasked() { // see startAgain
		c.heads[place]++
	}
}

// breakpoints are the marks of the policy's client in a request whose last block is at place last, with tokens up to
// there, and whose last message but one ends before place before, with tokensBefore up to there. before is 0 where
// there is no such message.
func (c *caching) breakpoints(last, tokens, before, tokensBefore int) (list []cache.Breakpoint) {
	mark := func(position, n int) {
		if k := len(list); n > 0 && (k == 0 || position > list[k-1].Position && n >= list[k-1].Tokens) && n <= tokens {
			list = append(list, cache.Breakpoint{Position: position, Tokens: n, TTL: c.ttl})
		}
	}
	if c.kind.Mode == "" {
		return list
	}
	switch marks := c.policy.Marks(c.product, c.version); marks {
	case policy.BreakpointsAutomatic:
		mark(last, tokens)
	case policy.BreakpointsLastTwoIfAnthropic:
		if !price.Anthropic(c.model) {
			break
		}
		fallthrough
	case policy.BreakpointsLast, policy.BreakpointsLastTwo:
		mark(sharedPlace, c.head.Shared)
		mark(systemPlace, c.head.Own)
		if before > firstPlace && marks != policy.BreakpointsLast {
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
	e.cache.sim.Change(firstPlace+c.Place, e.causeOf(c))
}

// causeOf is the cause that a change of the payload is.
func (e *engine) causeOf(c view.SentChange) cache.Cause {
	edits := e.view.Edits()
	switch stage := edits[c.Edit].Stage; {
	case stage == policy.StageServer:
		return cache.Cause{Kind: cache.Thinking}
	case edits[c.Edit].Kind != policy.KindSummarize:
		return cache.Cause{Kind: cache.Edited, Stage: stage, Message: e.uuid(c.Item)}
	}
	return cache.Cause{Kind: cache.Compacted}
}

// cacheRequest simulates main request k, and prices it.
func (e *engine) cacheRequest(k int, row *Request) {
	c, v := e.cache, e.view
	msg := &e.conv.Messages[e.conv.Requests[k].Message]
	model := cmp.Or(e.opt.Model, msg.Model)
	e.askedAgain(k, row.Payload)
	head := e.head(k)
	c.begin(model, msg.Version, head, e.floor(k, head))
	if kind, ok := e.r.settings[k]; ok {
		c.setting(kind)
	}
	payload := row.Payload
	if k == 0 {
		e.seed(model, payload)
	}
	e.noteChanges()
	e.ladderChanges(payload)
	for _, d := range v.ServerDrops() {
		c.sim.Shrink(firstPlace+d.Place, d.Tokens)
		c.auto.Shrink(d.Tokens)
	}
	// By the documentation an entry lives from the start of the request that wrote or read it. In recorded 5-minute
	// sessions it lives from the end of the response: pauses of 4 to 7 minutes were hits up to 303 seconds after it
	// (one of them 364 seconds after the start) and misses from 302 seconds on.
	start := e.start(msg)
	request := cache.CachedRequest{Start: start, Lives: msg.End, Model: model, Minimum: c.minimum(model), Tokens: payload}
	var split cache.Split
	var cause cache.Cause
	left := payload
	if c.unasked() {
		if prompted(e.conv, k) {
			if n, dropped := c.auto.NewTurn(model, c.kind); dropped {
				c.ladder.limit(keepsMost, n, "")
			}
		}
		split, cause = c.auto.Request(cache.UnmarkedRequest{
			Start: start, Lives: msg.End, Model: model, Kind: c.kind, Tokens: payload, Output: row.Output, Floor: c.warm, Reasons: reasons(msg),
		})
		if c.kind.OutputCached {
			left += row.Output
		}
	} else {
		last, tail := e.lastMessage()
		end, covered := e.covered(k, payload)
		c.marked = firstPlace + end - 1
		request.Breakpoints = c.breakpoints(c.marked, covered, firstPlace+last, payload-tail)
		var err error
		if split, cause, err = c.sim.Request(request); err != nil { // breakpoints follows the rules
			e.fail(err)
		}
	}
	v.Sent()
	c.sent = payload
	row.Cache = CacheUse{Split: split}
	if cause.Kind != cache.None {
		miss := cause
		row.Cache.Miss = &miss
	}
	row.CostUSD = c.cost(model, split, row.Output)
	read, stage := c.ladder.request(&request, left, c.warm, c.life())
	row.Repeated, row.CostParts = read[keepsEvery], c.mainParts(row, model, read, stage)
}

// setting changes the simulations for what the client did otherwise. A provider that caches by itself compares what is
// sent, and an image at the end, a skill or an effort changes nothing before it.
func (c *caching) setting(kind cache.BreakCause) {
	switch {
	case kind == cache.ToolsChanged:
		c.newTools()
		return
	case c.unasked():
		return
	}
	c.sim.Change(firstPlace, cache.Cause{Kind: kind})
	c.ladder.limit(keepsMost, c.head.Own, "")
}

// prompted reports whether a turn begins with request k (0-based).
func prompted(conv *session.Conversation, k int) bool {
	m, _ := asks(conv, k)
	return k > 0 && m >= 0 && conv.Messages[m].Class == session.ClassPrompt && !conv.Messages[m].Is(session.Queued)
}

// reasons reports whether a response has reasoning.
func reasons(m *session.Message) bool {
	return m.Usage.Thinking > 0 || slices.ContainsFunc(m.Blocks, func(b session.Block) bool {
		return b.Kind == jsonl.KindThinking || b.Kind == jsonl.KindRedactedThinking
	})
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
// nothing, and is written to the cache where the client marks the model's requests.
func (e *engine) cacheCall(call *policy.Call, input, k int) CacheUse {
	c := e.cache
	plain := CacheUse{Split: cache.Split{Uncached: input}}
	if k < 0 || c.policy.Breakpoints == policy.BreakpointsNone {
		return plain
	}
	msg := &e.conv.Messages[e.conv.Requests[k].Message]
	model := cmp.Or(e.opt.Model, msg.Model)
	if call.Prefix != "session" {
		marks := c.policy.Marks(c.product, msg.Version)
		if marks == policy.BreakpointsAutomatic || marks == policy.BreakpointsLastTwoIfAnthropic && !price.Anthropic(model) ||
			c.kindFor(model).Mode != cache.Breakpoints || input < c.minimum(model) {
			return plain
		}
		return CacheUse{Split: cache.Split{Write5m: input}}
	}
	head := e.head(k)
	c.begin(model, msg.Version, head, e.floor(k, head))
	end := firstPlace + e.view.Places()
	from := end
	if call.Cut != nil {
		if place, ok := e.view.Place(call.Cut.Item); ok {
			from = firstPlace + place + call.Cut.Block
		}
	}
	request := cache.CachedRequest{Start: e.now, Model: model, Minimum: c.minimum(model), Tokens: input}
	var split cache.Split
	if c.unasked() {
		split = c.auto.Branch(e.unchanged(k, from), cache.UnmarkedRequest{Start: e.now, Model: model, Kind: c.kind, Tokens: input, Floor: c.warm})
	} else {
		last, tokens := end, input
		if c.policy.Marks(c.product, c.version) == policy.BreakpointsLast {
			last, tokens = e.callMark(k, from)
		}
		request.Breakpoints = c.breakpoints(last, tokens, 0, 0)
		var err error
		if split, err = c.sim.Branch(from, request); err != nil {
			e.fail(err)
		}
	}
	c.ladder.call(&request, c.head.Own, c.life())
	return CacheUse{Split: split}
}

// callMark is the last place that a call with the session's prefix marks before main request k (0-based), and its tokens
// up to there, where the client marks one message and the call sends all before a position unchanged. What it asks for
// is part of the user's last message, so the mark is on the message before that. If the last main request ended there,
// its mark is the one.
func (e *engine) callMark(k, from int) (place, tokens int) {
	end := firstPlace + e.view.Places()
	for id := range e.view.Backward {
		if end <= from && e.view.Role(id) == session.Assistant {
			break
		}
		at, _ := e.view.Place(id)
		end = min(end, firstPlace+at)
	}
	end = max(end, min(e.cache.marked+1, from))
	return end - 1, max(e.overhead(k)+e.view.PayloadTokens()-e.view.PayloadFrom(end-firstPlace), 0)
}

// unchanged is the tokens of a call before main request k (0-based) that are as the last request sent them, up to a
// position.
func (e *engine) unchanged(k, position int) int {
	if c, ok := e.view.FirstChange(); ok {
		position = min(position, firstPlace+c.Place)
	}
	return max(e.overhead(k)+e.view.PayloadTokens()-e.view.PayloadFrom(position-firstPlace), 0)
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
