// Package payloads compares the requests that are rebuilt from a session with those that were really sent, block by
// block.
package payloads

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/pattern"
	"github.com/ctxkit/ctxkit/jsonl/requests"
	"github.com/ctxkit/ctxkit/jsonl/scan"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// Message is a message of a request's body.
type Message struct {
	Role    string
	Content json.RawMessage
}

// Block is a block of a request as it is compared.
type Block struct {
	*SentContent
	Role        string
	Message, At int
	Marked      bool // it is a cache breakpoint
	Line        int  // of the file; 0: unknown
}

// SentContent is what a block holds. Requests that have the block share it.
type SentContent struct {
	Kind, ID string // ID: of the call of a tool_use or tool_result
	Text     string

	json   string   // as it is sent
	words  string   // the text without the client's own
	begins string   // the text's beginning
	marked bool     // it is a cache breakpoint
	lines  []string // of the text, once fileLines is asked
}

// key is what makes two blocks equal.
type key struct{ kind, id, text string }

func (c *SentContent) key() key { return key{c.Kind, c.ID, c.Text} }

// placeholder begins the text of a block that stands for words that no line has.
const placeholder = "[placeholder for "

// Placeholder reports whether the block stands for words that no line has.
func (b *Block) Placeholder() bool { return strings.Contains(b.Text, placeholder) }

// reader reads the blocks of requests. It does not read again what the request before had.
type reader struct {
	now, before map[string]*SentContent // by JSON
	list        []Block
	message, at int
	role        string
}

// next goes to another request.
func (r *reader) next() {
	r.before = r.now
	r.now = map[string]*SentContent{}
}

// content reads a block.
func (r *reader) content(raw []byte) *SentContent {
	if r.now == nil {
		r.next()
	}
	c, ok := r.now[string(raw)]
	if !ok {
		if c, ok = r.before[string(raw)]; !ok {
			c = parse(raw)
		}
		r.now[c.json] = c
	}
	return c
}

func parse(raw []byte) *SentContent {
	var b map[string]json.RawMessage
	_ = json.Unmarshal(raw, &b)
	c := &SentContent{Kind: contentText(b["type"]), json: string(raw), marked: b["cache_control"] != nil}
	switch c.Kind {
	case "tool_use":
		c.ID, c.Text = contentText(b["id"]), sorted(b["input"])
	case "tool_result":
		c.ID, c.Text = contentText(b["tool_use_id"]), contentText(b["content"])
	case "thinking":
		c.Text = contentText(b["thinking"])
	case "image", "document":
		c.Text = pictureText(b["source"])
	default:
		c.Text = contentText(b["text"])
	}
	c.words = said(c.Text)
	c.begins = fmt.Sprintf("%.*s", beginning, c.Text)
	return c
}

// start begins a body.
func (r *reader) start() {
	r.list = nil
	r.message = -1
	r.role = ""
}

// begin begins a message.
func (r *reader) begin(role string) {
	r.message += 1
	r.at = 0
	r.role = role
}

// add adds a block to the message.
func (r *reader) add(raw []byte, marked bool, line int) {
	c := r.content(raw)
	r.list = append(r.list, Block{c, r.role, r.message, r.at, marked || c.marked, line})
	r.at++
}

// Blocks are those of a body's messages.
func Blocks(messages []Message) []Block { return new(reader).messages(messages) }

func (r *reader) messages(messages []Message) []Block {
	r.start()
	for _, m := range messages {
		r.begin(m.Role)
		var blocks []json.RawMessage
		var text string
		if json.Unmarshal(m.Content, &text) == nil {
			blocks = []json.RawMessage{slices.Concat([]byte(`{"type":"text","text":`), m.Content, []byte(`}`))}
		} else {
			_ = json.Unmarshal(m.Content, &blocks)
		}
		for _, raw := range blocks {
			r.add(raw, false, 0)
		}
	}
	return r.list
}

// sorted is a value with the keys of its objects in order.
func sorted(raw json.RawMessage) string {
	var v any
	_ = json.Unmarshal(raw, &v)
	text, _ := json.Marshal(v)
	return string(text)
}

// pictureText stands for a picture's bytes.
func pictureText(source json.RawMessage) string {
	sum := sha256.Sum256([]byte(sorted(source)))
	return "picture " + hex.EncodeToString(sum[:6])
}

