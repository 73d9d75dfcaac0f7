package synth

// Call is a tool call together with what came of it.
type Call struct {
	ID     string // chosen by Respond where empty
	Name   string
	Input  []byte // compact JSON
	Result Result
}

// Result is a tool's answer.
type Result struct {
	Content string   // as the model sees it
	Parts   []string // instead of Content: an array of texts
	Error   bool
	Client  []byte // toolUseResult: JSON, nil for none
	File    *File  // the file it showed, for restoring after a compaction
	Pending bool   // never answered
	Slow    int    // milliseconds it took at most; 0: 300
	Notes   int    // progress lines while it ran
	Inside  func() // what happened meanwhile: a subagent's lines
}

// Block is one block of a response: exactly one of text, thinking, call.
type Block struct {
	Text     string
	Thinking string
	Call     *Call
}

var compactable = map[string]bool{"Read": true, "Bash": true, "Grep": true, "Glob": true,
	"WebSearch": true, "WebFetch": true, "Edit": true, "Write": true}

// Respond is one API call: what is due before it, its response, one line a
// block, and the results of the tools it calls.
func (c *Client) Respond(blocks ...Block) {
	c.prepare()
	u := c.send()
	c.pass(1800, 7000)
	var out int64 = messageFrame
	for i := range blocks {
		out += c.blockWeight(&blocks[i])
	}
	u.output = tokens(out)
	c.stats.Requests++
	c.stats.OutputTokens += int64(u.output)
	c.messages++

	m := &response{id: c.messageID(), request: c.requestID(), usage: u, blocks: blocks, stop: "end_turn"}
	m.first = 1 + c.r.IntN(8)
	for i := range blocks {
		if blocks[i].Call != nil {
			m.stop = "tool_use"
			m.calls++
		}
	}
	m.open = m.calls
	interleave := c.v.siblings() && m.calls > 1 && c.r.IntN(2) == 0
	c.lastTotal, c.tail = 0, 0
	for i := range blocks {
		b := &blocks[i]
		c.assistantLine(m, i)
		if i > 0 && c.v.siblings() {
			c.tail += blockEstimate(b)
		}
		if b.Call != nil && (interleave || m.calls == 1) {
			c.result(b.Call, m)
		}
	}
	if m.calls > 1 && !interleave {
		c.results(m)
	}
	c.lastTotal = u.context() + m.recorded
}

// response is one API response while it is being written.
type response struct {
	id, request string
	usage       usage
	first       int // output_tokens of message_start
	recorded    int // output_tokens of the last line written
	blocks      []Block
	calls, open int // tool calls, and how many of them have no result yet
	stop        string
	lines       []string // uuid of the line of each block
}

func (c *Client) blockWeight(b *Block) int64 {
	switch {
	case b.Call != nil:
		return milli(b.Call.Name, inputRate) + milli(string(b.Call.Input), inputRate) + toolUseFrame
	case b.Thinking != "":
		return milli(b.Thinking, c.prose)
	}
	return milli(b.Text, c.prose)
}

func blockEstimate(b *Block) int {
	if b.Call != nil {
		return estimate(len(b.Call.Name) + utf16Len(string(b.Call.Input)))
	}
	return estimate(utf16Len(b.Text)) // thinking is the empty string where this is asked
}

func (c *Client) assistantLine(m *response, i int) {
	b := &m.blocks[i]
	last := i == len(m.blocks)-1
	if i > 0 {
		c.pass(250, 2600)
	}
	kind := ""
	o := c.head(kind, c.leaf)
	o.obj("message").str("model", c.opt.Model).str("id", m.id).str("type", "message").str("role", "assistant")
	o.arr("content").open()
	switch {
	case b.Call != nil:
		if b.Call.ID == "" {
			b.Call.ID = c.toolID()
		}
		o.str("type", "tool_use").str("id", b.Call.ID).str("name", b.Call.Name).raw("input", b.Call.Input)
		if c.v.caller() {
			o.obj("caller").str("type", "direct").close()
		}
		c.stats.ToolCalls++
	case b.Thinking != "":
		shown := b.Thinking
		if c.v.emptyThinking() {
			shown = ""
		}
		o.str("type", "thinking").str("thinking", shown).str("signature", c.signature(200+utf16Len(b.Thinking)*5/4))
	default:
		o.str("type", "text").str("text", b.Text)
		c.said = b.Text
	}
	o.close().closeArr()
	out, stop := c.outputOn(m, i, last), ""
	if c.v.stopReason() && (last && c.v.output() != outputFirst || c.v.output() == outputRight) {
		stop = m.stop
	}
	o.strOrNull("stop_reason", stop).null("stop_sequence")
	if c.v.stopDetails() {
		o.null("stop_details")
	}
	c.usageObject(o, m.usage, out)
	if c.v.diagnostics() {
		o.null("diagnostics")
	}
	o.close().str("requestId", m.request).str("type", "assistant")
	m.recorded = out
	uuid := c.uuid()
	m.lines = append(m.lines, uuid)
	c.mark(uuid)
	// A streaming client may write a fast tool's result before the line that
	// called it.
	c.hold = b.Call != nil && m.calls == 1 && !b.Call.Result.Pending && b.Call.Result.Notes == 0 && b.Call.Result.Inside == nil &&
		c.v.in(v21(91), v21(199)) && c.r.IntN(40) == 0
	c.end(uuid)
	weight := c.blockWeight(b)
	if i == 0 {
		weight += messageFrame
	}
	c.add(item{weight: weight, line: uuid, opens: i == 0})
}

