// Package bill adds up what models were billed for: each response once, however many lines and files record it.
//
// Of prices the calls that one conversation records. A Ledger adds several conversations up, over distinct calls: forks and
// resumed sessions repeat the calls of the session they come from.
package bill

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
)

// Sum is the sum of a number of calls, in tokens and USD.
type Sum struct {
	Calls     int         `json:"calls"`
	Input     cache.Split `json:"input"`
	Output    int         `json:"output_tokens"`
	Estimated int         `json:"estimated_outputs,omitempty"` // calls without a reliable recorded output
	CostUSD   price.USD   `json:"cost_usd,omitzero"`           // of the calls that have a price
	Unpriced  int         `json:"unpriced_requests,omitempty"` // calls that have none
	Searches  int         `json:"searches,omitempty"`          // of the web by the API, which are billed next to tokens
}

// Add adds another sum.
func (s *Sum) Add(o Sum) { price.AddUp(s, &o) }

// Tokens is all tokens of the sum.
func (s *Sum) Tokens() int { return s.Input.Input() + s.Output }

// Kind is what a call was billed for.
type Kind string

// The kinds, in the order of bills.
const (
	KindRequest    Kind = "request"    // a request of the conversation
	KindBranch     Kind = "branch"     // one on a branch that was left: rewound or abandoned
	KindAttempt    Kind = "attempt"    // another model within a request: one that began the answer and declined, an advisor
	KindCompaction Kind = "compaction" // the summary of a compaction
	KindSummary    Kind = "summary"    // the summary of a branch that was left
	KindWarming    Kind = "warming"    // a renewal of the prompt cache
	KindSearch     Kind = "search"     // searches of the web by the API, next to their tokens
	KindRun        Kind = "run"        // the calls of a run of the client of which only the sum is recorded
	KindOther      Kind = "other"      // the client's own requests
)

// Kinds lists the kinds in the order of bills.
func Kinds() []Kind {
	return []Kind{KindRequest, KindBranch, KindAttempt, KindCompaction, KindSummary, KindWarming, KindSearch, KindRun, KindOther}
}

// KindSum is what the calls of a kind were billed.
type KindSum struct {
	Kind Kind `json:"kind"`
	Sum
}

// ModelSum is what a model was billed.
type ModelSum struct {
	Model string `json:"model"`
	Sum
}

// Bill is what the calls of one or more conversations were billed, as they record it, at the prices of a table. It is a
// lower bound where AtLeast is set.
type Bill struct {
	Sum
	Models    []ModelSum `json:"models"`                              // sorted
	Kinds     []KindSum  `json:"kinds"`                               // in the order of Kinds
	Requests  int        `json:"requests"`                            // with usage
	Unbilled  int        `json:"compactions_without_usage,omitempty"` // whose calls are on no line
	Without   int        `json:"requests_without_usage"`              // calls of which nothing is known
	Unfiled   Unfiled    `json:"subagents_without_file,omitzero"`     // no calls of these are included
	NotPriced []Unpriced `json:"not_priced,omitempty"`                // what the table has no price for; sorted
	Partial   Partial    `json:"partial_outputs,omitzero"`            // responses whose output count is that of their first moment
	Copies    Copies     `json:"copies,omitzero"`                     // calls that several conversations record, each counted once
	Agents    int        `json:"subagents,omitempty"`                 // whose calls are included
	AgentsUSD price.USD  `json:"subagents_usd,omitzero"`              // what these were billed
	Client    *Client    `json:"client,omitempty"`                    // what the client itself recorded as the cost; nil: nothing
	ClientUSD price.USD  `json:"client_usd,omitzero"`                 // the cost of Client

	MainUSD price.USD `json:"-"` // of CostUSD: not for subagents
	List    []Call    `json:"-"` // that it is the sum of

	stated []*Client // of whole sessions
}

// Unpriced is what the table has no price for.
type Unpriced struct {
	What   string `json:"what"` // "model x", "speed fast of x"
	Calls  int    `json:"calls"`
	Tokens int    `json:"tokens"`
}

// Partial is the calls of which only the beginning of the output was counted.
type Partial struct {
	Calls   int       `json:"calls"`
	Tokens  int       `json:"tokens"`            // that the output is short by, estimated by the length of the text
	CostUSD price.USD `json:"cost_usd,omitzero"` // of these
}

// Unfiled is the subagents that lines name, but of which there is no file.
type Unfiled struct {
	Agents  int       `json:"subagents"`
	Known   int       `json:"known"`             // of which progress lines repeat calls that have a price
	CostUSD price.USD `json:"cost_usd,omitzero"` // of these calls, by their recorded usage
}

// Copies is the calls that were left out of a sum because another conversation of it has them.
type Copies struct {
	Calls   int       `json:"calls"`
	CostUSD price.USD `json:"cost_usd,omitzero"`
}

