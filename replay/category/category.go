// Package category sorts what a request sends by what it is: every token of a context belongs to one category.
package category

import (
	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// Name is the name of a category.
type Name string

// The categories.
const (
	System      Name = "system"       // system prompt and tool definitions: inferred, transcripts do not hold them
	Earlier     Name = "earlier"      // history before the start of the file: inferred
	Prompts     Name = "prompts"      // what the user typed
	Notes       Name = "notes"        // messages that the client added: reminders, skills, commands and their output
	Attachments Name = "attachments"  // attachments that are sent as reminders
	Text        Name = "text"         // text of the assistant
	Thinking    Name = "thinking"     // thinking of the assistant
	Calls       Name = "tool_calls"   // calls of tools
	Results     Name = "tool_results" // results of tools
	Images      Name = "images"       // images and documents, those that a tool returned included
	Summaries   Name = "summaries"    // summaries of compactions
	Reinjected  Name = "reinjected"   // what a client sent again after a compaction
	Inserted    Name = "inserted"     // other texts that a policy added
	Unrecorded  Name = "unrecorded"   // recorded context beyond all others, on no line of the file; may be below 0
)

// All returns all categories in their fixed order.
func All() []Name {
	return []Name{System, Earlier, Prompts, Notes, Attachments, Text, Thinking, Calls, Results, Images, Summaries, Reinjected, Inserted, Unrecorded}
}

// Classes sorts the blocks of a conversation.
type Classes struct {
	conv *session.Conversation
}

// NewClasses returns the classes of a conversation.
func NewClasses(conv *session.Conversation) *Classes { return &Classes{conv} }

// Of returns the category of a block of a view, and the tool, the type of an attachment or the class of a message
// that it belongs to.
func (k *Classes) Of(v *view.View, t policy.Target) (c Name, of string) {
	if s := v.Synthetic(t.Item); s != nil {
		switch {
		case s.Summary:
			return Summaries, s.Label
		case s.Attached:
			return Reinjected, s.Label
		}
		return Inserted, s.Label
	}
	msg := v.Message(t.Item)
	bl := v.Raw(t)
	switch {
	case msg.Is(session.Earlier):
		return Earlier, ""
	case msg.Class == session.ClassSummary:
		return Summaries, "recorded"
	case msg.Is(session.Reattached):
		return Reinjected, msg.Attachment
	}
	switch bl.Kind {
	case jsonl.KindToolUse, jsonl.KindServerToolUse:
		return Calls, bl.Name
	case jsonl.KindToolResult:
		if pictures(bl) {
			return Images, k.conv.ToolName(bl.ID)
		}
		return Results, k.conv.ToolName(bl.ID)
	case jsonl.KindThinking, jsonl.KindRedactedThinking:
		return Thinking, ""
	case jsonl.KindImage, jsonl.KindDocument:
		return Images, ""
	case jsonl.KindAttachment:
		return Attachments, msg.Attachment
	}
	switch {
	case msg.Role == session.Assistant:
		return Text, ""
	case msg.Class == session.ClassPrompt || msg.Class == session.ClassToolResult: // text next to results was typed
		return Prompts, ""
	}
	return Notes, msg.Class.String()
}

// pictures reports whether a result holds images and documents alone.
func pictures(bl *session.Block) bool {
	for i := range bl.Parts {
		if k := bl.Parts[i].Kind; k != jsonl.KindImage && k != jsonl.KindDocument {
			return false
		}
	}
	return len(bl.Parts) > 0
}

// Beyond is what a main request holds beyond its messages.
type Beyond struct {
	Tokens   int
	Recorded bool // the request's usage is recorded
}

// Bases is the size of system prompt and tools at each of the main requests: what the first one holds beyond its
// messages, or the first one after the last recorded compaction. There the messages are fewest, and so is the error of
// their weights. After a restart it is no more than the first request holds beyond them. What rounding leaves is in it.
func Bases(conv *session.Conversation, main []Beyond) []int {
	fresh := map[int]bool{}
	for i := range conv.Boundaries {
		fresh[conv.Boundaries[i].Request] = true
	}
	list := make([]int, len(main))
	tokens := 0
	known := false
	for i, r := range main {
		switch {
		case i == 0 || r.Recorded && (fresh[i+1] || !known):
			tokens = r.Tokens
		case conv.RestartedBefore(i + 1): // a new process has sent no more of them than its request had
			tokens = min(tokens, r.Tokens)
		}
		known = known || r.Recorded
		list[i] = tokens
		if d := r.Tokens - tokens; r.Recorded && max(d, -d) <= tokens/roundingShare {
			list[i] = r.Tokens
		}
	}
	return list
}

// roundingShare of system prompt and tools are as many tokens as rounding those of blocks may leave over.
const roundingShare = 2000
