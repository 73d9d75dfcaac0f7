package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
)

// Versions of the JSON forms.
const (
	CostSchema   = "ctxkit.cost/v1"
	PricesSchema = "ctxkit.prices/v1"
)

// SessionCost is what one conversation would have cost under a policy.
type SessionCost struct {
	Session string `json:"session"`
	Agent   string `json:"agent,omitempty"`
	File    string `json:"file"`
	Policy  string `json:"policy"`
	Counter string `json:"counter"`
	Model   string `json:"model"`
	*replay.Cost
	Total replay.Bill `json:"total"`
}

// CostOf takes what the cost listing needs from a timeline.
func CostOf(tl *replay.Timeline) SessionCost {
	c := tl.Cost()
	return SessionCost{tl.Session, tl.Agent, tl.File, tl.Policy, tl.Counter, tl.Model, c, c.Total()}
}

// Costs prints what conversations would have cost.
func Costs(w io.Writer, list []SessionCost, opt Options) error {
	l := &listing{
		table: &Table{Columns: []Column{
			{Title: "session", Flex: true}, {Title: "calls", Right: true}, {Title: "read", Right: true}, {Title: "written", Right: true},
			{Title: "uncached", Right: true}, {Title: "output", Right: true}, {Title: "USD", Right: true},
		}},
		columns: []string{
			"session", "agent", "file", "policy", "counter", "model", "kind", "calls", "cache_read", "cache_write_5m", "cache_write_1h",
			"cache_uncached", "output_tokens", "estimated_outputs", "cost_usd", "unpriced_requests", "conversation_tokens",
		},
	}
	var sum replay.Bill
	row := func(st style, name string, b replay.Bill) {
		l.table.styled(st, name, thousands(b.Calls), thousands(b.Input.Read), thousands(b.Input.Write5m+b.Input.Write1h),
			thousands(b.Input.Uncached), thousands(b.Output), b.CostUSD.String())
	}
	own, conversation := 0, 0
	lost := map[string]*replay.Lost{}
	for i := range list {
		s := &list[i]
		name := strings.TrimSpace(s.Session + " " + s.Agent)
		row(none, name, s.Main)
		if s.Own.Calls > 0 {
			row(yellow, "+ the policy's own calls", s.Own)
		}
		for _, k := range []struct {
			kind string
			bill replay.Bill
		}{{"main", s.Main}, {"own", s.Own}} {
			l.rows = append(l.rows, costRow(s, k.kind, k.bill))
		}
		sum.Add(s.Total)
		own += s.Own.Tokens()
		conversation += s.Conversation
		for _, x := range s.Lost {
			addLost(lost, x)
		}
	}
	if len(list) != 1 || list[0].Own.Calls > 0 {
		row(bold, "sum", sum)
	}
	l.json = struct {
		Schema   string        `json:"schema"`
		Sessions []SessionCost `json:"sessions"`
		Total    replay.Bill   `json:"total"`
	}{CostSchema, append([]SessionCost{}, list...), sum}
	l.notes = costNotes(sum, own, conversation, lost)
	return l.print(w, opt)
}

func costRow(s *SessionCost, kind string, b replay.Bill) []string {
	usd := ""
	if b.CostUSD.Known {
		usd = strconv.FormatFloat(b.CostUSD.Dollars, 'f', 6, 64)
	}
	row := []string{s.Session, s.Agent, s.File, s.Policy, s.Counter, s.Model, kind}
	for _, n := range []int{b.Calls, b.Input.Read, b.Input.Write5m, b.Input.Write1h, b.Input.Uncached, b.Output, b.Estimated} {
		row = append(row, strconv.Itoa(n))
	}
	return append(row, usd, strconv.Itoa(b.Unpriced), strconv.Itoa(s.Conversation))
}

func addLost(to map[string]*replay.Lost, x replay.Lost) {
	name := (&cache.Cause{Kind: x.Cause}).String()
	if x.Cause == cache.Edited {
		name = "edits by " + x.Stage
	}
	if to[name] == nil {
		to[name] = &replay.Lost{}
	}
	to[name].Requests += x.Requests
	to[name].Tokens += x.Tokens
}