// Brief is a bill in short.
type Brief struct {
	USD       price.USD `json:"billed_usd,omitzero"`           // for the recorded session, each call once
	AgentsUSD price.USD `json:"billed_subagents_usd,omitzero"` // of it: for the subagents
	AtLeast   bool      `json:"billed_at_least,omitempty"`     // more was billed than billed_usd
	ClientUSD price.USD `json:"billed_client_usd,omitzero"`    // what the client itself recorded as the cost
}

// Short is the bill in short.
func (b *Bill) Short() Brief { return Brief{b.CostUSD, b.AgentsUSD, b.AtLeast(), b.ClientUSD} }

// AtLeast reports whether more was billed than the bill knows of.
func (b *Bill) AtLeast() bool {
	return b.Partial.Calls+b.Without+b.Unbilled+b.Unfiled.Agents+len(b.NotPriced) > 0 || b.Client != nil && b.Client.More.Known
}

// CallFacts is what a call and its Entry have in common.
type CallFacts struct {
	Key         int64     `json:"call,omitempty"` // of the response; 0: no other conversation can have it
	Agent       bool      `json:"subagent,omitempty"`
	Without     int       `json:"without_usage,omitempty"` // 1 where it has no usage
	Compactions int       `json:"compactions,omitempty"`   // 1 where it wrote the summary of a compaction, and is on no line
	Partial     Partial   `json:"partial,omitzero"`
	Unfiled     *Unfiled  `json:"unfiled,omitempty"`   // nil: it is a billed call, else a subagent or a call of one without a file; of a subagent with a file it is empty
	ClientUSD   price.USD `json:"client_usd,omitzero"` // what the client recorded as its cost
	Twice       price.USD `json:"twice_usd,omitzero"`  // of ClientUSD: for reasoning that it counts in the output, and again
	Time        time.Time `json:"time,omitzero"`       // zero: not recorded
}

// Call is one billed response.
type Call struct {
	CallFacts
	Requests int // 1 where it answers a request and has usage
	Parts    []Part

	tokens int // of an Entry
	stated int // what covers it: 1 is the first of the bill's; 0: nothing
}

// Part is what a call was billed for one reason.
type Part struct {
	Kind  Kind
	Model string
	What  string // what the table has no price for; "": it has
	Rates price.Rates
	Sum
}

// Sum is the sum of a call's parts of a kind; the zero kind: all.
func (c *Call) Sum(kind Kind) (s Sum) {
	for i := range c.Parts {
		if kind == "" || c.Parts[i].Kind == kind {
			s.Add(c.Parts[i].Sum)
		}
	}
	return s
}

// Tokens is all tokens of a call.
func (c *Call) Tokens() int {
	sum := c.Sum("")
	return cmp.Or(c.tokens, sum.Tokens())
}

// tally makes the sums of a bill of its calls.
func (b *Bill) tally() {
	models := map[string]Sum{}
	kinds := map[Kind]Sum{}
	unpriced := map[string]Unpriced{}
	for i := range b.List {
		c := &b.List[i]
		b.Requests += c.Requests
		b.Without += c.Without
		b.Unbilled += c.Compactions
		price.AddUp(&b.Partial, &c.Partial)
		if c.Unfiled != nil {
			price.AddUp(&b.Unfiled, c.Unfiled)
		}
		for j := range c.Parts {
			p := &c.Parts[j]
			b.Add(p.Sum)
			if c.Agent {
				b.AgentsUSD.Add(p.CostUSD)
			} else {
				b.MainUSD.Add(p.CostUSD)
			}
			addTo(models, p.Model, p.Sum)
			addTo(kinds, p.Kind, p.Sum)
			if p.What != "" {
				u := unpriced[p.What]
				unpriced[p.What] = Unpriced{p.What, u.Calls + max(p.Calls, 1), u.Tokens + p.Tokens()}
			}
		}
	}
	b.Models = []ModelSum{}
	b.Kinds = []KindSum{}
	for _, model := range slices.Sorted(maps.Keys(models)) {
		b.Models = append(b.Models, ModelSum{model, models[model]})
	}
	for _, kind := range Kinds() {
		if sum, ok := kinds[kind]; ok {
			b.Kinds = append(b.Kinds, KindSum{kind, sum})
		}
	}
	b.NotPriced = slices.SortedFunc(maps.Values(unpriced), func(x, y Unpriced) int { return strings.Compare(x.What, y.What) })
	b.setClient(b.client())
}

// client is what clients recorded: of whole sessions, and call by call.
func (b *Bill) client() *Client {
	both := ofCalls(b.List)
	for _, c := range b.stated {
		both = cmp.Or(both, &Client{})
		both.add(c)
	}
	return both
}

func (b *Bill) setClient(c *Client) {
	if b.Client = c; c != nil {
		b.ClientUSD = c.CostUSD
	}
}

func addTo[K comparable](sums map[K]Sum, key K, one Sum) {
	sum := sums[key]
	sum.Add(one)
	sums[key] = sum
}

// Ledger adds up bills over distinct calls.
type Ledger struct {
	sum Bill
	at  map[int64]int // key -> index of sum.List
}

