package jsonl

import (
	"bytes"
	"cmp"

	"github.com/ctxkit/ctxkit/jsonl/scan"
)

// types are those of the kinds in the API; "": none.
var types = [...]string{
	KindText: "text", KindThinking: "thinking", KindRedactedThinking: "redacted_thinking", KindImage: "image", KindDocument: "document",
	KindToolUse: "tool_use", KindToolResult: "tool_result", KindServerToolUse: "server_tool_use", KindToolReference: "tool_reference",
	KindAttachment: "",
}

var kinds = func() map[string]Kind {
	byType := map[string]Kind{}
	for kind, typ := range types {
		if typ != "" {
			byType[typ] = Kind(kind)
		}
	}
	return byType
}()

// TypeCompaction is the type of the block in which the API puts the summary of the conversation before: its text. It
// comes from KindUnknown.
const TypeCompaction = "compaction"

// Type is the type that the API has for the kind; "" where it has none.
func (k Kind) Type() string { return types[k] }

// kind decodes a block's type.
func (d *decoder) kind(m *scan.Members) (string, Kind) {
	s, ok := d.quoted(m)
	if !ok {
		return "", KindUnknown
	}
	return d.intern(s), kinds[string(s)]
}

// message decodes the value of an entry's message.
func (d *decoder) message(e *entry, b []byte, i int) (int, scan.Fault) {
	if b[i] != '{' {
		return scan.Value(b, i, depthField)
	}
	msg := &e.Message
	e.HasMessage = true
	m := scan.Object(b, i, depthField)
	for m.Next() {
		switch string(d.key(&m)) {
		case "id":
			msg.ID = d.text(&m)
		case "role":
			msg.Role = d.low(&m)
		case "model":
			msg.Model = d.low(&m)
		case "stop_reason":
			msg.StopReason = d.low(&m)
		case "usage":
			m.At, m.Code = d.usage(msg, b, m.At)
		case "context_management":
			msg.ContextManagement = d.raw(&m)
		case "diagnostics":
			msg.Diagnostics = d.raw(&m)
		case "content":
			m.At, m.Code = d.content(e, b, m.At)
		default:
			d.skip(&m)
		}
	}
	return m.At, m.Code
}

// content decodes the value of message.content.
func (d *decoder) content(e *entry, b []byte, i int) (int, scan.Fault) {
	msg := &e.Message
	msg.Content = msg.Content[:0]
	msg.Omitted = 0
	msg.IsString = false
	msg.Head = ""
	e.parts = e.parts[:0]
	switch b[i] {
	case '"':
		var l scan.Lengths
		end, code := scan.MeasureString(b, i, &l)
		if code != scan.OK {
			return end, code
		}
		span := Span{int64(i), end - i}
		msg.IsString = true
		msg.Content = append(msg.Content, ContentBlock{Kind: KindText, Type: "text", IsString: true, Text: textMetrics(&l), Span: span, Value: span})
		msg.Head = d.head(b[i+1 : end-1])
		return end, scan.OK
	case '[':
	default:
		return scan.Value(b, i, depthMessage)
	}
	hasHead := false
	m := scan.Array(b, i, depthMessage)
	for m.Next() {
		at := m.At
		if len(msg.Content) == maxBlocks {
			msg.Omitted++
			m.At, m.Code = scan.Value(b, at, depthBlock)
			continue
		}
		msg.Content = append(msg.Content, ContentBlock{})
		bl := &msg.Content[len(msg.Content)-1]
		if m.At, m.Code = d.block(e, bl, b, at); m.Code != scan.OK {
			break
		}
		bl.Span = Span{int64(at), m.At - at}
		if bl.Kind == KindText && bl.Value.Len > 0 && !hasHead {
			hasHead = true
			v := int(bl.Value.Off)
			msg.Head = d.head(b[v+1 : v+bl.Value.Len-1])
		}
	}
	return m.At, m.Code
}

// headBytes is the longest Message.Head.
const headBytes = 256

func (d *decoder) head(body []byte) string {
	d.textual = scan.AppendUnquoted(d.textual[:0], body, headBytes)
	return string(d.textual)
}

func textMetrics(l *scan.Lengths) Metrics {
	return Metrics{UTF16: l.UTF16, Bytes: l.Bytes, JSON: l.JSON}
}

// field is a value of a block with its lengths.
type field struct {
	span   Span
	text   Metrics // of a string
	json   Metrics // of the compact JSON
	quoted bool
	coded  bool // of a string: see scan.Lengths
}

// set skips the member's value and measures it.
func (f *field) set(m *scan.Members) {
	b := m.Text()
	at := m.At
	*f = field{}
	var l scan.Lengths
	if b[at] == '"' {
		m.At, m.Code = scan.MeasureString(b, at, &l)
		f.quoted = true
		f.coded = l.Coded
		f.text = textMetrics(&l)
		f.json = Metrics{UTF16: l.JSON, Bytes: l.JSONBytes}
	} else {
		m.At, m.Code = scan.MeasureValue(b, at, m.Depth(), &l)
		f.json = Metrics{UTF16: l.UTF16, Bytes: l.Bytes}
	}
	f.span = Span{int64(at), m.At - at}
}

