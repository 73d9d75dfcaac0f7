package session

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/memo"
)

// Standing says whether a session file and the sessions-index.json of its folder agree.
type Standing string

const (
	Unindexed Standing = ""         // the folder has no index
	Listed    Standing = "listed"   // the index agrees with the file
	Stale     Standing = "stale"    // the file has changed since the index was written
	Missing   Standing = "missing"  // the index lists it, but the file does not exist
	Unlisted  Standing = "unlisted" // the index does not list it
)

const (
	ProjectsFolder = "~/.claude/projects/" // the folder in which Claude Code keeps its project folders; the ~ must be expanded
	ResumeCommand  = "claude --resume"     // with a space and a session id after it, the command that resumes the session
)

// FolderOf returns the name of the project folder in which Claude Code keeps the sessions of a working directory.
func FolderOf(cwd string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '-'
	}, cwd)
}

// FileInfo describes a session, found without reading all of its file: its place, its index entry, and what the
// beginning and the end of the file show.
type FileInfo struct {
	ID      string    `json:"session"`
	Path    string    `json:"file,omitempty"`           // path of the file; "": Standing is Missing
	Folder  string    `json:"folder"`                   // the project folder
	Project string    `json:"project,omitempty"`        // the working directory the session was recorded in
	Branch  string    `json:"branch,omitempty"`         // git branch
	Product string    `json:"client,omitempty"`         // bare name of the client; "": unknown, usually Claude Code
	Version string    `json:"client_version,omitempty"` // first client version in the file
	Title   string    `json:"title,omitempty"`          // title in the index, else in the file
	Prompt  string    `json:"first_prompt,omitempty"`   // first typed prompt, at most 200 bytes of it
	Created time.Time `json:"created,omitzero"`
	Last    time.Time `json:"last,omitzero"`         // latest time in the file; zero: none
	Changed time.Time `json:"file_changed,omitzero"` // modification time of the file
	Size    int64     `json:"bytes"`                 // size of the file in bytes

	Standing  Standing `json:"index"`
	Why       string   `json:"why,omitempty"`       // how the index and the file differ, if Standing is Stale or Missing
	Sidechain bool     `json:"sidechain,omitempty"` // the file is that of a subagent, and the file of its session is not in the folder

	Parent string `json:"parent,omitempty"` // for a subagent of another agent: id of the session that started it

	Subagents   []Subagent `json:"subagents"`
	ToolResults int        `json:"tool_results"` // number of files in its tool-results folder

	stored  bool       // it is in a database
	stamp   memo.Stamp // of the file; zero: not known
	session string     // sessionId of its lines: in a subagent's file, that of its session
}

// Named reports whether the id of the session, or the one in the lines of its file, begins with id, and whether either is
// exactly id.
func (i *FileInfo) Named(id string) (begins, exactly bool) {
	lines := i.session
	if i.Sidechain {
		lines = ""
	}
	return strings.HasPrefix(i.ID, id) || strings.HasPrefix(lines, id), i.ID == id || lines == id
}

// Used returns the time when the session was last used: the latest time in the file, else the modification time of the
// file, else Created.
func (i *FileInfo) Used() time.Time {
	switch {
	case !i.Last.IsZero():
		return i.Last
	case !i.Changed.IsZero():
		return i.Changed
	}
	return i.Created
}

// Names in a project folder.
const (
	indexName       = "sessions-index.json"
	subagentsName   = "subagents"
	toolResultsName = "tool-results"
	agentPrefix     = "agent-"
)

// extensions of session files, longest first.
var extensions = []string{".jsonl.zst", ".jsonl.gz", ".jsonl"}

// IsID reports whether s can be a session id: a plain file name that does not begin with a hyphen.
func IsID(s string) bool { return plainName(s) && s[0] != '-' && filepath.IsLocal(s) }

// InFolder reports whether this package reads files or folders with this name in a project folder: session files, the
// index, and the folders of subagents and tool results.
func InFolder(name string) bool {
	_, file := SessionID(name)
	return file || name == indexName || name == subagentsName || name == toolResultsName
}

// SessionID returns the session id that is part of the name of a session file. ok is false if the name is not that of a
// session file.
func SessionID(name string) (string, bool) {
	for _, ext := range extensions {
		if id, ok := strings.CutSuffix(name, ext); ok && id != "" {
			return id, true
		}
	}
	return "", false
}

// documents are the extensions of sessions of other agents that are one JSON document.
var documents = []string{".json.zst", ".json.gz", ".json"}

// documentID is the name of a file that may be such a document, without its extension.
func documentID(name string) (string, bool) {
	for _, ext := range documents {
		if id, ok := strings.CutSuffix(name, ext); ok && id != "" && name != indexName {
			return id, true
		}
	}
	return "", false
}

// Find returns the session files in dir whose id is id; exact is then true. If there are none, it returns those whose
// id begins with id. dir is a project folder or a folder of project folders. Find looks only at names. It finds a
// subagent's file only by an id that begins with "agent-", as the name of that file does.
func Find(dir, id string) (paths []string, exact bool, err error) {
	var begins []string
	err = folders(dir, func(root *os.Root, dir string, entries []fs.DirEntry) {
		for _, e := range entries {
			name, ok := SessionID(e.Name())
			if !ok || !IsID(name) || !strings.HasPrefix(name, id) ||
				strings.HasPrefix(name, agentPrefix) && !strings.HasPrefix(id, agentPrefix) {
				continue
			}
			if st, err := root.Stat(e.Name()); err != nil || !st.Mode().IsRegular() {
				continue
			}
			if name == id {
				paths = append(paths, filepath.Join(dir, e.Name()))
			} else {
				begins = append(begins, filepath.Join(dir, e.Name()))
			}
		}
	}, func(string) bool { return false }, func(string, error) {})
	if len(paths) > 0 {
		return paths, true, err
	}
	return begins, false, err
}
