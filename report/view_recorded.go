package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/requests"
	"github.com/ctxkit/ctxkit/replay/stats"
	"github.com/ctxkit/ctxkit/replay/wire"
)

// OnRecord is what a session file says of the request that a view shows.
type OnRecord struct {
	Body      *requests.SentBody   // as it was sent, or would be; nil: it is rebuilt from the conversation
	Edited    bool                 // Body has the edits of a policy
	Parts     []stats.OverheadPart // of its system prompt and tools
	Line      int                  // of the request; 0: none is on record
	Why       string               // it is rebuilt
	Whole, Of int                  // requests of the session on record, and its requests
}

// text says which of the two is shown.
func (r *OnRecord) text() string {
	switch {
	case r == nil:
		return ""
	case r.Body != nil:
		return phrase("as the client recorded it, line %v%v (on record: %v of %v)", r.Line, either(r.Edited, ", with the edits of the policy", ""), r.Whole, count(r.Of, "request"))
	}
	return phrase("rebuilt from the conversation: %v (on record: %v of %v)", r.Why, r.Whole, count(r.Of, "request"))
}

// frame prints what a request has next to its messages.
func (p *viewPages) frame(b *requests.SentBody) error {
	var params [][2]string
	for _, param := range b.Params {
		params = append(params, field{param.Name, compactJSON(param.Value)})
	}
	p.line("")
	p.fields(params...)
	texts := elements(b.System)
	tools := elements(b.Tools)
	items := make([][]stats.OverheadPart, len(texts)+len(tools)) // the parts of each
	var system, own int
	at := len(texts)
	for _, part := range p.v.Record.Parts {
		k := part.Text
		if part.Part == stats.ToolPart {
			k = at
			at += 1
			own += part.Tokens
		} else {
			system += part.Tokens
		}
		items[k] = append(items[k], part)
	}
	for _, list := range [...]struct {
		name   string
		of     []json.RawMessage
		parts  [][]stats.OverheadPart
		tokens int
	}{{"system", texts, items[:len(texts)], system}, {"tools", tools, items[len(texts):], own}} {
		if len(list.of) == 0 {
			continue
		}
		p.line("")
		p.title(bold, "", fmt.Sprintf("── %s  line %d  %s tokens, which no policy takes away", list.name, b.Line, thousands(list.tokens)))
		for i := range list.of {
			p.part(&list.of[i], list.parts[i], len(list.of))
		}
		if err := p.flush(); err != nil {
			return err
		}
	}
	return nil
}

// recorded prints the messages of a request as it was sent.
func (p *viewPages) recorded(b *requests.SentBody) error {
	for _, m := range b.Messages {
		p.n++
		p.line("")
		p.title(bold, "", fmt.Sprintf("── %d  %s  line %d", p.n, m.Role, m.Line))
		shown := m.Blocks
		if !p.Full && len(shown) > mostBlocks {
			shown = shown[:mostBlocks]
		}
		for k := range shown {
			block := wire.BodyBlock{JSON: shown[k].JSON}
			block.Source.Block = wire.Whole
			if shown[k].Mark != nil {
				block.CacheControl = &wire.CacheControl{}
			}
			p.block(&block, len(m.Blocks))
		}
		p.folded("   ", len(m.Blocks)-len(shown), "block", 0)
		if err := p.flush(); err != nil {
			return err
		}
	}
	return nil
}

// part prints one of n texts of a system prompt, or definitions of tools.
func (p *viewPages) part(raw *json.RawMessage, parts []stats.OverheadPart, n int) {
	var one struct {
		Name, Type, Text, Description string
		CacheControl                  json.RawMessage `json:"cache_control"`
	}
	_ = json.Unmarshal(*raw, &one)
	title := cmp.Or(one.Name, one.Type)
	text := cmp.Or(one.Description, one.Text)
	tokens := 0
	size := 0
	var kinds []string
	for i, x := range parts {
		tokens += x.Tokens
		size += x.Bytes
		if x.Kind != "" {
			kinds = append(kinds, phrase("%v %v", x.Kind, x.Tokens))
		}
		if i == 0 && x.Part != stats.ToolPart {
			title = x.Name
		}
	}
	p.title(cyan, "   ", title+"  "+thousands(tokens)+" tokens  "+fileSize(size)+phraseIf(len(kinds) > 0, ", of them %v", strings.Join(kinds, ", "))+either(one.CacheControl != nil, " [cache breakpoint]", ""))
	p.text(none, "     ", "", text, n)
}

// elements are those of an array; a text is one.
func elements(raw []byte) (list []json.RawMessage) {
	if raw == nil {
		return nil
	}
	if json.Unmarshal(raw, &list) != nil {
		return []json.RawMessage{append(append([]byte(`{"type":"text","text":`), raw...), '}')}
	}
	return list
}
