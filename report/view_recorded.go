package report

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/requests"
	"github.com/ctxkit/ctxkit/replay/stats"
	"github.com/ctxkit/ctxkit/replay/wire"
)

// OnRecord is what a session file says of the request that a view shows.
type OnRecord struct {
	Body      *requests.SentBody // as it was sent, or would be; nil: it is rebuilt from the conversation
	Edited    bool               // Body has the edits of a policy
	Line      int                // of the request; 0: none is on record
	Why       string             // it is rebuilt
	Whole, Of int                // requests of the session on record, and its requests
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
	lists := [...][]json.RawMessage{elements(b.System), elements(b.Tools)}
	var sizes []int
	for _, raw := range slices.Concat(lists[:]...) {
		sizes = append(sizes, len(raw))
	}
	tokens := stats.PartTokens(sizes, p.v.Overhead)
	for k, name := range [...]string{"system", "tools"} {
		items := lists[k]
		if len(items) == 0 {
			continue
		}
		own := 0
		for i := range items {
			own += tokens[i]
		}
		p.line("")
		p.title(bold, "", fmt.Sprintf("── %s  line %d  %s tokens, which no policy takes away", name, b.Line, thousands(own)))
		for i := range items {
			p.part(&items[i], tokens[i], len(items))
		}
		tokens = tokens[len(items):]
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
func (p *viewPages) part(raw *json.RawMessage, tokens, n int) {
	var one struct {
		Name, Type, Text, Description string
		CacheControl                  json.RawMessage `json:"cache_control"`
	}
	_ = json.Unmarshal(*raw, &one)
	title, text := one.Name, one.Description
	if one.Name == "" {
		title, text = one.Type, one.Text
	}
	p.title(cyan, "   ", title+"  "+thousands(tokens)+" tokens  "+fileSize(len(*raw))+either(one.CacheControl != nil, " [cache breakpoint]", ""))
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
