// Package foreign reads sessions of other agents as lines of the one form that package session reads.
//
// A Form converts a recording: it reads its own form and puts a Line for each message, compaction and clearing, in
// causal order. What session makes of the lines is the conversation; `convert` writes the same lines to a file. So a
// converted session and its original are one thing to all that is above.
//
// Each line, message or part of the original is a unit: used, or set aside with a reason.
package foreign

import (
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Form is the form in which an agent records its sessions.
type Form struct {
	Name   string // the agent's, as its policies' product: "codex"
	Client string // for people: "Codex CLI"

	// Tools are its tools' names, each with that of the Claude Code tool that does the same: policies that list tools
	// list them by those names, or by their own product's.
	Tools map[string]string

	// Store is where the client keeps its sessions.
	Store Store

	// Declared is what the reader says of itself.
	Declared Declared

	// Words lists, by section, the words that carry the structure of a session: package anonymize replaces everything
	// else. Its format.txt describes the sections.
	Words string

	// Looks reports whether a value at the beginning of a file is one of this format alone.
	Looks func(v *Value) bool

	// Beside reports whether a file that begins so is one of this format by what is next to it; nil: its content tells.
	Beside func(h *Beginning, file string) bool

	// Gather is the content of a session that is a tree of files, from the place of its first file; nil: that file holds
	// all. What cannot be read is a warning. A Form without it has no such sessions.
	Gather func(file string, out *Writer) (io.Reader, error)

	// Files lists the files of a session that is a tree, from the place of its first file: the folder that holds them, and
	// their names below it with slashes. There are none of a session that is one file. Nil: as Gather.
	Files func(file string) (folder string, names []string)

	// Needs are patterns (path.Match) of the names of files that are no session without another one next to them: its name.
	Needs map[string]string
	// Database reads sessions that are in a database; nil: the client has none.
	Database *Database

	// Convert reads a session from its decompressed bytes and puts it to out. It returns the error that ended reading;
	// what is wrong in the session is a warning, or a unit set aside.
	Convert func(in io.Reader, out *Writer) error
}

// Declared is what a reader says of itself, for people: docs/agents.md has it as a table.
type Declared struct {
	Reads     string // which of the client's files
	Exact     string // what is as it was sent
	Estimated string // what is not recorded, and worked out; "": nothing
}

// Tools reads lines of the tools of a Form, each behind the Claude Code tool that does the same: "Read: view cat".
func Tools(lines string) map[string]string {
	tools := map[string]string{}
	for line := range strings.Lines(lines) {
		same, own, _ := strings.Cut(strings.TrimSpace(line), ":")
		for _, name := range strings.Fields(own) {
			tools[name] = same
		}
	}
	return tools
}

// Store is where a client keeps its sessions.
type Store struct {
	Env    string // environment variable that names the client's folder; "": none does
	Home   string // that folder elsewise, below the user's home, with slashes
	Folder string // the folder of sessions below it, with slashes; "": itself

	// Inside are patterns (path.Match) of the folders below Folder that hold sessions, with slashes, and of those on
	// the way to them. Those directly in it need none.
	Inside []string

	// Databases are patterns (path.Match) of the databases with sessions, from the same folder, with slashes.
	Databases []string
	// DatabaseEnv is the environment variable that names a database next to those; "": none does.
	DatabaseEnv string
}

// Session is what holds for a whole session.
type Session struct {
	Product    string `json:"product"`            // Form.Name, which Begin fills in
	Version    string `json:"version,omitempty"`  // of the client
	Provider   string `json:"provider,omitempty"` // of the model, as recorded
	ID         string `json:"sessionId"`
	Parent     string `json:"parentSessionId,omitempty"` // of a subagent: the session that started it
	CWD        string `json:"cwd,omitempty"`
	Repository string `json:"repository,omitempty"` // of CWD, as Repository makes it of its address; "": not recorded
	Window     int    `json:"window,omitempty"`     // the model's whole context window, tokens; 0: not recorded
	Overhead   int    `json:"overhead,omitempty"`   // system prompt and tools, tokens as the client counted them; 0: not recorded
}

// Repository is the name of a git repository by its address: host and path, without scheme, user, password and .git, so
// that the addresses of one repository are alike, and a password in one is not kept.
func Repository(address string) string {
	name := address
	_, rest, web := strings.Cut(name, "://")
	if web {
		name = rest
	}
	host, path, _ := strings.Cut(name, "/")
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = host[at+1:]
	}
	if !web { // git@host:path
		host = strings.Replace(host, ":", "/", 1)
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host+"/"+path, "/"), ".git"))
}

