package opencode

import (
	"encoding/json"
	"slices"
	"strings"
)

// Model is the model a request goes to.
type Model struct {
	ProviderID      string
	ID              string
	Limit           Limit
	ToolResultMedia MediaSupport
}

// MediaSupport says which media a provider takes inside a tool result.
type MediaSupport int

const (
	AllMedia   MediaSupport = iota // Anthropic, OpenAI
	ImagesOnly                     // images, but no documents
	NoMedia
)

// ModelMessage is one message as the AI SDK hands it to a provider (section 6). Its JSON is written as JavaScript
// writes it, because sizes are taken from it.
type ModelMessage struct {
	Role    string // user, assistant or tool
	Content []Content
}

// Content is one item of a model message; Type says which fields count: text, reasoning, file, tool-call,
// tool-result, and media inside a tool result.
type Content struct {
	Type            string
	Text            string
	ToolCallID      string
	ToolName        string
	Input           json.RawMessage
	Output          ToolOutput
	MediaType       string
	Filename        *string
	Data            string
	ProviderOptions json.RawMessage
}

// ToolOutput is the output of a tool result. Type is text, error-text, or content, whose items are Items.
type ToolOutput struct {
	Type  string
	Value string
	Items []Content
}

// ToModelMessages converts visible messages to what the model is sent. A cleared output appears as ClearedText,
// without its attachments; its call stays. OpenCode 1.1.36 to 1.18.34: section 6.
func (v Version) ToModelMessages(messages []Message, model Model) []ModelMessage {
	var out []ModelMessage
	for i := range messages {
		m := &messages[i]
		switch {
		case len(m.Parts) == 0:
		case m.Info.Role == RoleUser:
			if content := v.userContent(m); len(content) > 0 {
				out = append(out, ModelMessage{Role: RoleUser, Content: content})
			}
		case m.Info.Role == RoleAssistant && answers(m):
			c := assistantConverter{version: v, model: model}
			c.foreign = model.ProviderID != m.Info.ProviderID || model.ID != m.Info.ModelID
			c.signed = slices.ContainsFunc(m.Parts, signedReasoning)
			out = append(out, c.convert(m)...)
		}
	}
	return out
}

// answers reports whether an assistant message is sent: one with an error is not, unless the user aborted it after
// something was said or done.
func answers(m *Message) bool {
	if m.Info.Error == nil {
		return true
	}
	return m.Info.Error.Name == AbortedError && slices.ContainsFunc(m.Parts, func(p Part) bool {
		return p.Type != PartStepStart && p.Type != PartReasoning
	})
}

func signedReasoning(p Part) bool {
	return p.Type == PartReasoning && !isNull(field(p.Metadata, "anthropic", "signature"))
}

// isMedia reports whether a file is an image or a PDF document.
func isMedia(mime string) bool {
	return strings.HasPrefix(mime, "image/") || mime == "application/pdf"
}

func (v Version) userContent(m *Message) []Content {
	var content []Content
	for _, p := range m.Parts {
		switch p.Type {
		case PartText:
			if !p.Ignored && (p.Text != "" || !v.DropsEmptyUserText) {
				content = append(content, textContent(p.Text))
			}
		case PartFile:
			if p.MIME != "text/plain" && p.MIME != "application/x-directory" {
				content = append(content, fileContent(p))
			}
		case PartCompaction:
			content = append(content, textContent(CompactionPrompt))
		case PartSubtask:
			content = append(content, textContent(SubtaskPrompt))
		}
	}
	return content
}

func textContent(text string) Content { return Content{Type: PartText, Text: text} }

func fileContent(p Part) Content {
	return Content{Type: PartFile, MediaType: p.MIME, Filename: p.Filename, Data: p.URL}
}

// assistantConverter turns one assistant message into blocks: what lies between two step starts is an assistant
// message and, if it holds tool calls, a tool message with their results.
type assistantConverter struct {
	version Version
	model   Model
	foreign bool // written by another model
	signed  bool // holds signed reasoning

	out     []ModelMessage
	said    []Content
	results []Content
	moved   []Content // media for a user message after this one
}

