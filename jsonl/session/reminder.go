package session

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Clients before rendersAttachments write down what an attachment is of, and not its words. What follows is by the
// requests of 2.1.19, 2.1.37, 2.1.76, 2.1.119, 2.1.210 and 2.1.260, and by cli.js of 2.1.112 where it says so.

// sayings are the lengths of the client's own words before and behind what an attachment is of, in characters, without
// the tags: "Available agent types for the Agent tool" is no part of a session.
var sayings = map[string]struct{ before, behind int }{
	"skill_listing": {65, 0}, "agent_listing_delta": {41, 122}, "mcp_instructions_delta": {101, 0}, "deferred_tools_delta": {150, 0},
	"compact_file_reference": {0, 126}, "plan_mode_exit": {0, 130}, "invoked_skills": {86, 0},
}

// hookFields are those of hooks.
type hookFields struct {
	Type, HookName, HookEvent string
	Content                   json.RawMessage
	BlockingError             struct{ BlockingError, Command string }
}

// reminders are the texts as which an attachment is sent, by its kind.
func reminders(kind string, raw []byte) []string {
	wrap := func(text string) string { return reminderHead + text + reminderTail }
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
		if json.Unmarshal(raw, &f) == nil && f.Content.File.Content != "" {
			input, _ := json.Marshal(map[string]string{"file_path": f.Filename})
			return []string{
				wrap("Called the Read tool with the following input: " + string(input)),
				wrap("Result of calling the Read tool:\n" + numbered(f.Content.File.Content, max(f.Content.File.StartLine, 1))),
			}
		}
	case "compact_file_reference":
		var f struct{ Filename string }
		_ = json.Unmarshal(raw, &f)
		return []string{wrap("Note: " + f.Filename + " " + own(kind, sayings[kind].behind))}
	}
	text, own1, own2 := attachmentText(raw), "", ""
	if s := sayings[kind]; s.before > 0 {
		own1 = own(kind, s.before) + "\n"
	}
	if s := sayings[kind]; s.behind > 0 {
		own2 = "\n" + own(kind, s.behind)
	}
	if text == "" {
		text = own(kind, fixedText[kind])
	}
	return []string{wrap(own1 + text + own2)}
}

// own stands for words of the client that are on no line.
func own(kind string, n int) string {
	return fmt.Sprintf("[%s: about %d characters of the client's own, on no line of the session]", kind, n)
}

// numbered is a file's text as the Read tool shows it.
func numbered(text string, first int) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strconv.Itoa(first+i) + "\t" + lines[i]
	}
	return strings.Join(lines, "\n")
}
