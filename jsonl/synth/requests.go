package synth

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/requests"
)

// recordedRequests writes the requests that a client sends into its file: each as what it keeps of the one before, and the
// hashes of the messages that follow. Those that no lines of the conversation make have a line of their own.
type recordedRequests struct {
	parts  map[string]sentPart // by uuid of a line
	runs   requests.Runs
	made   map[requests.Digest]bool // messages that lines make, or that have one
	id     string                   // of the last request
	sent   []string                 // lines that it was sent with
	count  int                      // its messages
	shape  requests.Digest
	shaped bool
}

// sentPart is what a request has of a line.
type sentPart struct {
	role, id string
	blocks   []byte // without the brackets around them
}

// sentTools are the tools of a request.
func sentTools() []string {
	return strings.Fields("Bash Edit Glob Grep NotebookEdit Read Task TodoWrite WebFetch WebSearch Write")
}

// note keeps what requests have of the line that is written.
func (q *recordedRequests) note(uuid string, line []byte) {
	message := requests.Member(line, "message")
	content := requests.Member(message, "content")
	role, id := "user", ""
	if string(requests.Member(line, "type")) == `"assistant"` {
		role, id = "assistant", string(requests.Member(message, "id"))
	}
	sum, _, ok := q.runs.Add("", role, id, content)
	if !ok {
		return
	}
	if q.made == nil {
		q.made = map[requests.Digest]bool{}
	}
	q.made[sum] = true
	if content[0] == '"' {
		q.add(uuid, role, id, new(object).put(`{"type":"text","text":?}`, content).b)
	} else {
		q.add(uuid, role, id, content[1:len(content)-1])
	}
}

func (q *recordedRequests) add(uuid, role, id string, blocks []byte) {
	if q.parts == nil {
		q.parts = map[string]sentPart{}
	}
	q.parts[uuid] = sentPart{role, id, slices.Clone(blocks)}
}

// remaining writes the attachment with which the client says what is left of the window, as a message of the system role.
func (c *client) remaining() {
	text := "<total_tokens>" + strconv.Itoa(c.opt.Window-tokens(c.sum)) + " tokens left</total_tokens>"
	payload := c.attachment("total_tokens_reminder").put(`"text":?`, text)
	c.head("", c.leaf).put(`"attachment":?,"type":"attachment"`, payload.put(`}`).b)
	c.mark()
	c.line.put(`"rendered":[{"content":?}],"renderedRole":"system"`, "<system-reminder>\n"+text+"\n</system-reminder>")
	uuid := c.end()
	c.text(uuid, text)
	c.messages--
	c.sent.add(uuid, "system", "", (&object{}).put(`{"type":"text","text":?}`, text).b)
}

// recordRequest writes the request that is sent next.
func (c *client) recordRequest() {
	q := &c.sent
	if !q.shaped {
		c.recordShape()
	}
	var lines []string // of the context, each once
	for i := range c.items {
		if uuid := c.items[i].line; q.parts[uuid].role != "" && (len(lines) == 0 || lines[len(lines)-1] != uuid) {
			lines = append(lines, uuid)
		}
	}
	base, keep, from := q.id, q.count, len(q.sent)
	if from == 0 || len(lines) <= from || !slices.Equal(lines[:from], q.sent) {
		base, keep, from = "", 0, 0
	}
	messages := joinParts(q.parts, lines[from:])
	var tail []string
	for _, m := range messages {
		text := new(object).put(`{"role":?,"content":?}`, m.role, slices.Concat([]byte("["), m.blocks, []byte("]"))).b
		sum, _ := requests.SumOfMessage(text)
		tail = append(tail, sum.String())
		if !q.made[sum] {
			q.made[sum] = true
			c.unchained(requests.TypeMessage).put(`"sessionId":?,"hash":?,"message":?`, c.session, sum.String(), text)
			c.endUnchained()
		}
	}
	id := c.uuid()
	o := c.unchained(requests.TypeRequest).put(`"sessionId":?,"id":?,"timestamp":?,"version":?,"querySource":"sdk","shapeHash":?`, c.session, id, stamp(c.now), c.opt.Version, q.shape.String())
	o.put(`"params":{"model":?,"max_tokens":32000,"thinking":{"type":"enabled","budget_tokens":31999}}`, c.opt.Model)
	o.when(base != "").put(`"base":?`, base)
	o.put(`"keep":?,"tail":?`, keep, tail)
	c.endUnchained()
	q.id, q.sent, q.count = id, lines, keep+len(messages)
	if from == 0 { // what the context does not have any more is not sent again
		kept := map[string]sentPart{}
		for _, uuid := range lines {
			kept[uuid] = q.parts[uuid]
		}
		q.parts = kept
	}
}

// joinParts makes messages of parts: a response with all its blocks, then what the user's side says until the next.
func joinParts(parts map[string]sentPart, lines []string) (list []sentPart) {
	for _, uuid := range lines {
		p, at := parts[uuid], len(list)-1
		for at > 0 && p.role == "assistant" && list[at].id != p.id { // results may stand between the blocks of a response
			at--
		}
		if at < 0 || list[at].role != p.role || list[at].id != p.id {
			list = append(list, sentPart{p.role, p.id, slices.Clone(p.blocks)})
			continue
		}
		list[at].blocks = append(append(list[at].blocks, ','), p.blocks...)
	}
	return list
}

// recordShape writes the system prompt and the tools, of about the tokens that are sent next to the messages.
func (c *client) recordShape() {
	words := func(text string, share int) string {
		return strings.Repeat(text, 1+c.opt.Overhead*4/share/len(text))
	}
	o := new(object).put(`{"system":[{"type":"text","text":?}],"tools":[`, words("Work on the project, and keep to its conventions. ", 3))
	for _, name := range sentTools() {
		o.put(`{"name":?,"description":?`, name, words("Use the tool "+name+" for its own kind of work. ", 3*len(sentTools())/2))
		o.put(`"input_schema":{"type":"object"}}`)
	}
	shape := o.put(`]}`).b
	q := &c.sent
	q.shape, _ = requests.SumOf(shape)
	q.shaped = true
	c.unchained(requests.TypeShape).put(`"sessionId":?,"shapeHash":?,"version":?,"shape":?`, c.session, q.shape.String(), c.opt.Version, shape)
	c.endUnchained()
}
