package session

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
)

// unsent are the types of attachments that the client never sends.
var unsent = jsonl.Set(`
	command_permissions hook_system_message hook_cancelled hook_non_blocking_error goal_status prompt_snapshot
	already_read_file edited_image_file dynamic_skill
`)

type attachment struct {
	kind   string
	prompt bool // a typed prompt that was queued
	length jsonl.Metrics
	odd    bool // of an unknown kind, with text in an unknown place
}

// attachmentFields are the fields of all types whose content is sent.
type attachmentFields struct {
	Type        string          `json:"type"`
	CommandMode string          `json:"commandMode"`
	Prompt      json.RawMessage `json:"prompt"`
	Text        json.RawMessage `json:"text"`
	Snippet     json.RawMessage `json:"snippet"`
	Content     json.RawMessage `json:"content"`
	AddedLines  []string        `json:"addedLines"`
	AddedBlocks []string        `json:"addedBlocks"`
	AddedNames  []string        `json:"addedNames"`
	Removed     []string        `json:"removedNames"`
	RemovedType []string        `json:"removedTypes"`
	Files       json.RawMessage `json:"files"`

	ReminderType string `json:"reminderType"`
	PlanExists   bool   `json:"planExists"`

	raw []byte
}

// readAttachment reads what a line of a client of some version attaches; version is "" for clients of other formats.
func readAttachment(raw []byte, version string) attachment {
	var f attachmentFields
	if json.Unmarshal(raw, &f) != nil {
		// A field has an unexpected type: use the attachment type alone.
		var t struct {
			Type string `json:"type"`
		}
		_ = json.Unmarshal(raw, &t)
		f = attachmentFields{Type: t.Type, Content: raw}
	}
	a := attachment{kind: f.Type, prompt: f.Type == typeQueued && (f.CommandMode == "" || f.CommandMode == "prompt")}
	if unsent[f.Type] {
		return a
	}
	f.raw = raw
	a.odd = f.odd()
	text := f.text()
	a.length = jsonl.Measure(text)
	w := OwnWordsOf(listed(f.Type, raw), version)
	switch n := counted[f.Type]; {
	case n > 0:
		a.length = a.length.Add(jsonl.Metrics{UTF16: n, Bytes: n, JSON: n})
	case version != "" && (text != "" || w.Before+w.Behind > 0 || f.Type == "file"):
		a.length = w.sentLength(reminders(f.Type, version, raw))
	case a.prompt:
		a.length = queuedLength(text, version)
	}
	return a
}

// attachmentText is the recorded text of an attachment, without the words around it.
func attachmentText(raw []byte) string {
	var f attachmentFields
	if json.Unmarshal(raw, &f) != nil {
		return string(raw)
	}
	f.raw = raw
	return f.text()
}

func (f *attachmentFields) text() string {
	var parts []string
	switch {
	case f.Type == "task_reminder" || f.Type == "todo_reminder":
		return f.tasks()
	case f.Type == "diagnostics":
		return f.diagnostics()
	case f.Type == "plan_mode_exit" && !f.PlanExists:
		return ""
	case textPlaces[f.Type] != "":
		return strings.Join(placedTexts(f.raw, textPlaces[f.Type]), "\n")
	default:
		for _, r := range []json.RawMessage{f.Prompt, f.Text, f.Snippet, f.Content} {
			parts = append(parts, texts(r)...)
		}
		parts = slices.Concat(parts, f.AddedLines, f.AddedBlocks)
		if len(f.AddedLines)+len(f.AddedBlocks) == 0 {
			parts = append(parts, f.AddedNames...)
		}
		if len(parts) == 0 {
			parts = slices.Concat(f.Removed, f.RemovedType)
		}
		if len(parts) == 0 && f.unknown() {
			parts = textsAnywhere(f.raw)
		}
	}
	return strings.Join(parts, "\n")
}

// tasks is the list of a reminder as the client sends it. (cli.js of 2.0.76 to 2.1.112.)
func (f *attachmentFields) tasks() string {
	var list []struct{ ID, Status, Subject, Content string }
	if json.Unmarshal(f.Content, &list) != nil || len(list) == 0 {
		return strings.Join(texts(f.Content), "\n")
	}
	lines := make([]string, len(list))
	if f.Type == "task_reminder" {
		for i, t := range list {
			lines[i] = "#" + t.ID + ". [" + t.Status + "] " + t.Subject
		}
		return "\n\nHere are the existing tasks:\n\n" + strings.Join(lines, "\n")
	}
	for i, t := range list {
		lines[i] = strconv.Itoa(i+1) + ". [" + t.Status + "] " + t.Content
	}
	return "\n\nHere are the existing contents of your todo list:\n\n[" + strings.Join(lines, "\n") + "]"
}

// mostDiagnostics is the length at which the client cuts its list of diagnostics, characters.
const mostDiagnostics = 4000

// diagnostics is the list of new diagnostics as the client sends it. (cli.js of 2.1.112.)
func (f *attachmentFields) diagnostics() string {
	var files []struct {
		URI         string
		Diagnostics []struct {
			Message, Severity, Source string
			Code                      any
			Range                     struct{ Start struct{ Line, Character int } }
		}
	}
	if json.Unmarshal(f.Files, &files) != nil {
		return string(f.Files)
	}
	marks := map[string]string{"Error": "✘", "Warning": "⚠", "Info": "ℹ", "Hint": "★"}
	lists := make([]string, len(files))
	for i := range files {
		uri := files[i].URI
		lines := []string{uri[strings.LastIndexByte(uri, '/')+1:] + ":"}
		for _, d := range files[i].Diagnostics {
			line := fmt.Sprintf("  %s [Line %d:%d] %s", cmp.Or(marks[d.Severity], "●"), d.Range.Start.Line+1, d.Range.Start.Character+1, d.Message)
			if d.Code != nil && d.Code != "" {
				line += fmt.Sprintf(" [%v]", d.Code)
			}
			if d.Source != "" {
				line += " (" + d.Source + ")"
			}
			lines = append(lines, line)
		}
		lists[i] = strings.Join(lines, "\n")
	}
	text := []rune(strings.Join(lists, "\n\n"))
	if len(text) > mostDiagnostics {
		const cut = "…[truncated]"
		text = append(text[:mostDiagnostics-len([]rune(cut))], []rune(cut)...)
	}
	return "<new-diagnostics>The following new diagnostic issues were detected:\n\n" + string(text) + "</new-diagnostics>"
}

// texts lists the strings of a JSON value: a string itself, those in an array, and text, content or file in an
// object.
func texts(raw json.RawMessage) []string {
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return nil
	}
	return textsOf(value)
}

func textsOf(value any) (list []string) {
	switch v := value.(type) {
	case string:
		if v != "" {
			list = append(list, v)
		}
	case []any:
		for _, element := range v {
			list = append(list, textsOf(element)...)
		}
	case map[string]any:
		list = slices.Concat(textsOf(v["text"]), textsOf(v["content"]), textsOf(v["file"]))
	}
	return list
}