// Add adds a bill; nil adds nothing. Of two records of one call the one that knows more counts.
func (l *Ledger) Add(b *Bill) {
	if b == nil {
		return
	}
	if l.at == nil {
		l.at = map[int64]int{}
	}
	s := &l.sum
	s.Agents += b.Agents
	price.AddUp(&s.Copies, &b.Copies)
	of := l.statements(b)
	for _, c := range b.List {
		i, known := l.at[c.Key]
		c.stated = of[c.stated]
		if c.Key == 0 || !known {
			l.at[c.Key] = len(s.List)
			s.List = append(s.List, c)
			continue
		}
		if c.knowsMore(&s.List[i]) {
			c, s.List[i] = s.List[i], c
		}
		s.List[i].Agent = s.List[i].Agent && c.Agent // a subagent may begin with a copy of the conversation
		if c.Unfiled == nil {
			price.AddUp(&s.Copies, &Copies{1, c.Sum("").CostUSD})
		}
	}
}

// statements adds what clients say of whole sessions, and returns by its place in a bill that in the sum. A session that
// shares calls with one that was added goes on with its total: the larger one counts.
func (l *Ledger) statements(b *Bill) []int {
	s := &l.sum
	to := make([]int, len(b.stated)+1)
	for _, c := range b.List {
		if k, known := l.at[c.Key]; known && c.Key != 0 && c.stated > 0 {
			to[c.stated] = cmp.Or(s.List[k].stated, to[c.stated])
		}
	}
	for k, c := range b.stated {
		at := to[k+1]
		if at == 0 {
			s.stated = append(s.stated, nil)
			at = len(s.stated)
			to[k+1] = at
		}
		if was := s.stated[at-1]; was == nil || c.CostUSD.Nano > was.CostUSD.Nano {
			s.stated[at-1] = c
		}
	}
	return to
}

// Bill is the bill of all that was added.
func (l *Ledger) Bill() *Bill {
	b := l.sum
	b.tally()
	return &b
}

// knowsMore reports whether c says more of a call than another record of it.
func (c *Call) knowsMore(o *Call) bool {
	mine := c.Sum("")
	other := o.Sum("")
	switch {
	case c.Unfiled == nil != (o.Unfiled == nil):
		return c.Unfiled == nil
	case c.Unfiled != nil:
		return cmp.Or(o.Unfiled.Agents-c.Unfiled.Agents, c.Unfiled.Known-o.Unfiled.Known, cmp.Compare(c.Unfiled.CostUSD.Nano, o.Unfiled.CostUSD.Nano)) > 0
	}
	return cmp.Or(cmp.Compare(o.Without, c.Without), cmp.Compare(o.Partial.Calls, c.Partial.Calls), cmp.Compare(mine.Tokens(), other.Tokens()), cmp.Compare(mine.CostUSD.Nano, other.CostUSD.Nano)) > 0
}

// Entry is a call in short, for sums over many bills.
type Entry struct {
	CallFacts
	Calls     int          `json:"calls,omitempty"`
	USD       price.USD    `json:"usd"`
	NotPriced []Unpriced   `json:"not_priced,omitempty"`
	Client    *ClientTotal `json:"client_total,omitempty"` // of an entry that is no call: what the client recorded for all of them
	Tokens    int          `json:"tokens,omitempty"`
}

// Entries are the calls of a session's bill in short.
func (b *Bill) Entries() []Entry {
	list := make([]Entry, len(b.List))
	for i := range b.List {
		c := &b.List[i]
		sum := c.Sum("")
		list[i] = Entry{CallFacts: c.CallFacts, Calls: sum.Calls, USD: sum.CostUSD, Tokens: sum.Tokens()}
		for j := range c.Parts {
			if p := &c.Parts[j]; p.What != "" {
				list[i].NotPriced = append(list[i].NotPriced, Unpriced{p.What, max(p.Unpriced, 1), p.Tokens()})
			}
		}
	}
	for _, c := range b.stated {
		list = append(list, Entry{Client: &c.ClientTotal})
	}
	return list
}

// OfEntries is the bill of several lists of calls, each call once: without models and kinds, and with the tokens of calls
// without a price alone.
func OfEntries(bills ...[]Entry) *Bill {
	var l Ledger
	for _, list := range bills {
		one := &Bill{}
		for _, e := range list {
			if e.Client != nil {
				one.state(&Client{ClientTotal: *e.Client})
				continue
			}
			c := Call{CallFacts: e.CallFacts, tokens: e.Tokens}
			c.Parts = append(c.Parts, Part{Sum: Sum{Calls: e.Calls, CostUSD: e.USD}})
			for _, u := range e.NotPriced {
				c.Parts = append(c.Parts, Part{What: u.What, Sum: Sum{Output: u.Tokens, Unpriced: u.Calls}})
			}
			one.List = append(one.List, c)
		}
		l.Add(one)
	}
	return l.Bill()
}
