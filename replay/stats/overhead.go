package stats

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/requests"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/category"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// PromptOverhead is the parts of the system prompt and the tools that a request had, as the session file holds them. Their
// tokens add up to those of the category system, or where the usage shows none are estimated.
type PromptOverhead struct {
	Line   int            `json:"line"`   // of the file
	Bytes  int            `json:"bytes"`  // of all parts, as JSON
	Tokens int            `json:"tokens"` // of all parts
	Parts  []OverheadPart `json:"parts"`  // tools that were never called, other tools, the system prompt; the most tokens first

	InMessages []AddedPart `json:"in_messages"` // that no part of it: what the client adds to messages, which a policy can take away
}

// AddedPart is what the client adds to messages for the model to know, of one type.
type AddedPart struct {
	Kind   string `json:"kind"`
	Name   string `json:"name"` // type of attachment
	Tokens int    `json:"tokens"`
}

// OverheadPart is a section of the system prompt, or the definition of a tool.
type OverheadPart struct {
	Part     string    `json:"part"`             // system, tool
	Name     string    `json:"name"`             // of a tool; of a section its heading, without one what it is
	Kind     string    `json:"kind,omitempty"`   // of a section with something of the project or the user
	Server   string    `json:"server,omitempty"` // of the tool of an MCP server
	Bytes    int       `json:"bytes"`
	Tokens   int       `json:"tokens"`             // 0: the request did not have the tool, but one before it
	Calls    int       `json:"calls"`              // up to the request
	Requests int       `json:"requests"`           // up to it that had the part
	Sent     int       `json:"sent_tokens"`        // in all of them, as long as it was in each
	USD      price.USD `json:"input_usd,omitzero"` // its share of what the system prompt and the tools cost
	Text     int       `json:"-"`                  // of a section: index of its text in the system prompt

	json   []byte
	weight int
}

func (p *OverheadPart) key() string { return fmt.Sprint(p.Part, p.Text, p.Name) }

// The parts of an overhead.
const (
	SystemPart = "system"
	ToolPart   = "tool"
)

// AddOverhead adds the parts of the system prompt and the tools at the request of the stats, where log has it, and how many
// requests log can put together.
func (s *SessionStats) AddOverhead(rec *replay.Record, log *requests.Log) error {
	s.Held = log.Whole()
	at := func(n int) *requests.LogRequest { return log.Of(rec.Conv.Response(n - 1).ID) }
	if s.Request < 1 || s.Request > len(rec.Conv.Requests) || at(s.Request) == nil {
		return nil
	}
	shape, err := log.Shape(at(s.Request))
	if err != nil || shape == nil {
		return err
	}
	of := &CategoryTokens{}
	if i := slices.IndexFunc(s.Categories, func(c CategoryTokens) bool { return c.Category == category.System }); i >= 0 {
		of = &s.Categories[i]
	}
	o := &PromptOverhead{Line: shape.Line}
	if o.Parts, err = PromptParts(rec, s.Counter, shape, of.Tokens); err != nil || len(o.Parts) == 0 {
		return err
	}
	index := map[string]int{}
	all := 0
	allSent := 0
	for i := range o.Parts {
		p := &o.Parts[i]
		index[p.key()] = i
		o.Bytes += p.Bytes
		o.Tokens += p.Tokens
		all += p.weight
	}
	had := map[int][]OverheadPart{} // by the line of a shape
	for n := 1; n <= s.Until; n++ {
		q := at(n)
		if q == nil {
			continue
		}
		line := log.ShapeLine(q)
		if had[line] == nil && line > 0 {
			other, err := log.Shape(q)
			if err != nil {
				return err
			}
			if had[line], err = PromptParts(rec, s.Counter, other, 0); err != nil {
				return err
			}
		}
		for i := range had[line] {
			was := &had[line][i]
			k, ok := index[was.key()]
			if !ok && was.Part == ToolPart { // gone by the request
				k = len(o.Parts)
				ok = true
				index[was.key()] = k
				o.Parts = append(o.Parts, OverheadPart{Part: ToolPart, Name: was.Name, Server: was.Server})
			}
			if ok {
				p := &o.Parts[k]
				p.Requests++
				sent := p.Tokens
				if was.weight != p.weight {
					sent = was.weight * o.Tokens / max(all, 1)
				}
				p.Sent += sent
				allSent += sent
			}
		}
	}
	for i := range o.Parts {
		p := &o.Parts[i]
		if of.USD.Known {
			p.USD = price.USD{Nano: of.USD.Nano * perUnit / int64(max(allSent, 1)) * int64(p.Sent) / perUnit, Known: true}
		}
		if k := slices.IndexFunc(s.Tools, func(t Tool) bool { return t.Name == p.Name }); k >= 0 && p.Part == ToolPart {
			p.Calls = s.Tools[k].Calls
		}
	}
	slices.SortStableFunc(o.Parts, func(a, b OverheadPart) int {
		return cmp.Or(strings.Compare(b.Part, a.Part), cmp.Compare(min(a.Calls, 1), min(b.Calls, 1)), cmp.Compare(b.Tokens, a.Tokens))
	})
	if of.Tokens > 0 {
		of.Of = portions(o.Parts)
	}
	o.InMessages = added(s.Categories)
	s.Overhead = o
	return nil
}

