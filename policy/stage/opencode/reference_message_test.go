package opencode

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Roles of a message.
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
)

// Types of a part that the rules look at.
const (
	PartText       = "text"
	PartReasoning  = "reasoning"
	PartFile       = "file"
	PartTool       = "tool"
	PartStepStart  = "step-start"
	PartCompaction = "compaction"
	PartSubtask    = "subtask"
)

// States of a tool call.
const (
	StatusPending   = "pending"
	StatusRunning   = "running"
	StatusCompleted = "completed"
	StatusError     = "error"
)

// AbortedError is the name of the error of a message the user aborted.
const AbortedError = "MessageAbortedError"

// Message is one message of OpenCode's store with its parts, in the JSON form of the store (section 1). Fields no
// rule looks at are not kept.
type Message struct {
	Info  Info   `json:"info"`
	Parts []Part `json:"parts"`
}

// Info is what the store keeps of a message besides its parts.
type Info struct {
	ID         string        `json:"id"`
	Role       string        `json:"role"`
	Time       MessageTime   `json:"time"`
	ParentID   string        `json:"parentID,omitempty"` // assistant: the user message it answers
	Finish     string        `json:"finish,omitempty"`
	Error      *MessageError `json:"error,omitempty"`
	Summary    Truthy        `json:"summary,omitempty"` // assistant: a compaction summary
	Tokens     Tokens        `json:"tokens"`
	ProviderID string        `json:"providerID,omitempty"`
	ModelID    string        `json:"modelID,omitempty"`
}

// MessageTime holds times in epoch milliseconds.
type MessageTime struct {
	Created int64 `json:"created"`
}

// MessageError is the error an assistant message ended with.
type MessageError struct {
	Name string `json:"name"`
}

// Tokens is the usage of one model call (section 1). Input leaves out what was read from or written to the cache.
type Tokens struct {
	Total     int   `json:"total,omitempty"` // newer versions only
	Input     int   `json:"input"`
	Output    int   `json:"output"`
	Reasoning int   `json:"reasoning"`
	Cache     Cache `json:"cache"`
}

// Cache is the cached part of a call's input.
type Cache struct {
	Read  int `json:"read"`
	Write int `json:"write"`
}

// Part is a part of a message; Type says which fields count.
type Part struct {
	ID       string          `json:"id"`
	Type     string          `json:"type"`
	Metadata json.RawMessage `json:"metadata,omitempty"`

	// text, reasoning
	Text      string `json:"text,omitempty"`
	Synthetic bool   `json:"synthetic,omitempty"`
	Ignored   bool   `json:"ignored,omitempty"`

	// file
	MIME     string  `json:"mime,omitempty"`
	Filename *string `json:"filename,omitempty"`
	URL      string  `json:"url,omitempty"`

	// tool
	Tool   string `json:"tool,omitempty"`
	CallID string `json:"callID,omitempty"`
	State  State  `json:"state"`

	// compaction
	Auto        bool    `json:"auto,omitempty"`
	Overflow    bool    `json:"overflow,omitempty"`
	TailStartID *string `json:"tail_start_id,omitempty"`
}

// State is the state of a tool call.
type State struct {
	Status      string          `json:"status,omitempty"`
	Input       json.RawMessage `json:"input,omitempty"`
	Output      string          `json:"output,omitempty"`
	Error       string          `json:"error,omitempty"`
	Metadata    json.RawMessage `json:"metadata,omitempty"`
	Time        StateTime       `json:"time"`
	Attachments []Part          `json:"attachments,omitempty"`
}

// StateTime holds times in epoch milliseconds.
type StateTime struct {
	Compacted int64 `json:"compacted,omitempty"` // when the output was pruned; 0: it was not
}

// Truthy is a JSON value of which only JavaScript's truth is kept. A message's `summary` is a bool on assistant
// messages and an object on user messages.
type Truthy bool

// UnmarshalJSON reads false, null, 0 and "" as false and all else as true.
func (t *Truthy) UnmarshalJSON(data []byte) error {
	switch data = bytes.TrimSpace(data); string(data) {
	case "false", "null", `""`:
		*t = false
		return nil
	}
	var n float64
	*t = json.Unmarshal(data, &n) != nil || n != 0
	return nil
}

// CloneMessages copies messages and their parts, so that marks set on the copy leave the original alone.
func CloneMessages(messages []Message) []Message {
	out := slices.Clone(messages)
	for i := range out {
		out[i].Parts = slices.Clone(out[i].Parts)
	}
	return out
}

// compactionPart is the first compaction part of a message, or nil.
func (m *Message) compactionPart() *Part {
	for i := range m.Parts {
		if m.Parts[i].Type == PartCompaction {
			return &m.Parts[i]
		}
	}
	return nil
}

// field reads a member of a JSON object; nil if there is none.
func field(object json.RawMessage, names ...string) json.RawMessage {
	for _, name := range names {
		var members map[string]json.RawMessage
		if len(object) == 0 || json.Unmarshal(object, &members) != nil {
			return nil
		}
		object = members[name]
	}
	return object
}

// isTrue is `value === true`, on a JSON value.
func isTrue(value json.RawMessage) bool { return string(bytes.TrimSpace(value)) == "true" }

// isNull is `value == null`, on a JSON value.
func isNull(value json.RawMessage) bool {
	value = bytes.TrimSpace(value)
	return len(value) == 0 || string(value) == "null"
}