// Since reports whether a version of a client is a release or a later one.
func Since(version string, release ...int) bool {
	var n [3]int
	for i, s := range strings.SplitN(version, ".", len(n)) {
		digits := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' })
		if digits < 0 {
			digits = len(s)
		}
		n[i], _ = strconv.Atoi(s[:digits]) // 0 for what is no number
	}
	return slices.Compare(n[:], release) >= 0
}

// RunTotals are the tokens and requests of one model as the client counts them: since its start, or since the RunTotals
// before.
type RunTotals struct {
	Model    string    `json:"model,omitempty"`
	Time     time.Time `json:"timestamp,omitzero"`
	Requests int       `json:"requests,omitempty"`
	Usage    Usage     `json:"usage"`
}

// BilledCall is a call of a model that was billed and has no line of its own: what else a client asks for, or the rest of what
// a run of it used.
type BilledCall struct {
	ID       string    `json:"requestId,omitempty"` // see Line
	Kind     string    `json:"kind"`                // the name of a session.ChargeKind
	Model    string    `json:"model,omitempty"`
	Time     time.Time `json:"timestamp,omitzero"`
	Requests int       `json:"requests,omitempty"` // that it stands for; 0: 1
	Usage    *Usage    `json:"usage,omitempty"`    // nil: not recorded
	Covers   []string  `json:"covers,omitempty"`   // ids of responses whose usage is a part of it, and recorded nowhere else
}

// TypeSession is the type of the line that holds a Session: the first one. TypeTotals is that of RunTotals, TypeCall that
// of a BilledCall.
const (
	TypeSession = "recorded-by"
	TypeTotals  = "recorded-totals"
	TypeCall    = "recorded-call"
)

// Types of lines by which a text is sent from there on in the place of a result, and of messages. (Claude Code's.)
const (
	TypeReplaced  = "content-replacement"
	TypeCollapsed = "marble-origami-commit"
)

// SubtypeRestart is the subtype of a system line that says that the client was started again.
const SubtypeRestart = "client_restart"

// SubtypeResume is the same for a client that reads back encrypted thinking alone.
const SubtypeResume = "client_resume"

// SubtypeRepeat is that of one whose client, too, sends the results before it a second time from there on.
const SubtypeRepeat = "client_resume_repeats"

// SubtypeUnsent is that of one that stands for a user message of which nothing is sent.
const SubtypeUnsent = "unsent"

