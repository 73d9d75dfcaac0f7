package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// ItemID identifies a message of a view, and never changes. It is the index into Conversation.Messages of a recorded
// message, or a negative number for a message that a policy added (-1 is the first of them).
type ItemID int32

// Name returns the uuid of a recorded message, or synthetic-N for the Nth message that a policy added.
func (id ItemID) Name(conv *session.Conversation) string {
	if id >= 0 {
		return conv.Messages[id].UUID
	}
	return "synthetic-" + strconv.Itoa(int(-id))
}

// Target is the block, or the message, that an edit changes.
type Target struct {
	Item  ItemID
	Block int // index of the block; WholeItem: the whole message
}

// BlockOf returns the Target of a block of a message.
func BlockOf[I ~int | ~int32](item I, block int) Target { return Target{ItemID(item), block} }

// WholeItem is the Target.Block of a whole message.
const WholeItem = -1

// EditKind is the kind of an edit, or of an event without one.
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
	KindServerKeep  EditKind = "server_keep"  // payload only: a block that the server cleared or deleted at the previous request is sent again
	KindTag         EditKind = "tag"          // text is appended to the sent copy of a block; the recorded block stays
	KindWrap        EditKind = "wrap"         // the sent copy of a block is put between two texts, or taken out of them again; the recorded block stays
	KindCall        EditKind = "call"         // a model call of the policy, such as that for the summary of a staged span; the view stays
	KindFail        EditKind = "fail"         // a compaction, or another summary, without a result; the view stays
	KindRestart     EditKind = "restart"      // the client was restarted; what it did not read back is removed by other edits, so this one changes nothing
	KindInferred    EditKind = "inferred"     // recorded track only: a drop of the recorded context that no line explains
)

// Kinds of events that are not edits: a main request that would have had no answer.
const (
	KindRefuse EditKind = "refuse" // the payload exceeds the context window, and the API refuses the request
	KindBlock  EditKind = "block"  // the client itself does not send the request
)

// PayloadOnly reports whether edits of this kind change the payload and not the model view.
func (k EditKind) PayloadOnly() bool {
	return k == KindCacheEdit || k == KindServerClear || k == KindServerKeep
}

// KeepsView reports whether edits of this kind leave the model view as it is.
func (k EditKind) KeepsView() bool {
	return k.PayloadOnly() || k == KindCall || k == KindFail || k == KindRestart
}

// Content is a text that a policy puts in place of a block or a message.
type Content struct {
	Kind    jsonl.Kind // kind of block that it counts as: text, tool_result …
	Stub    bool       // where Ref names an offloaded result: the recorded stub, not the full text of its file
	Partial bool       // a truncation of the original
	Gone    bool       // the block is not sent at all
	Text    string     // the text; "" where Ref or Tokens stands for it
	Length  jsonl.Metrics
	Tokens  int     // where there is no text: its tokens; used where above 0
	Ref     *Target // the recorded block whose text this is; nil: none
	Words   *Target // for a placeholder: the recorded block whose text regret takes as still present; nil: none
}

// TriggerRestart is the trigger of the edits that remove what a restarted client did not read back. No stage makes
// them; a replay makes them under every policy.
const TriggerRestart = "restart"

// StageServer is the stage name of edits that no policy makes: content that the server leaves out by itself.
const StageServer = "server"

// NewContent returns a Content with text and its lengths.
func NewContent(kind jsonl.Kind, text string) Content {
	return Content{Kind: kind, Text: text, Length: jsonl.Measure(text)}
}

// Text returns NewContent of a text block.
func Text(text string) Content { return NewContent(jsonl.KindText, text) }

// Synthetic is a message that a policy adds: a summary, a prompt to continue, an attachment.
type Synthetic struct {
	ID       ItemID // set when the edit is applied
	Role     string // "user" or "assistant"
	Label    string // what it is: "summary", "continue", "file /a/b.go"
	Contents []Content
	Turn     bool // it counts as a user turn for policies that count turns
	Summary  bool // a compaction summary
	Attached bool // sent again after a compaction
}

// Call is a model call that an edit needs, such as that for a summary. In a replay it is a request of its own.
type Call struct {
	Kind    string  // "compaction", "collapse", "session_memory"
	Prompt  int     // tokens of the prompt that asks for the result
	Input   int     // input tokens by the counter of the replay; 0: those of the view and the prompt
	Output  int     // output tokens; 0: those of the summary
	Prefix  string  // "own": a system prompt and tools of its own; "session": the cached prefix of the session
	Retries int     // number of attempts before it that the API refused as too long
	Cut     *Target // with the prefix "session": the first block of the view that the call changes or leaves out; nil: none
	Then    *Call   // a further call that the same edit needs, such as one that verifies the summary
}

// Size returns the tokens of the call's content (input), and of what remains of it once the server has dropped from it
// what it drops from the session's requests (sent). With Prefix "session" both include the overhead. Otherwise they are
// equal.
func (c *Call) Size(v View, overhead int) (input, sent int) {
	session := c.Prefix == "session"
	if input = c.Input; input == 0 {
		if input = v.Tokens() + c.Prompt; session {
			input += overhead
		}
	}
	input = max(input, c.Prompt, 0)
	if !session {
		return input, input
	}
	return input, max(input-(v.Tokens()-v.PayloadTokens()), min(input, c.Prompt))
}

// Edit is what one stage changes at one request, and why. View and payload change only by edits.
//
// Each kind of edit uses some of the fields from Target to Warm; Check returns an error for any other field that is
// set:
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
	Request int // number of its request, from 1; 0: after the last request
	Stage   string
	Kind    EditKind
	Reason  string
	Trigger string // "auto", "manual", "recorded" and so on; any text, which the event repeats
	Target  Target
	New     *Content       // what replaces the target; nil: nothing (payload-only edits)
	Items   []ItemID       // messages that it removes or concerns
	Carrier ItemID         // cache_edit: the user message that carries it in this and every later request
	Lead    []ItemID       // summarize: items kept in front of Insert
	Keep    []ItemID       // summarize: items kept after Insert
	Insert  []Synthetic    // messages that it adds; for collapse, Insert[0] takes the place of the first of Items
	Tail    []Synthetic    // summarize: messages added at the end
	Delta   int            // inferred: change of the context, in tokens
	Call    *Call          // the model call that it needs; for fail, the part of it that is billed
	Refused *Call          // fail: the call that the API refuses, which is not billed
	Warm    bool           // server_clear: the prompt cache holds the payload without the block already; set by the replay
	Group   int            // edits of one firing have the same group; set by the replay
	Detail  map[string]int // figures that the client records of the event: "pre_tokens", "tokens_saved"

	// Set by View.Apply of package view. Joined is View.Joined at that time. Before and After are the tokens of the
	// changed part by the counter of the replay: in the model view or, for a payload-only edit, in the payload.
	Joined int
	Before int
	After  int
}

// Made returns the messages that the edit adds, in their order.
func (e *Edit) Made() []Synthetic { return slices.Concat(e.Insert, e.Tail) }

// fields names the fields from Target to Warm that edits of this kind use; ok is false where there is no such kind.
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

// Check returns an error where the kind of the edit is unknown, or where a field is set that the kind does not use.
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

// Replace returns the edit that puts a content in the place of a block.
func Replace(kind EditKind, t Target, with *Content, reason string) Edit {
	return Edit{Kind: kind, Trigger: "auto", Target: t, New: with, Reason: reason}
}
