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

	"github.com/ctxkit/ctxkit/jsonl/pattern"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// Message is a message of a request's body.
type Message struct {
	Role    string
	Content json.RawMessage
}

// Block is a block of a request as it is compared.
type Block struct {
	Role, Kind, ID string // ID: of the call of a tool_use or tool_result
	Text           string
	Message, At    int
	Marked         bool // it is a cache breakpoint
	Line           int  // of the file; 0: unknown
}

// key is what makes two blocks equal.
type key struct{ kind, id, text string }

func (b *Block) key() key { return key{b.Kind, b.ID, b.Text} }

// placeholder begins the text of a block that stands for words that no line has.
const placeholder = "[placeholder for "

// Placeholder reports whether the block stands for words that no line has.
func (b *Block) Placeholder() bool { return strings.Contains(b.Text, placeholder) }

// Blocks are those of a body's messages.
func Blocks(messages []Message) (list []Block) {
	for message, m := range messages {
		var blocks []json.RawMessage
		var text string
		if json.Unmarshal(m.Content, &text) == nil {
			blocks = []json.RawMessage{slices.Concat([]byte(`{"type":"text","text":`), m.Content, []byte(`}`))}
		} else {
			_ = json.Unmarshal(m.Content, &blocks)
		}
		for at, raw := range blocks {
			var b map[string]json.RawMessage
			_ = json.Unmarshal(raw, &b)
			l := Block{Role: m.Role, Kind: contentText(b["type"]), Message: message, At: at, Marked: b["cache_control"] != nil}
			switch l.Kind {
			case "tool_use":
				l.ID, l.Text = contentText(b["id"]), sorted(b["input"])
			case "tool_result":
				l.ID, l.Text = contentText(b["tool_use_id"]), contentText(b["content"])
			case "thinking":
				l.Text = contentText(b["thinking"])
			case "image", "document":
				l.Text = pictureText(b["source"])
			default:
				l.Text = contentText(b["text"])
			}
			list = append(list, l)
		}
	}
	return list
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
			k.text = said(k.text)
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

// FileLines tells which texts are on the lines of a session file. The file is read when it is first asked.
type FileLines struct {
	read  func() (string, error)
	text  string
	known map[string]bool // nil: not yet read
	err   error
}

// NewLines prepares a file; read is its text without the lines that hold requests.
func NewLines(read func() (string, error)) *FileLines { return &FileLines{read: read} }

// Hold reports whether every line of a block's text is on some line of the file.
func (l *FileLines) Hold(text string) bool {
	if l.known == nil {
		l.known = map[string]bool{}
		l.text, l.err = l.read()
	}
	for _, line := range strings.Split(reminderTag().ReplaceAllString(text, ""), "\n") {
		line = strings.TrimSpace(line)
		found, ok := l.known[line]
		if !ok {
			var quoted bytes.Buffer
			enc := json.NewEncoder(&quoted)
			enc.SetEscapeHTML(false)
			_ = enc.Encode(line)
			q := quoted.String()
			found = strings.Contains(l.text, q[1:len(q)-2])
			l.known[line] = found
		}
		if !found {
			return false
		}
	}
	return true
}