// block decodes one element of message.content. The type may be the last member, so every member that any type needs
// is measured.
func (d *decoder) block(e *entry, bl *ContentBlock, b []byte, i int) (int, scan.Fault) {
	if b[i] != '{' {
		return d.whole(bl, b, i)
	}
	var text, thinking, data, content, input, signature field
	var id, result, name string
	var isError bool
	var parts []Part
	m := scan.Object(b, i, depthBlock)
	for m.Next() {
		switch string(d.key(&m)) {
		case "type":
			bl.Type, bl.Kind = d.kind(&m)
		case "id":
			id = d.text(&m)
		case "tool_use_id":
			result = d.text(&m)
		case "name":
			name = d.low(&m)
		case "is_error":
			isError = d.bool(&m)
		case "text":
			text.set(&m)
		case "thinking":
			thinking.set(&m)
		case "data":
			data.set(&m)
		case "signature":
			signature.set(&m)
		case "input":
			input.set(&m)
		case "content":
			parts = nil
			d.partMarked = false
			if b[m.At] == '[' {
				parts = d.parts(e, &content, &m)
			} else {
				content.set(&m)
			}
		default:
			d.skip(&m)
		}
	}
	if m.Code != scan.OK {
		return m.At, m.Code
	}
	switch bl.Kind {
	case KindText:
		bl.measured(&text)
	case KindThinking:
		bl.measured(&thinking)
		bl.Signature = signature.text.Bytes
	case KindRedactedThinking:
		bl.measured(&data)
	case KindToolUse, KindServerToolUse:
		bl.ID = id
		bl.Name = name
		bl.JSON = input.json
		bl.Value = input.span
	case KindToolResult:
		bl.ID = result
		bl.IsError = isError
		bl.IsString = content.quoted
		bl.Text = content.text
		bl.JSON = content.json
		bl.Value = content.span
		bl.Parts = parts
		bl.Persisted = d.partMarked
		if content.quoted {
			bl.Persisted = d.marked(b, &content)
		}
	default:
		if bl.ID, bl.Name, bl.IsError = cmp.Or(id, result), name, isError; bl.Type == TypeCompaction {
			bl.Text = content.text
		}
		return d.whole(bl, b, i)
	}
	return m.At, scan.OK
}

// measured sets the text and the value. It ignores a value that is no string.
func (bl *ContentBlock) measured(f *field) {
	if f.quoted {
		bl.Text = f.text
		bl.Value = f.span
	}
}

// whole measures the JSON of a whole block.
func (d *decoder) whole(bl *ContentBlock, b []byte, i int) (int, scan.Fault) {
	var l scan.Lengths
	end, code := scan.MeasureValue(b, i, depthBlock, &l)
	bl.JSON = Metrics{UTF16: l.UTF16, Bytes: l.Bytes}
	bl.Value = Span{int64(i), end - i}
	return end, code
}

// parts decodes a tool_result's content that is an array.
func (d *decoder) parts(e *entry, content *field, m *scan.Members) []Part {
	b := m.Text()
	at := m.At
	*content = field{}
	first := len(e.parts)
	var all scan.Lengths
	n := 0
	a := scan.Array(b, at, depthValue)
	for ; a.Next(); n++ {
		var p Part
		p.Span.Off = int64(a.At)
		var own scan.Lengths
		a.At, a.Code = d.part(&p, &own, b, a.At)
		p.Span.Len = a.At - int(p.Span.Off)
		if len(e.parts) < maxBlocks {
			e.parts = append(e.parts, p)
		}
		content.text = content.text.Add(p.Text)
		all.UTF16 += own.UTF16
		all.Bytes += own.Bytes
	}
	all.Brackets(n, 1)
	content.json = Metrics{UTF16: all.UTF16, Bytes: all.Bytes}
	content.span = Span{int64(at), a.At - at}
	m.At = a.At
	m.Code = a.Code
	return e.parts[first:len(e.parts):len(e.parts)]
}

// part decodes an element of a tool_result's content and adds its compact length to l.
func (d *decoder) part(p *Part, l *scan.Lengths, b []byte, i int) (int, scan.Fault) {
	if b[i] != '{' {
		return scan.MeasureValue(b, i, depthPart, l)
	}
	m := scan.Object(b, i, depthPart)
	var text field
	n := 0
	for ; m.Next(); n++ {
		m.MeasureKey(l)
		var f field
		switch string(d.key(&m)) {
		case "type":
			at := m.At
			p.Type, p.Kind = d.kind(&m)
			if m.Code == scan.OK {
				scan.MeasureValue(b, at, depthText, l)
			}
			continue
		case "text":
			text.set(&m)
			f = text
		default:
			f.set(&m)
		}
		l.UTF16 += f.json.UTF16
		l.Bytes += f.json.Bytes
	}
	l.Brackets(n, 2)
	if p.Kind == KindText {
		p.Text = text.text
		d.partMarked = d.partMarked || text.quoted && d.marked(b, &text)
	}
	return m.At, m.Code
}

// persistedMark is in the text that replaces an output written to a file.
const persistedMark = "<persisted-output>"

// marked reports whether a string contains persistedMark, escaped or not.
func (d *decoder) marked(b []byte, f *field) bool {
	if f.span.Len < len(persistedMark)+2 {
		return false
	}
	body := b[int(f.span.Off)+1 : int(f.span.Off)+f.span.Len-1]
	if bytes.Contains(body, []byte(persistedMark)) {
		return true
	}
	if !f.coded || !bytes.Contains(body, []byte(`\u00`)) {
		return false
	}
	d.textual = scan.AppendUnquoted(d.textual[:0], body, -1)
	return bytes.Contains(d.textual, []byte(persistedMark))
}
