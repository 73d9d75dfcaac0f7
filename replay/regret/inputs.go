package regret

import (
	"bytes"
	"encoding/json"

	"github.com/ctxkit/ctxkit/jsonl/scan"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// fileInput is the path and the old texts of the input of a tool on files. A field of another type belongs to another tool.
func fileInput(raw []byte) (in session.FileInput) {
	if !plainInput(raw, &in) {
		in = session.FileInput{}
		_ = json.Unmarshal(raw, &in)
	}
	return in
}

// plainInput is fileInput of an object whose members are written as tools name them. It fails where more has to be known.
func plainInput(raw []byte, in *session.FileInput) bool {
	at := scan.Space(raw, 0)
	if at == len(raw) || raw[at] != '{' {
		return false
	}
	m := scan.Object(raw, at, 0)
	for m.Next() {
		key, plain := m.Key()
		to := (*string)(nil)
		switch string(key) {
		case "file_path":
			to = &in.FilePath
		case "notebook_path":
			to = &in.NotebookPath
		case "old_string":
			to = &in.Old
		case "edits":
			return false
		default:
			if !plain || isMember(key) {
				return false
			}
			m.At, m.Code = scan.Value(raw, m.At, 1)
			continue
		}
		if m.At == len(raw) || raw[m.At] != '"' {
			return false
		}
		from := m.At + 1
		if m.At, _, m.Code = scan.String(raw, m.At); m.Code == scan.OK {
			*to = string(scan.AppendUnquoted(nil, raw[from:m.At-1], -1))
		}
	}
	return m.Code == scan.OK && scan.Space(raw, m.At) == len(raw)
}

// isMember reports whether encoding/json takes a key for that of a member.
func isMember(key []byte) bool {
	for _, name := range [...]string{"file_path", "notebook_path", "old_string", "edits"} {
		if bytes.EqualFold(key, []byte(name)) {
			return true
		}
	}
	return false
}
