package session

import (
	"cmp"
	"encoding/json"
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

// DecodeFileInput decodes an input.
func DecodeFileInput(raw []byte) (in FileInput, err error) {
	err = json.Unmarshal(raw, &in)
	return in, err
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
