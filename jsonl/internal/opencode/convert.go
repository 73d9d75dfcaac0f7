package opencode

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/foreign"
)

// What OpenCode sends in the place of parts (docs/internals/opencode.md, section 6).
const (
	compactionText  = "What did we do so far?"
	subtaskText     = "The following tool was executed by the user"
	interruptedText = "[Tool execution was interrupted]"
)

// converter puts the messages of a document as lines.
type converter struct {
	*document
	agent     string          // of a subagent's session: its id
	taken     map[string]int  // ids of lines and calls, with how often each was asked for
	uuids     [][]string      // of the lines that were put of each message, as far as a compaction can keep them
	summaries map[int]int     // compaction's message -> its summary
	paired    map[int]bool    // summaries that have a compaction's message
	places    map[string]int  // ids of messages: their indexes
	lines     int64           // that compactions kept, together
	ran       bool            // a response came since the last turn began
	last      *message        // the last response
	asked     map[string]bool // user messages by id for which OpenCode runs a tool before it asks the model
	unknown   map[string]bool // types of parts and messages that were warned of
}

// session puts a document's session.
func (c *converter) session() {
	c.taken = map[string]int{}
	c.uuids = make([][]string, len(c.messages))
	c.asked = map[string]bool{}
	c.unknown = map[string]bool{}
	own := c.info
	if own == nil {
		own = &info{ID: c.messages[0].SessionID}
	}
	if own.ParentID != "" {
		c.agent = own.ID
	}
	provider := ""
	for _, m := range c.messages {
		if m.Role == "assistant" && m.Provider != "" && (provider == "" || m.Tokens.some()) {
			if provider = m.Provider; m.Tokens.some() {
				break
			}
		}
	}
	c.Begin(foreign.Session{Version: own.Version, Provider: provider, ID: own.ID, Parent: own.ParentID, CWD: cmp.Or(own.Directory, own.Location.Directory)})
	if own.Title != "" {
		c.Put(-1, foreign.Line{Type: "ai-title", Title: own.Title})
	}
	c.places = map[string]int{}
	for k, m := range slices.Backward(c.messages) {
		c.places[m.ID] = k
	}
	c.compactions()
	prunes := c.prunes()
	for k, m := range c.messages {
		for len(prunes) > 0 && prunes[0].before <= k {
			c.prune(&prunes[0])
			prunes = prunes[1:]
		}
		if c.Err() != nil {
			return
		}
		switch {
		case m.flat != nil:
			c.flat(k)
		case m.Role == "user":
			c.user(k)
		case m.Role != "assistant":
			m.aside(c.Writer, "message of an unknown role")
		case !m.summarises():
			c.response(k)
		case !c.paired[k]: // of a compaction that is not there
			c.compaction(k, k)
		}
		m.parts = nil // what is put needs no memory while the rest is read
	}
	for i := range prunes {
		c.prune(&prunes[i])
	}
}

// unique is an id that no line or call has yet. A redaction may have made ids alike.
func (c *converter) unique(id string) string {
	if id == "" {
		id = Product
	}
	for {
		c.taken[id]++
		if n := c.taken[id]; n > 1 {
			id = fmt.Sprintf("%s-%d", id, n)
			continue
		}
		return id
	}
}

// line puts a line.
func (c *converter) line(u foreign.Unit, id string, l foreign.Line) string {
	l.UUID = c.unique(id)
	l.Agent = c.agent
	l.Sidechain = c.agent != ""
	return c.Put(u, l)
}

// put puts a line of message k.
func (c *converter) put(k int, u foreign.Unit, id string, l foreign.Line) {
	c.uuids[k] = append(c.uuids[k], c.line(u, id, l))
}

// others sets those parts aside that hold nothing that is sent.
func (c *converter) others(m *message, sent ...string) {
	for i := range m.parts {
		if p := &m.parts[i]; !slices.Contains(sent, p.Type) {
			c.setAside(p.unit, p.line, "part", p.Type)
		}
	}
}

// setAside sets a part or a message aside that holds nothing which is sent, and warns once of a type that no release which
// was read has.
func (c *converter) setAside(u foreign.Unit, line int, what, kind string) {
	c.Aside(u, what+": "+cmp.Or(kind, "no type"))
	switch kind {
	case "", "text", "reasoning", "tool", "step-start", "step-finish", "patch", "file", "agent", "subtask", "snapshot", "retry", "compaction",
		"agent-switched", "model-switched", "location-switched", "idle":
		return
	}
	if !c.unknown[kind] {
		c.unknown[kind] = true
		c.Warn(line, codeMetadata, "a %s of the unknown type %.60q: what is in it is left out, here and below", what, kind)
	}
}

