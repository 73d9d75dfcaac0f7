package opencode

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/ctxkit/ctxkit/jsonl/foreign"
)

// info is a session's info, or that of a message.
type info struct {
	ID        string `json:"id"`
	SessionID string `json:"sessionID"` // of a message
	ParentID  string `json:"parentID"`  // of a session: the one that started it; of a response: the user message it answers
	Directory string `json:"directory"`
	Location  place  `json:"location"`      // of a session of 2.x, in the place of Directory
	Fork      string `json:"forkSessionID"` // of a session of 2.x: the one whose beginning it has a copy of
	Title     string `json:"title"`
	Version   string `json:"version"`
	Time      times  `json:"time"`

	Role     string  `json:"role"`
	Provider string  `json:"providerID"`
	Model    any     `json:"model"` // of a user message
	ModelID  string  `json:"modelID"`
	Finish   string  `json:"finish"`
	Error    *fault  `json:"error"`
	Summary  any     `json:"summary"` // true of a compaction's response; an object of a user message
	Tokens   tokens  `json:"tokens"`
	Cost     float64 `json:"cost"`
}

// place is where a session works.
type place struct {
	Directory string `json:"directory"`
}

// key is what two messages have in common that are the same.
func (i *info) key() string { return fmt.Sprint(i.Role, " ", i.ID, " ", i.Time.Created) }

// request tells request n of a response apart from those of all sessions. A fork copies a message with its times, under a new
// id.
func (i *info) request(n int) string {
	if i.Time.Created <= 0 || i.Time.Completed <= 0 {
		return fmt.Sprintf("%s#%d", i.ID, n)
	}
	return fmt.Sprintf("%s@%.0f-%.0f#%d", i.ModelID, i.Time.Created, i.Time.Completed, n)
}

// summarises reports whether a response is a compaction's summary.
func (i *info) summarises() bool { return i.Role == "assistant" && i.Summary == true }

// fault is why a response failed.
type fault struct {
	Name string `json:"name"`
}

// times are milliseconds of the epoch; 0: not recorded.
type times struct {
	Created   float64 `json:"created"`
	Completed float64 `json:"completed"`
	Start     float64 `json:"start"`
	End       float64 `json:"end"`
	Compacted float64 `json:"compacted"`
}

// tokens are those of a request.
type tokens struct {
	Total     float64 `json:"total"` // since 1.2
	Input     float64 `json:"input"` // without what the cache read or wrote
	Output    float64 `json:"output"`
	Reasoning float64 `json:"reasoning"`
	Cache     struct {
		Read  float64 `json:"read"`
		Write float64 `json:"write"`
	} `json:"cache"`
}

// maxTokens caps each figure.
const maxTokens = 1e12

func count(f float64) int { return int(math.Min(math.Max(f, 0), maxTokens)) }

// some reports whether anything is recorded.
func (t *tokens) some() bool {
	return count(t.Input)+count(t.Output)+count(t.Reasoning)+count(t.Cache.Read)+count(t.Cache.Write) > 0
}

// usage is the usage of a request; nil: nothing is recorded. Up to 1.3 the output includes the reasoning, since 1.4.1
// it does not. Where the total is recorded, it says which.
func (t *tokens) usage(version string, cost float64) *foreign.Usage {
	if !t.some() {
		return nil
	}
	u := &foreign.Usage{Input: count(t.Input), CacheWrite: count(t.Cache.Write), CacheRead: count(t.Cache.Read), Output: count(t.Output)}
	if cost > 0 && !math.IsInf(cost, 0) {
		u.Cost = cost
	}
	reasoning := count(t.Reasoning)
	total := count(t.Total)
	if reasoning > 0 {
		u.Details = &foreign.Details{Thinking: reasoning}
	}
	switch all := u.Input + u.CacheWrite + u.CacheRead + u.Output; {
	case total == all:
	case total == all+reasoning || reasoningApart(version):
		u.Output += reasoning
	}
	return u
}

// reasoningApart reports whether a version counts reasoning next to the output.
func reasoningApart(version string) bool {
	return foreign.Since(version, 1, 4, 1)
}

// part is a part of a message.
type part struct {
	unit foreign.Unit
	line int

	ID        string          `json:"id"`
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Synthetic bool            `json:"synthetic"` // the client wrote it
	Ignored   bool            `json:"ignored"`   // it is not sent
	Time      times           `json:"time"`
	Metadata  json.RawMessage `json:"metadata"` // a provider's, or a tool's

	Tool   string `json:"tool"`
	CallID string `json:"callID"`
	State  state  `json:"state"`

	MIME string `json:"mime"` // file
	URL  string `json:"url"`  // file

	Auto   bool    `json:"auto"`          // compaction
	Tail   string  `json:"tail_start_id"` // compaction: the first message that it kept
	Tokens tokens  `json:"tokens"`        // step-finish
	Cost   float64 `json:"cost"`          // step-finish
}

// state is that of a tool part: the call and its result.
type state struct {
	Status      string          `json:"status"`
	Input       json.RawMessage `json:"input"`
	Raw         string          `json:"raw"` // the input before it was read as JSON
	Output      string          `json:"output"`
	Error       string          `json:"error"`
	Metadata    json.RawMessage `json:"metadata"`
	Time        times           `json:"time"`
	Attachments []attachment    `json:"attachments"`
}

// attachment is a file of a tool's result.
type attachment struct {
	MIME string `json:"mime"`
	URL  string `json:"url"`
}
