package stats

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/requests"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/category"
)

// PromptOverhead is the parts of the system prompt and the tools that a request had, as the session file holds them. Their
// tokens add up to those of the category system, or where the usage shows none are estimated.
type PromptOverhead struct {
	Line   int            `json:"line"`   // of the file
	Bytes  int            `json:"bytes"`  // of all parts, as JSON
	Tokens int            `json:"tokens"` // of all parts
	Parts  []OverheadPart `json:"parts"`  // the system prompt, then tools that were never called, then others; the most tokens first
}

// OverheadPart is a text of the system prompt, or the definition of a tool.
type OverheadPart struct {
	Part     string `json:"part"`             // system, tool
	Name     string `json:"name"`             // of a tool; of a text its number
	Server   string `json:"server,omitempty"` // of the tool of an MCP server
	Bytes    int    `json:"bytes"`
	Tokens   int    `json:"tokens"`
	Calls    int    `json:"calls"`       // up to the request
	Requests int    `json:"requests"`    // up to it that had the part
	Sent     int    `json:"sent_tokens"` // in all of them
}

// The parts of an overhead.
const (
	systemPart = "system"
	toolPart   = "tool"
)

// AddOverhead adds the parts of the system prompt and the tools at the request of the stats, where log has it.
func (s *SessionStats) AddOverhead(conv *session.Conversation, log *requests.Log) error {
	at := func(n int) *requests.LogRequest { return log.Of(conv.Messages[conv.Requests[n-1].Message].ID) }
	if s.Request < 1 || s.Request > len(conv.Requests) || at(s.Request) == nil {
		return nil
	}
	shape, err := log.Shape(at(s.Request))
	if err != nil || shape == nil {
		return err
	}
	o := &PromptOverhead{Line: shape.Line, Parts: partsOf(shape)}
	had := map[int]map[string]bool{} // by the line of a shape: its parts
	held := map[string]int{}         // requests by part
	for n := 1; n <= s.Request; n++ {
		q := at(n)
		if q == nil {
			continue
		}
		line := log.ShapeLine(q)
		if had[line] == nil {
			had[line] = map[string]bool{}
			other, err := log.Shape(q)
			if err != nil {
				return err
			}
			if other != nil {
				for _, p := range partsOf(other) {
					had[line][p.Part+p.Name] = true
				}
			}
		}
		for part := range had[line] {
			held[part]++
		}
	}
	system := slices.IndexFunc(s.Categories, func(c CategoryTokens) bool { return c.Category == category.System })
	weights := make([]int, len(o.Parts))
	for i := range o.Parts {
		weights[i] = o.Parts[i].Bytes
		o.Bytes += weights[i]
	}
	if o.Tokens = policy.RoundQuarter(o.Bytes); system >= 0 && s.Categories[system].Tokens > 0 {
		o.Tokens = s.Categories[system].Tokens
	}
	for i, tokens := range Apportion(weights, o.Tokens) {
		p := &o.Parts[i]
		p.Tokens, p.Requests = tokens, held[p.Part+p.Name]
		p.Sent = p.Tokens * p.Requests
		if k := slices.IndexFunc(s.Tools, func(t Tool) bool { return t.Name == p.Name }); k >= 0 && p.Part == toolPart {
			p.Calls = s.Tools[k].Calls
		}
	}
	slices.SortStableFunc(o.Parts, func(a, b OverheadPart) int {
		return cmp.Or(strings.Compare(a.Part, b.Part), cmp.Compare(min(a.Calls, 1), min(b.Calls, 1)), cmp.Compare(b.Tokens, a.Tokens))
	})
	if system >= 0 && s.Categories[system].Tokens > 0 {
		s.Categories[system].Of = portions(o.Parts)
	}
	s.Overhead = o
	return nil
}

// partsOf are the parts of a system prompt with tools.
func partsOf(shape *requests.Shape) (list []OverheadPart) {
	for i, text := range shape.System {
		list = append(list, OverheadPart{Part: systemPart, Name: policy.Thousands(i + 1), Bytes: len(text)})
	}
	for _, tool := range shape.Tools {
		var one struct{ Name, Type string }
		_ = json.Unmarshal(tool, &one)
		p := OverheadPart{Part: toolPart, Name: cmp.Or(one.Name, one.Type), Bytes: len(tool)}
		if rest, ok := strings.CutPrefix(p.Name, "mcp__"); ok {
			p.Server, _, _ = strings.Cut(rest, "__")
		}
		list = append(list, p)
	}
	return list
}

// portions are the parts as those of a category: the system prompt, the tools of each MCP server, and each other tool.
func portions(parts []OverheadPart) (list []Portion) {
	for _, p := range parts {
		name := p.Name
		switch {
		case p.Part == systemPart:
			name = "system prompt"
		case p.Server != "":
			name = "MCP server " + p.Server
		}
		i := slices.IndexFunc(list, func(o Portion) bool { return o.Name == name })
		if i < 0 {
			i, list = len(list), append(list, Portion{Name: name})
		}
		list[i].Tokens += p.Tokens
		list[i].Blocks++
	}
	slices.SortStableFunc(list, func(a, b Portion) int { return cmp.Compare(b.Tokens, a.Tokens) })
	return list
}
