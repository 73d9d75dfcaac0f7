package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// ItemID names a message of a view. It never changes: the index into Conversation.Messages of a recorded message, or a
// negative number for a message that a policy made (-1 is the first of them).
type ItemID int32

// Name is an item's name in output: the recorded uuid, or synthetic-N for a message that a policy made.
func (id ItemID) Name(conv *session.Conversation) string {
	if id >= 0 {
		return conv.Messages[id].UUID
	}
	return "synthetic-" + strconv.Itoa(int(-id))
}

// Target is the place an edit changes.
type Target struct {
	Item  ItemID
	Block int // index of the block; WholeItem for the whole message
}

// BlockOf is a block of a message.
func BlockOf[I ~int | ~int32](item I, block int) Target { return Target{ItemID(item), block} }

// WholeItem is the Block of a target that is a whole message.
const WholeItem = -1

// EditKind is what an edit does.
type EditKind string

// The kinds of edits.
const (
	KindClear       EditKind = "clear"        // a tool_result's content becomes a placeholder
	KindPersist     EditKind = "persist"      // a tool_result's content is offloaded to a file, a stub stays
	KindTruncate    EditKind = "truncate"     // content is cut
	KindRemove      EditKind = "remove"       // messages leave the view
	KindCollapse    EditKind = "collapse"     // a span becomes one placeholder message
	KindSummarize   EditKind = "summarize"    // the view is rebuilt: summary, what is kept, what is attached
	KindAttach      EditKind = "attach"       // messages are added
	KindCacheEdit   EditKind = "cache_edit"   // payload only: the server drops a block from its cached view
	KindServerClear EditKind = "server_clear" // payload only: server-side context editing
	KindServerKeep  EditKind = "server_keep"  // payload only: a block the stage cleared or deleted on the server at the last request, and does not now
	KindTag         EditKind = "tag"          // text is appended to the copy sent, raw stays
	KindWrap        EditKind = "wrap"         // a text stands between others in the copy sent, or by itself again; raw stays
	KindCall        EditKind = "call"         // a model call of the policy's own, such as the summary of a staged span; the view stays
	KindFail        EditKind = "fail"         // a compaction, or another summary, that came to nothing; the view stays
	KindRestart     EditKind = "restart"      // the client was started again; what it did not read back leaves by edits of its own, so this one changes nothing
	KindInferred    EditKind = "inferred"     // recorded track only: a drop of the recorded total that no line explains
)

// The kinds of events that are no edits: a main request that would have had no answer.
const (
	KindRefuse EditKind = "refuse" // the payload exceeds the window: the API refuses it
	KindBlock  EditKind = "block"  // the client itself does not send it
)

// PayloadOnly reports whether edits of this kind change the payload and not the model view.
func (k EditKind) PayloadOnly() bool {
	return k == KindCacheEdit || k == KindServerClear || k == KindServerKeep
}

// KeepsView reports whether edits of this kind leave the model view alone.
func (k EditKind) KeepsView() bool {
	return k.PayloadOnly() || k == KindCall || k == KindFail || k == KindRestart
}

// Content is a text a policy puts in place of a block or of a message.
type Content struct {
	Kind    jsonl.Kind // what it counts as: text, tool_result …
	Stub    bool       // with Ref: the recorded stub itself, not what was offloaded and read back
	Partial bool       // a truncation of the original, not a replacement of it
	Gone    bool       // nothing takes the block's place: it is not sent
	Text    string     // the text itself; "" where Ref names it or Tokens replaces it
	Length  jsonl.Metrics
	Tokens  int     // a fixed weight where there is no text (fixed: N); used when over 0
	Ref     *Target // the recorded block whose text this is, or nil
	Words   *Target // of a placeholder: the recorded block whose words count as kept by it, or nil
}

// TriggerRestart is the trigger of the edits for what a client did not read back as it was started again. They are no
// act of a policy and are made under every policy.
const TriggerRestart = "restart"

// StageServer is the stage name of edits that no policy makes: what the server leaves out by itself.
const StageServer = "server"

// NewContent measures text.
func NewContent(kind jsonl.Kind, text string) Content {
	return Content{Kind: kind, Text: text, Length: jsonl.Measure(text)}
}

// Text is NewContent of a text block.
func Text(text string) Content { return NewContent(jsonl.KindText, text) }

// Synthetic is a message a policy adds: a summary, a continue prompt, an attachment. Its id is given by the view when
// the edit is applied, in order.
type Synthetic struct {
	ID       ItemID // set by View.Apply
	Role     string // "user" or "assistant"
	Label    string // what it is, for people: "summary", "continue", "file /a/b.go"
	Contents []Content
	Turn     bool // counts as a user turn for policies that count turns
	Summary  bool // a compaction summary
	Attached bool // re-injected after a compaction
}

// Call is the model call an edit needed (a compaction, a collapse, upkeep of session memory). It becomes a request of
// its own.
type Call struct {
	Kind    string  // "compaction", "collapse", "session_memory"
	Prompt  int     // tokens of the prompt that asks for it
	Input   int     // tokens sent, by the report's counter; 0: the view and the prompt
	Output  int     // tokens billed as output; 0: the summary's
	Prefix  string  // "own": its own system prompt and tools; "session": the session's warm prefix
	Retries int     // prompt-too-long retries before it went through
	Cut     *Target // with the session's prefix: the first block of the view that it does not send unchanged; nil: it sends all
	Then    *Call   // a further call that the same edit needed, such as one that verifies the summary
}

// Size is the size of the call in tokens: its content, and the part of it that is sent. With the session's prefix it
// begins with the overhead of the session, and the server drops from it what it drops from the session's requests.
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

// Edit is what one stage did to one thing at one request, and why. Edits are the only way anything changes: view =
// raw + edits.
//
// Each kind uses some of the fields from Target to Warm, as fields lists them; Check finds the others.
type Edit struct {
	Request int // n of the request it belongs to (1-based); 0: after the last request
	Stage   string
	Kind    EditKind
	Reason  string
	Trigger string // "auto", "manual", "recorded" …; free, for the event
	Target  Target
	New     *Content
	Items   []ItemID
	Carrier ItemID   // the user message in which the payload first carries a cache_edit, and does from then on
	Lead    []ItemID // kept before what is inserted
	Keep    []ItemID // kept behind it
	Insert  []Synthetic
	Tail    []Synthetic
	Delta   int            // tokens, inferred edits only
	Call    *Call          // summarize, collapse and call: the model call behind it; fail: the part of it that is billed
	Refused *Call          // fail: the call that is refused, which is not billed
	Warm    bool           // server_clear: the cache holds the payload without the block already; set by the engine
	Group   int            // edits of one firing share a group; set by the engine
	Detail  map[string]int // figures the client records of the event: "pre_tokens", "tokens_saved"

	// Set by View.Apply: token figures by the report's counter, and how many messages of the conversation had been
	// offered when the edit was made.
	Joined int
	Before int // tokens of what it changed, before: in the payload, of a payload-only edit
	After  int // and after
}

// Made are the messages that the edit inserts, in their order.
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

// Check returns an error where the edit's kind is unknown, or a field is set that the kind does not use.
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

// Replace is the edit of a stage that puts a content in the place of a block.
func Replace(kind EditKind, t Target, with *Content, reason string) Edit {
	return Edit{Kind: kind, Trigger: "auto", Target: t, New: with, Reason: reason}
}
