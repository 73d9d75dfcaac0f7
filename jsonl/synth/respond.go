package synth

import (
	"cmp"
	"slices"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
)

// toolCall is a tool call with its result.
type toolCall struct {
	id     string // chosen by respond where empty
	name   string
	input  []byte // compact JSON
	result toolResult
}

type toolResult struct {
	content string    // as the model sees it
	parts   []string  // instead of content: an array of texts
	failed  bool      // is_error
	client  []byte    // toolUseResult: JSON, nil for none
	file    *fileView // the file it showed, for restoring after a compaction
	slow    int       // longest run time in milliseconds; 0: 300
	notes   int       // number of progress lines
	inside  func()    // writes a subagent's lines before the result
}

// block is one block of a response: exactly one of text, thinking, call.
type block struct {
	text     string
	thinking string
	call     *toolCall
}

var compactable = jsonl.Set(`Read Bash Grep Glob WebSearch WebFetch Edit Write`)

// respond writes one API call: what comes before it, its response, one line a block, and the results of the tools it
// calls.
func (c *client) respond(blocks ...block) {
	c.prepare()
	m := &response{usage: c.send(), blocks: blocks, stop: "end_turn"}
	c.pass(1800, 7000)
	var out int64 = messageFrame
	for i := range blocks {
		out += blockWeight(&blocks[i])
		if blocks[i].call != nil {
			m.stop = "tool_use"
			m.calls++
		}
	}
	m.usage.output = tokens(out)
	m.id, m.request, m.first = c.messageID(), c.requestID(), 1+c.r.IntN(8)
	m.open = m.calls
	c.stats.Requests++
	c.messages++
	interleave := c.Siblings && m.calls > 1 && c.r.IntN(2) == 0
	c.lastTotal = 0
	c.tail = 0
	for i := range blocks {
		b := &blocks[i]
		c.assistantLine(m, i)
		if i > 0 && c.Siblings {
			c.tail += blockEstimate(b)
		}
		if b.call != nil && (interleave || m.calls == 1) {
			c.result(b.call, m)
		}
	}
	if m.calls > 1 && !interleave {
		c.results(m)
	}
	c.lastTotal = m.usage.context() + m.recorded
}

// response is one API response while it is being written.
type response struct {
	id, request string
	usage       usage
	first       int // output_tokens of message_start
	recorded    int // output_tokens of the last line written
	blocks      []block
	calls, open int // tool calls, and how many of them have no result yet
	stop        string
	lines       []string // uuid of the line of each block
}

func blockWeight(b *block) int64 {
	switch {
	case b.call != nil:
		return milli(b.call.name, inputRate) + milli(string(b.call.input), inputRate) + toolUseFrame
	case b.thinking != "":
		return milli(b.thinking, proseRate)
	}
	return milli(b.text, proseRate)
}

func blockEstimate(b *block) int {
	if b.call != nil {
		return estimate(len(b.call.name) + units(string(b.call.input)))
	}
	return estimate(units(b.text)) // thinking is the empty string where this is asked
}

func (c *client) assistantLine(m *response, i int) {
	b := &m.blocks[i]
	last := i == len(m.blocks)-1
	if i > 0 {
		c.pass(250, 2600)
	}
	o := c.head("", c.leaf).put(`"message":{"model":?,"id":?,"type":"message","role":"assistant","content":[{`, c.opt.Model, m.id)
	switch {
	case b.call != nil:
		if b.call.id == "" {
			b.call.id = c.toolID()
		}
		o.put(`"type":"tool_use","id":?,"name":?,"input":?`, b.call.id, b.call.name, b.call.input)
		o.when(c.Caller).put(`"caller":{"type":"direct"}`)
		c.stats.ToolCalls++
	case b.thinking != "":
		shown := b.thinking
		if c.EmptyThinking {
			shown = ""
		}
		o.put(`"type":"thinking","thinking":?,"signature":?`, shown, c.signature(200+units(b.thinking)*5/4))
	default:
		o.put(`"type":"text","text":?`, b.text)
		c.said = b.text
	}
	o.put(`}]`)
	out := c.outputOn(m, i, last)
	stop := ""
	if c.stopReason() && (last && c.output() != outputFirst || c.output() == outputRight) {
		stop = m.stop
	}
	o.put(`"stop_reason":?,"stop_sequence":null`, orNull(stop)).when(c.StopDetails).put(`"stop_details":null`)
	c.usageObject(o, m.usage, out)
	o.when(c.Diagnostics).put(`"diagnostics":null`)
	o.put(`},"requestId":?,"type":"assistant"`, m.request)
	m.recorded = out
	c.mark()
	m.lines = append(m.lines, c.own)
	// A streaming client may write a fast result before the line with its call.
	c.hold = b.call != nil && m.calls == 1 && b.call.result.notes == 0 && b.call.result.inside == nil &&
		c.in(v21(91), v21(199)) && c.r.IntN(40) == 0
	weight := blockWeight(b)
	if i == 0 {
		weight += messageFrame
	}
	c.add(item{weight: weight, line: c.end(), opens: i == 0})
}

