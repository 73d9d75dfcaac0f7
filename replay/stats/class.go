package stats

import (
	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// Category is a kind of content of a context. Every token of a request belongs to one.
type Category string

// The categories.
const (
	System      Category = "system"       // system prompt and tool definitions: inferred, transcripts do not hold them
	Earlier     Category = "earlier"      // history before the start of the file: inferred
	Prompts     Category = "prompts"      // what the user typed
	Notes       Category = "notes"        // messages that the client added: reminders, skills, commands and their output
	Attachments Category = "attachments"  // attachments that are sent as reminders
	Text        Category = "text"         // text of the assistant
	Thinking    Category = "thinking"     // thinking of the assistant
	Calls       Category = "tool_calls"   // calls of tools
	Results     Category = "tool_results" // results of tools
	Images      Category = "images"       // images and documents, those that a tool returned included
	Summaries   Category = "summaries"    // summaries of compactions
	Reinjected  Category = "reinjected"   // what a client sent again after a compaction
	Inserted    Category = "inserted"     // other texts that a policy added
	Unrecorded  Category = "unrecorded"   // recorded context beyond all others, on no line of the file; may be below 0
)

// Categories returns all categories in their fixed order.
func Categories() []Category {
	return []Category{System, Earlier, Prompts, Notes, Attachments, Text, Thinking, Calls, Results, Images, Summaries, Reinjected, Inserted, Unrecorded}
}

// classify returns the category of a block of a view, and the tool, the type of an attachment or the class of a message
// that it belongs to. again reports messages that a compaction sent again.
func classify(v *view.View, t policy.Target, again func(policy.ItemID) bool) (c Category, of string) {
	if s := v.Synthetic(t.Item); s != nil {
		switch {
		case s.Summary:
			return Summaries, s.Label
		case s.Attached:
			return Reinjected, s.Label
		}
		return Inserted, s.Label
	}
	msg, bl := v.Message(t.Item), v.Raw(t)
	switch {
	case msg.Earlier:
		return Earlier, ""
	case msg.Class == session.ClassSummary:
		return Summaries, "recorded"
	case again(t.Item):
		return Reinjected, msg.Attachment
	}
	switch bl.Kind {
	case jsonl.KindToolUse, jsonl.KindServerToolUse:
		return Calls, bl.Name
	case jsonl.KindToolResult:
		if pictures(bl) {
			return Images, v.Conversation().ToolName(bl.ID)
		}
		return Results, v.Conversation().ToolName(bl.ID)
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
	case msg.Class == session.ClassPrompt || msg.Class == session.ClassToolResult: // text beside results was typed
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
