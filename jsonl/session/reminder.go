package session

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Clients before rendersAttachments write down the subject of an attachment, and not its words. The rest is by the
// requests of 2.1.119, 2.1.210 and 2.1.260.

// hookFields are those of hooks.
type hookFields struct {
	Type, HookName, HookEvent string
	Content                   json.RawMessage
	BlockingError             struct{ BlockingError, Command string }
}

// reminders are the texts as which an attachment is sent, by its kind.
func reminders(kind, version string, raw []byte) []string {
	wrap := func(text string) string { return reminderHead + text + reminderTail }
	w := OwnWordsOf(listed(kind, raw), version)
	switch kind {
	case "hook_success", "hook_additional_context", "hook_blocking_error":
		var f hookFields
		_ = json.Unmarshal(raw, &f)
		text := strings.Join(texts(f.Content), "\n")
		switch kind {
		case "hook_success":
			return []string{wrap(f.HookName + " hook success: " + text)}
		case "hook_additional_context":
			return []string{wrap(f.HookName + " hook additional context: " + text)}
		}
		return []string{wrap(fmt.Sprintf("%s hook blocking error from command: \"%s\": %s", f.HookName, f.BlockingError.Command, f.BlockingError.BlockingError))}
	case "nested_memory":
		var f struct {
			Path    string
			Content json.RawMessage
		}
		_ = json.Unmarshal(raw, &f)
		return []string{wrap("Contents of " + f.Path + ":\n\n" + strings.Join(texts(f.Content), "\n"))}
	case "file":
		var f struct {
			Filename string
			Content  struct {
				File struct {
					Content   string
					StartLine int
				}
			}
		}
		_ = json.Unmarshal(raw, &f)
		input, _ := json.Marshal(map[string]string{"file_path": f.Filename})
		sent := []string{wrap("Called the Read tool with the following input: " + string(input))}
		if text := f.Content.File.Content; text != "" {
			behind := ""
			if w.Behind > 0 {
				behind = "\n\n" + w.Wrap("") + "\n"
			}
			sent = append(sent, wrap("Result of calling the Read tool:\n"+numbered(text, max(f.Content.File.StartLine, 1))+behind))
		}
		return sent
	case "compact_file_reference", "edited_text_file":
		var f struct{ Filename, Snippet string }
		_ = json.Unmarshal(raw, &f)
		text := w.Wrap("Note: " + f.Filename)
		if f.Snippet != "" {
			text = strings.TrimSuffix(text, reminderTail) + "\n" + f.Snippet + reminderTail
		}
		return []string{text}
	}
	return []string{w.Wrap(attachmentText(raw))}
}

// listed is the kind of an attachment: of a list by whether it names what is there or only what no longer is, of a reminder by
// whether it says all. "": the client writes no words around it.
func listed(kind string, raw []byte) string {
	var f attachmentFields
	if json.Unmarshal(raw, &f) != nil {
		return kind
	}
	f.raw = raw
	switch {
	case kind == "file" && f.text() == "":
		return ""
	case f.ReminderType == "sparse" || kind == "edited_text_file" && f.text() == "" || kind == "plan_mode_exit" && !f.PlanExists:
		return kind + short
	case len(f.Removed)+len(f.RemovedType) > 0 && len(f.AddedLines)+len(f.AddedBlocks)+len(f.AddedNames) == 0:
		return kind + withdrawn
	}
	return kind
}

// WordsAround returns the client's own words around an attachment that are sent and that no line records.
func (conv *Conversation) WordsAround(message, block int) (w OwnWords, err error) {
	m := &conv.Messages[message]
	bl := &m.Blocks[block]
	if bl.Sent.Recorded || bl.Text.UTF16 == 0 {
		return w, nil
	}
	if !hasWords(bl.Type) {
		return w, nil
	}
	raw, err := conv.Raw(message, block)
	if err != nil {
		return w, err
	}
	return OwnWordsOf(listed(bl.Type, raw), m.Version), nil
}

// numbered is a file's text as the Read tool shows it.
func numbered(text string, first int) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strconv.Itoa(first+i) + "\t" + lines[i]
	}
	return strings.Join(lines, "\n")
}