func (c *assistantConverter) convert(m *Message) []ModelMessage {
	for _, p := range m.Parts {
		switch p.Type {
		case PartStepStart:
			c.flush()
		case PartText:
			text := p.Text
			if text == "" && c.signed && c.version.SpacesSignedText {
				text = " "
			}
			c.say(Content{Type: PartText, Text: text, ProviderOptions: c.metadata(p)})
		case PartReasoning:
			switch {
			case !c.foreign || !c.version.ReasoningAsText:
				c.say(Content{Type: PartReasoning, Text: p.Text, ProviderOptions: c.metadata(p)})
			case jsTrim(p.Text) != "":
				c.say(textContent(p.Text))
			}
		case PartTool:
			c.tool(p)
		}
	}
	c.flush()
	if len(c.out) > 0 && len(c.moved) > 0 {
		content := append([]Content{textContent(AttachedMediaText)}, c.moved...)
		c.out = append(c.out, ModelMessage{Role: RoleUser, Content: content})
	}
	return c.out
}

func (c *assistantConverter) say(content Content) { c.said = append(c.said, content) }

// metadata is what goes to the provider with a part: signatures and the like, never those of another model.
func (c *assistantConverter) metadata(p Part) json.RawMessage {
	if c.foreign || isNull(p.Metadata) {
		return nil
	}
	return p.Metadata
}

func (c *assistantConverter) flush() {
	if len(c.said) == 0 {
		return
	}
	c.out = append(c.out, ModelMessage{Role: RoleAssistant, Content: c.said})
	if len(c.results) > 0 {
		c.out = append(c.out, ModelMessage{Role: "tool", Content: c.results})
	}
	c.said, c.results = nil, nil
}

func (c *assistantConverter) tool(p Part) {
	var output ToolOutput
	switch p.State.Status {
	case StatusCompleted:
		output = c.completed(p)
	case StatusError:
		output = ToolOutput{Type: "error-text", Value: p.State.Error}
		if c.version.ReplaysInterrupted && isTrue(field(p.State.Metadata, "interrupted")) {
			var stored string
			if raw := field(p.State.Metadata, "output"); !isNull(raw) && json.Unmarshal(raw, &stored) == nil {
				output = ToolOutput{Type: PartText, Value: stored}
			}
		}
	case StatusPending, StatusRunning:
		output = ToolOutput{Type: "error-text", Value: InterruptedText}
	default:
		return
	}
	c.say(Content{
		Type: "tool-call", ToolCallID: p.CallID, ToolName: p.Tool,
		Input: p.State.Input, ProviderOptions: c.metadata(p),
	})
	c.results = append(c.results, Content{
		Type: "tool-result", ToolCallID: p.CallID, ToolName: p.Tool,
		Output: output, ProviderOptions: c.metadata(p),
	})
}

func (c *assistantConverter) completed(p Part) ToolOutput {
	text, attachments := p.State.Output, p.State.Attachments
	if p.State.Time.Compacted != 0 {
		text, attachments = ClearedText, nil
	}
	var inside []Part
	for _, a := range attachments {
		if c.version.MovesMedia && isMedia(a.MIME) && !c.model.takes(a.MIME) {
			c.moved = append(c.moved, fileContent(a))
		} else {
			inside = append(inside, a)
		}
	}
	if len(inside) == 0 {
		return ToolOutput{Type: PartText, Value: text}
	}
	output := ToolOutput{Type: "content"}
	if text != "" || !c.version.OmitsEmptyToolText {
		output.Items = append(output.Items, textContent(text))
	}
	for _, a := range inside {
		if _, data, found := strings.Cut(a.URL, ","); found && strings.HasPrefix(a.URL, "data:") {
			output.Items = append(output.Items, Content{Type: "media", MediaType: a.MIME, Data: data})
		}
	}
	return output
}

func (m Model) takes(mime string) bool {
	return m.ToolResultMedia == AllMedia || m.ToolResultMedia == ImagesOnly && strings.HasPrefix(mime, "image/")
}
