package stats

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/category"
	"github.com/ctxkit/ctxkit/replay/price"
)

// SessionStats is what fills the context of one conversation at one main request, and what was added to the context up to
// that request. Tokens are by Counter. "As it came" is the weight of a block in the first payload that held it. It is pure
// data.
type SessionStats struct {
	Session  string `json:"session"`
	Agent    string `json:"agent,omitempty"`
	File     string `json:"file"`
	Title    string `json:"title,omitempty"`
	Policy   string `json:"policy"`
	Counter  string `json:"counter"`
	Model    string `json:"model"`
	Window   int    `json:"window"`
	Request  int    `json:"request"`                      // n of the main request; 0: there is none
	Until    int    `json:"until"`                        // n of the last main request that sums include
	Requests int    `json:"requests"`                     // main requests of the conversation
	Held     int    `json:"requests_on_record,omitempty"` // that can be put together
	Lines    int    `json:"request_lines,omitempty"`      // of the file
	Tokens   int    `json:"tokens"`                       // of the payload of the request
	Recorded *int   `json:"recorded,omitempty"`           // input that the API reported of the request
	Sent     int    `json:"sent_tokens"`                  // of all payloads up to Until
	Peak     Peak   `json:"peak"`                         // the largest payload of all requests

	InputUSD price.USD `json:"input_usd,omitzero"` // what all these cost: as billed on the recorded track, else simulated

	Categories  []CategoryTokens `json:"categories"` // their tokens add up to Tokens
	Tools       []Tool           `json:"tools"`      // the most sent tokens first
	Reads       Reads            `json:"reads"`
	Files       []FileReads      `json:"files"`   // the most tokens first
	Results     []ToolResult     `json:"results"` // the most sent tokens first
	Turns       []Turn           `json:"turns"`
	Repeated    Repeated         `json:"repeated"`
	Definitions []Listing        `json:"definitions"` // listings of tools, skills and agents that the client attached
	Subagents   []SubagentType   `json:"subagents"`   // by type, the most tokens first
	Overhead    *PromptOverhead  `json:"overhead,omitempty"`
	Simulated   price.USD        `json:"simulated_usd,omitzero"` // what the replay costs
	Prompts     int              `json:"prompts"`                // that a user typed; 0 of a subagent, or where Until is not the last request
	PromptUSD   price.USD        `json:"prompt_usd,omitzero"`    // Simulated for each of them
	bill.Brief
	Bill     *bill.Bill       `json:"-"`                   // Billed in full
	CacheFit *replay.CacheFit `json:"cache_fit,omitempty"` // with the recorded policy: of its simulation to that
}

// Peak is the largest payload.
type Peak struct {
	Request int `json:"request"`
	Tokens  int `json:"tokens"`
}

// CategoryTokens is a category of the payload.
type CategoryTokens struct {
	Category category.Name `json:"category"`
	Tokens   int           `json:"tokens"`
	PerMille int           `json:"per_mille"` // of the payload; they add up to 1,000
	Blocks   int           `json:"blocks"`
	Sent     int           `json:"sent_tokens"`        // in all payloads up to Until
	USD      price.USD     `json:"input_usd,omitzero"` // what it cost in these; they add up to SessionStats.InputUSD
	SentPer  int           `json:"sent_per_mille"`     // of all that these sent; they add up to 1,000
	Of       []Portion     `json:"of"`                 // by tool, type of attachment or class of message; the most tokens first; they add up, or there are none
}

// Portion is a part of a category.
type Portion struct {
	Name   string    `json:"name"`
	Tokens int       `json:"tokens"`
	Blocks int       `json:"blocks"`
	USD    price.USD `json:"input_usd,omitzero"` // what it cost in all payloads up to Until
}

