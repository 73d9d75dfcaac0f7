package stats

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/category"
	"github.com/ctxkit/ctxkit/replay/price"
)

// definition takes in an attachment that lists tools, skills or agents.
func (b *builder) definition(m, i int, bl *LedgerBlock, came int) error {
	kind := b.conv.Messages[m].Attachment
	if !slices.Contains(listings[:], kind) {
		return nil
	}
	k := slices.IndexFunc(b.Definitions, func(d Listing) bool { return d.Type == kind })
	if k < 0 {
		k = len(b.Definitions)
		b.Definitions = append(b.Definitions, Listing{Type: kind})
	}
	raw, err := b.conv.Raw(m, i)
	if err != nil {
		return err
	}
	var names struct {
		Added []string `json:"addedNames"`
	}
	_ = json.Unmarshal(raw, &names) // a listing of another form has no names
	d := &b.Definitions[k]
	d.Times++
	d.Tokens += came
	d.Names += len(names.Added)
	for _, name := range names.Added {
		if strings.HasPrefix(name, "mcp__") {
			d.MCP++
		}
	}
	if s, ok := bl.At(b.Request); ok {
		d.InContext += s.Tokens
	}
	return nil
}

// turns divides the requests by the prompts that were typed.
func (b *builder) turns(main []mainRequest) error {
	b.Turns = []Turn{}
	next := 0 // 0-based number of the request to come
	open := Turn{N: 1, From: 1}
	end := func() {
		if open.To = next; next >= open.From {
			b.Turns = append(b.Turns, open)
		}
	}
	for m := range b.conv.Messages {
		msg := &b.conv.Messages[m]
		if next < b.Until && b.conv.Requests[next].Message == m {
			next++
		}
		if next == b.Until {
			break
		}
		if msg.Class != session.ClassPrompt || msg.Is(session.Queued) || msg.RecordOnly {
			continue
		}
		if next >= open.From {
			end()
			open = Turn{N: len(b.Turns) + 1, From: next + 1}
		}
		if open.Line == 0 {
			text, err := b.prompt(m)
			if err != nil {
				return err
			}
			open.Prompt = shortened(text)
			open.Line = msg.Line
		}
	}
	end()
	before := 0
	whole := b.Agent == "" && b.Until == b.Requests
	for i := range b.Turns {
		t := &b.Turns[i]
		if whole && t.Line > 0 {
			b.Prompts++
		}
		if t.Tokens = main[t.To-1].payload; i == 0 {
			before = main[0].payload
		}
		t.Growth = t.Tokens - before
		before = t.Tokens
	}
	b.PromptUSD = each(b.Simulated, b.Prompts)
	for i := range b.ledger.Blocks {
		bl := &b.ledger.Blocks[i]
		came, ok := bl.came(b.Until)
		if !ok || bl.Category != category.Calls && bl.Category != category.Results && bl.Category != category.Images {
			continue
		}
		t := &b.Turns[sort.Search(len(b.Turns), func(k int) bool { return b.Turns[k].To >= bl.Spans[0].From })]
		if bl.Category == category.Calls {
			t.Called += came
		} else {
			t.Returned += came
		}
	}
	return nil
}

// prompt is the first text of a message.
func (b *builder) prompt(m int) (string, error) {
	for i := range b.conv.Messages[m].Blocks {
		if b.conv.Messages[m].Blocks[i].Kind == jsonl.KindText {
			return b.conv.Text(m, i)
		}
	}
	return "", nil
}

// finish sorts the lists and adds up what files were read.
func (b *builder) finish(agents []Agent) {
	b.fileList()
	b.Tools = []Tool{}
	for _, name := range slices.Sorted(maps.Keys(b.tools)) {
		t := *b.tools[name]
		t.PerMille = portion(1000, t.InContext, b.Tokens)
		b.Tools = append(b.Tools, t)
	}
	slices.SortStableFunc(b.Tools, func(x, y Tool) int { return cmp.Compare(y.Sent, x.Sent) })
	slices.SortStableFunc(b.Results, func(x, y ToolResult) int { return cmp.Compare(y.Sent, x.Sent) })
	b.Repeated.Groups = []Duplicate{}
	for _, g := range b.groups {
		if g.Copies > 1 {
			b.Repeated.Groups = append(b.Repeated.Groups, g)
		}
	}
	slices.SortStableFunc(b.Repeated.Groups, func(x, y Duplicate) int { return cmp.Compare(y.Tokens, x.Tokens) })
	slices.SortStableFunc(b.Definitions, func(x, y Listing) int {
		return cmp.Or(cmp.Compare(y.Tokens, x.Tokens), strings.Compare(x.Type, y.Type))
	})
	b.subagents(agents)
}

