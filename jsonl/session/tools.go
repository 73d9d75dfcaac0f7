package session

import (
	"cmp"
	"encoding/json"
	"strings"
)

// Alike returns the name of the Claude Code tool that does the same as a tool of the conversation's client. Policies
// know tools only by their names in Claude Code. A tool without a counterpart keeps its own name.
func (conv *Conversation) Alike(tool string) string { return cmp.Or(conv.alike[tool], tool) }

// members are the names that clients give to what Claude Code calls by the first name of a row, in the inputs of tools
// on files and of those that run commands.
var members = []string{
	"file_path filePath path absolute_path",
	"old_string oldString old_str oldText",
	"new_string newString new_str newText",
	"replace_all replaceAll",
	"content file_text",
	"command cmd",
}

// AlikeInput returns the JSON input of a tool call in the form of Claude Code: values that the tool has under other
// names are also there under the names that Claude Code uses, such as file_path and command. An input that is only a
// patch, and not a JSON object, becomes an object. AlikeInput returns text unchanged if the tool has no counterpart in
// Claude Code, or if text is neither an object nor a patch.
func (conv *Conversation) AlikeInput(tool string, text []byte) []byte {
	if conv.alike[tool] == "" {
		return text
	}
	var in map[string]json.RawMessage
	if whole := ""; json.Unmarshal(text, &whole) == nil && patched(whole) != "" { // a patch alone
		in = map[string]json.RawMessage{"input": text}
	} else if json.Unmarshal(text, &in) != nil {
		return text
	}
	for _, row := range members {
		names := strings.Fields(row)
		for _, name := range names[1:] {
			if in[names[0]] == nil && in[name] != nil {
				in[names[0]] = in[name]
			}
		}
	}
	var words []string
	if json.Unmarshal(in["command"], &words) == nil && len(words) > 0 { // a list of words
		if len(words) == 3 && (words[1] == "-c" || words[1] == "-lc") { // a shell with its script
			words = words[2:]
		}
		in["command"] = quoted(strings.Join(words, " "))
	}
	var patch string
	if (json.Unmarshal(in["input"], &patch) == nil || json.Unmarshal(in["patchText"], &patch) == nil) && in["file_path"] == nil {
		if path := patched(patch); path != "" {
			in["file_path"] = quoted(path)
		}
	}
	made, err := json.Marshal(in)
	if err != nil {
		return text
	}
	return made
}

// patched is the first file of a patch as apply_patch takes it.
func patched(patch string) string {
	for line := range strings.Lines(patch) {
		for _, head := range [...]string{"*** Update File: ", "*** Add File: ", "*** Delete File: "} {
			if path, ok := strings.CutPrefix(line, head); ok {
				return strings.TrimSpace(path)
			}
		}
	}
	return ""
}

func quoted(s string) json.RawMessage {
	b, _ := json.Marshal(s) // a string always can be
	return b
}