// Line is one line of a session. Put fills in what is left empty.
type Line struct {
	Type      string    `json:"type"` // "user", "assistant", "system", "attachment", "ai-title", "last-prompt"
	Subtype   string    `json:"subtype,omitempty"`
	UUID      string    `json:"uuid,omitempty"`
	Parent    string    `json:"-"` // uuid of the line before it; "": the last chained line put of the same agent, unless Root
	Root      bool      `json:"-"` // it has no parent
	Logical   string    `json:"logicalParentUuid,omitempty"`
	SessionID string    `json:"sessionId,omitempty"`
	Version   string    `json:"version,omitempty"`
	CWD       string    `json:"cwd,omitempty"`
	Time      time.Time `json:"timestamp,omitzero"`
	Agent     string    `json:"agentId,omitempty"`     // a subagent's id, with Sidechain
	Sidechain bool      `json:"isSidechain,omitempty"` // it belongs to a subagent's own conversation

	Meta    bool   `json:"isMeta,omitempty"`           // user: not typed by a person
	Turn    string `json:"recordedTurn,omitempty"`     // user: a prompt, and what it does to the turn; "": its text and what is around it tell
	Summary bool   `json:"isCompactSummary,omitempty"` // user: the summary of the boundary above it
	Title   string `json:"aiTitle,omitempty"`          // ai-title
	Leaf    string `json:"leafUuid,omitempty"`         // last-prompt: uuid of the line that the session goes on from
	Request string `json:"requestId,omitempty"`        // assistant: what tells the call apart from all others, in copies too: the provider's id where one is recorded; "": nothing

	// NoRequest says of an assistant line that no request of this session is counted for it: a session before this one
	// asked for it, or it was interrupted.
	NoRequest bool `json:"noRequest,omitempty"`

	Message    *Message    `json:"message,omitempty"`
	Compact    *Compact    `json:"compactMetadata,omitempty"`      // system, compact_boundary
	Micro      *Micro      `json:"microcompactMetadata,omitempty"` // system, microcompact_boundary
	Attachment *Attachment `json:"attachment,omitempty"`

	Removed     []string `json:"removedUuids,omitempty"`      // system: lines whose messages are not sent from there on
	ToolUseID   string   `json:"toolUseId,omitempty"`         // TypeReplaced: of the result
	Replacement string   `json:"replacement,omitempty"`       // TypeReplaced
	First       string   `json:"firstArchivedUuid,omitempty"` // TypeCollapsed: a line of the first message
	Last        string   `json:"lastArchivedUuid,omitempty"`  // TypeCollapsed
	Collapsed   string   `json:"summaryContent,omitempty"`    // TypeCollapsed: the text in their place
}

// What a prompt does to the turn.
const (
	TurnBegins  = "begins"  // it begins one
	TurnStopped = "stopped" // it begins one, and the agent had run and stopped since the prompt before it
	TurnQueued  = "queued"  // the agent was running: it ends no turn
)

// Message is an API message. The lines of one response share an ID; its usage counts once.
type Message struct {
	ID         string  `json:"id,omitempty"`
	Type       string  `json:"type,omitempty"`
	Role       string  `json:"role"`
	Model      string  `json:"model,omitempty"`
	Content    []Block `json:"content"`
	StopReason string  `json:"stop_reason,omitempty"`
	Usage      *Usage  `json:"usage,omitempty"`
}

// Block is a content block: text, thinking, tool_use, tool_result, image or any other.
type Block struct {
	Type      string          `json:"type"`
	Text      *string         `json:"text,omitempty"`
	Thinking  *string         `json:"thinking,omitempty"`
	Signature string          `json:"signature,omitempty"` // thinking: its encrypted form
	ID        string          `json:"id,omitempty"`        // tool_use
	Name      string          `json:"name,omitempty"`      // tool_use
	Input     json.RawMessage `json:"input,omitempty"`     // tool_use: an object
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   any             `json:"content,omitempty"` // tool_result: a string, or a list of blocks
	IsError   bool            `json:"is_error,omitempty"`
	Source    any             `json:"source,omitempty"` // image, document
}

// Text is a text block.
func Text(s string) Block { return Block{Type: "text", Text: &s} }

// Thinking is a block of reasoning: its readable text, and its encrypted form.
func Thinking(text, signature string) Block {
	return Block{Type: "thinking", Thinking: &text, Signature: signature}
}

// Call is a tool call. An input that is not a JSON object is put into one, as "input".
func Call(id, name string, input []byte) Block {
	var object map[string]json.RawMessage
	if json.Unmarshal(input, &object) != nil || object == nil {
		if !json.Valid(input) {
			input, _ = json.Marshal(string(input))
		}
		input, _ = json.Marshal(map[string]json.RawMessage{"input": input})
	}
	return Block{Type: "tool_use", ID: id, Name: name, Input: input}
}

// Result is the result of a tool call: content is a string or a list of blocks.
func Result(id string, content any, isError bool) Block {
	return Block{Type: "tool_result", ToolUseID: id, Content: content, IsError: isError}
}

// Picture is an image block, of data in base64.
func Picture(mime, data string) Block {
	return Block{Type: "image", Source: map[string]string{"type": "base64", "media_type": mime, "data": data}}
}

