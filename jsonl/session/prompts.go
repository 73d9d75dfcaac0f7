package session

import (
	"hash/fnv"
	"strconv"
	"strings"
)

// tagDigits is how many characters the id of a prompt has.
const tagDigits = 6

// Prompts are the user prompts of a conversation with the short ids by which a
// model may name them.
type Prompts struct {
	at   map[string]int // short id, or uuid of a line -> message
	tags map[int]string // message -> short id
}

// Prompts works out the short ids of the user prompts: ShortID of each one's
// uuid. Where an earlier prompt has that id already it is that of the uuid with
// a mark behind it, so that every id names one prompt.
func (conv *Conversation) Prompts() *Prompts {
	p := &Prompts{at: map[string]int{}, tags: map[int]string{}}
	for m := range conv.Messages {
		msg := &conv.Messages[m]
		if msg.Class != ClassPrompt || msg.RecordOnly {
			continue
		}
		id := ShortID(msg.UUID)
		for n := 2; ; n++ {
			if _, taken := p.at[id]; !taken {
				break
			}
			id = hashed(msg.UUID + "#" + strconv.Itoa(n))
		}
		p.at[id], p.tags[m] = m, id
	}
	for m := range p.tags {
		p.uuid(conv.Messages[m].UUID, m)
		for _, u := range conv.Messages[m].UUIDs {
			p.uuid(u, m)
		}
	}
	return p
}

func (p *Prompts) uuid(u string, m int) {
	if _, taken := p.at[u]; !taken {
		p.at[u] = m
	}
}

// ID is the short id of a prompt, or "" of a message that is none.
func (p *Prompts) ID(message int) string { return p.tags[message] }

// Find is the prompt that a short id or a uuid names; the id may stand in its
// tag, [id:abc123].
func (p *Prompts) Find(name string) (message int, ok bool) {
	name = strings.TrimSpace(name)
	if s, ok := strings.CutPrefix(name, "[id:"); ok {
		name = strings.TrimSuffix(s, "]")
	}
	message, ok = p.at[name]
	return message, ok
}

// ShortID derives the six characters that stand for a uuid: its first ten
// hexadecimal digits as a number, written in base 36, the first six digits of
// that. What does not begin with ten hexadecimal digits (hyphens left out) is
// hashed (FNV-1a, 64 bits) instead.
func ShortID(uuid string) string {
	const hex = 10
	digits := make([]byte, 0, hex)
	for i := 0; i < len(uuid) && len(digits) < hex; i++ {
		if uuid[i] != '-' {
			digits = append(digits, uuid[i])
		}
	}
	n, err := strconv.ParseUint(string(digits), 16, 64)
	if err != nil || len(digits) < hex {
		return hashed(uuid)
	}
	return shortened(n)
}

func hashed(s string) string {
	h := fnv.New64a()
	h.Write([]byte(s))
	return shortened(h.Sum64())
}

func shortened(n uint64) string {
	s := strconv.FormatUint(n, 36)
	if len(s) < tagDigits {
		return strings.Repeat("0", tagDigits-len(s)) + s
	}
	return s[:tagDigits]
}