// Tool is what the calls of a tool brought up to the request.
type Tool struct {
	Name      string    `json:"name"`
	Calls     int       `json:"calls"`
	Errors    int       `json:"errors"`
	Called    int       `json:"call_tokens"`        // of the calls, as they came
	Returned  int       `json:"result_tokens"`      // of the results, as they came
	Largest   int       `json:"largest_result"`     // tokens
	InContext int       `json:"context_tokens"`     // of calls and results, in the payload of the request
	PerMille  int       `json:"per_mille"`          // of the payload, rounded down
	Sent      int       `json:"sent_tokens"`        // calls and results in all payloads up to Until
	USD       price.USD `json:"input_usd,omitzero"` // what they cost in these
}

// Reads is what the results of Read hold. Each figure but Tokens counts lines; what is superseded counts once, by what
// superseded it first.
type Reads struct {
	Results   int `json:"results"`                 // with content of a file
	Tokens    int `json:"tokens"`                  // of them, as they came
	Again     int `json:"again_tokens"`            // lines that an earlier result returned and that the agent did not change in between
	Same      int `json:"again_same_tokens"`       // of Again: with the same text
	InView    int `json:"again_in_context_tokens"` // of Same: the request that made the call still held the earlier result
	ByRead    int `json:"superseded_by_read"`      // a later result returned the same lines
	ByEdit    int `json:"superseded_by_edit"`      // a replacement changed them
	ByWrite   int `json:"superseded_by_write"`     // the file was written anew
	InContext int `json:"context_tokens"`          // of Tokens: in the payload of the request
	Stale     int `json:"stale_tokens"`            // of InContext: superseded
	Missed    int `json:"replacements_not_found"`  // replacements of text that no result had returned as it stands there
	Dropped   int `json:"files_not_followed"`      // there is too much of them
}

// Superseded is the tokens that something superseded.
func (r *Reads) Superseded() int { return r.ByRead + r.ByEdit + r.ByWrite }

// Add adds the reads of another conversation or file.
func (r *Reads) Add(o *Reads) { price.AddUp(r, o) }

// FileReads is a file that was read.
type FileReads struct {
	Path string `json:"path"`
	Reads
	Changes int `json:"changes"` // edits and writes by the agent
}

// ToolResult is one result of a tool.
type ToolResult struct {
	Tool      string    `json:"tool"`
	Target    string    `json:"target"` // what the call was about: file, command, pattern
	Line      int       `json:"line"`   // of the session's file
	Tokens    int       `json:"tokens"` // as it came
	Error     bool      `json:"error,omitempty"`
	InContext int       `json:"context_tokens"`     // in the payload of the request
	Requests  int       `json:"requests"`           // that held it
	Sent      int       `json:"sent_tokens"`        // in all payloads up to Until
	USD       price.USD `json:"input_usd,omitzero"` // what it cost in these
}

// Turn is what happened from one prompt to the next.
type Turn struct {
	N        int    `json:"turn"`
	Prompt   string `json:"prompt"` // its first line, cut
	Line     int    `json:"line"`
	From     int    `json:"from"`          // n of its first request
	To       int    `json:"to"`            // and of its last one
	Tokens   int    `json:"tokens"`        // payload of the last one
	Growth   int    `json:"growth"`        // Tokens less that of the turn before; of the first turn, less its first request
	Called   int    `json:"call_tokens"`   // that joined in it
	Returned int    `json:"result_tokens"` // that joined in it
}

// Repeated are results with the text of an earlier result.
type Repeated struct {
	Results   int         `json:"results"`        // that repeat an earlier one
	Tokens    int         `json:"tokens"`         // of them, as they came
	InContext int         `json:"context_tokens"` // of them, in the payload of the request
	Groups    []Duplicate `json:"groups"`         // the most tokens first
}

// Duplicate is a text that several results have.
type Duplicate struct {
	Tool   string `json:"tool"`
	Target string `json:"target"` // of the first
	Line   int    `json:"line"`   // of the first
	Copies int    `json:"copies"` // the first included
	Tokens int    `json:"tokens"` // of all but the first
}

// Listing is a kind of listing that the client attached: of tools, skills or agents.
type Listing struct {
	Type      string `json:"type"` // of the attachment
	Times     int    `json:"times"`
	Names     int    `json:"names"`     // that it lists, each time counted; 0 where it holds a text
	MCP       int    `json:"mcp_names"` // of Names: tools of MCP servers
	Tokens    int    `json:"tokens"`    // as they came
	InContext int    `json:"context_tokens"`
}