// SystemTokens is the size of the system prompt and the tools at main request n, in tokens.
func SystemTokens(conv *session.Conversation, tl *replay.Timeline, n int) int {
	if sizes := bases(conv, mainRequests(tl)); n >= 1 && n <= len(sizes) {
		return sizes[n-1]
	}
	return 0
}

// PromptParts are the parts of a system prompt with tools, in their order. Their tokens are known in all, or where that is 0
// estimated. They are divided by the encoding that counts, else by length.
func PromptParts(rec *replay.Record, counter string, shape *requests.Shape, known int) ([]OverheadPart, error) {
	list := partsOf(shape)
	var table *tokens.WeightTable // nil: by length
	if counter == tokens.NameO200K || counter == tokens.NameCL100K {
		var err error
		if table, err = rec.Encoded(counter); err != nil {
			return nil, err
		}
	}
	weights := make([]int, len(list))
	total := 0
	for i := range list {
		p := &list[i]
		if p.weight = p.Bytes; table != nil {
			content := policy.NewContent(jsonl.KindText, string(p.json))
			p.weight = table.Content(&content)
		}
		weights[i] = p.weight
		total += p.weight
	}
	if known <= 0 {
		if known = total; table == nil {
			known = policy.RoundQuarter(total)
		}
	}
	for i, n := range Apportion(weights, known) {
		list[i].Tokens = n
	}
	return list, nil
}

// What a part of an overhead says.
const (
	kindInstructions = "instructions"
	kindEnvironment  = "environment"
	kindSkills       = "skills"
	kindAgents       = "agents"
	kindMemory       = "memory"
	kindMCP          = "MCP servers"
	kindTools        = "tools"
)

// addedKinds are the kinds of attachments with which the client tells the model where it works, and what it can use.
var addedKinds = map[string]string{
	"instructions": kindInstructions, "nested_memory": kindInstructions, "relevant_memories": kindMemory,
	"environment": kindEnvironment, "session_context": kindEnvironment, "remote_session_change": kindEnvironment,
	"model": kindEnvironment, "date": kindEnvironment, "date_change": kindEnvironment,
	"skill_listing": kindSkills, "invoked_skills": kindSkills, "dynamic_skill": kindSkills,
	"agent_listing_delta": kindAgents, "mcp_instructions_delta": kindMCP, "deferred_tools_delta": kindTools,
}

// added are the attachments of those kinds, also those that the client sent again after a compaction, the most tokens first.
func added(list []CategoryTokens) []AddedPart {
	parts := []AddedPart{}
	for i := range list {
		c := list[i].Category
		for _, p := range list[i].Of {
			if kind := addedKinds[p.Name]; (c == category.Attachments || c == category.Reinjected) && kind != "" && p.Tokens > 0 {
				parts = append(parts, AddedPart{kind, p.Name, p.Tokens})
			}
		}
	}
	slices.SortStableFunc(parts, func(a, b AddedPart) int { return cmp.Compare(b.Tokens, a.Tokens) })
	return parts
}