// outputOn is the output_tokens on line i of m.
func (c *client) outputOn(m *response, i int, last bool) int {
	switch c.output() {
	case outputFirst:
		if last && (len(m.blocks) == 1 || c.r.IntN(2) == 0) {
			return m.usage.output
		}
		return min(m.first, m.usage.output)
	case outputWrong:
		return min(m.first, m.usage.output)
	case outputLast:
		if !last {
			return min(m.first+i, m.usage.output)
		}
	}
	return m.usage.output
}

func (c *client) usageObject(o *object, u usage, out int) {
	write5 := u.write
	write1 := 0
	if c.cacheTTL() == time.Hour {
		write5 = 0
		write1 = u.write
	}
	created := func(o *object) *object {
		return o.put(`"cache_creation":{"ephemeral_5m_input_tokens":?,"ephemeral_1h_input_tokens":?}`, write5, write1)
	}
	o.put(`"usage":{"input_tokens":?,"cache_creation_input_tokens":?,"cache_read_input_tokens":?`, u.input, u.write, u.read)
	if !c.Iterations {
		created(o.when(c.CacheSplit))
		o.put(`"output_tokens":?,"service_tier":"standard"}`, out)
		return
	}
	o.put(`"output_tokens":?,"server_tool_use":{"web_search_requests":0,"web_fetch_requests":0},"service_tier":"standard"`, out)
	o.put(`"cache_creation":{"ephemeral_1h_input_tokens":?,"ephemeral_5m_input_tokens":?}`, write1, write5)
	o.put(`"inference_geo":"","iterations":[{"input_tokens":?,"output_tokens":?`, u.input, out)
	o.put(`"cache_read_input_tokens":?,"cache_creation_input_tokens":?`, u.read, u.write)
	created(o).put(`"type":"message"}],"speed":"standard"}`)
}

// results writes the results of parallel calls, now and then out of order.
func (c *client) results(m *response) {
	var order []int // of calls, by their index
	calls := slices.DeleteFunc(slices.Clone(m.blocks), func(b block) bool { return b.call == nil })
	for i := range calls {
		order = append(order, i)
	}
	if c.SourceUUID && c.r.IntN(4) == 0 {
		i := c.r.IntN(len(order) - 1)
		order[i], order[i+1] = order[i+1], order[i]
	}
	base := c.calls
	for _, i := range order {
		c.calls = base + i
		c.result(calls[i].call, m)
	}
	c.calls = base + len(calls)
}

// result writes one tool_result. From 2.1.1 on its parent is the line of its own tool_use; before, the line before
// it.
func (c *client) result(call *toolCall, m *response) {
	res := &call.result
	m.open--
	c.lastTotal = m.usage.context() + m.recorded
	source := c.leaf
	for i := range m.blocks[:len(m.lines)] {
		if m.blocks[i].call == call {
			source = m.lines[i]
		}
	}
	c.progress(call, source)
	if res.inside != nil {
		res.inside()
	}
	c.pass(20, cmp.Or(res.slow, 300))
	order := c.calls
	c.calls++
	uuid := c.uuid()
	weight, n := resultWeight(res)
	it := item{weight: weight, call: order, line: uuid}
	if compactable[call.name] {
		it.est = estimate(n)
		it.id = call.id
	}
	if c.lose(m, estimate(n)) {
		c.lost = uuid
		c.leaf = uuid
	} else {
		c.resultLine(uuid, source, call)
	}
	c.add(it)
	c.tail += estimate(n)
	c.messages++
	if res.file != nil {
		c.remember(*res.file)
	}
}

func resultWeight(res *toolResult) (int64, int) {
	w := int64(resultFrame)
	n := 0
	for _, p := range res.parts {
		w += milli(p, toolRate)
		n += units(p)
	}
	return w + milli(res.content, toolRate), n + units(res.content)
}

func (c *client) resultLine(uuid, source string, call *toolCall) {
	res := &call.result
	parent := c.leaf
	if !c.Linear {
		parent = source
	}
	o := c.head("user", parent).put(`"message":{"role":"user","content":[{`)
	if res.failed {
		res.writeContent(o.put(`"type":"tool_result"`)).put(`"is_error":true,"tool_use_id":?`, call.id)
	} else {
		res.writeContent(o.put(`"tool_use_id":?,"type":"tool_result"`, call.id)).when(call.name == "Bash").put(`"is_error":false`)
	}
	o.put(`}]}`)
	c.markAs(uuid)
	o.when(res.client != nil).put(`"toolUseResult":?`, res.client)
	o.when(c.SourceUUID).put(`"sourceToolAssistantUUID":?`, source)
	c.end()
}

func (r *toolResult) writeContent(o *object) *object {
	if r.parts == nil {
		return o.put(`"content":?`, r.content)
	}
	o.put(`"content":[`)
	for _, p := range r.parts {
		o.put(`{"type":"text","text":?}`, p)
	}
	return o.put(`]`)
}

// remember keeps the files last read, newest last, each once.
func (c *client) remember(f fileView) {
	c.reads = newest(c.reads, f, 8, func(old fileView) bool { return old.path == f.path })
}

// newest appends v, drops an earlier entry that is the same, and keeps the last n.
func newest[T any](list []T, v T, n int, same func(T) bool) []T {
	list = append(slices.DeleteFunc(list, same), v)
	return slices.Delete(list, 0, max(0, len(list)-n))
}
