package session

import (
	"cmp"
	"encoding/json"
)

// FileInput is the input of a tool that reads or changes a file. It has the members of several tools; members that a
// call does not have are empty.
type FileInput struct {
	FilePath     string     `json:"file_path"`
	NotebookPath string     `json:"notebook_path"`
	FileEdit                // the replacement of an Edit call
	Several      []FileEdit `json:"edits"` // the replacements of a MultiEdit call
}

// FileEdit replaces Old by New in a file: once, or at every occurrence if All is true.
type FileEdit struct {
	Old string `json:"old_string"`
	New string `json:"new_string"`
	All bool   `json:"replace_all"`
}

// DecodeFileInput decodes the JSON input of a tool call. It returns an error if raw is not a JSON object, or if a
// member has another type than in FileInput; in then has the members that could be decoded.
func DecodeFileInput(raw []byte) (in FileInput, err error) {
	err = json.Unmarshal(raw, &in)
	return in, err
}

// Path returns the file as the call names it.
func (in *FileInput) Path() string { return cmp.Or(in.FilePath, in.NotebookPath) }

// Edits returns the replacements in their order.
func (in *FileInput) Edits() []FileEdit {
	if in.Old == "" {
		return in.Several
	}
	return append([]FileEdit{in.FileEdit}, in.Several...)
}
