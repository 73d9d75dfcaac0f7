package jsonl

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/scan"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// members decodes an object with encoding/json; nil for anything else. The last of equal keys counts.
func members(raw []byte) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return m
}

func oracleString(raw []byte) string {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

func oracleCount(raw []byte) int {
	if len(raw) == 0 || strings.Trim(string(raw), "0123456789") != "" {
		return 0
	}
	n, err := json.Number(raw).Int64()
	if err != nil || n > MaxUsage {
		return 0
	}
	return int(n)
}

// oracleOdd reports whether an object of a usage has a count that is not believed, one that a later member of the same
// name replaces included.
func oracleOdd(raw json.RawMessage, depth int) bool {
	odd := false
	each(raw, func(key string, value json.RawMessage) {
		switch key {
		case "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens":
			odd = odd || oddCount(value)
		case "cache_creation":
			each(value, func(key string, value json.RawMessage) {
				odd = odd || strings.HasPrefix(key, "ephemeral_") && strings.HasSuffix(key, "_input_tokens") && (key[10:12] == "5m" || key[10:12] == "1h") && len(key) == 25 && oddCount(value)
			})
		case "output_tokens_details":
			each(value, func(key string, value json.RawMessage) {
				odd = odd || depth == 0 && key == "thinking_tokens" && oddCount(value)
			})
		case "server_tool_use":
			each(value, func(key string, value json.RawMessage) {
				odd = odd || depth == 0 && (key == "web_search_requests" || key == "web_fetch_requests") && oddCount(value)
			})
		case "iterations":
			var list []json.RawMessage
			if depth == 0 && json.Unmarshal(value, &list) == nil {
				for _, one := range list {
					odd = odd || oracleOdd(one, 1)
				}
			}
		}
	})
	return odd
}

// each goes through the members of an object, those of one name too; of another value there are none.
func each(raw json.RawMessage, do func(key string, value json.RawMessage)) {
	if len(raw) == 0 || raw[0] != '{' {
		return
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	_, _ = dec.Token()
	for dec.More() {
		key, _ := dec.Token()
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return
		}
		name, _ := key.(string)
		do(name, value)
	}
}

func oddCount(raw json.RawMessage) bool {
	if string(raw) == "null" {
		return false
	}
	n, err := json.Number(raw).Int64()
	return strings.Trim(string(raw), "0123456789") != "" || err != nil || n > MaxUsage
}

func oracleText(raw []byte) Metrics {
	if len(raw) == 0 || raw[0] != '"' {
		return Metrics{}
	}
	var l scan.Lengths
	scan.MeasureString(raw, 0, &l)
	return Metrics{l.UTF16, l.Bytes, l.JSON}
}

func oracleJSON(raw []byte) Metrics {
	if len(raw) == 0 {
		return Metrics{}
	}
	var l scan.Lengths
	scan.MeasureValue(raw, 0, 0, &l)
	return Metrics{UTF16: l.UTF16, Bytes: l.Bytes}
}

// oracleBlock is a Block without spans and the bytes the spans must hold.
type oracleBlock struct {
	ContentBlock
	raw, value []byte
	parts      [][]byte
}

func oracleBlockOf(raw []byte) oracleBlock {
	m := members(raw)
	typ := oracleString(m["type"])
	b := oracleBlock{ContentBlock: ContentBlock{Type: typ, Kind: kinds[typ]}, raw: raw}
	quoted := func(key string) {
		if v := m[key]; len(v) > 0 && v[0] == '"' {
			b.value, b.Text = v, oracleText(v)
		}
	}
	switch b.Kind {
	case KindText:
		quoted("text")
	case KindThinking:
		quoted("thinking")
		b.Signature = len(oracleString(m["signature"]))
	case KindRedactedThinking:
		quoted("data")
	case KindToolUse, KindServerToolUse:
		b.ID, b.Name = oracleString(m["id"]), oracleString(m["name"])
		b.value, b.JSON = m["input"], oracleJSON(m["input"])
	case KindToolResult:
		b.ID, b.IsError = oracleString(m["tool_use_id"]), string(m["is_error"]) == "true"
		c := m["content"]
		b.value, b.Text, b.JSON = c, oracleText(c), oracleJSON(c)
		b.IsString = len(c) > 0 && c[0] == '"'
		b.Persisted = strings.Contains(oracleString(c), persistedMark)
		var parts []json.RawMessage
		if len(c) > 0 && c[0] == '[' && json.Unmarshal(c, &parts) == nil {
			for _, raw := range parts {
				pm := members(raw)
				p := Part{Type: oracleString(pm["type"])}
				if p.Kind = kinds[p.Type]; p.Kind == KindText {
					p.Text = oracleText(pm["text"])
					b.Text = b.Text.Add(p.Text)
					b.Persisted = b.Persisted || strings.Contains(oracleString(pm["text"]), persistedMark)
				}
				b.Parts = append(b.Parts, p)
				b.parts = append(b.parts, raw)
			}
		}
	default:
		b.ID, b.Name, b.IsError = oracleString(m["id"]), oracleString(m["name"]), string(m["is_error"]) == "true"
		if b.ID == "" {
			b.ID = oracleString(m["tool_use_id"])
		}
		b.value, b.JSON = raw, oracleJSON(raw)
	}
	return b
}

// oracleEntry decodes an object with encoding/json.
func oracleEntry(raw []byte) (Entry, []oracleBlock) {
	m := members(raw)
	str := func(key string) string { return oracleString(m[key]) }
	is := func(key string) bool { return string(m[key]) == "true" }
	e := Entry{
		Raw: raw, Type: str("type"), Subtype: str("subtype"), UUID: str("uuid"), ParentUUID: str("parentUuid"),
		LogicalParentUUID: str("logicalParentUuid"), SessionID: str("sessionId"), AgentID: str("agentId"), Version: str("version"),
		CWD: str("cwd"), LeafUUID: str("leafUuid"),
		IsSidechain: is("isSidechain"), IsMeta: is("isMeta"), IsCompactSummary: is("isCompactSummary"),
		IsAPIError: is("isApiErrorMessage"),
		RequestID:  m["requestId"], ToolUseResult: m["toolUseResult"],
		Attachment: m["attachment"], CompactMetadata: m["compactMetadata"], MicrocompactMetadata: m["microcompactMetadata"],
		SnipMetadata: m["snipMetadata"], RemovedUUIDs: m["removedUuids"],
	}
	_, e.HasParent = m["parentUuid"]
	if t, err := time.Parse(time.RFC3339, str("timestamp")); err == nil {
		e.Time = t.UTC()
	}
	msg := members(m["message"])
	if msg == nil || e.Type != "user" && e.Type != "assistant" {
		return e, nil
	}
	e.HasMessage = true
	e.Message = APIMessage{ID: oracleString(msg["id"]), Role: oracleString(msg["role"]), Model: oracleString(msg["model"]), StopReason: oracleString(msg["stop_reason"]), ContextManagement: msg["context_management"], Diagnostics: msg["diagnostics"]}
	if u := members(msg["usage"]); u != nil {
		e.Message.HasUsage = true
		split, details, tools := members(u["cache_creation"]), members(u["output_tokens_details"]), members(u["server_tool_use"])
		e.Message.Usage = Usage{
			Input: oracleCount(u["input_tokens"]), CacheWrite: oracleCount(u["cache_creation_input_tokens"]), CacheRead: oracleCount(u["cache_read_input_tokens"]),
			Output: oracleCount(u["output_tokens"]), Thinking: oracleCount(details["thinking_tokens"]),
			Write5m: oracleCount(split["ephemeral_5m_input_tokens"]), Write1h: oracleCount(split["ephemeral_1h_input_tokens"]),
			Speed: oracleString(u["speed"]), Geo: oracleString(u["inference_geo"]), Tier: oracleString(u["service_tier"]),
			Searches: oracleCount(tools["web_search_requests"]), Fetches: oracleCount(tools["web_fetch_requests"]),
		}
		oracleIterations(&e.Message.Usage, u["iterations"])
		if oracleOdd(msg["usage"], 0) {
			e.Message.Usage, e.Message.HasUsage, e.Message.OddUsage = Usage{}, false, "odd"
		}
	} else if raw := msg["usage"]; len(raw) > 0 && string(raw) != "null" {
		e.Message.OddUsage = "odd"
	}
	var blocks []oracleBlock
	var elements []json.RawMessage
	if c := msg["content"]; len(c) > 0 && c[0] == '"' {
		e.Message.IsString = true
		e.Message.Head = head(oracleString(c))
		blocks = append(blocks, oracleBlock{ContentBlock: ContentBlock{Kind: KindText, Type: "text", IsString: true, Text: oracleText(c)}, raw: c, value: c})
	} else if len(c) > 0 && c[0] == '[' && json.Unmarshal(c, &elements) == nil {
		hasHead := false
		for _, raw := range elements {
			b := oracleBlockOf(raw)
			if b.Kind == KindText && b.value != nil && !hasHead {
				hasHead = true
				e.Message.Head = head(oracleString(b.value))
			}
			blocks = append(blocks, b)
		}
	}
	return e, blocks
}

// oracleIterations adds the iterations up by hand: the last message's input is the context, or the last compaction's
// where a response is nothing else.
func oracleIterations(u *Usage, raw json.RawMessage) {
	var list []json.RawMessage
	if len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &list) != nil {
		return
	}
	u.Final = true
	var byKind [2][]Usage
	var before, model string
	var attempts []Attempt
	attempt := func(kind, model string, of []Usage) {
		for _, one := range of {
			attempts = append(attempts, Attempt{Type: kind, Model: model, Spent: one.sampling()})
		}
	}
	hour := u.Write1h
	for _, raw := range list {
		m := members(raw)
		split := members(m["cache_creation"])
		one := Usage{
			Input: oracleCount(m["input_tokens"]), CacheWrite: oracleCount(m["cache_creation_input_tokens"]), CacheRead: oracleCount(m["cache_read_input_tokens"]),
			Output: oracleCount(m["output_tokens"]), Write5m: oracleCount(split["ephemeral_5m_input_tokens"]), Write1h: oracleCount(split["ephemeral_1h_input_tokens"]),
		}
		if one.Write5m == 0 && one.Write1h == 0 && u.Write5m+u.Write1h > 0 { // the usage tells
			if one.Write1h = one.CacheWrite; u.Write5m > 0 {
				one.Write1h = max(min(hour, one.CacheWrite), 0)
			}
			one.Write5m = one.CacheWrite - one.Write1h
		}
		hour -= one.Write1h
		switch kind, by := oracleString(m["type"]), oracleString(m["model"]); kind {
		case "message", "fallback_message":
			if kind == "fallback_message" && before != kind || by != "" && model != "" && by != model {
				output := 0
				for _, one := range byKind[0] {
					output += one.Output
				}
				if output > 0 {
					attempt(before, model, byKind[0])
				}
				byKind[0], model = nil, ""
			}
			before = kind
			if by != "" {
				model = by
			}
			byKind[0] = append(byKind[0], one)
		case "compaction":
			byKind[1] = append(byKind[1], one)
		case "":
		default:
			attempt(kind, by, []Usage{one})
		}
	}
	messages, compactions := byKind[0], byKind[1]
	top, output := u.Input+u.CacheWrite+u.CacheRead, 0
	for _, m := range messages {
		output += m.Output
	}
	var now *Usage
	if n := len(messages); n > 1 || n == 1 && top == 0 {
		now, messages = &messages[n-1], messages[:n-1]
	} else if c := len(compactions); n == 0 && c > 0 && top == 0 {
		now, compactions, output = &compactions[c-1], compactions[:c-1], compactions[c-1].Output
	} else {
		messages = nil
	}
	if now != nil {
		u.Input, u.CacheWrite, u.CacheRead, u.Write5m, u.Write1h = now.Input, now.CacheWrite, now.CacheRead, now.Write5m, now.Write1h
		u.Output = max(u.Output, output)
	}
	beside := Iterations{Attempts: attempts}
	for i, list := range [][]Usage{messages, compactions} {
		s := []*[]Spent{&beside.Rounds, &beside.Compactions}[i]
		for _, one := range list {
			*s = append(*s, one.sampling())
		}
	}
	if !reflect.DeepEqual(beside, Iterations{}) {
		u.Iterations = &beside
	}
}