// contentText is the text of a content.
func contentText(raw json.RawMessage) string {
	var text string
	var parts []map[string]json.RawMessage
	if json.Unmarshal(raw, &text) == nil || json.Unmarshal(raw, &parts) != nil {
		return text
	}
	texts := make([]string, len(parts))
	for i, p := range parts {
		switch {
		case p["text"] != nil:
			texts[i] = contentText(p["text"])
		case p["source"] != nil:
			texts[i] = pictureText(p["source"])
		default:
			texts[i] = contentText(p["tool_name"])
		}
	}
	return strings.Join(texts, "\n")
}

// conversation is what persons, models and tools said, without the client's own words. Of the user's texts those in
// prompts alone, where it is not nil.
func conversation(blocks []Block, prompts map[string]bool) (list []key) {
	for i := range blocks {
		b := &blocks[i]
		k := b.key()
		if k.kind != "tool_use" {
			k.text = b.words
		}
		if b.Role == session.System.String() || k.text == "" || prompts != nil && b.Role == "user" && k.kind == "text" && !prompts[k.text] {
			continue
		}
		list = append(list, k)
	}
	return list
}

var (
	reminderTag = pattern.New(`\s*<system-reminder>|</system-reminder>\s*`)
	ownWords    = pattern.New(`(?s)^Tool loaded\.$|\[placeholder for [^\]]*\]\n?|^\[SYSTEM NOTIFICATION - NOT USER INPUT\].*No human input[^<]*`)
	queuedWords = pattern.New(`(?s)^The user sent a new message while you were working:\n(.*?)\n\n(This is how|IMPORTANT).*$`)
)

// said is a text without reminders, which may hold others, and other words of the client.
func said(text string) string {
	text = queuedWords().ReplaceAllString(ownWords().ReplaceAllString(text, ""), "$1")
	var out strings.Builder
	depth := 0
	from := 0
	for _, at := range reminderTag().FindAllStringIndex(text, -1) {
		opens := strings.HasSuffix(text[at[0]:at[1]], "<system-reminder>")
		if depth == 0 {
			out.WriteString(text[from:at[0]])
		}
		if from = at[1]; opens {
			depth++
		} else {
			depth = max(depth-1, 0)
		}
	}
	if depth == 0 {
		out.WriteString(text[from:])
	}
	return strings.TrimSpace(out.String())
}

// fileLines tells which texts are on the lines of a session file. All are asked for before the file is read.
type fileLines struct{ found map[string]bool }

// ask notes the lines of a content's text.
func (l *fileLines) ask(c *SentContent) []string {
	if c.lines != nil {
		return c.lines
	}
	for line := range strings.SplitSeq(c.Text, "\n") {
		text := string(trimmed([]byte(line)))
		l.found[text] = text == ""
		c.lines = append(c.lines, text)
	}
	return c.lines
}

// trimmed is a line of text without a reminder's tags and white space around it.
func trimmed(line []byte) []byte {
	for _, tag := range [...]string{"<system-reminder>", "</system-reminder>"} {
		line = bytes.TrimSuffix(bytes.TrimPrefix(bytes.TrimSpace(line), []byte(tag)), []byte(tag))
	}
	return bytes.TrimSpace(line)
}

// read reads the file, without the lines that hold requests.
func (l *fileLines) read(src *jsonl.Source) error {
	return src.Each(1, jsonl.ReadOptions{}, func(rec *jsonl.Item) error {
		if rec.Kind == jsonl.ItemEntry && !requests.IsType(rec.Entry.Type) {
			l.line(rec.Entry.Raw)
		}
		return nil
	})
}

// line notes which texts the strings of a line have.
func (l *fileLines) line(raw []byte) {
	for {
		at := bytes.IndexByte(raw, '"')
		if at < 0 {
			return
		}
		end, _, code := scan.String(raw, at)
		if code != scan.OK {
			return
		}
		for text := range bytes.SplitSeq(scan.AppendUnquoted(nil, raw[at+1:end-1], -1), []byte("\n")) {
			if _, ok := l.found[string(trimmed(text))]; ok {
				l.found[string(trimmed(text))] = true
			}
		}
		raw = raw[end:]
	}
}