// costNotes say what the sums mean.
func costNotes(sum replay.Bill, own, conversation int, lost map[string]*replay.Lost) []string {
	var notes []string
	if in := sum.Input.Input(); in > 0 {
		notes = append(notes, fmt.Sprintf("Of %s input tokens %s are read from the cache, as it is simulated.", thousands(in), percent(sum.Input.Read, in)))
	}
	if own > 0 {
		share := math.Floor(float64(own)/float64(own+conversation)*1000+0.5) / 10
		notes = append(notes, fmt.Sprintf("For %s tokens of conversation the policy's own calls take %s: %s %% of both.",
			thousands(conversation), thousands(own), strconv.FormatFloat(share, 'f', 1, 64)))
	}
	var parts []string
	for _, name := range sortedLost(lost) {
		if x := lost[name]; x.Tokens > 0 {
			parts = append(parts, fmt.Sprintf("%s %s (%s)", name, thousands(x.Tokens), count(x.Requests, "request")))
		}
	}
	if len(parts) > 0 {
		notes = append(notes, "Sent before and not read from the cache, in tokens: "+strings.Join(parts, ", ")+".")
	}
	if sum.Estimated > 0 {
		notes = append(notes, fmt.Sprintf("The output of %s is estimated: it is not recorded, or not rightly.", count(sum.Estimated, "response")))
	}
	if sum.Unpriced > 0 {
		notes = append(notes, fmt.Sprintf("No price is known for %s: dollars leave them out.", count(sum.Unpriced, "request")))
	}
	return notes
}

// sortedLost is the names, most tokens first.
func sortedLost(lost map[string]*replay.Lost) []string {
	names := make([]string, 0, len(lost))
	for name := range lost {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		a, b := names[i], names[j]
		if lost[a].Tokens != lost[b].Tokens {
			return lost[a].Tokens > lost[b].Tokens
		}
		return a < b
	})
	return names
}

// Prices prints a table of models and prices.
func Prices(w io.Writer, table *price.Table, opt Options) error {
	l := &listing{
		table: &Table{Columns: []Column{
			{Title: "model"}, {Title: "input", Right: true}, {Title: "write 5m", Right: true}, {Title: "write 1h", Right: true}, {Title: "read", Right: true},
			{Title: "output", Right: true}, {Title: "window", Right: true}, {Title: "caches", Right: true}, {Title: "source", Right: true}, {Title: "remarks", Flex: true},
		}},
		columns: []string{
			"model", "input", "cache_write_5m", "cache_write_1h", "cache_read", "output", "above_prompt_tokens", "context", "max_output", "min_cacheable",
			"tokenizer", "released", "retired", "source", "confidence", "note",
		},
	}
	rows := table.Sorted()
	var sources []string
	l.json = struct {
		Schema string        `json:"schema"`
		AsOf   string        `json:"as_of"`
		Unit   string        `json:"unit"`
		Models []price.Model `json:"models"`
	}{PricesSchema, table.AsOf, price.Unit, rows}
	dollars := func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
	for i := range rows {
		m := &rows[i]
		source := slices.Index(sources, m.Source)
		if source < 0 {
			source = len(sources)
			sources = append(sources, m.Source)
		}
		l.table.Row(m.ID, dollars(m.Input), dollars(m.CacheWrite5m), dollars(m.CacheWrite1h), dollars(m.CacheRead), dollars(m.Output),
			orDash(m.Context), orDash(m.MinCacheable), "["+strconv.Itoa(source+1)+"]", priceRemarks(m))
		csv := func(above int, input, write5m, write1h, read, output float64) {
			from := ""
			if above > 0 {
				from = strconv.Itoa(above)
			}
			l.rows = append(l.rows, []string{
				m.ID, dollars(input), dollars(write5m), dollars(write1h), dollars(read), dollars(output), from, strconv.Itoa(m.Context), strconv.Itoa(m.MaxOutput),
				strconv.Itoa(m.MinCacheable), m.Tokenizer, m.Released, strconv.FormatBool(m.Retired), m.Source, m.Confidence, m.Note,
			})
		}
		csv(0, m.Input, m.CacheWrite5m, m.CacheWrite1h, m.CacheRead, m.Output)
		if t := m.Tier; t != nil {
			l.table.Row("  over "+thousands(t.Above), dollars(t.Input), dollars(t.CacheWrite5m), dollars(t.CacheWrite1h), dollars(t.CacheRead), dollars(t.Output),
				"", "", "", "whole request")
			csv(t.Above, t.Input, t.CacheWrite5m, t.CacheWrite1h, t.CacheRead, t.Output)
		}
	}
	l.notes = []string{
		price.Unit + ", as of " + table.AsOf + ". caches: the shortest prefix, in tokens, that the prompt cache takes.",
		"A model is found by the longest id that its name begins with, but for a date or a version behind it.",
	}
	for i, s := range sources {
		l.notes = append(l.notes, "["+strconv.Itoa(i+1)+"] "+s)
	}
	return l.print(w, opt)
}

// priceRemarks is what is worth saying of a row beside its figures; longer notes
// stand in the forms for programs.
func priceRemarks(m *price.Model) string {
	var parts []string
	if m.Confidence != "" {
		parts = append(parts, m.Confidence)
	}
	if m.Released != "" {
		parts = append(parts, "released "+m.Released)
	}
	if m.Retired {
		parts = append(parts, "retired")
	}
	return strings.Join(parts, "; ")
}

// orDash is a figure, or a dash where there is none.
func orDash(n int) string {
	if n == 0 {
		return "-"
	}
	return thousands(n)
}
