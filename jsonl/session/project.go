package session

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/memo"
)

// Standing is the state of a session in its folder's sessions-index.json.
type Standing string

// The standings.
const (
	Unindexed Standing = ""         // the folder has no index
	Listed    Standing = "listed"   // the index agrees with the file
	Stale     Standing = "stale"    // the file has changed since the index was written
	Missing   Standing = "missing"  // in the index, but the file does not exist
	Unlisted  Standing = "unlisted" // not in the index
)

// ProjectsFolder is where the client keeps project folders, and ResumeCommand goes on with the session whose id follows.
const (
	ProjectsFolder = "~/.claude/projects/"
	ResumeCommand  = "claude --resume"
)

// FolderOf is the name of the project folder in which the client keeps the sessions of a working directory.
func FolderOf(cwd string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '-'
	}, cwd)
}

// FileInfo describes a session without reading all of it: its place, its index entry, and the start and end of its
// file.
type FileInfo struct {
	ID      string    `json:"session"`
	Path    string    `json:"file,omitempty"`           // of the file, below the folder given to Discover; "" where it is missing
	Folder  string    `json:"folder"`                   // the project folder
	Project string    `json:"project,omitempty"`        // the working directory the session was recorded in
	Branch  string    `json:"branch,omitempty"`         // git branch
	Product string    `json:"client,omitempty"`         // client that recorded it; "": not known, as a rule Claude Code
	Version string    `json:"client_version,omitempty"` // client version of the first line that names one
	Title   string    `json:"title,omitempty"`          // summary of the index, else of the file
	Prompt  string    `json:"first_prompt,omitempty"`   // first typed prompt, cut to promptLength
	Created time.Time `json:"created,omitzero"`
	Last    time.Time `json:"last,omitzero"`         // last time in the file; zero where it has none
	Changed time.Time `json:"file_changed,omitzero"` // of the file, by its file system
	Size    int64     `json:"bytes"`                 // of the file

	Standing  Standing `json:"index"`
	Why       string   `json:"why,omitempty"`       // stale, missing: the disagreement
	Sidechain bool     `json:"sidechain,omitempty"` // a subagent's file that no session of the folder claims

	Parent string `json:"parent,omitempty"` // id of the session that started it as a subagent, where another agent's session names it

	Subagents   []Subagent `json:"subagents"`
	ToolResults int        `json:"tool_results"` // files in its tool-results folder

	stored  bool       // it is in a database
	stamp   memo.Stamp // of the file; zero: not known
	session string     // sessionId of its lines: in a subagent's file, that of its session
}

// Used is when the session was last used: the last time in the file, else when the file was changed, else when it began.
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

// IsID reports whether s can be a session's id: a name, never a path.
func IsID(s string) bool { return plainName(s) && s[0] != '-' && filepath.IsLocal(s) }

// InFolder reports whether what has a name is read in a folder of sessions: a session file, the index, or a folder of
// what belongs to a session.
func InFolder(name string) bool {
	_, file := SessionID(name)
	return file || name == indexName || name == subagentsName || name == toolResultsName
}

// SessionID is the session id in a file's name, or false for the name of another file.
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

// Find lists the files of the sessions in dir, a project folder or a folder of project folders, whose id is or begins
// with id. It reads names only. Subagents' files are found by ids that begin as their names do.
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