// partsOf are the parts of a system prompt with tools. Their bytes add up to those of its texts and definitions.
func partsOf(shape *requests.Shape) (list []OverheadPart) {
	for i, text := range shape.System {
		for _, section := range sections(text) {
			p := OverheadPart{Part: SystemPart, Name: headingOf(section), Bytes: len(section), Text: i, json: section}
			for _, kind := range [...]struct{ word, is string }{
				{"memory", kindMemory}, {"environment", kindEnvironment}, {"gitstatus", kindEnvironment}, {".md", kindInstructions},
				{"mcp", kindMCP}, {"skills", kindSkills}, {"agents", kindAgents},
			} {
				if p.Kind == "" && strings.Contains(strings.ToLower(p.Name), kind.word) {
					p.Kind = kind.is
				}
			}
			p.Name = cmp.Or(p.Name, unheaded(i, len(text)))
			if at := slices.IndexFunc(list, func(o OverheadPart) bool { return o.key() == p.key() }); at >= 0 {
				list[at].Bytes += p.Bytes
				list[at].json = slices.Concat(list[at].json, section)
				continue
			}
			list = append(list, p)
		}
	}
	for _, tool := range shape.Tools {
		var one struct{ Name, Type string }
		_ = json.Unmarshal(tool, &one)
		p := OverheadPart{Part: ToolPart, Name: cmp.Or(one.Name, one.Type), Bytes: len(tool), json: tool}
		if rest, ok := strings.CutPrefix(p.Name, "mcp__"); ok {
			p.Server, _, _ = strings.Cut(rest, "__")
		}
		list = append(list, p)
	}
	return list
}

// unheaded names what stands before the first heading of a text: the client's first text says in a sentence who the model is,
// the next one begins with what it is there for.
func unheaded(text, size int) string {
	const sentence = 300 // bytes
	switch {
	case text == 0 && size < sentence:
		return "identity"
	case text <= 1:
		return "instructions"
	}
	return fmt.Sprintf("text %d", text+1)
}

// heading begins a section of a text, fence code in it, where headings are none.
const heading, fence = "# ", "```"

// sections cuts a text, which is JSON, before each heading of the first level.
func sections(text []byte) (list [][]byte) {
	from := 0
	fenced := false
	for i := 0; i+1 < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		i++ // to what is escaped
		rest := text[i+1:]
		switch {
		case text[i] != 'n':
		case bytes.HasPrefix(rest, []byte(fence)):
			fenced = !fenced
		case bytes.HasPrefix(rest, []byte(heading)) && !fenced:
			list = append(list, text[from:i+1])
			from = i + 1
		}
	}
	return append(list, text[from:])
}

// headingOf is the heading of a section, "" for one without.
func headingOf(section []byte) string {
	line, ok := bytes.CutPrefix(section, []byte(heading))
	if !ok {
		return ""
	}
	end := slices.IndexFunc(line, func(c byte) bool { return c == '\\' || c == '"' })
	return string(line[:min(max(end, 0), mostHeading)])
}

// mostHeading is how many bytes of a heading name a section.
const mostHeading = 80

// portions are the parts as those of a category: the system prompt by kind, the tools of each MCP server, and each other tool.
func portions(parts []OverheadPart) (list []Portion) {
	for _, p := range parts {
		name := p.Name
		switch {
		case p.Bytes == 0: // gone
			continue
		case p.Part == SystemPart:
			name = cmp.Or(p.Kind, "system prompt")
		case p.Server != "":
			name = "MCP server " + p.Server
		}
		i := slices.IndexFunc(list, func(o Portion) bool { return o.Name == name })
		if i < 0 {
			i = len(list)
			list = append(list, Portion{Name: name})
		}
		list[i].Tokens += p.Tokens
		list[i].Blocks++
	}
	slices.SortStableFunc(list, func(a, b Portion) int { return cmp.Compare(b.Tokens, a.Tokens) })
	return list
}