// Said is a message of the role of its line.
func Said(content ...Block) *Message { return &Message{Content: content} }

// Response is a response of a model, which ended to call tools where it has calls.
func Response(id, model string, content []Block, usage *Usage) *Message {
	m := &Message{ID: id, Type: "message", Model: model, Content: content, StopReason: "end_turn", Usage: usage}
	if slices.ContainsFunc(content, func(b Block) bool { return b.Type == "tool_use" }) {
		m.StopReason = "tool_use"
	}
	return m
}

// Millis is a time in milliseconds of the epoch, zero where it is none, or behind the year 9999.
func Millis(ms float64) time.Time {
	if ms <= 0 || ms > 253402300799999 {
		return time.Time{}
	}
	return time.UnixMilli(int64(ms)).UTC()
}

// Usage is what a response's API call used, in tokens. Input excludes what the cache read or wrote; Output includes
// reasoning. Where only the output is recorded, the input fields are 0.
type Usage struct {
	Input      int        `json:"input_tokens"`
	CacheWrite int        `json:"cache_creation_input_tokens"`
	CacheRead  int        `json:"cache_read_input_tokens"`
	Output     int        `json:"output_tokens"`
	Lifetimes  *Lifetimes `json:"cache_creation,omitempty"` // nil: the TTL is not recorded
	Details    *Details   `json:"output_tokens_details,omitempty"`
	Tier       string     `json:"service_tier,omitempty"` // as recorded
	Cost       float64    `json:"cost_usd,omitempty"`     // as recorded, USD
}

// Thinks notes how many of the output tokens are reasoning.
func (u *Usage) Thinks(n int) {
	if n > 0 {
		u.Details = &Details{n}
	}
}

// Lifetimes are what was written to the cache by TTL.
type Lifetimes struct {
	Minutes int `json:"ephemeral_5m_input_tokens"`
	Hour    int `json:"ephemeral_1h_input_tokens"`
}

// Details are parts of the output.
type Details struct {
	Thinking int `json:"thinking_tokens"`
}

// Compact is a recorded compaction.
type Compact struct {
	Trigger    string     `json:"trigger"` // "auto", "manual", "model": called by it, or "model_change": the turn goes on with another one
	PreTokens  int        `json:"preTokens,omitempty"`
	PostTokens int        `json:"postTokens,omitempty"`
	Usage      *Usage     `json:"usage,omitempty"`     // of the call that wrote the summary
	Request    string     `json:"requestId,omitempty"` // of that call, see Line
	Model      string     `json:"model,omitempty"`     // of that call; "": not recorded
	Preserved  *Preserved `json:"preservedMessages,omitempty"`
	Range      *KeptRange `json:"preservedSegment,omitempty"`
	Order      []string   `json:"order,omitempty"` // uuids of the first lines of the context behind it; nil: the summary, the kept messages, those sent again
}

// Preserved are messages that a compaction kept verbatim, by the uuid of their first line.
type Preserved struct {
	UUIDs []string `json:"uuids"`
}

// KeptTooMuch is the warning for a compaction over the limit of what an input's compactions may keep together.
const KeptTooMuch = "the compactions up to here keep more messages than the limit entries: what this one keeps is left out"

// KeptRange is a run of messages that a compaction kept verbatim, without summaries, by lines of its first and last.
type KeptRange struct {
	Head string `json:"headUuid"`
	Tail string `json:"tailUuid"`
}

// Micro is a recorded clearing of tool results.
type Micro struct {
	Trigger     string   `json:"trigger"`
	PreTokens   int      `json:"preTokens,omitempty"`
	TokensSaved int      `json:"tokensSaved,omitempty"`
	ToolIDs     []string `json:"compactedToolIds"`
}

// Attachment is a text that the client adds: behind a summary, what it sends again.
type Attachment struct {
	Type    string `json:"type"`
	Content string `json:"content"`
}

// Remark is what is wrong in a session.
type Remark struct {
	Line int    // of the original; 0: none
	Code string // see session.Code
	Text string
}
