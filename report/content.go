package report

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
)

// content is one content block for people.
type content struct {
	title string // what it is: "text", "Bash toolu_01…", "result of Bash toolu_01…"
	text  string
}

// apiBlock is a content block of the API: the fields of all types that are shown.
type apiBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	IsError   bool            `json:"is_error"`
	Content   json.RawMessage `json:"content"`
	Source    struct {
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	} `json:"source"`
	Edits []struct {
		Type      string `json:"type"`
		Reference string `json:"cache_reference"`
	} `json:"edits"`
}

// readContent reads a block. tool returns the name of the tool of a call.
func readContent(js []byte, tool func(id string) string) content {
	var b apiBlock
	if err := json.Unmarshal(js, &b); err != nil {
		if s, ok := jsonl.Unquote(js); ok {
			return content{"text", s}
		}
		return content{"unknown", compactJSON(js)}
	}
	switch b.Type {
	case "text":
		return content{"text", b.Text}
	case "thinking":
		if b.Thinking == "" {
			return content{"thinking", "(no text, a signature of " + fileSize(len(b.Signature)) + ")"}
		}
		return content{"thinking", b.Thinking}
	case "redacted_thinking":
		return content{"redacted thinking", "(" + fileSize(len(b.Data)) + ")"}
	case "tool_use", "server_tool_use":
		return content{joined(" ", b.Name, b.ID), fieldsText(b.Input)}
	case "tool_result":
		title := joined(" ", "result of", tool(b.ToolUseID), b.ToolUseID)
		if b.IsError {
			title += " (error)"
		}
		return content{title, resultText(b.Content)}
	case "image", "document":
		return content{b.Type, "(" + joined(" ", b.Source.MediaType, fileSize(len(b.Source.Data))) + ")"}
	case "cache_edits":
		var lines []string
		for _, e := range b.Edits {
			lines = append(lines, joined(" ", e.Type, tool(e.Reference), e.Reference))
		}
		return content{"cache edits", strings.Join(lines, "\n")}
	}
	return content{b.Type, compactJSON(js)}
}

// joined joins the words that are not empty.
func joined(sep string, words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), sep)
}

func compactJSON(js []byte) string {
	var buf bytes.Buffer
	if json.Compact(&buf, js) != nil {
		return string(js)
	}
	return buf.String()
}

// resultText returns the text of a tool_result, whose content is a string or a list of parts.
func resultText(js json.RawMessage) string {
	if s, ok := jsonl.Unquote(js); ok {
		return s
	}
	var parts []json.RawMessage
	if len(js) == 0 || json.Unmarshal(js, &parts) != nil {
		return compactJSON(js)
	}
	texts := make([]string, len(parts))
	for i, p := range parts {
		c := readContent(p, func(string) string { return "" })
		if texts[i] = c.text; c.title != "text" {
			texts[i] = c.title + " " + c.text
		}
	}
	return strings.Join(texts, "\n")
}

// fieldsText is an object a field a line, in its own order; strings as they are, those of several lines below their
// name.
func fieldsText(js json.RawMessage) string {
	dec := json.NewDecoder(bytes.NewReader(js))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return compactJSON(js)
	}
	var lines []string
	for dec.More() {
		key, err := dec.Token()
		name, ok := key.(string)
		var value json.RawMessage
		if err != nil || !ok || dec.Decode(&value) != nil {
			return compactJSON(js)
		}
		text, quoted := jsonl.Unquote(value)
		switch {
		case !quoted:
			text = compactJSON(value)
		case strings.Contains(text, "\n"):
			text = "\n  " + strings.ReplaceAll(text, "\n", "\n  ")
		}
		lines = append(lines, name+": "+text)
	}
	return strings.Join(lines, "\n")
}

// tabWidth is the distance of tab stops.
const tabWidth = 4

// cleanLine cleans one line of a text and replaces its tabs by spaces.
func cleanLine(s string) string {
	s = strings.TrimSuffix(s, "\r")
	if strings.IndexByte(s, '\t') < 0 {
		return Clean(s)
	}
	var b strings.Builder
	at := 0
	for i, part := range strings.Split(s, "\t") {
		if i > 0 {
			n := tabWidth - at%tabWidth
			b.WriteString(strings.Repeat(" ", n))
			at += n
		}
		part = Clean(part)
		b.WriteString(part)
		at += width(part)
	}
	return b.String()
}

// slack is how many lines more are shown rather than counted as hidden.
const slack = 2

// fold divides a text at w columns and returns its first lines, and how many lines of the text they leave out. most is
// how many are shown; 0: all.
func fold(text string, w, most int) (shown []string, more int) {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return nil, 0
	}
	left := strings.Count(text, "\n") + 1 // lines of the text, this one included
	for line := range strings.SplitSeq(text, "\n") {
		shown = append(shown, breakLine(cleanLine(line), w, either(most > 0, most+slack+1, 0))...)
		if most > 0 && len(shown) > most && more == 0 {
			more = left
		}
		if most > 0 && len(shown) > most+slack {
			return shown[:most], more
		}
		left--
	}
	return shown, 0
}

// breakLine cuts a line into pieces of at most w columns, at a space if the last third of a piece has one. Of most
// pieces (0: all) the last is the whole rest.
func breakLine(s string, w, most int) []string {
	var out []string
	for most == 0 || len(out) < most {
		head, tail := splitAt(s, w)
		if tail == "" || head == "" {
			break
		}
		if i := strings.LastIndexByte(head, ' '); i > len(head)*2/3 {
			head = head[:i+1]
		}
		out = append(out, head)
		s = s[len(head):]
	}
	return append(out, s)
}