// SubagentType is a type of subagents.
type SubagentType struct {
	Type      string    `json:"type"`  // "" where it is not known
	Calls     int       `json:"calls"` // in this conversation
	Called    int       `json:"call_tokens"`
	Returned  int       `json:"result_tokens"` // what came back into this conversation
	Agents    int       `json:"transcripts"`   // that were found
	Requests  int       `json:"requests"`      // with usage, in them
	Input     int       `json:"input_tokens"`  // as reported: read, written and uncached
	Output    int       `json:"output_tokens"`
	Estimated int       `json:"estimated_outputs"` // responses whose output is estimated: what is recorded is too small
	CostUSD   price.USD `json:"cost_usd,omitzero"` // of the models with a price
	Unpriced  int       `json:"unpriced_requests,omitempty"`
}

// each is the share that one of n has in an amount.
func each(usd price.USD, n int) price.USD {
	return price.USD{Nano: usd.Nano / int64(max(1, n)), Known: usd.Known && n > 0}
}

// minRepeated is the shortest text that counts as repeated, in characters: shorter ones say no more than "done".
const minRepeated = 100

// Replay replays a record under a policy and returns the stats of requests that choose picks from the timeline.
// agents are the transcripts of subagents.
func Replay(rec *replay.Record, pol *policy.Policy, opt replay.Options, choose func(*replay.Timeline) (Extent, error), agents []Agent) (*SessionStats, *replay.Timeline, error) {
	l := NewLedger(rec.Conv)
	observe := opt.Observe
	opt.Observe = func(n int, v *view.View) {
		l.Observe(n, v)
		if observe != nil {
			observe(n, v)
		}
	}
	tl, err := rec.Replay(pol, opt)
	if err != nil {
		return nil, nil, err
	}
	l.Close()
	at, err := choose(tl)
	if err != nil {
		return nil, nil, err
	}
	at.Spent = spent(rec, pol, tl, rec.Prices(opt))
	s, err := New(rec.Conv, tl, l, at, agents)
	return s, tl, err
}

// New returns the stats of requests of a timeline, whose views the ledger has observed. The texts of the conversation are
// read once, one after another.
func New(conv *session.Conversation, tl *replay.Timeline, l *Ledger, at Extent, agents []Agent) (*SessionStats, error) {
	b, err := build(conv, tl, l, at)
	if err != nil {
		return nil, err
	}
	b.finish(agents)
	return b.SessionStats, nil
}

// Contents are the categories of New alone.
func Contents(conv *session.Conversation, tl *replay.Timeline, l *Ledger, at Extent) []CategoryTokens {
	return begin(conv, tl, l, mainRequests(tl), at).Categories
}

// begin divides the payload and what was sent by category.
func begin(conv *session.Conversation, tl *replay.Timeline, l *Ledger, main []mainRequest, at Extent) *builder {
	s := &SessionStats{
		Session: tl.Session, Agent: tl.Agent, File: tl.File, Lines: conv.Lines.Recorded.Of, Title: tl.Title, Policy: tl.Policy, Counter: tl.Counter, Model: tl.Model,
		Simulated: tl.Totals.CostUSD, Brief: tl.Totals.Brief, Bill: tl.Bill, CacheFit: tl.CacheFit,
		Window: tl.Window, Requests: l.Requests, Request: min(at.Request, l.Requests), Until: min(at.Until, l.Requests), Definitions: []Listing{},
	}
	for k, r := range main {
		if r.payload > s.Peak.Tokens {
			s.Peak = Peak{k + 1, r.payload}
		}
	}
	for _, r := range main[:s.Until] {
		s.Sent += r.payload
	}
	if s.Request > 0 {
		r := &main[s.Request-1]
		s.Tokens = r.payload
		if r.recorded {
			in := r.input
			s.Recorded = &in
		}
	}
	sizes := bases(conv, main)
	costs := newTokenCosts(at.Spent, main[:s.Until], l, slices.Concat(sizes, []int{0})[0])
	s.InputUSD = costs.total
	s.Categories = l.composition(s, costs, sizes)
	return &builder{SessionStats: s, costs: costs, conv: conv, reader: conv.NewBlockReader(), ledger: l, files: newFiles(l), tools: map[string]*Tool{}, byPath: map[string]*FileReads{}, calls: map[string]call{}, texts: map[[32]byte]int{}, agents: map[string]*SubagentType{}, prompts: map[string]string{}}
}

