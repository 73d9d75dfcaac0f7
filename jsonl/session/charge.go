package session

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
)

// ChargeKind is the purpose of a billed call.
type ChargeKind uint8

const (
	ChargeRequest    ChargeKind = iota // the call answers a main request
	ChargeBranch                       // the call is on an abandoned branch
	ChargeCompaction                   // the call wrote the summary of a compaction
	ChargeSummary                      // the call wrote the summary of an abandoned branch
	ChargeWarming                      // the call renewed the prompt cache and answered nothing
	ChargeOther                        // another call by the client, of which only the charge is recorded
	ChargeRun                          // the sum of all calls of one client process that have no charge of their own
)

var chargeNames = strings.Fields("request branch compaction summary warming other run")

// String returns the name of the kind, such as "compaction".
func (k ChargeKind) String() string { return chargeNames[k] }

// Charge is one billed call of a model. Several lines can record the same call. A forked session repeats calls of the
// file that it was forked from: charges with the same ID are the same call.
type Charge struct {
	ID       string // id of the message, the request or the response in the API; "": not recorded (no other file then repeats the call)
	Kind     ChargeKind
	Line     int       // first line that records the call
	Time     time.Time // time of that line; zero: not recorded
	Model    string    // recorded model; for a compaction without one, the model of the request directly before it
	Request  int       // number of the main request that the call answers; 0: none
	Calls    int       // number of calls: 1, or more if the client records only the sum of several calls
	Usage    jsonl.Usage
	HasUsage bool // the input tokens are known; false: the call was billed, but they are not recorded
	InRun    bool // the usage of the call is recorded only as part of the usage of a ChargeRun
	Partial  bool // Usage.Output counts only the start of the response (StartOnly)
	Written  int  // estimated tokens of the response in the file: text, thinking and tool inputs (WrittenTokens)
}

// ClientTotals is the usage and cost that the client reports on a line for the whole session up to that line. It
// includes subagents, and calls that no line records.
type ClientTotals struct {
	Line     int
	Nano     int64       // cost of all models in billionths of a US dollar
	Models   []RunTotals // usage of each model, sorted by model
	Unpriced bool        // the client had no price for at least one model that it used
}

// callOf is what tells the call of a response apart: of Claude Code the message's id, of another client what its reader
// says.
func (ld *loader) callOf(e *jsonl.Entry) string {
	if ld.ownFormat() && e.Message.ID != "" {
		return e.Message.ID
	}
	id, _ := jsonl.Unquote(e.RequestID)
	return id
}

// charge lists what the conversation was billed.
func (c *chain) charge() {
	b := billing{chain: c, requests: map[int]int{}, boundaries: map[string]*Boundary{}, at: map[string]int{}, seen: map[string]bool{}}
	for _, q := range c.Requests {
		b.requests[q.Message] = q.N
	}
	for k := range c.Boundaries {
		b.boundaries[c.Boundaries[k].UUID] = &c.Boundaries[k]
	}
	for _, i := range c.order {
		switch n := c.node(i); {
		case n.kind == nodeAssistant && !n.is(lineAPIError|lineNoRequest) && n.response.model != synthetic:
			b.response(i)
		case n.kind == nodeBoundary && n.compact.Usage != nil:
			b.compaction(i)
		}
	}
	for k := range b.calls {
		c.Charges = append(c.Charges, b.charge(&b.calls[k]))
	}
}

// billing collects the calls of a conversation.
type billing struct {
	*chain
	requests   map[int]int // by the message that answers it: its number
	boundaries map[string]*Boundary
	calls      []call
	at         map[string]int  // by what tells calls apart: index into calls
	seen       map[string]bool // the lines of left branches, by call and content
}

// call is a charge that is not complete.
type call struct {
	Charge
	version string // of its first line
	message int    // that the conversation has of it; -1: none
	blocks  []Block
	ended   bool // a line says why it stopped
}

// find is the call that a key tells apart; line i is its first where it is new.
func (b *billing) find(key string, i int) *call {
	k, ok := b.at[key]
	if !ok {
		n := b.node(i)
		k = len(b.calls)
		b.at[key] = len(b.calls)
		b.calls = append(b.calls, call{Charge: Charge{Kind: ChargeBranch, Line: n.line, Time: n.time, Calls: 1}, version: n.version, message: -1})
	}
	return &b.calls[k]
}

