// Package payloads compares the requests that are rebuilt from a session with those that were really sent, block by
// block.
package payloads

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

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
	*Content
	Role        string
	Message, At int  // messages of one role in a row count as one
	Marked      bool // it is a cache breakpoint
	Line        int  // of the file; 0: unknown
}

// Content is what a block holds. Requests that have the block share it.
type Content struct {
	Kind, ID string // ID: of the call of a tool_use or tool_result
	Text     string

	json   string // as it is sent
	begins string // the text's beginning
	marked bool   // it is a cache breakpoint
	same   int    // number of kind, id and text
	said   int    // of kind, id and the text without the client's own words; 0: it is nothing
	words  int    // of that text; 0: it is empty
	lines  []int  // of the text, as fileLines numbers them
	asked  bool
}

// placeholder begins the text of a block that stands for words that no line has.
const placeholder = "[placeholder for "

// Placeholder reports whether the block stands for words that no line has.
func (b *Block) Placeholder() bool { return strings.Contains(b.Text, placeholder) }

// reader reads the blocks of requests. It does not read again what the request before had.
type reader struct {
	now, before map[string]*Content // by JSON
	numbers     map[[sha256.Size]byte]int
}

// next begins a request.
func (r *reader) next() { r.before, r.now = r.now, map[string]*Content{} }

// number numbers what makes two blocks equal. It keeps hashes alone, since it does so for all requests.
func (r *reader) number(kind, id, text string) int {
	if r.numbers == nil {
		r.numbers = map[[sha256.Size]byte]int{}
	}
	k := sha256.Sum256([]byte(kind + "\x00" + id + "\x00" + text))
	if r.numbers[k] == 0 {
		r.numbers[k] = len(r.numbers) + 1
	}
	return r.numbers[k]
}

// content reads a block.
func (r *reader) content(raw []byte) *Content {
	if r.now == nil {
		r.next()
	}
	c, ok := r.now[string(raw)]
	if !ok {
		if c, ok = r.before[string(raw)]; !ok {
			c = r.parse(raw)
		}
		r.now[c.json] = c
	}
	return c
}

func (r *reader) parse(raw []byte) *Content {
	var b map[string]json.RawMessage
	_ = json.Unmarshal(raw, &b)
	c := &Content{json: string(raw), Kind: contentText(b["type"]), marked: b["cache_control"] != nil}
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
	text := []rune(c.Text[:min(len(c.Text), beginning*utf8.UTFMax)])
	c.begins = string(text[:min(len(text), beginning)])
	c.same = r.number(c.Kind, c.ID, c.Text)
	words := said(c.Text)
	if words != "" {
		c.words = r.number("", "", words)
	}
	if c.Kind == "tool_use" {
		words = c.Text
	}
	if words != "" {
		c.said = r.number(c.Kind, c.ID, words)
	}
	return c
}

// blockList is the blocks of a request under construction.
type blockList struct {
	*reader
	list        []Block
	message, at int
	role        string
}

func (r *reader) blocks() *blockList { return &blockList{reader: r, message: -1} }

// begin begins a message.
func (l *blockList) begin(role string) {
	if role != l.role {
		l.message, l.at, l.role = l.message+1, 0, role
	}
}

// add adds a block to the message.
func (l *blockList) add(raw []byte, marked bool, line int) {
	c := l.content(raw)
	l.list = append(l.list, Block{c, l.role, l.message, l.at, marked || c.marked, line})
	l.at++
}

// Blocks are those of a body's messages.
func Blocks(messages []Message) []Block { return new(reader).messages(messages) }

func (r *reader) messages(messages []Message) []Block {
	l := r.blocks()
	for _, m := range messages {
		l.begin(m.Role)
		var blocks []json.RawMessage
		var text string
		if json.Unmarshal(m.Content, &text) == nil {
			blocks = []json.RawMessage{slices.Concat([]byte(`{"type":"text","text":`), m.Content, []byte(`}`))}
		} else {
			_ = json.Unmarshal(m.Content, &blocks)
		}
		for _, raw := range blocks {
			l.add(raw, false, 0)
		}
	}
	return l.list
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
func conversation(blocks []Block, prompts map[int]bool) (list []int) {
	for i := range blocks {
		b := &blocks[i]
		if b.Role == session.System.String() || b.said == 0 || prompts != nil && b.Role == "user" && b.Kind == "text" && !prompts[b.words] {
			continue
		}
		list = append(list, b.said)
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
	depth, from := 0, 0
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
type fileLines struct {
	texts map[string]int // index into found
	found []bool
	buf   []byte
}

// ask notes the lines of a content's text.
func (l *fileLines) ask(c *Content) []int {
	if c.asked {
		return c.lines
	}
	c.asked = true
	for line := range strings.SplitSeq(c.Text, "\n") {
		text := trimmed([]byte(line))
		if len(text) == 0 {
			continue
		}
		n, ok := l.texts[string(text)]
		if !ok {
			if l.texts == nil {
				l.texts = map[string]int{}
			}
			n = len(l.found)
			l.texts[string(text)], l.found = n, append(l.found, false)
		}
		c.lines = append(c.lines, n)
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
	if len(l.texts) == 0 {
		return nil
	}
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
		l.buf = scan.AppendUnquoted(l.buf[:0], raw[at+1:end-1], -1)
		for text := range bytes.SplitSeq(l.buf, []byte("\n")) {
			if n, ok := l.texts[string(trimmed(text))]; ok {
				l.found[n] = true
			}
		}
		raw = raw[end:]
	}
}

// hold reports whether all lines of a text are on some line of the file.
func (l *fileLines) hold(lines []int) bool {
	for _, n := range lines {
		if !l.found[n] {
			return false
		}
	}
	return true
}
