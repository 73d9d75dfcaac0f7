package session

import (
	"bytes"
	"cmp"
	"encoding/json"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/scan"
)

// FileInput is the input of a tool that reads or changes a file. A field of another type belongs to another tool, and is
// empty.
type FileInput struct {
	FilePath     string     `json:"file_path"`
	NotebookPath string     `json:"notebook_path"`
	FileEdit                // of an Edit
	Several      []FileEdit `json:"edits"` // of a MultiEdit
}

// FileEdit is the replacement of a text of a file.
type FileEdit struct {
	Old string `json:"old_string"`
	New string `json:"new_string"`
	All bool   `json:"replace_all"`
}

// DecodeFileInput is json.Unmarshal of an input, in less time where its members are written as tools name them.
func DecodeFileInput(raw []byte) (in FileInput, err error) {
	if !in.plain(raw) {
		in = FileInput{}
		err = json.Unmarshal(raw, &in)
	}
	return in, err
}

// plain decodes an input. It fails where encoding/json has to.
func (in *FileInput) plain(raw []byte) bool {
	if len(raw) == 0 || raw[0] != '{' {
		return false
	}
	m := scan.Object(raw, 0, 0)
	for m.Next() {
		from := m.At
		m.At, m.Code = scan.Value(raw, from, m.Depth())
		key, plain := m.Key()
		to := (*string)(nil)
		switch {
		case m.Code != scan.OK || !plain:
			return false
		case string(key) == "file_path":
			to = &in.FilePath
		case string(key) == "notebook_path":
			to = &in.NotebookPath
		case string(key) == "old_string":
			to = &in.Old
		case string(key) == "new_string":
			to = &in.New
		case string(key) == "replace_all" && (raw[from] == 't' || raw[from] == 'f'):
			in.All = raw[from] == 't'
			continue
		case isMember(key):
			return false
		default:
			continue
		}
		text, ok := jsonl.Unquote(raw[from:m.At])
		if !ok {
			return false
		}
		*to = text
	}
	return m.Code == scan.OK && m.At == len(raw)
}

// isMember reports whether encoding/json takes a key for that of a member.
func isMember(key []byte) bool {
	for _, name := range [...]string{"file_path", "notebook_path", "old_string", "new_string", "replace_all", "edits"} {
		if bytes.EqualFold(key, []byte(name)) {
			return true
		}
	}
	return false
}

// Path is the file, as the call names it.
func (in *FileInput) Path() string { return cmp.Or(in.FilePath, in.NotebookPath) }

// Edits are the replacements in their order.
func (in *FileInput) Edits() []FileEdit {
	if in.Old == "" {
		return in.Several
	}
	return append([]FileEdit{in.FileEdit}, in.Several...)
}
