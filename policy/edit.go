package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// ItemID identifies an item of a view, and never changes. For a recorded message it is the index into
// Conversation.Messages. For a message that a policy added it is negative; the first such message has -1.
type ItemID int32

// Name returns the uuid of a recorded message, or synthetic-N for the Nth message that a policy added.
func (id ItemID) Name(conv *session.Conversation) string {
	if id >= 0 {
		return conv.Messages[id].UUID
	}
	return "synthetic-" + strconv.Itoa(int(-id))
}

// Target is the block, or the whole message, that an edit changes.
type Target struct {
	Item  ItemID
	Block int // index of the block in the message; WholeItem: the whole message
}

// BlockOf returns the Target of a block of a message.
func BlockOf[I ~int | ~int32](item I, block int) Target { return Target{ItemID(item), block} }

// WholeItem is the value of the field Block in a Target that stands for a whole message.
const WholeItem = -1

// EditKind is the kind of an edit, or of an event that is not an edit.
type EditKind string

const (
	KindClear       EditKind = "clear"        // the content of a tool_result becomes a placeholder
	KindPersist     EditKind = "persist"      // the content of a tool_result is offloaded to a file; a stub stays
	KindTruncate    EditKind = "truncate"     // content is cut
	KindRemove      EditKind = "remove"       // messages leave the view
	KindCollapse    EditKind = "collapse"     // a span of messages becomes one placeholder message
	KindSummarize   EditKind = "summarize"    // the view is rebuilt from a summary, kept messages and attached messages
	KindAttach      EditKind = "attach"       // messages are added at the end
	KindCacheEdit   EditKind = "cache_edit"   // payload only: the server deletes a block from its cached prefix
	KindServerClear EditKind = "server_clear" // payload only: the server clears a block by context editing
	KindServerKeep  EditKind = "server_keep"  // payload only: the server no longer clears or deletes a block that it cleared or deleted at the previous request
	KindTag         EditKind = "tag"          // text is appended to a block as it is sent; the recorded block stays as it is
	KindWrap        EditKind = "wrap"         // a block is sent between two texts, or no longer between them; the recorded block stays as it is
	KindCall        EditKind = "call"         // the policy makes a model call, such as for the summary of a span that it may collapse later; the view stays as it is
	KindFail        EditKind = "fail"         // a compaction, or another attempt at a summary, fails; the view stays as it is
	KindRestart     EditKind = "restart"      // the client was restarted; this edit changes nothing: other edits remove what the client did not read back
	KindInferred    EditKind = "inferred"     // recorded track only: the recorded context shrank, and no line of the file explains it
)

// Kinds of events that are not edits. Both mean that a main request would have had no answer.
const (
	KindRefuse EditKind = "refuse" // the payload exceeds the context window, and the API refuses the request
	KindBlock  EditKind = "block"  // the client itself does not send the request
)

// PayloadOnly reports whether edits of this kind change the payload alone; the model view stays as it is.
func (k EditKind) PayloadOnly() bool {
	return k == KindCacheEdit || k == KindServerClear || k == KindServerKeep
}

// KeepsView reports whether edits of this kind leave the model view as it is. These are the kinds that change only the
// payload (PayloadOnly), and KindCall, KindFail and KindRestart, which change nothing at all.
func (k EditKind) KeepsView() bool {
	return k.PayloadOnly() || k == KindCall || k == KindFail || k == KindRestart
}

// Content is a text that a policy puts in place of a block or a message.
type Content struct {
	Kind    jsonl.Kind // kind of block that the content counts as: text, tool_result …
	Stub    bool       // if Ref is an offloaded result: the content is the recorded stub, not the full text of the file
	Partial bool       // the content is the truncated original
	Gone    bool       // nothing is sent in place of the block
	Text    string     // the text; "": Ref is the block with the text, or only the number of tokens is known (Tokens)
	Length  jsonl.Metrics
	Tokens  int     // number of tokens of a content without a text; 0: not used
	Ref     *Target // the recorded block that has the text; nil: none
	Words   *Target // for a placeholder: the recorded block whose text counts as still in the view when regret is computed; nil: none
}

// TriggerRestart is the trigger of the edits that remove what a restarted client did not read back. No stage proposes
// these edits; a replay makes them under every policy.
const TriggerRestart = "restart"

// StageServer stands in place of the name of a stage in edits that no policy makes. They remove content that the server
// drops without being asked.
const StageServer = "server"

// NewContent returns a Content with a text and the lengths of the text.
func NewContent(kind jsonl.Kind, text string) Content {
	return Content{Kind: kind, Text: text, Length: jsonl.Measure(text)}
}

// Text returns a NewContent for a block of text.
func Text(text string) Content { return NewContent(jsonl.KindText, text) }

// Synthetic is a message that a policy adds: a summary, a prompt to continue, an attachment.
type Synthetic struct {
	ID       ItemID // set when the edit is applied
	Role     string // "user" or "assistant"
	Label    string // what the message is: "summary", "continue", "file /a/b.go"
	Contents []Content
	Turn     bool // the message counts as a user turn for policies that count turns
	Summary  bool // the message is the summary of a compaction
	Attached bool // the client sends the message again after a compaction
}

// Call is a model call that an edit needs, for example for a summary. In a replay it becomes an own request of the
// policy.
type Call struct {
	Kind    string  // "compaction", "collapse", "session_memory"
	Prompt  int     // tokens of the prompt that asks for the summary or other result
	Input   int     // input tokens; 0: those of the view and of the prompt
	Output  int     // output tokens; 0: the tokens of the summary
	Prefix  string  // "own": the call has its own system prompt and tools; "session": it begins with the cached prefix of the session
	Retries int     // number of earlier attempts that the API refused as too long
	Cut     *Target // with the Prefix "session": the first block of the view that the call changes or leaves out; nil: none
	Then    *Call   // a further call that the same edit needs, such as one that verifies the summary
}

