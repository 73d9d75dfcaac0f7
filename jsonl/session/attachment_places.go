package session

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
)

// textPlaces is where attachments of some kinds have their sent content, by readers of clients up to 2.1.260: members,
// by a path each.
var textPlaces = map[string]string{
	"teammate_mailbox":       "messages.text messages.content messages.message",
	"invoked_skills":         "skills.content",
	"relevant_memories":      "memories.content",
	"plan_file_reference":    "planContent",
	"plan_mode":              "planFilePath",
	"plan_mode_exit":         "planFilePath",
	"date_change":            "newDate",
	"opened_file_in_ide":     "filename",
	"mcp_resource":           "content.contents.text",
	"task_status":            "description deltaSummary",
	"async_hook_response":    "response.systemMessage response.hookSpecificOutput.additionalContext response",
	"hook_blocking_error":    "blockingError.command blockingError.blockingError",
	"read_truncation_notice": "banner",
}

// placedTexts lists the texts at some places, in the order of the places. Members of lists are taken one by one.
func placedTexts(raw []byte, places string) (list []string) {
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return nil
	}
	for _, path := range strings.Fields(places) {
		list = append(list, at(value, strings.Split(path, "."))...)
	}
	return list
}

func at(value any, path []string) (list []string) {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			list = append(list, at(element, path)...)
		}
	case map[string]any:
		if len(path) > 0 {
			return at(v[path[0]], path[1:])
		}
	case string:
		if len(path) == 0 && v != "" {
			list = append(list, v)
		}
	}
	return list
}

// textless are other kinds whose members have no text that is sent, or that are counted by what is around it alone.
var textless = jsonl.Set(`
	remote_session_change deferred_tools_record hook_success hook_additional_context directory diagnostics nested_memory
	selected_lines_in_ide
`)

// unknown reports whether nothing is known of an attachment's kind.
func (f *attachmentFields) unknown() bool {
	return !hasWords(f.Type) && !textless[f.Type] && !unsent[f.Type] && textPlaces[f.Type] == ""
}

// odd reports whether an attachment of an unknown kind has text in an unknown place.
func (f *attachmentFields) odd() bool {
	if !f.unknown() || len(textsAnywhere(f.raw)) == 0 {
		return false
	}
	for _, r := range []json.RawMessage{f.Prompt, f.Text, f.Snippet, f.Content} {
		if len(texts(r)) > 0 {
			return false
		}
	}
	return len(f.AddedLines)+len(f.AddedBlocks)+len(f.AddedNames) == 0
}

// textsAnywhere lists the strings of an object that are texts by their look: with a space, and not its type.
func textsAnywhere(raw []byte) (list []string) {
	var members map[string]any
	if json.Unmarshal(raw, &members) != nil {
		return nil
	}
	delete(members, "type")
	var walk func(value any)
	walk = func(value any) {
		switch v := value.(type) {
		case string:
			if strings.Contains(v, " ") {
				list = append(list, v)
			}
		case []any:
			for _, element := range v {
				walk(element)
			}
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				walk(v[name])
			}
		}
	}
	walk(members)
	return list
}
