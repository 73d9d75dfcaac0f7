package synth_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"
	"unicode/utf16"
)

// A reader of session files that knows nothing of the generator.

type record struct {
	Type                    string
	Subtype                 string
	UUID                    string
	ParentUUID              *string
	LogicalParentUUID       string
	SessionID               string
	Version                 string
	Timestamp               time.Time
	IsSidechain             bool
	IsMeta                  bool
	IsCompactSummary        bool
	SourceToolAssistantUUID string
	Message                 *message
	ToolUseResult           json.RawMessage
	CompactMetadata         *struct {
		Trigger          string
		PreTokens        int
		PreservedSegment *struct{ HeadUUID, AnchorUUID, TailUUID string }
	}
	MicrocompactMetadata *struct {
		PreTokens        int
		TokensSaved      int
		CompactedToolIDs []string
	}
	Attachment *struct {
		Type, Prompt, Filename, Snippet string
	}
	raw []byte
}

type message struct {
	ID         string
	Role       string
	Model      string
	Content    content
	StopReason *string `json:"stop_reason"`
	Usage      *usage
}

type usage struct {
	Input       int `json:"input_tokens"`
	Write       int `json:"cache_creation_input_tokens"`
	Read        int `json:"cache_read_input_tokens"`
	Output      int `json:"output_tokens"`
	CacheDetail *struct {
		Short int `json:"ephemeral_5m_input_tokens"`
		Long  int `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
}

func (u *usage) context() int { return u.Input + u.Write + u.Read }

type block struct {
	Type      string
	Text      string
	Thinking  string
	Signature string
	ID        string
	Name      string
	Input     json.RawMessage
	ToolUseID string `json:"tool_use_id"`
	Content   content
	IsError   bool `json:"is_error"`
}

// content is a string or an array of blocks.
type content struct {
	plain  bool
	text   string
	blocks []block
}

func (c *content) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		c.plain = true
		return json.Unmarshal(b, &c.text)
	}
	return json.Unmarshal(b, &c.blocks)
}

// all is the content's text.
func (c *content) all() string {
	s := c.text
	for _, b := range c.blocks {
		s += b.Text
	}
	return s
}

func parse(t *testing.T, data []byte) []record {
	t.Helper()
	var out []record
	for i, line := range bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n")) {
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("line %d: %v: %.200s", i+1, err, line)
		}
		if r.Type == "api-request-blob" { // the message of a request
			r.Message = nil
		}
		r.raw = line
		out = append(out, r)
	}
	return out
}

func units(s string) int { return len(utf16.Encode([]rune(s))) }

// guess is Math.round(length / 4).
func guess(s string) int {
	n := units(s)
	if n%4 >= 2 {
		return n/4 + 1
	}
	return n / 4
}