func head(s string) string {
	if len(s) <= headBytes {
		return s
	}
	n := headBytes
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// checkEntry holds an entry against what encoding/json makes of its bytes; text is the file.
func checkEntry(t testing.TB, e *Entry, text []byte) {
	t.Helper()
	at := func(s Span) []byte {
		if s.Len == 0 {
			return nil
		}
		return text[s.Off : int(s.Off)+s.Len]
	}
	if !bytes.Equal(e.Raw, at(Span{e.Offset, len(e.Raw)})) {
		t.Errorf("%s:%d: Raw is not what stands at Offset %d", e.File, e.Line, e.Offset)
	}
	want, blocks := oracleEntry(e.Raw)
	want.File, want.Line, want.Part, want.Offset = e.File, e.Line, e.Part, e.Offset
	got := e.clone()
	content := got.Message.Content
	got.Message.Content = nil
	if got.Message.OddUsage != "" {
		got.Message.OddUsage = "odd"
	}
	diff(t, e, "entry", *got, want)
	if len(content) != len(blocks) {
		t.Fatalf("%s:%d: %d blocks, want %d", e.File, e.Line, len(content), len(blocks))
	}
	for i, w := range blocks {
		b := content[i]
		if !bytes.Equal(at(b.Span), w.raw) || !bytes.Equal(at(b.Value), w.value) {
			t.Errorf("%s:%d: block %d: spans hold %q and %q; want %q and %q", e.File, e.Line, i, at(b.Span), at(b.Value), w.raw, w.value)
		}
		b.Span, b.Value = Span{}, Span{}
		for k := range b.Parts {
			p := &b.Parts[k]
			if k < len(w.parts) && !bytes.Equal(at(p.Span), w.parts[k]) {
				t.Errorf("%s:%d: block %d: part %d: span holds %q, want %q", e.File, e.Line, i, k, at(p.Span), w.parts[k])
			}
			p.Span = Span{}
		}
		diff(t, e, "block", b, w.ContentBlock)
	}
	for _, raw := range [][]byte{e.Attachment, e.CompactMetadata, e.RemovedUUIDs} {
		if s, ok := e.SpanOf(raw); ok != (raw != nil) || !bytes.Equal(at(s), raw) {
			t.Errorf("%s:%d: SpanOf(%q) = %v, %v", e.File, e.Line, raw, s, ok)
		}
	}
}

// diff compares without regard to nil and empty slices.
func diff(t testing.TB, e *Entry, what string, got, want any) {
	t.Helper()
	if reflect.DeepEqual(got, want) {
		return
	}
	must.Equal(t, cmp.Diff(want, got, cmpopts.EquateEmpty()), "", e.File, e.Line, what)
}

// clone returns a copy that stays valid after the next Scan.
func (e *Entry) clone() *Entry {
	c := *e
	c.Raw = bytes.Clone(e.Raw)
	for _, f := range []*[]byte{&c.Attachment, &c.CompactMetadata, &c.MicrocompactMetadata, &c.SnipMetadata, &c.RemovedUUIDs, &c.RequestID, &c.ToolUseResult, &c.Message.ContextManagement, &c.Message.Diagnostics} {
		if i := e.index(*f); i >= 0 {
			*f = c.Raw[i : i+len(*f)]
		} else {
			*f = bytes.Clone(*f)
		}
	}
	c.Message.Content = slices.Clone(e.Message.Content)
	for i := range c.Message.Content {
		bl := &c.Message.Content[i]
		bl.Parts = slices.Clone(bl.Parts)
	}
	return &c
}