// user puts a user message.
func (c *converter) user(k int) {
	m := c.messages[k]
	if s, ok := c.summaries[k]; ok {
		c.compaction(k, s)
		c.others(m, "compaction")
		return
	}
	var blocks []foreign.Block
	typed := false
	for i := range m.parts {
		p := &m.parts[i]
		switch {
		case p.Type == "text" && p.Ignored:
			c.Aside(p.unit, "text that is not sent")
		case p.Type == "text" && p.Text == "":
			c.Aside(p.unit, "empty text")
		case p.Type == "text":
			typed = typed || !p.Synthetic
			c.asked[m.ID] = c.asked[m.ID] || p.Synthetic && p.Text == subtaskText
			blocks = append(blocks, foreign.Text(p.Text))
		case p.Type == "file":
			if b, ok := picture(p.MIME, p.URL); ok {
				typed = true
				blocks = append(blocks, b)
			} else {
				c.Aside(p.unit, "file that is sent as text")
			}
		case p.Type == "compaction": // without a summary
			blocks = append(blocks, foreign.Text(compactionText))
		case p.Type == "subtask":
			typed = true
			c.asked[m.ID] = true
			blocks = append(blocks, foreign.Text(subtaskText))
		}
	}
	c.others(m, "text", "file", "compaction", "subtask")
	if len(blocks) == 0 {
		c.Aside(m.unit, "message without content")
		if m.flat == nil { // OpenCode 2 never prunes
			c.line(-1, m.ID, foreign.Line{Type: "system", Subtype: foreign.SubtypeUnsent})
		}
		return
	}
	if !typed && k > 0 && c.messages[k-1].summarises() {
		c.line(m.unit, m.ID, foreign.Line{
			Type: "attachment", Time: foreign.Millis(m.Time.Created),
			Attachment: &foreign.Attachment{Type: "continue", Content: *blocks[0].Text},
		})
		return
	}
	if m.flat != nil && m.flat.Type != "user" { // the client's own
		l := foreign.Line{Type: "user", Meta: true, Time: foreign.Millis(m.Time.Created), Message: foreign.Said(blocks...)}
		if m.flat.Type == typeSystem {
			l = foreign.Line{Type: "attachment", Time: l.Time, Attachment: &foreign.Attachment{Type: typeSystem, Content: m.flat.Text}}
		}
		c.put(k, m.unit, m.ID, l)
		return
	}
	turn := foreign.TurnBegins
	switch {
	case !typed, c.last != nil && m.Time.Created < c.last.Time.Completed:
		turn = foreign.TurnQueued // the loop that runs answers it
	case c.ran:
		turn = foreign.TurnStopped
	}
	if turn != foreign.TurnQueued {
		c.ran = false
	}
	c.put(k, m.unit, m.ID, foreign.Line{Type: "user", Time: foreign.Millis(m.Time.Created), Turn: turn, Message: foreign.Said(blocks...)})
}

// picture is the block of a file that is sent as such.
func picture(mime, url string) (foreign.Block, bool) {
	kind := "image"
	switch {
	case mime == "text/plain" || mime == "application/x-directory":
		return foreign.Block{}, false
	case !strings.HasPrefix(mime, "image/"):
		kind = "document"
	}
	if head, data, ok := strings.Cut(url, ","); ok && strings.HasPrefix(head, "data:") {
		return foreign.Block{Type: kind, Source: map[string]string{"type": "base64", "media_type": mime, "data": data}}, true
	}
	return foreign.Block{Type: kind, Source: map[string]string{"type": "url", "url": url}}, url != ""
}

// response puts a response: a line for each part, and one for the result of each call.
func (c *converter) response(k int) {
	m := c.messages[k]
	c.ran = true
	c.last = m
	c.others(m, "text", "reasoning", "tool", "step-finish")
	steps := c.steps(m)
	sent := slices.ContainsFunc(steps, func(s step) bool { return s.usage != nil })
	if !sent {
		// What a failed request wrote is not sent again, unless it was aborted while it wrote.
		content := func(p *part) bool { return p.Type == "tool" || p.Type == "text" && p.Text != "" }
		if m.Error == nil {
			content = func(p *part) bool {
				return p.Type == "reasoning" || p.Type == "tool" || p.Type == "text" && p.Text != ""
			}
		}
		sent = (m.Error == nil || m.Error.Name == "MessageAbortedError") && slices.ContainsFunc(m.parts, func(p part) bool { return content(&p) })
	}
	if !sent {
		reason := "response without content"
		if m.Error != nil {
			reason = "request that failed"
		}
		m.aside(c.Writer, reason)
		return
	}
	for i := range steps {
		c.step(k, i, steps)
	}
}

// step is what one request of a response wrote.
type step struct {
	parts []*part
	usage *foreign.Usage
}

