package pi

import (
	_ "embed"
	"encoding/json"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/foreign"
)

// entry is one line.
type entry struct {
	unit  foreign.Unit
	line  int
	n     int    // index into the reader's entries
	at    string // uuid of the last line put from it; "" for none
	done  bool   // the next two are known
	top   string // uuid of the nearest line put above it
	lost  string // the parent above it that is not in the file
	place int    // on the live branch, 1-based; 0: it is not on it
	next  *entry // on the live branch: the first message at or after it
	prev  *entry // on the live branch: the last message before it

	failed bool // a request that failed or was aborted, and cost no tokens

	Type      string    `json:"type"`
	ID        string    `json:"id"`
	ParentID  string    `json:"parentId"`
	Timestamp time.Time `json:"timestamp"`

	CWD     string `json:"cwd"`     // session
	Version int    `json:"version"` // session

	Message *message `json:"message"`

	Summary      string `json:"summary"` // compaction, branch_summary
	KeptID       string `json:"firstKeptEntryId"`
	KeptIndex    *int   `json:"firstKeptEntryIndex"`
	TokensBefore int    `json:"tokensBefore"`
	Usage        *usage `json:"usage"` // of the request that summarised; of newer versions; of a usage entry

	Kind  string `json:"kind"`  // usage: what it was used for
	Model string `json:"model"` // usage

	Target      *string         `json:"targetId"`    // leaf: the entry that the session goes on from; null: none. context_edit: what it changes
	Replacement json.RawMessage `json:"replacement"` // context_edit: the content that is sent instead; null: none

	Content json.RawMessage `json:"content"` // custom_message
	Name    string          `json:"name"`    // session_info
}

// message is an AgentMessage.
type message struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	Provider   string          `json:"provider"`
	Model      string          `json:"model"`
	StopReason string          `json:"stopReason"`
	Usage      *usage          `json:"usage"`
	ResponseID string          `json:"responseId"`

	ToolCallID string `json:"toolCallId"`
	IsError    bool   `json:"isError"`

	Command   string `json:"command"` // bashExecution
	Output    string `json:"output"`
	ExitCode  *int   `json:"exitCode"`
	Cancelled bool   `json:"cancelled"`
	Truncated bool   `json:"truncated"`
	FullPath  string `json:"fullOutputPath"`
	Excluded  bool   `json:"excludeFromContext"`
}

type usage struct {
	Input      int `json:"input"`
	Output     int `json:"output"`
	CacheRead  int `json:"cacheRead"`
	CacheWrite int `json:"cacheWrite"`
	WriteHour  int `json:"cacheWrite1h"` // of it
	Cost       struct {
		Total float64 `json:"total"`
	} `json:"cost"`
}

// block is a content block of any message.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"thinkingSignature"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Data      string          `json:"data"`
	MIME      string          `json:"mimeType"`
}

// request tells the call of an entry apart from all others: a fork copies entries with their ids and times.
func (e *entry) request() string {
	if e.ID == "" || e.Timestamp.IsZero() {
		return ""
	}
	return e.ID + "@" + e.Timestamp.Format(time.RFC3339Nano)
}

// uuid is that of the last line put from an entry that is sent.
func (e *entry) uuid() string {
	if e.Type == "compaction" {
		return e.ID + "-summary"
	}
	return e.ID
}

// sent reports whether the model gets something of an entry.
func (e *entry) sent() bool {
	switch e.Type {
	case "message":
		if e.Message == nil || e.Message.Excluded {
			return false
		}
		switch e.Message.Role {
		case "assistant":
			return !e.failed
		case "user", "toolResult", "bashExecution", "custom", "hookMessage":
			return true
		}
	case "compaction", "custom_message":
		return true
	case "branch_summary":
		return e.Summary != ""
	}
	return false
}

// recorded is the usage of a response; nil where nothing was reported: it failed or was aborted.
func (u *usage) recorded() *foreign.Usage {
	if u == nil || u.Input+u.Output+u.CacheRead+u.CacheWrite == 0 {
		return nil
	}
	out := &foreign.Usage{Input: u.Input, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Output: u.Output, Cost: u.Cost.Total}
	if hour := min(u.WriteHour, u.CacheWrite); hour > 0 {
		out.Lifetimes = &foreign.Lifetimes{Minutes: u.CacheWrite - hour, Hour: hour}
	}
	return out
}

// stopReason is Pi's in the terms of the Messages API; "error" and "aborted" have none there.
func stopReason(s string) string {
	switch s {
	case "stop":
		return "end_turn"
	case "toolUse":
		return "tool_use"
	case "length":
		return "max_tokens"
	}
	return s
}
