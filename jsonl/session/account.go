package session

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
)

const (
	AsideMalformed Reason = "malformed"                           // not JSON
	AsideComment   Reason = "comment"                             // a comment
	AsideBlank     Reason = "blank"                               // an empty line
	AsideBranch    Reason = "abandoned branch"                    // on a branch that the user left
	AsideAPIError  Reason = "API error written by the client"     // an error message that the client wrote in place of a response
	AsideDuplicate Reason = "duplicate uuid"                      // an earlier line has the same uuid
	AsideNoMessage Reason = "message line without a message"      // a user or assistant line without a message
	AsideNoType    Reason = "no type"                             // an object without a type
	AsideRecord    Reason = "record of an edit that fits nothing" // a recorded change of the context that names content which is not in the conversation
)

// account counts each chained line as used or set aside.
func (ld *loader) account() {
	for _, n := range ld.nodes {
		switch {
		case n.is(lineUsed):
			ld.lines.Used++
		case n.is(lineAPIError):
			ld.aside(n.line, AsideAPIError)
		case n.kind == nodeProgress:
			ld.aside(n.line, "progress")
		case n.kind == nodeSystem:
			ld.aside(n.line, Reason("system: "+n.name))
		case n.kind == nodeOther:
			ld.aside(n.line, Reason("unknown type: "+n.name))
		default:
			ld.aside(n.line, AsideBranch)
		}
	}
	for i := range ld.queued {
		if ld.queued[i].used {
			ld.lines.Used++
		} else {
			ld.aside(ld.queued[i].block.Line, Reason("metadata: "+typeQueue))
		}
	}
	for i := range ld.marks {
		if ld.marks[i].used {
			ld.lines.Used++
		} else {
			ld.aside(ld.marks[i].line, AsideRecord)
		}
	}
}

// Balanced reports whether Read = Used + sum(SetAside).
func (a Accounting) Balanced() bool {
	n := a.Used
	for _, c := range a.SetAside {
		n += c
	}
	return n == a.Read
}

// CompareVersions compares dotted versions number by number. The result is negative if a is older than b, 0 if they are
// equal, and positive if a is newer. A part that is missing or not a number counts as 0.
func CompareVersions(a, b string) int {
	for a != "" || b != "" {
		var x, y int
		x, a = number(a)
		y, b = number(b)
		if x != y {
			return x - y
		}
	}
	return 0
}

// number is the first number of a dotted version, and the rest of the version: nothing behind more digits than a number has.
func number(version string) (n int, rest string) {
	const most = 20
	digits, _, more := strings.Cut(version[:min(len(version), most)], ".")
	n, _ = strconv.Atoi(digits)
	if more {
		rest = version[len(digits)+1:]
	}
	return n, rest
}

// The summary that a client maintains during a session is in session-memory/summary.md next to the session's file.
const (
	memoryName = "session-memory"
	memoryFile = "summary.md"
	maxMemory  = 1 << 20 // bytes; clients write a few thousand
)

// readMemory looks for a session's summary file. It warns of one that is not a regular file in the session's
// own folder, or too long.
func (conv *Conversation) readMemory(where offloads) {
	conv.memory = where
	_, err := conv.memoryText()
	switch {
	case err == nil:
		conv.HasMemory = true
	case !errors.Is(err, fs.ErrNotExist):
		conv.Warnings = append(conv.Warnings, Warning{File: conv.Path, Message: fmt.Sprintf("the session's own summary is not read: %v", err)})
	}
}

// MemoryText reads the session's own summary file. It returns "" if there is none.
func (conv *Conversation) MemoryText() (string, error) {
	if !conv.HasMemory {
		return "", nil
	}
	text, err := conv.memoryText()
	if err != nil {
		return "", &jsonl.FileError{Path: conv.Path, Err: fmt.Errorf("reading the session's own summary: %w", err)}
	}
	return text, nil
}

func (conv *Conversation) memoryText() (string, error) {
	data, err := conv.memory.readFile(memoryFile, maxMemory+1)
	if err != nil {
		return "", err
	}
	if len(data) > maxMemory {
		return "", errRefused(fmt.Sprintf("it is longer than %d bytes", maxMemory))
	}
	return validText(data), nil
}

// Prompts has the short ids of the user prompts. A model refers to a prompt by its short id.
type Prompts struct {
	at   map[string]int // short id, or uuid of a line -> message
	tags map[int]string // message -> short id
}

// Prompts derives the short ids of the user prompts. A short id is jsonl.ShortID of the uuid. If an earlier prompt has
// the same short id, it is jsonl.ShortHash of the uuid followed by "#2", "#3" and so on.
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
		p.at[id] = m
		p.tags[m] = id
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

// ID returns the short id of a prompt, or "" for a message that is not a prompt.
func (p *Prompts) ID(message int) string { return p.tags[message] }

// Find returns the index of the prompt that name stands for: a uuid, or a short id in one of the forms abc123,
// id:abc123 and [id:abc123].
func (p *Prompts) Find(name string) (message int, ok bool) {
	name = strings.TrimSpace(name)
	if s, ok := strings.CutPrefix(strings.TrimPrefix(name, "["), "id:"); ok {
		name = strings.TrimSuffix(s, "]")
	}
	message, ok = p.at[name]
	return message, ok
}