// steps are the requests of a response: one, except in early versions, where each ends in a step-finish.
func (c *converter) steps(m *message) []step {
	version := ""
	if c.info != nil {
		version = c.info.Version
	}
	if m.flat != nil {
		version = cmp.Or(version, "2") // an export does not say which
	}
	ends := 0
	for i := range m.parts {
		if m.parts[i].Type == "step-finish" {
			ends++
		}
	}
	list := []step{{}}
	ended := 0
	for i := range m.parts {
		p := &m.parts[i]
		s := &list[len(list)-1]
		switch p.Type {
		case "text", "reasoning", "tool":
			s.parts = append(s.parts, p)
		case "step-finish":
			if ended++; ends == 1 && m.Tokens.some() || !p.Tokens.some() {
				c.Aside(p.unit, "part: step-finish")
				continue
			}
			s.usage = p.Tokens.usage(version, p.Cost)
			if ended < ends {
				list = append(list, step{})
			}
		}
	}
	if len(list) == 1 && list[0].usage == nil {
		list[0].usage = m.Tokens.usage(version, m.Cost)
	}
	return list
}

// ownRun reports whether OpenCode wrote a response itself, for a command or subtask of the user's: no model was asked.
func (c *converter) ownRun(k int, s *step) bool {
	m := c.messages[k]
	of := m.ParentID
	if of == "" && k > 0 { // as in early versions
		of = c.messages[k-1].ID
	}
	return c.asked[of] && s.usage == nil && len(s.parts) > 0 && !slices.ContainsFunc(m.parts, func(p part) bool { return p.Type != "tool" })
}

// step puts request n of a response.
func (c *converter) step(k, n int, steps []step) {
	m := c.messages[k]
	s := &steps[n]
	last := n+1 == len(steps)
	own := c.ownRun(k, s) || c.copied(m)
	id := c.unique(m.ID)
	now := m.Time.Created
	line := func(content []foreign.Block, when float64) foreign.Line {
		now = max(now, when)
		msg := &foreign.Message{ID: id, Type: "message", Model: m.ModelID, Content: content, StopReason: m.Finish, Usage: s.usage}
		return foreign.Line{Type: "assistant", Time: foreign.Millis(now), Message: msg, NoRequest: own, Request: m.request(n)}
	}
	var results []func()
	put := false
	for _, p := range s.parts {
		switch p.Type {
		case "text":
			if p.Text == "" {
				c.Aside(p.unit, "empty text")
				continue
			}
			c.put(k, p.unit, p.ID, line([]foreign.Block{foreign.Text(p.Text)}, p.Time.End))
		case "reasoning":
			c.put(k, p.unit, p.ID, line([]foreign.Block{foreign.Thinking(p.Text, signature(p.Metadata))}, p.Time.End))
		case "tool":
			call := c.unique(cmp.Or(p.CallID, p.ID))
			p.CallID = call
			input := p.State.Input
			if len(input) == 0 || string(input) == "{}" && p.State.Raw != "" {
				input = json.RawMessage(cmp.Or(p.State.Raw, "{}"))
			}
			c.put(k, p.unit, p.ID, line([]foreign.Block{foreign.Call(call, p.Tool, input)}, p.State.Time.Start))
			if content, failed, ok := result(p); ok || !last || k+1 < len(c.messages) {
				results = append(results, func() {
					c.put(k, p.unit, p.ID, foreign.Line{
						Type: "user", Time: foreign.Millis(max(now, p.State.Time.End)),
						Message: foreign.Said(foreign.Result(call, content, failed)),
					})
				})
			}
		}
		put = true
	}
	if !put {
		c.put(k, m.unit, "", line(nil, m.Time.Completed))
	}
	for _, put := range results {
		put()
	}
}

// result is what the model is sent as the result of a call; ok: the tool has ended.
func result(p *part) (content any, failed, ok bool) {
	switch s := &p.State; s.Status {
	case "completed":
		list := []foreign.Block{foreign.Text(s.Output)}
		for _, a := range s.Attachments {
			if b, ok := picture(a.MIME, a.URL); ok && strings.HasPrefix(a.URL, "data:") {
				list = append(list, b)
			}
		}
		if len(list) > 1 {
			return list, false, true
		}
		return s.Output, false, true
	case "error":
		var meta struct {
			Interrupted any `json:"interrupted"`
			Output      any `json:"output"`
		}
		if len(s.Metadata) > 0 && json.Unmarshal(s.Metadata, &meta) == nil && meta.Interrupted == true {
			if output, ok := meta.Output.(string); ok {
				return output, true, true
			}
		}
		return s.Error, true, true
	}
	return interruptedText, true, false
}

// signature is the encrypted form of a reasoning: the longest text that its provider added.
func signature(metadata json.RawMessage) (longest string) {
	var providers map[string]map[string]any
	if len(metadata) == 0 || json.Unmarshal(metadata, &providers) != nil {
		return ""
	}
	for _, of := range providers {
		for name, value := range of {
			s, ok := value.(string)
			if ok && name != "itemId" && (len(s) > len(longest) || len(s) == len(longest) && s < longest) {
				longest = s
			}
		}
	}
	return longest
}
