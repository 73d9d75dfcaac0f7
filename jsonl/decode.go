package jsonl

import (
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/jsonl/scan"
)

// decoder decodes objects into entries. It validates every byte. Of two equal keys the last one counts, as in
// JavaScript. A field of an unexpected type is ignored.
type decoder struct {
	interner
	keyText  []byte // a key with escapes, decoded
	textual  []byte // a string with escapes, decoded
	lastUUID string // of the last entry: usually the parent of the next one

	oddUsage   string     // the first count of the current usage that is not believed, and why; "": all are
	samplings  []sampling // of the current usage
	partMarked bool       // a text part of the current tool_result holds persistedMark
}

// entry is an Entry with the memory that decoding reuses: without that a replay is too slow next to ccusage (bar in
// docs/performance.md).
type entry struct {
	Entry
	parts []Part
}

// Bounds against hostile lines: a block of three bytes decodes to hundreds.
const (
	maxBlocks  = 1 << 14 // of a message; also parts of an entry
	keepBlocks = 1 << 10 // memory for more blocks is not reused
	keepText   = 1 << 20 // memory for a longer string, in bytes, is not reused
)

// reset clears the entry and keeps its memory within the bounds.
func (e *entry) reset() {
	content := e.Message.Content[:0]
	parts := e.parts[:0]
	if cap(content) > keepBlocks {
		content = nil
	}
	if cap(parts) > keepBlocks {
		parts = nil
	}
	e.Entry = Entry{}
	e.Message.Content = content
	e.parts = parts
}

// Number of open brackets around a value.
const (
	depthEntry   = 0
	depthField   = 1 // a member of the entry
	depthMessage = 2 // a member of the message
	depthBlock   = 3 // an element of message.content, a member of usage
	depthValue   = 4 // a member of a block
	depthPart    = 5 // an element of a tool_result's content
	depthText    = 6 // a member of such an element
)

// entry decodes the object whose brace is b[i]. Spans are indexes into b until locate.
func (d *decoder) entry(e *entry, b []byte, i int) (int, scan.Fault) {
	e.reset()
	if cap(d.textual) > keepText || cap(d.keyText) > keepText {
		d.textual = nil
		d.keyText = nil
	}
	m := scan.Object(b, i, depthEntry)
	typed := false
	decoded := false
	message := -1
	for m.Next() {
		at := m.At
		key := d.key(&m)
		switch string(key) {
		case "type":
			e.Type = d.low(&m)
			typed = true
		case "message":
			// The message of a line of another type is an embedded copy.
			message = at
			decoded = !typed || e.Type == "user" || e.Type == "assistant"
			e.dropMessage()
			if decoded {
				m.At, m.Code = d.message(e, b, at)
			} else {
				d.skip(&m)
			}
		case "uuid":
			e.UUID = d.text(&m)
		case "parentUuid":
			e.ParentUUID = d.parent(&m)
			e.HasParent = true
		case "timestamp":
			e.Time = d.time(&m)
		case "subtype":
			e.Subtype = d.low(&m)
		case "sessionId":
			e.SessionID = d.low(&m)
		case "agentId":
			e.AgentID = d.low(&m)
		case "version":
			e.Version = d.low(&m)
		case "cwd":
			e.CWD = d.low(&m)
		case "logicalParentUuid":
			e.LogicalParentUUID = d.text(&m)
		case "recordedTurn":
			e.RecordedTurn = d.text(&m)
		case "leafUuid":
			e.LeafUUID = d.text(&m)
		case "attachment":
			e.Attachment = d.raw(&m)
		case "requestId":
			e.RequestID = d.raw(&m)
		case "toolUseResult":
			e.ToolUseResult = d.raw(&m)
		case "rendered":
			e.Rendered = d.raw(&m)
		case "renderedInHumanTurn":
			e.RenderedInTurn = d.raw(&m)
		case "renderedRole":
			e.RenderedRole = d.low(&m)
		case "compactMetadata":
			e.CompactMetadata = d.raw(&m)
		case "microcompactMetadata":
			e.MicrocompactMetadata = d.raw(&m)
		case "snipMetadata":
			e.SnipMetadata = d.raw(&m)
		case "removedUuids":
			e.RemovedUUIDs = d.raw(&m)
		default:
			if flag := e.flag(key); flag != nil {
				*flag = m.Text()[at] == 't'
			}
			d.skip(&m)
		}
	}
	if m.Code != scan.OK {
		return m.At, m.Code
	}
	if own := e.Type == "user" || e.Type == "assistant"; message >= 0 && own != decoded {
		e.dropMessage() // type is after message, or there are two
		if own {
			if at, code := d.message(e, b, message); code != scan.OK {
				return at, code
			}
		}
	}
	d.lastUUID = e.UUID
	return m.At, scan.OK
}