// Size returns two counts of the call's content. tokens is the number of tokens that the client sends. payload is what
// is left of them after the server has dropped the content that it also drops from the session's requests. With the
// Prefix "session" both counts include the session's overhead. With another Prefix they do not, and are equal: the
// server drops nothing from such a call.
func (c *Call) Size(v View, overhead int) (tokens, payload int) {
	session := c.Prefix == "session"
	if tokens = c.Input; tokens == 0 {
		if tokens = v.Tokens() + c.Prompt; session {
			tokens += overhead
		}
	}
	tokens = max(tokens, c.Prompt, 0)
	if !session {
		return tokens, tokens
	}
	return tokens, max(tokens-(v.Tokens()-v.PayloadTokens()), min(tokens, c.Prompt))
}

// Edit is a change that one stage makes at one request, and the reason for it. The view and the payload change only
// through edits.
//
// Of the fields that are declared from Target through Warm, each kind of edit uses only those in this table. Edit.Check
// returns an error if another of them is set:
//
//	clear, persist, truncate, tag, wrap   Target New
//	cache_edit                            Target New Carrier
//	server_clear                          Target New Warm
//	server_keep                           Target
//	remove                                Items
//	collapse                              Items Insert Call
//	attach                                Insert
//	summarize                             Lead Insert Keep Tail Call: the new view, in this order
//	call                                  Items Call
//	fail                                  Items Call Refused
//	inferred                              Delta
//	restart                               none
type Edit struct {
	Request int // number of the request, from 1; 0: after the last request
	Stage   string
	Kind    EditKind
	Reason  string
	Trigger string // "auto", "manual", "recorded" or any other text; the event has the same trigger
	Target  Target
	New     *Content       // content that replaces the target; nil: none (payload-only edits)
	Items   []ItemID       // messages that the edit removes, or that its call is about
	Carrier ItemID         // cache_edit: the user message that carries the edit in this and every later request
	Lead    []ItemID       // summarize: items kept in front of Insert
	Keep    []ItemID       // summarize: items kept after Insert
	Insert  []Synthetic    // messages that the edit adds; for collapse, Insert[0] takes the place of the first of Items
	Tail    []Synthetic    // summarize: messages added at the end
	Delta   int            // inferred: change of the context, in tokens
	Call    *Call          // the model call that the edit needs; for fail, the billed part of that call
	Refused *Call          // fail: the call that the API refuses, which is not billed
	Warm    bool           // server_clear: the prompt cache already holds the payload without the block; set by the replay
	Group   int            // edits of one firing have the same group; set by the replay
	Detail  map[string]int // figures that the client records with the event: "pre_tokens", "tokens_saved"

	// View.Apply of package view sets these fields. Joined is the value of View.Joined at that time. Before and After are
	// the tokens of the changed part before and after the edit: in the model view or, for a payload-only edit, in the
	// payload.
	Joined int
	Before int
	After  int
}

// Made returns the messages that the edit adds, in their order.
func (e *Edit) Made() []Synthetic { return slices.Concat(e.Insert, e.Tail) }

// fields names the fields from Target through Warm that edits of this kind use; ok is false where there is no such
// kind.
func (k EditKind) fields() (names string, ok bool) {
	switch k {
	case KindClear, KindPersist, KindTruncate, KindTag, KindWrap:
		return "Target New", true
	case KindCacheEdit:
		return "Target New Carrier", true // New nil: the block has no replacement
	case KindServerClear:
		return "Target New Warm", true // New nil: the block has no replacement
	case KindServerKeep:
		return "Target", true // undoes the payload-only edit of the same stage there
	case KindRemove:
		return "Items", true
	case KindCollapse:
		return "Items Insert Call", true // Insert[0] takes the place of the first item
	case KindAttach:
		return "Insert", true // at the end
	case KindSummarize:
		return "Lead Insert Keep Tail Call", true // the new view, in this order; all else is removed
	case KindCall:
		return "Items Call", true // Items: what the call is about
	case KindFail:
		return "Items Call Refused", true
	case KindInferred:
		return "Delta", true
	case KindRestart:
		return "", true
	}
	return "", false
}

// Check returns an error if the kind of the edit is unknown, or if a field is set that this kind does not use.
func (e *Edit) Check() error {
	used, ok := e.Kind.fields()
	if !ok {
		return fmt.Errorf("unknown kind of edit %q", e.Kind)
	}
	for _, f := range [...]struct {
		name string
		set  bool
	}{
		{"Target", e.Target != Target{}}, {"New", e.New != nil}, {"Items", len(e.Items) > 0}, {"Carrier", e.Carrier != 0},
		{"Lead", len(e.Lead) > 0}, {"Keep", len(e.Keep) > 0}, {"Insert", len(e.Insert) > 0}, {"Tail", len(e.Tail) > 0},
		{"Delta", e.Delta != 0}, {"Call", e.Call != nil}, {"Refused", e.Refused != nil}, {"Warm", e.Warm},
	} {
		if f.set && !slices.Contains(strings.Fields(used), f.name) {
			return fmt.Errorf("%s is set, which an edit of kind %s does not use", f.name, e.Kind)
		}
	}
	return nil
}

// Replace returns an edit of the given kind that puts a content in the place of a block, with the reason.
func Replace(kind EditKind, t Target, with *Content, reason string) Edit {
	return Edit{Kind: kind, Trigger: "auto", Target: t, New: with, Reason: reason}
}