// build reads the conversation.
func build(conv *session.Conversation, tl *replay.Timeline, l *Ledger, at Extent) (*builder, error) {
	main := mainRequests(tl)
	results := 0
	b := begin(conv, tl, l, main, at)
	for m := range conv.Messages {
		for i := range conv.Messages[m].Blocks {
			if conv.Messages[m].Blocks[i].Kind == jsonl.KindToolResult {
				results++
			}
		}
	}
	b.Results = make([]ToolResult, 0, results)
	for m := range conv.Messages {
		if err := b.message(m); err != nil {
			return nil, err
		}
	}
	if err := b.turns(main); err != nil {
		return nil, err
	}
	return b, nil
}

// mainRequest is a request of the conversation itself. Figures are tokens.
type mainRequest struct {
	time              time.Time
	payload, overhead int
	input             int // as recorded
	recorded          bool
}

func mainRequests(tl *replay.Timeline) []mainRequest {
	list := make([]mainRequest, 0, tl.Totals.Requests)
	for _, r := range tl.Main() {
		q := mainRequest{time: r.Time, payload: r.Payload, overhead: r.Overhead}
		if u := r.Recorded; u != nil {
			q.input = u.Input + u.CacheRead + u.CacheWrite
			q.recorded = true
		}
		list = append(list, q)
	}
	return list
}

// bases is the size of system prompt and tools at each of the main requests.
func bases(conv *session.Conversation, main []mainRequest) []int {
	list := make([]category.Beyond, len(main))
	for i, r := range main {
		list[i] = category.Beyond{Tokens: r.overhead, Recorded: r.recorded}
	}
	return category.Bases(conv, list)
}

// SystemAt is the size of system prompt and tools at main request n, or at the last one where n is above it; the rest of the
// overhead there is not in the file.
func SystemAt(conv *session.Conversation, tl *replay.Timeline, n int) int {
	sizes := bases(conv, mainRequests(tl))
	if len(sizes) == 0 {
		return 0
	}
	return sizes[min(n, len(sizes))-1]
}

// composition returns the categories of the payload of the request, and of what was sent up to Until; sizes are those of
// system prompt and tools by request. What is nothing is left out.
func (l *Ledger) composition(s *SessionStats, costs *tokenCosts, sizes []int) []CategoryTokens {
	c := ContentSums{}
	system := CategoryTokens{Category: category.System, USD: costs.system(sizes[:s.Until])}
	for _, tokens := range sizes[:s.Until] {
		system.Sent += tokens
	}
	if s.Request > 0 {
		system.Tokens = sizes[s.Request-1]
	}
	c.Add(system)
	rest := CategoryTokens{Category: category.Unrecorded, Tokens: s.Tokens - system.Tokens, Sent: s.Sent - system.Sent, USD: s.InputUSD}
	rest.USD.Nano -= system.USD.Nano
	for i := range l.Blocks {
		b := &l.Blocks[i]
		if len(b.Spans) == 0 || b.Spans[0].From > s.Until {
			continue
		}
		x := CategoryTokens{Category: b.Category, USD: costs.block(b, s.Until)}
		_, x.Sent = b.carried(s.Until)
		if at, ok := b.At(s.Request); ok {
			x.Tokens = at.Tokens
			x.Blocks = 1
		}
		x.Of = []Portion{{cmp.Or(b.Of, otherPart), x.Tokens, x.Blocks, x.USD}}
		c.Add(x)
		rest.Tokens -= x.Tokens
		rest.Sent -= x.Sent
		rest.USD.Nano -= x.USD.Nano
	}
	if rest.Tokens == 0 && rest.Sent == 0 { // what rounding left
		rest.Category = category.System
	}
	c.Add(rest)
	return c.List()
}