// fileList adds up the Reads of each file, and of all.
func (b *builder) fileList() {
	for i := range b.files.reads {
		r := &b.files.reads[i]
		bl := &b.ledger.Blocks[r.block]
		came := bl.Spans[0].Tokens
		by := r.staleAt(b.Until, came)
		one := Reads{
			Results: 1, Tokens: came, Again: portion(came, r.again, r.bytes), Same: portion(came, r.same, r.bytes),
			InView: portion(came, r.inView, r.bytes), ByRead: by[byRead], ByEdit: by[byEdit], ByWrite: by[byWrite],
		}
		if s, ok := bl.At(b.Request); ok {
			one.InContext = s.Tokens
			if s.Tokens == came {
				stale := r.staleAt(b.Request, came)
				one.Stale = stale[byRead] + stale[byEdit] + stale[byWrite]
			}
		}
		b.byPath[r.path].Add(&one)
		b.Reads.Add(&one)
	}
	b.Reads.Missed = b.files.missed
	b.Reads.Dropped = len(b.files.dropped)
	b.Files = []FileReads{}
	for _, path := range slices.Sorted(maps.Keys(b.byPath)) {
		if f := b.byPath[path]; f.Results > 0 {
			b.Files = append(b.Files, *f)
		}
	}
	slices.SortStableFunc(b.Files, func(x, y FileReads) int { return cmp.Compare(y.Tokens, x.Tokens) })
}

// Agent is the transcript of a subagent.
type Agent struct {
	Type      string // as recorded next to it, or by its id; "": by the call that started it
	ToolUse   string // the call, "" where it is not known
	Prompt    string // its first prompt
	Bill      *bill.Bill
	Estimated int // responses whose output is estimated: it is in Output and CostUSD instead of what is recorded
	Output    int
	CostUSD   price.USD
}

// NewAgent returns what is counted of a subagent's conversation, at the prices of a table; nil: the embedded one.
func NewAgent(rec *replay.Record, about session.Subagent, table *price.Table) (a Agent, err error) {
	conv := rec.Conv
	a = Agent{Type: cmp.Or(about.Type, forkOf(conv.Agent)), ToolUse: about.ToolUse}
	a.Bill = bill.Of(conv, table)
	short := &a.Bill.Partial
	a.Estimated = short.Calls
	a.Output = a.Bill.Output + short.Tokens
	a.CostUSD = a.Bill.CostUSD
	a.CostUSD.Add(short.CostUSD)
	b := &builder{conv: conv}
	for m := range conv.Messages {
		if msg := &conv.Messages[m]; msg.Role == session.User && !msg.Is(session.Earlier) {
			a.Prompt, err = b.prompt(m)
			break
		}
	}
	return a, err
}

// forkOf is what the client forked the main context for, by the id of the agent: "aprompt_suggestion-1f"; "" for an
// agent that a call started.
func forkOf(agent string) string {
	name, number, ok := strings.Cut(agent, "-")
	if !ok || number == "" || len(name) < 2 || name[0] != 'a' {
		return ""
	}
	return name[1:]
}

// promptKey is what is compared of a subagent's prompt.
func promptKey(s string) string { return strings.TrimSpace(s) }

// subagents adds the transcripts of subagents to the calls that started them.
func (b *builder) subagents(agents []Agent) {
	for _, a := range agents {
		kind := a.Type
		ok := a.Type != ""
		if !ok {
			kind, ok = b.prompts["call "+a.ToolUse]
		}
		if !ok {
			kind = b.prompts["prompt "+promptKey(a.Prompt)]
		}
		s := b.agent(kind)
		s.Agents++
		s.Requests += a.Bill.Requests
		s.Input += a.Bill.Input.Input()
		s.Output += a.Output
		s.Estimated += a.Estimated
		s.CostUSD.Add(a.CostUSD)
		s.Unpriced += a.Bill.Unpriced
	}
	b.Subagents = []SubagentType{}
	for _, kind := range slices.Sorted(maps.Keys(b.agents)) {
		b.Subagents = append(b.Subagents, *b.agents[kind])
	}
	slices.SortStableFunc(b.Subagents, func(x, y SubagentType) int {
		return cmp.Or(cmp.Compare(y.Input+y.Output, x.Input+x.Output), cmp.Compare(y.Returned, x.Returned))
	})
}
