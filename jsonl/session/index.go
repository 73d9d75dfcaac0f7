package session

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// index is a folder's sessions-index.json.
type index struct {
	OriginalPath string       `json:"originalPath"`
	Entries      []entryOrNot `json:"entries"`
}

// entryOrNot is an entry, or why it is none.
type entryOrNot struct {
	indexEntry
	err error
}

// UnmarshalJSON reads an entry. One that is wrong costs itself alone.
func (e *entryOrNot) UnmarshalJSON(b []byte) error {
	e.err = json.Unmarshal(b, &e.indexEntry)
	return nil
}

type indexEntry struct {
	SessionID   string    `json:"sessionId"`
	FileMtime   float64   `json:"fileMtime"` // milliseconds
	FirstPrompt string    `json:"firstPrompt"`
	Summary     string    `json:"summary"`
	Created     indexTime `json:"created"`
	Modified    indexTime `json:"modified"`
	GitBranch   string    `json:"gitBranch"`
	ProjectPath string    `json:"projectPath"`
	IsSidechain bool      `json:"isSidechain"`
}

// indexTime is a time, zero where it does not parse.
type indexTime struct{ time.Time }

// UnmarshalJSON reads a time and ignores any other value.
func (t *indexTime) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		t.Time, _ = time.Parse(time.RFC3339Nano, s)
	}
	return nil
}

// mostIndex is the largest index or meta file that is read, in bytes.
const mostIndex = 64 << 20

// staleAfter is the tolerated time between an index entry and the end of its file: the client writes the index within
// the same second.
const staleAfter = 2 * time.Second

func readIndex(root *os.Root) (*index, error) {
	data, err := readSmall(root, indexName)
	if err != nil {
		return nil, err
	}
	ix := &index{}
	if json.Unmarshal(data, ix) != nil {
		return nil, errors.New("not a valid sessions index")
	}
	return ix, nil
}

// readSmall reads a regular file of at most mostIndex bytes.
func readSmall(root *os.Root, name string) ([]byte, error) {
	data, err := readPlain(root, name, mostIndex+1)
	if len(data) > mostIndex {
		return nil, fmt.Errorf("longer than %d MB", mostIndex>>20)
	}
	return data, err
}

// check compares the index with the files.
func (d *discovery) check(found []FileInfo, at map[string]int, ix *index, dir string) []FileInfo {
	for i := range found {
		found[i].Standing = Unlisted
		if found[i].Project == "" {
			found[i].Project = ix.OriginalPath
		}
	}
	seen := map[string]bool{}
	for n := range ix.Entries {
		e := &ix.Entries[n].indexEntry
		switch err := ix.Entries[n].err; {
		case err != nil:
			d.warn(filepath.Join(dir, indexName), "entry %d: %v: entry ignored", n+1, err)
			continue
		case !IsID(e.SessionID):
			d.warn(filepath.Join(dir, indexName), "entry %d: %q is not a session id: entry ignored", n+1, shorten(e.SessionID, 60))
			continue
		case seen[e.SessionID]:
			d.warn(filepath.Join(dir, indexName), "entry %d repeats session %s: entry ignored", n+1, e.SessionID)
			continue
		}
		seen[e.SessionID] = true
		i, ok := at[e.SessionID]
		if !ok {
			i = len(found)
			at[e.SessionID] = i
			found = append(found, FileInfo{ID: e.SessionID, Folder: dir, Standing: Missing, Why: "the file does not exist", Created: e.Created.Time, Last: e.Modified.Time})
		} else {
			found[i].compare(e)
		}
		found[i].fill(e)
	}
	return found
}

// compare determines whether the file has changed since its entry was written: by the times in it, or if it has none
// by that of the file system.
func (i *FileInfo) compare(e *indexEntry) {
	i.Standing = Listed
	i.Why = ""
	switch {
	case !i.Last.IsZero() && !e.Modified.IsZero():
		if i.Last.Sub(e.Modified.Time) > staleAfter {
			i.Standing = Stale
			i.Why = fmt.Sprintf("the index ends at %s, the file at %s", stamp(e.Modified.Time), stamp(i.Last))
		}
	case e.FileMtime > 0:
		if written := time.UnixMilli(int64(e.FileMtime)); i.Changed.Sub(written) > staleAfter {
			i.Standing = Stale
			i.Why = fmt.Sprintf("the index was written on %s, the file on %s", stamp(written), stamp(i.Changed))
		}
	}
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

// fill adds what only the index has.
func (i *FileInfo) fill(e *indexEntry) {
	i.Title = cmp.Or(e.Summary, i.Title)
	if e.FirstPrompt != "No prompt" {
		i.Prompt = cmp.Or(i.Prompt, shorten(e.FirstPrompt, promptLength))
	}
	i.Project = cmp.Or(i.Project, e.ProjectPath)
	i.Branch = cmp.Or(i.Branch, e.GitBranch)
	i.Sidechain = i.Sidechain || e.IsSidechain
	if i.Created.IsZero() {
		i.Created = e.Created.Time
	}
}

// readMeta reads the meta file that newer clients write for a subagent.
func (a *Subagent) readMeta(root *os.Root, name string) {
	data, err := readSmall(root, name)
	if err != nil {
		return
	}
	var m struct {
		AgentType   string `json:"agentType"`
		Description string `json:"description"`
		ToolUseID   string `json:"toolUseId"`
	}
	if json.Unmarshal(data, &m) == nil {
		a.Type = m.AgentType
		a.Description = m.Description
		a.ToolUse = m.ToolUseID
	}
}