// otherPart is the part of a category without a name: it is a part of it where others have one.
const otherPart = "(other)"

// ContentSums are sums of categories.
type ContentSums map[category.Name]*contentSum

type contentSum struct {
	CategoryTokens
	of map[string]*Portion
}

// Add adds a category, or a part of one.
func (c ContentSums) Add(x CategoryTokens) {
	sum := c[x.Category]
	if sum == nil {
		sum = &contentSum{CategoryTokens{Category: x.Category}, map[string]*Portion{}}
		c[x.Category] = sum
	}
	sum.Tokens += x.Tokens
	sum.Blocks += x.Blocks
	sum.Sent += x.Sent
	sum.USD.Add(x.USD)
	if len(x.Of) == 0 {
		x.Of = []Portion{{otherPart, x.Tokens, x.Blocks, x.USD}}
	}
	for _, p := range x.Of {
		if sum.of[p.Name] == nil {
			sum.of[p.Name] = &Portion{Name: p.Name}
		}
		sum.of[p.Name].Tokens += p.Tokens
		sum.of[p.Name].Blocks += p.Blocks
		sum.of[p.Name].USD.Add(p.USD)
	}
}

// List returns the categories that are something, with their shares.
func (c ContentSums) List() []CategoryTokens {
	list := []CategoryTokens{}
	tokens := []int{}
	sent := []int{}
	for _, name := range category.All() {
		x := c[name]
		if x == nil || x.Tokens == 0 && x.Blocks == 0 && x.Sent == 0 && x.USD.Nano == 0 {
			continue
		}
		x.Of = []Portion{}
		for _, p := range x.of {
			if len(x.of) > 1 || p.Name != otherPart {
				x.Of = append(x.Of, *p)
			}
		}
		slices.SortFunc(x.Of, func(a, b Portion) int {
			return cmp.Or(cmp.Compare(b.Tokens, a.Tokens), cmp.Compare(b.USD.Nano, a.USD.Nano), strings.Compare(a.Name, b.Name))
		})
		list = append(list, x.CategoryTokens)
		tokens = append(tokens, x.Tokens)
		sent = append(sent, x.Sent)
	}
	shares := Apportion(tokens, 1000)
	sentShares := Apportion(sent, 1000)
	for i := range list {
		list[i].PerMille = shares[i]
		list[i].SentPer = sentShares[i]
	}
	return list
}

// Apportion divides a whole number of parts in proportion to weights, by the largest remainders: the shares add up to
// parts. Weights below 0 get shares below 0. Where the weights add up to 0 or less all shares are 0.
func Apportion(weights []int, parts int) []int {
	shares := make([]int, len(weights))
	total := 0
	for _, w := range weights {
		total += w
	}
	if total <= 0 {
		return shares
	}
	order := make([]int, len(weights))
	left := parts
	rest := make([]int64, len(weights))
	for i, w := range weights {
		x := int64(w) * int64(parts)
		q := x / int64(total)
		if x%int64(total) < 0 {
			q--
		}
		shares[i] = int(q)
		rest[i] = x - q*int64(total)
		order[i] = i
		left -= int(q)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rest[b], rest[a]) })
	for _, i := range order[:left] {
		shares[i]++
	}
	return shares
}

// carried is how many requests up to n held a block, and its tokens in all of them.
func (b *LedgerBlock) carried(n int) (requests, tokens int) {
	for _, s := range b.Spans {
		if s.From > n {
			break
		}
		k := min(s.To, n) - s.From + 1
		if s.Tokens != 0 {
			requests += k
		}
		tokens += k * s.Tokens
	}
	return requests, tokens
}

// came is what a block weighed in the first payload that held it; ok is false where that is none up to request n.
func (b *LedgerBlock) came(n int) (tokens int, ok bool) {
	if len(b.Spans) == 0 || b.Spans[0].From > n {
		return 0, false
	}
	return b.Spans[0].Tokens, true
}
