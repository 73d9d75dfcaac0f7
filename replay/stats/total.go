package stats

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/price"
)

// StatsTotal is the sum of the stats of several conversations, each at its own request.
type StatsTotal struct {
	Sessions   int              `json:"sessions"`
	Requests   int              `json:"requests"`           // up to the requests
	Tokens     int              `json:"tokens"`             // of the payloads of the requests
	Sent       int              `json:"sent_tokens"`        // of all payloads up to the requests
	InputUSD   price.USD        `json:"input_usd,omitzero"` // what these cost
	Categories []CategoryTokens `json:"categories"`
	Tools      []Tool           `json:"tools"` // the most sent tokens first
	Reads      Reads            `json:"reads"`
	Repeated   Repeated         `json:"repeated"` // without groups
	Subagents  []SubagentType   `json:"subagents"`
	Simulated  price.USD        `json:"simulated_usd,omitzero"`
	Prompts    int              `json:"prompts"`
	PromptUSD  price.USD        `json:"prompt_usd,omitzero"` // Simulated for each prompt, where all requests count
	bill.Brief
	Bill     *bill.Bill       `json:"-"` // Billed in full
	CacheFit *replay.CacheFit `json:"cache_fit"`
}

// Sum adds up the stats of conversations.
func Sum(list []*SessionStats) *StatsTotal {
	t := &StatsTotal{Sessions: len(list), CacheFit: &replay.CacheFit{}, Repeated: Repeated{Groups: []Duplicate{}}, Tools: []Tool{}, Subagents: []SubagentType{}}
	var ledger bill.Ledger
	sums := ContentSums{}
	tools := map[string]int{}
	agents := map[string]int{}
	for _, s := range list {
		t.Requests += s.Until
		t.Tokens += s.Tokens
		t.Sent += s.Sent
		t.InputUSD.Add(s.InputUSD)
		t.Reads.Add(&s.Reads)
		t.Simulated.Add(s.Simulated)
		if t.Prompts += s.Prompts; s.Until == s.Requests {
			t.PromptUSD.Add(s.Simulated)
		}
		ledger.Add(s.Bill)
		t.CacheFit.Add(s.CacheFit)
		t.Repeated.Results += s.Repeated.Results
		t.Repeated.Tokens += s.Repeated.Tokens
		t.Repeated.InContext += s.Repeated.InContext
		for _, c := range s.Categories {
			sums.Add(c)
		}
		for i := range s.Tools {
			at, ok := tools[s.Tools[i].Name]
			if !ok {
				at = len(t.Tools)
				tools[s.Tools[i].Name] = at
				t.Tools = append(t.Tools, Tool{Name: s.Tools[i].Name})
			}
			t.Tools[at].add(&s.Tools[i])
		}
		for i := range s.Subagents {
			at, ok := agents[s.Subagents[i].Type]
			if !ok {
				at = len(t.Subagents)
				agents[s.Subagents[i].Type] = at
				t.Subagents = append(t.Subagents, SubagentType{Type: s.Subagents[i].Type})
			}
			price.AddUp(&t.Subagents[at], &s.Subagents[i])
		}
	}
	t.PromptUSD = each(t.PromptUSD, t.Prompts)
	t.Bill = ledger.Bill()
	t.Brief = t.Bill.Short()
	t.Categories = sums.List()
	for i := range t.Tools {
		t.Tools[i].PerMille = portion(1000, t.Tools[i].InContext, t.Tokens)
	}
	slices.SortFunc(t.Tools, func(x, y Tool) int { return cmp.Or(cmp.Compare(y.Sent, x.Sent), strings.Compare(x.Name, y.Name)) })
	slices.SortFunc(t.Subagents, func(x, y SubagentType) int {
		return cmp.Or(cmp.Compare(y.Input+y.Output, x.Input+x.Output), strings.Compare(x.Type, y.Type))
	})
	return t
}

func (t *Tool) add(o *Tool) {
	largest := max(t.Largest, o.Largest)
	price.AddUp(t, o)
	t.Largest = largest
}

// Cut leaves at most n files, results, turns and groups of repeated results: those that a table shows first, and of
// turns those that grew the context most. It makes room where many conversations are summed up.
func (s *SessionStats) Cut(n int) {
	s.Files = s.Files[:min(n, len(s.Files))]
	s.Results = slices.Clone(s.Results[:min(n, len(s.Results))])
	s.Repeated.Groups = s.Repeated.Groups[:min(n, len(s.Repeated.Groups))]
	if len(s.Turns) > n {
		turns := slices.Clone(s.Turns)
		slices.SortStableFunc(turns, func(x, y Turn) int { return cmp.Compare(y.Growth, x.Growth) })
		s.Turns = turns[:n]
		slices.SortFunc(s.Turns, func(x, y Turn) int { return cmp.Compare(x.N, y.N) })
	}
}
