package session

import (
	"encoding/json"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
)

// Lengths of the fixed text the client writes around an attachment when it
// sends it, in characters. They are inferred from what compactions counted
// (clients 2.1.119-2.1.139: an empty task_reminder counts 129 tokens, an
// edited_text_file about 101 more than its snippet); 2.1.284 and later record
// the rendered text itself, and then it is used.
const (
	taskReminderChars   = 516
	editedFileChars     = 404
	fileReferenceChars  = 160
	shortReminderChars  = 240
	fileAttachmentChars = 200
)

// unsent reports whether the client never sends attachments of this type.
func unsent(kind string) bool {
	switch kind {
	case "command_permissions", "hook_system_message", "hook_cancelled", "hook_non_blocking_error", "goal_status":
		return true
	}
	return false
}

type attachment struct {
	kind   string
	prompt bool // a typed prompt that was queued
	length jsonl.Metrics
}

// attachmentFields are the fields of all types whose content is sent.
type attachmentFields struct {
	Type        string            `json:"type"`
	CommandMode string            `json:"commandMode"`
	Prompt      json.RawMessage   `json:"prompt"`
	Text        json.RawMessage   `json:"text"`
	Snippet     json.RawMessage   `json:"snippet"`
	Content     json.RawMessage   `json:"content"`
	AddedLines  []string          `json:"addedLines"`
	AddedBlocks []string          `json:"addedBlocks"`
	AddedNames  []string          `json:"addedNames"`
	Files       json.RawMessage   `json:"files"`
	Filename    string            `json:"filename"`
	Rendered    []json.RawMessage `json:"rendered"`
}

func readAttachment(raw []byte) attachment {
	var f attachmentFields
	if json.Unmarshal(raw, &f) != nil {
		// A field has an unexpected type: use the attachment type alone.
		var t struct {
			Type string `json:"type"`
		}
		_ = json.Unmarshal(raw, &t)
		f = attachmentFields{Type: t.Type, Content: raw}
	}
	a := attachment{kind: f.Type, prompt: f.Type == "queued_command" && (f.CommandMode == "" || f.CommandMode == "prompt")}
	if unsent(f.Type) {
		return a
	}
	extra := 0
	if len(f.Rendered) == 0 {
		switch f.Type {
		case "task_reminder", "todo_reminder":
			extra = taskReminderChars
		case "edited_text_file":
			extra = editedFileChars
		case "compact_file_reference", "opened_file_in_ide":
			extra = fileReferenceChars
		case "file", "nested_memory":
			extra = fileAttachmentChars
		case "auto_mode", "auto_mode_exit", "plan_mode", "plan_mode_exit", "date_change", "ultra_effort_enter", "bash_output_audience_note":
			extra = shortReminderChars
		}
	}
	a.length = jsonl.Measure(f.text()).Add(jsonl.Metrics{UTF16: extra, Bytes: extra, JSON: extra})
	return a
}

// attachmentText is the recorded text of an attachment, without the fixed text
// that the client adds.
func attachmentText(raw []byte) string {
	var f attachmentFields
	if json.Unmarshal(raw, &f) != nil {
		return string(raw)
	}
	return f.text()
}

func (f *attachmentFields) text() string {
	var parts []string
	for _, r := range f.Rendered {
		parts = append(parts, texts(r)...)
	}
	if len(parts) == 0 {
		switch f.Type {
		case "task_reminder", "todo_reminder", "diagnostics":
			for _, r := range []json.RawMessage{f.Content, f.Files} {
				if len(r) > 0 && string(r) != "[]" {
					parts = append(parts, string(r))
				}
			}
		default:
			for _, r := range []json.RawMessage{f.Prompt, f.Text, f.Snippet, f.Content} {
				parts = append(parts, texts(r)...)
			}
			parts = append(parts, f.AddedLines...)
			parts = append(parts, f.AddedBlocks...)
			if len(f.AddedLines) == 0 && len(f.AddedBlocks) == 0 {
				parts = append(parts, f.AddedNames...)
			}
		}
	}
	return strings.Join(parts, "\n")
}

// texts lists the strings of a JSON value: a string itself, those in an array,
// and text, content or file in an object.
func texts(raw json.RawMessage) []string {
	if len(raw) == 0 {
		return nil
	}
	switch raw[0] {
	case '"':
		var s string
		if json.Unmarshal(raw, &s) == nil && s != "" {
			return []string{s}
		}
	case '[':
		var list []json.RawMessage
		var out []string
		if json.Unmarshal(raw, &list) == nil {
			for _, r := range list {
				out = append(out, texts(r)...)
			}
		}
		return out
	case '{':
		var o struct {
			Text    json.RawMessage `json:"text"`
			Content json.RawMessage `json:"content"`
			File    json.RawMessage `json:"file"`
		}
		if json.Unmarshal(raw, &o) == nil {
			return append(append(texts(o.Text), texts(o.Content)...), texts(o.File)...)
		}
	}
	return nil
}