// response adds a line of a response.
func (b *billing) response(i int) {
	n := b.node(i)
	r := n.response
	key := cmp.Or(r.call, r.id, "of line "+strconv.Itoa(n.group))
	q := b.find(key, i)
	q.ID = cmp.Or(q.ID, r.call)
	q.Model = cmp.Or(q.Model, r.model)
	q.ended = q.ended || r.stop != ""
	if r.recorded {
		q.Usage.Add(r.usage)
	}
	if message, ok := b.byLine(i); ok {
		q.message = message
		if q.Request = b.requests[message]; q.Request > 0 {
			q.Kind = ChargeRequest
		}
	} else if content := key + " " + b.content(i); !b.seen[content] {
		b.seen[content] = true
		q.blocks = append(q.blocks, n.blocks...)
	}
}

// compaction adds the call that wrote the summary of a boundary, on any branch.
func (b *billing) compaction(i int) {
	n := b.node(i)
	q := b.find(cmp.Or(n.compact.Request, "of line "+strconv.Itoa(i)), i)
	q.ID = n.compact.Request
	q.Kind = ChargeCompaction
	q.ended = true
	q.Usage.Add(*recordedUsage(n.compact.Usage))
	before := len(b.Requests) - 1
	if of := b.boundaries[n.uuid]; of != nil {
		before = max(of.Request-2, 0)
	}
	if q.Model = n.compact.Model; q.Model == "" && before >= 0 && before < len(b.Requests) {
		q.Model = b.Response(before).Model
	}
}

// charge completes a call.
func (b *billing) charge(q *call) Charge {
	if q.message >= 0 {
		q.blocks = b.Messages[q.message].Blocks
	}
	q.HasUsage = q.Usage.Context() > 0
	q.Written = WrittenTokens(q.blocks)
	q.Partial = q.HasUsage && b.ownFormat() && !q.ended && startOnly(q.version, &q.Usage, q.blocks)
	if q.message >= 0 {
		b.Messages[q.message].markIf(q.Partial, StartOnly)
	}
	return q.Charge
}

// charged adds to a list the response of a line that is not in the chain. Usually another line has the same.
func (ld *loader) charged(list []Charge, e *jsonl.Entry) []Charge {
	m := &e.Message
	id := ld.callOf(e)
	if e.Type == "assistant" && m.HasUsage && m.Model != synthetic && !e.IsAPIError && !e.NoRequest && id != "" {
		list = append(list, Charge{ID: id, Kind: ChargeBranch, Line: e.Line, Time: e.Time, Model: m.Model, Calls: 1, Usage: m.Usage, HasUsage: m.Usage.Context() > 0})
	}
	return list
}

// addCharges adds charges to the main conversation, but for those that repeat another: they tell more of its usage.
func (f *File) addCharges(list []Charge, covered []string) {
	known := map[string]*Charge{}
	for _, conv := range f.Conversations() {
		for k := range conv.Charges {
			known[conv.Charges[k].ID] = &conv.Charges[k]
		}
	}
	for _, id := range covered {
		if q := known[id]; q != nil {
			q.InRun = !q.HasUsage
		}
	}
	var more []Charge
	at := map[string]int{} // index into more
	for _, q := range list {
		was := known[q.ID]
		if k, ok := at[q.ID]; ok {
			was = &more[k]
		}
		if was == nil || q.ID == "" {
			at[q.ID] = len(more)
			more = append(more, q)
			continue
		}
		was.Usage.Add(q.Usage)
		was.HasUsage = was.HasUsage || q.HasUsage
	}
	f.Main.Charges = append(f.Main.Charges, more...)
	slices.SortStableFunc(f.Main.Charges, func(x, y Charge) int { return cmp.Compare(x.Line, y.Line) })
}

// startOnly reports whether the output count of a response of which no line says why it stopped is that of its start.
// Clients have written iterations since 2.1.38 where the count is final; those from 2.1.12 to 2.1.29 never wrote a final
// one; of the others only the size of what was written tells. (Of 22,000 responses of the corpora:
// docs/internals/transcripts.md.)
func startOnly(version string, u *jsonl.Usage, blocks []Block) bool {
	never := !u.Final && version != "" && (!olderThan(version, "2.1.38") || !olderThan(version, "2.1.12") && olderThan(version, "2.1.31"))
	return never || float64(u.Output) < LeastOutput(blocks)
}

// written measures the text, thinking and tool inputs of a response.
func written(blocks []Block) (n jsonl.Metrics) {
	for b := range blocks {
		switch bl := &blocks[b]; bl.Kind {
		case jsonl.KindToolUse:
			n = n.Add(bl.JSON)
		case jsonl.KindText, jsonl.KindThinking:
			n = n.Add(bl.Text)
		}
	}
	return n
}