// outputOn is the output_tokens that line i of m carries.
func (c *Client) outputOn(m *response, i int, last bool) int {
	switch c.v.output() {
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

func (c *Client) usageObject(o *object, u usage, out int) {
	write5, write1 := u.write, 0
	if c.cacheTTL() > 5*60*1e9 {
		write5, write1 = 0, u.write
	}
	o.obj("usage").num("input_tokens", u.input).num("cache_creation_input_tokens", u.write).num("cache_read_input_tokens", u.read)
	if !c.v.iterations() {
		if c.v.cacheSplit() {
			o.obj("cache_creation").num("ephemeral_5m_input_tokens", write5).num("ephemeral_1h_input_tokens", write1).close()
		}
		o.num("output_tokens", out).str("service_tier", "standard").close()
		return
	}
	o.num("output_tokens", out)
	o.obj("server_tool_use").num("web_search_requests", 0).num("web_fetch_requests", 0).close().str("service_tier", "standard")
	o.obj("cache_creation").num("ephemeral_1h_input_tokens", write1).num("ephemeral_5m_input_tokens", write5).close()
	o.str("inference_geo", "")
	o.arr("iterations").open().num("input_tokens", u.input).num("output_tokens", out).num("cache_read_input_tokens", u.read).num("cache_creation_input_tokens", u.write)
	o.obj("cache_creation").num("ephemeral_5m_input_tokens", write5).num("ephemeral_1h_input_tokens", write1).close().str("type", "message").close().closeArr()
	o.str("speed", "standard").close()
}

// results writes the results of parallel calls, now and then out of order.
func (c *Client) results(m *response) {
	var calls []*Call
	for i := range m.blocks {
		if m.blocks[i].Call != nil {
			calls = append(calls, m.blocks[i].Call)
		}
	}
	base := c.calls
	order := make([]int, len(calls))
	for i := range order {
		order[i] = i
	}
	if c.v.sourceUUID() && c.r.IntN(4) == 0 {
		i := c.r.IntN(len(order) - 1)
		order[i], order[i+1] = order[i+1], order[i]
	}
	for _, i := range order {
		c.calls = base + i
		c.result(calls[i], m)
	}
	c.calls = base + len(calls)
}

// result writes one tool_result. From 2.1.1 on its parent is the line of its
// own tool_use; before, the line before it.
func (c *Client) result(call *Call, m *response) {
	res := &call.Result
	m.open--
	c.lastTotal = m.usage.context() + m.recorded
	source := c.leaf
	for i := range m.blocks[:len(m.lines)] {
		if m.blocks[i].Call == call {
			source = m.lines[i]
		}
	}
	slow := res.Slow
	if slow == 0 {
		slow = 300
	}
	c.progress(call, source)
	if res.Inside != nil {
		res.Inside()
	}
	c.pass(20, max(21, slow))
	order := c.calls
	c.calls++
	if res.Pending {
		return
	}
	uuid := c.uuid()
	weight, n := c.resultWeight(res)
	it := item{weight: weight, call: order, line: uuid}
	if compactable[call.Name] {
		it.est, it.id = estimate(n), call.ID
	}
	parent := c.leaf
	if !c.v.linear() {
		parent = source
	}
	if c.lose(m, estimate(n)) {
		c.lost, c.leaf = uuid, uuid
	} else {
		c.resultLine(uuid, parent, source, call)
	}
	c.add(it)
	c.tail += estimate(n)
	c.messages++
	if res.File != nil {
		c.remember(*res.File)
	}
}

func (c *Client) resultWeight(res *Result) (int64, int) {
	w, n := int64(resultFrame), 0
	for _, p := range res.Parts {
		w += milli(p, c.truth.tool)
		n += utf16Len(p)
	}
	return w + milli(res.Content, c.truth.tool), n + utf16Len(res.Content)
}

func (c *Client) resultLine(uuid, parent, source string, call *Call) {
	res := &call.Result
	o := c.head("user", parent)
	o.obj("message").str("role", "user").arr("content").open()
	content := func() {
		if res.Parts == nil {
			o.str("content", res.Content)
			return
		}
		o.arr("content")
		for _, p := range res.Parts {
			o.open().str("type", "text").str("text", p).close()
		}
		o.closeArr()
	}
	if res.Error {
		o.str("type", "tool_result")
		content()
		o.bool("is_error", true).str("tool_use_id", call.ID)
	} else {
		o.str("tool_use_id", call.ID).str("type", "tool_result")
		content()
		if call.Name == "Bash" {
			o.bool("is_error", false)
		}
	}
	o.close().closeArr().close()
	c.mark(uuid)
	if res.Client != nil {
		o.raw("toolUseResult", res.Client)
	}
	if c.v.sourceUUID() {
		o.str("sourceToolAssistantUUID", source)
	}
	c.end(uuid)
}

// remember keeps the files last read, newest last, each once.
func (c *Client) remember(f File) {
	for i := range c.reads {
		if c.reads[i].Path == f.Path {
			c.reads = append(c.reads[:i], c.reads[i+1:]...)
			break
		}
	}
	if c.reads = append(c.reads, f); len(c.reads) > 8 {
		c.reads = append(c.reads[:0], c.reads[1:]...)
	}
}
