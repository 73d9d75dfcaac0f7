package opencode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// MarshalJSON writes the message as JSON.stringify writes it, except for the order of keys inside tool inputs and
// provider options.
func (m ModelMessage) MarshalJSON() ([]byte, error) { return m.appendJSON(nil), nil }

func (m ModelMessage) appendJSON(dst []byte) []byte {
	dst = append(dst, `{"role":`...)
	dst = appendString(dst, m.Role)
	dst = append(dst, `,"content":`...)
	dst = appendContents(dst, m.Content)
	return append(dst, '}')
}

func appendContents(dst []byte, contents []Content) []byte {
	dst = append(dst, '[')
	for i, c := range contents {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = c.appendJSON(dst)
	}
	return append(dst, ']')
}

func (c Content) appendJSON(dst []byte) []byte {
	dst = append(dst, `{"type":`...)
	dst = appendString(dst, c.Type)
	member := func(name, value string) {
		dst = append(dst, `,"`+name+`":`...)
		dst = appendString(dst, value)
	}
	switch c.Type {
	case PartText, PartReasoning:
		member("text", c.Text)
	case PartFile:
		member("mediaType", c.MediaType)
		if c.Filename != nil {
			member("filename", *c.Filename)
		}
		member("data", c.Data)
	case "media":
		member("mediaType", c.MediaType)
		member("data", c.Data)
	case "tool-call":
		member("toolCallId", c.ToolCallID)
		member("toolName", c.ToolName)
		if len(c.Input) > 0 {
			dst = append(dst, `,"input":`...)
			dst = appendRaw(dst, c.Input)
		}
	case "tool-result":
		member("toolCallId", c.ToolCallID)
		member("toolName", c.ToolName)
		dst = append(dst, `,"output":`...)
		dst = c.Output.appendJSON(dst)
	}
	if len(c.ProviderOptions) > 0 {
		dst = append(dst, `,"providerOptions":`...)
		dst = appendRaw(dst, c.ProviderOptions)
	}
	return append(dst, '}')
}

func (o ToolOutput) appendJSON(dst []byte) []byte {
	dst = append(dst, `{"type":`...)
	dst = appendString(dst, o.Type)
	dst = append(dst, `,"value":`...)
	if o.Type == "content" {
		dst = appendContents(dst, o.Items)
	} else {
		dst = appendString(dst, o.Value)
	}
	return append(dst, '}')
}

// appendRaw writes JSON.stringify(JSON.parse(raw)). What is not JSON is null.
func appendRaw(dst []byte, raw json.RawMessage) []byte {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		value = nil
	}
	return appendValue(dst, value)
}

func appendValue(dst []byte, value any) []byte {
	switch value := value.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, value)
	case string:
		return appendString(dst, value)
	case json.Number:
		return appendNumber(dst, value)
	case []any:
		dst = append(dst, '[')
		for i, element := range value {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendValue(dst, element)
		}
		return append(dst, ']')
	case map[string]any:
		dst = append(dst, '{')
		for i, name := range slices.Sorted(maps.Keys(value)) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendString(dst, name)
			dst = append(dst, ':')
			dst = appendValue(dst, value[name])
		}
		return append(dst, '}')
	}
	panic(fmt.Sprintf("not a decoded JSON value: %T", value))
}

// appendNumber writes a number as JavaScript prints it after parsing it.
func appendNumber(dst []byte, number json.Number) []byte {
	f, _ := strconv.ParseFloat(number.String(), 64) // out of range is an infinity
	abs := math.Abs(f)
	switch {
	case math.IsInf(f, 0):
		return append(dst, "null"...)
	case f == 0:
		return append(dst, '0')
	case abs >= 1e-6 && abs < 1e21:
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	if n := len(dst); dst[n-2] == '0' && (dst[n-3] == '-' || dst[n-3] == '+') {
		dst[n-2] = dst[n-1] // e-07 is e-7
		dst = dst[:n-1]
	}
	return dst
}

// appendString writes a text as JSON.stringify does: of the characters above U+001F only quotes and backslashes are
// escaped.
func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r >= ' ':
			dst = utf8.AppendRune(dst, r)
		case r == '\b':
			dst = append(dst, `\b`...)
		case r == '\f':
			dst = append(dst, `\f`...)
		case r == '\n':
			dst = append(dst, `\n`...)
		case r == '\r':
			dst = append(dst, `\r`...)
		case r == '\t':
			dst = append(dst, `\t`...)
		default:
			dst = append(dst, `\u00`...)
			dst = append(dst, hex[r>>4], hex[r&0xF])
		}
	}
	return append(dst, '"')
}