// WrittenTokens estimates the output tokens of a response. It counts 1 token for 4 characters of text and shown
// thinking (about 1 for each Chinese character), 60 for each tool call, and 1 for 3 characters of the call's input. For
// hidden thinking it counts 0.3 for each character of the signature after the 250th. Over 18,369 recorded responses the
// estimates sum to 97 % of the recorded tokens for models with the old tokenizer (Model.Tokenizer of package price),
// and to 93 % for those with the new one.
func WrittenTokens(blocks []Block) int {
	tokens := 0.0
	for _, b := range blocks {
		n := b.Text
		chars := 4.0
		switch {
		case b.Kind == jsonl.KindToolUse:
			n = b.JSON
			chars = 3
			tokens += 60
		case b.Kind == jsonl.KindThinking && n.UTF16 == 0:
			tokens += float64(max(b.Signature-250, 0)) * 0.3
		case b.Kind != jsonl.KindText && b.Kind != jsonl.KindThinking:
			continue
		}
		tokens += float64(n.UTF16)/chars + float64(n.Bytes-n.UTF16)*3/8
	}
	return int(tokens)
}

// LeastOutput returns a lower bound of the output tokens of a response with these blocks: 4, plus 0.15 for each
// character, plus 12 for each tool call. If the recorded count is lower, it was taken before the response was complete.
func LeastOutput(blocks []Block) float64 {
	least := 4 + float64(written(blocks).UTF16)*0.15
	for range blocksOf(blocks, jsonl.KindToolUse) {
		least += 12
	}
	return least
}

// costState reads a line with what the client says that the session has cost.
func (ld *loader) costState(e *jsonl.Entry) {
	aside := Reason("metadata: " + e.Type)
	var line struct {
		Total    float64 `json:"totalCostUSD"`
		Unpriced bool    `json:"hasUnknownModelCost"`
		Models   map[string]struct {
			Input    float64 `json:"inputTokens"`
			Output   float64 `json:"outputTokens"`
			Thinking float64 `json:"thinkingTokens"`
			Read     float64 `json:"cacheReadInputTokens"`
			Write    float64 `json:"cacheCreationInputTokens"`
			Write5m  float64 `json:"cacheCreationEphemeral5mInputTokens"`
			Write1h  float64 `json:"cacheCreationEphemeral1hInputTokens"`
			Searches float64 `json:"webSearchRequests"`
			Cost     float64 `json:"costUSD"`
		} `json:"modelUsage"`
	}
	if err := json.Unmarshal(e.Raw, &line); err != nil || line.Models == nil {
		ld.warn(CodeMetadata, e.Line, "%s is unreadable: the line is set aside", e.Type)
		ld.aside(e.Line, aside)
		return
	}
	t := ClientTotals{Line: e.Line, Nano: billionths(line.Total), Unpriced: line.Unpriced}
	for _, model := range slices.Sorted(maps.Keys(line.Models)) {
		m := line.Models[model]
		t.Models = append(t.Models, RunTotals{Line: e.Line, Model: model, Usage: jsonl.Usage{
			Input: count(m.Input), Output: count(m.Output), Thinking: count(m.Thinking), CacheRead: count(m.Read), CacheWrite: count(m.Write),
			Write5m: count(m.Write5m), Write1h: count(m.Write1h), Searches: count(m.Searches), Nano: billionths(m.Cost),
		}})
	}
	if before, ok := ld.client[e.SessionID]; ok {
		ld.aside(before.Line, aside)
	}
	ld.client[e.SessionID] = t
}

// clientTotals are the last totals of the session: the client restores them where it goes on with it, and each session of
// which the file has lines has its own. (2.1.332.)
func (ld *loader) clientTotals(id string) *ClientTotals {
	var last *ClientTotals
	if ld.client[""].Line > ld.client[id].Line {
		id = "" // a line that names no session belongs to the file's
	}
	for _, of := range slices.Sorted(maps.Keys(ld.client)) {
		if t := ld.client[of]; of == id {
			last = &t
			ld.lines.Used++
		} else {
			ld.aside(t.Line, Reason("metadata: "+typeCost))
		}
	}
	return last
}

// count is a number of a client's totals, 0 to maxRecorded.
func count(n float64) int {
	if n > 0 && n < maxRecorded { // no for one that is no number
		return int(n)
	}
	return 0
}
