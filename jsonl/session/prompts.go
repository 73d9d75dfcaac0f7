package session

import (
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
)

// Prompts are the user prompts with the short ids by which a model refers to them.
type Prompts struct {
	at   map[string]int // short id, or uuid of a line -> message
	tags map[int]string // message -> short id
}

// Prompts derives the short ids of the user prompts: jsonl.ShortID of the uuid or, where an earlier prompt has that
// id, jsonl.ShortHash of the uuid with a suffix.
func (conv *Conversation) Prompts() *Prompts {
	p := &Prompts{at: map[string]int{}, tags: map[int]string{}}
	for m := range conv.Messages {
		msg := &conv.Messages[m]
		if msg.Class != ClassPrompt || msg.RecordOnly {
			continue
		}
		id := jsonl.ShortID(msg.UUID)
		for n := 2; ; n++ {
			if _, taken := p.at[id]; !taken {
				break
			}
			id = jsonl.ShortHash(msg.UUID + "#" + strconv.Itoa(n))
		}
		p.at[id], p.tags[m] = m, id
	}
	for m := range p.tags {
		for _, u := range append([]string{conv.Messages[m].UUID}, conv.Messages[m].UUIDs...) {
			if _, taken := p.at[u]; !taken {
				p.at[u] = m
			}
		}
	}
	return p
}

// ID is the short id of a prompt, or "" for a message that is not a prompt.
func (p *Prompts) ID(message int) string { return p.tags[message] }

// Find is the prompt with a uuid or a short id: abc123, id:abc123 or [id:abc123].
func (p *Prompts) Find(name string) (message int, ok bool) {
	name = strings.TrimSpace(name)
	if s, ok := strings.CutPrefix(strings.TrimPrefix(name, "["), "id:"); ok {
		name = strings.TrimSuffix(s, "]")
	}
	message, ok = p.at[name]
	return message, ok
}
