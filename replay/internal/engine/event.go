package engine

import (
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/internal/record"
)

// Event is one firing of one stage, one act of the recorded track, or a main request that would have had no answer.
type Event struct {
	N        int                   `json:"n"`       // index into Timeline.Events
	Request  *int                  `json:"request"` // nil: after the last request
	Stage    string                `json:"stage"`
	Kind     policy.EditKind       `json:"kind"`
	Trigger  string                `json:"trigger,omitempty"`
	Reason   string                `json:"reason"`
	Before   int                   `json:"tokens_before"` // of what changed; of a request without an answer: its payload, also after
	After    int                   `json:"tokens_after"`
	Saved    int                   `json:"tokens_saved"`       // Before - After
	Results  int                   `json:"results,omitempty"`  // tool_results changed
	Messages int                   `json:"messages,omitempty"` // messages removed
	Detail   map[string]int        `json:"detail,omitempty"`   // figures that the client would record: pre_tokens …
	Targets  []EventTarget         `json:"targets"`            // block edits: every target; rebuilt views: none
	Kept     *Segment              `json:"preserved_segment,omitempty"`
	Recorded *record.RecordedEvent `json:"recorded,omitempty"`
}

// Segment is what a compaction leaves verbatim behind its summary, as clients record it: uuids of the first and the last
// message, and of the summary, which comes before them.
type Segment struct {
	Head   string `json:"head_uuid"`
	Anchor string `json:"anchor_uuid"`
	Tail   string `json:"tail_uuid"`
}

// EventTarget is what an event changed.
type EventTarget struct {
	Message string `json:"message"`
	ToolUse string `json:"tool_use_id,omitempty"`
}
