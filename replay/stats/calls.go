package stats

import (
	"cmp"
	"encoding/json"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/jsonl/session"
)

// input is what the inputs of tools have in common.
type input struct {
	session.FileInput
	Folder      string `json:"path"` // where a search looks
	Pattern     string `json:"pattern"`
	Command     string `json:"command"`
	Query       string `json:"query"`
	URL         string `json:"url"`
	Description string `json:"description"`
	Prompt      string `json:"prompt"`
	Agent       string `json:"subagent_type"`
	Skill       string `json:"skill"`
}

// maxTarget is the longest target of a call, in characters.
const maxTarget = 120

// target says in one line what a call is about.
func (in *input) target(folder string) string {
	if f := in.Path(); f != "" {
		return shortened(filePath(folder, f))
	}
	return shortened(cmp.Or(in.Command, in.Pattern, in.Query, in.URL, in.Description, in.Folder, in.Skill, in.Prompt))
}

// shortened is the first line of a text, of at most maxTarget characters.
func shortened(s string) string {
	s = strings.TrimSpace(s)
	line, _, more := strings.Cut(s, "\n")
	if n := utf8.RuneCountInString(line); n > maxTarget {
		line = string([]rune(line)[:maxTarget-1])
		more = true
	}
	if line = strings.TrimSpace(line); more {
		line += "…"
	}
	return strings.ToValidUTF8(line, "�")
}

// readInput reads the input of a call. Fields of another type are those of another tool, and empty.
func readInput(conv *session.Conversation, texts *session.BlockReader, message, block int) (*input, error) {
	raw, err := texts.Raw(message, block)
	if err != nil {
		return nil, err
	}
	in := &input{}
	_ = json.Unmarshal(conv.AlikeInput(conv.Messages[message].Blocks[block].Name, raw), in)
	return in, nil
}

// filePath is one spelling of a file's path: from the session's folder where it is in there, else absolute, without
// detours, with slashes.
func filePath(folder, name string) string {
	windows := strings.Contains(folder, `\`) || len(name) > 2 && name[1] == ':' && (name[2] == '\\' || name[2] == '/')
	if windows {
		folder = strings.ReplaceAll(folder, `\`, "/")
		name = strings.ReplaceAll(name, `\`, "/")
	}
	absolute := strings.HasPrefix(name, "/") || strings.HasPrefix(name, "~") || windows && len(name) > 1 && name[1] == ':'
	if !absolute {
		name = folder + "/" + name
	}
	name = path.Clean(name)
	folder = path.Clean(folder)
	if in, ok := strings.CutPrefix(name, folder+"/"); ok && folder != "/" {
		return in
	}
	return name
}