// flag is the field of a boolean member, or nil.
func (e *Entry) flag(key []byte) *bool {
	switch string(key) {
	case "isSidechain":
		return &e.IsSidechain
	case "isMeta":
		return &e.IsMeta
	case "isCompactSummary":
		return &e.IsCompactSummary
	case "isApiErrorMessage":
		return &e.IsAPIError
	case "noRequest":
		return &e.NoRequest
	case "renderedBesideToolResult":
		return &e.RenderedBeside
	}
	return nil
}

func (e *entry) dropMessage() {
	e.HasMessage = false
	e.Message = APIMessage{Content: e.Message.Content[:0]}
	e.parts = e.parts[:0]
}

// key is the decoded key of the current member.
func (d *decoder) key(m *scan.Members) []byte {
	key, plain := m.Key()
	if plain {
		return key
	}
	d.keyText = scan.AppendUnquoted(d.keyText[:0], key, -1)
	return d.keyText
}

// skip skips the member's value.
func (d *decoder) skip(m *scan.Members) {
	m.At, m.Code = scan.Value(m.Text(), m.At, m.Depth())
}

// raw skips the member's value and returns its bytes.
func (d *decoder) raw(m *scan.Members) []byte {
	at := m.At
	d.skip(m)
	if m.Code != scan.OK {
		return nil
	}
	return m.Text()[at:m.At]
}

// quoted skips the member's value and returns the decoded bytes of a string, valid until the next call, or false.
func (d *decoder) quoted(m *scan.Members) ([]byte, bool) {
	b := m.Text()
	at := m.At
	if b[at] != '"' {
		d.skip(m)
		return nil, false
	}
	end, plain, code := scan.String(b, at)
	m.At = end
	m.Code = code
	if code != scan.OK {
		return nil, false
	}
	body := b[at+1 : end-1]
	if plain && utf8.Valid(body) {
		return body, true
	}
	d.textual = scan.AppendUnquoted(d.textual[:0], body, -1)
	return d.textual, true
}

// text is a string that rarely repeats.
func (d *decoder) text(m *scan.Members) string {
	s, _ := d.quoted(m)
	return string(s)
}

// low is a string of low cardinality.
func (d *decoder) low(m *scan.Members) string {
	s, _ := d.quoted(m)
	return d.intern(s)
}

// parent is a uuid that is usually that of the entry before.
func (d *decoder) parent(m *scan.Members) string {
	s, _ := d.quoted(m)
	if string(s) == d.lastUUID {
		return d.lastUUID
	}
	return string(s)
}

func (d *decoder) bool(m *scan.Members) bool {
	is := m.Text()[m.At] == 't'
	d.skip(m)
	return is
}

// MaxUsage is the largest count of a usage that is believed, in tokens: ten times the largest context window known.
const MaxUsage = 10_000_000

// count is a number of tokens, 0 for null. Any other value than an integer literal of 0 to MaxUsage is noted.
func (d *decoder) count(m *scan.Members) int {
	digits := d.raw(m)
	if string(digits) == "null" {
		return 0
	}
	n := 0
	for _, c := range digits {
		if c-'0' > 9 {
			d.odd(m, digits, "no number of tokens")
			return 0
		}
		if n = 10*n + int(c-'0'); n > MaxUsage {
			d.odd(m, digits, "more than any model reads or writes")
			return 0
		}
	}
	return n
}

// odd notes the first count of a usage that is not believed.
func (d *decoder) odd(m *scan.Members, value []byte, why string) {
	if d.oddUsage == "" {
		d.oddUsage = fmt.Sprintf("%s is %.40s, %s", d.key(m), value, why)
	}
}

// maxCost is the least cost of a usage that is not believed, in USD.
const maxCost = 1_000_000_000

// nano is a number in billionths, 0 for a value that is not a positive number, or a huge one.
func (d *decoder) nano(m *scan.Members) int64 {
	f, err := strconv.ParseFloat(string(d.raw(m)), 64)
	if err != nil || !(f > 0 && f < maxCost) {
		return 0
	}
	return int64(math.Round(f * 1e9))
}

// time is an RFC 3339 time, zero where the value is not one.
func (d *decoder) time(m *scan.Members) (t time.Time) {
	s, ok := d.quoted(m)
	if !ok {
		return t
	}
	if t.UnmarshalText(s) != nil { // stricter than Parse, but it does not allocate
		t, _ = time.Parse(time.RFC3339, string(s))
	}
	return t.UTC() // not the zone of this machine
}
