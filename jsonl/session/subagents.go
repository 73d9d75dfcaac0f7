package session

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/foreign"
)

// Subagent describes the transcript of a subagent.
type Subagent struct {
	ID          string `json:"agent"` // id of the subagent, without the prefix "agent-"
	Path        string `json:"file"`
	Size        int64  `json:"bytes"`          // size of the file
	Type        string `json:"type,omitempty"` // type of the subagent in its meta file, such as "Explore"
	Description string `json:"description,omitempty"`
	ToolUse     string `json:"tool_use_id,omitempty"` // id of the tool_use that started the subagent
}

// claim adds a transcript next to the session's: older clients keep those of subagents there.
func (i *FileInfo) claim(a *FileInfo) {
	i.Subagents = append(i.Subagents, Subagent{ID: strings.TrimPrefix(a.ID, agentPrefix), Path: a.Path, Size: a.Size})
}

// beside lists the files in the session's own folder.
func (d *discovery) beside(root *os.Root, info *FileInfo, dir string) {
	if st, err := root.Stat(info.ID); err != nil || !st.IsDir() {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			d.unreadable(filepath.Join(dir, info.ID), err)
		}
		return
	}
	own, err := root.OpenRoot(info.ID)
	if err != nil {
		d.unreadable(filepath.Join(dir, info.ID), err)
		return
	}
	defer own.Close()
	list := func(name string) []fs.DirEntry {
		entries, err := foreign.ReadDir(own, name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			d.unreadable(filepath.Join(dir, info.ID, name), err)
		}
		return entries
	}
	for _, r := range list(toolResultsName) {
		if r.Type().IsRegular() {
			info.ToolResults++
		}
	}
	d.transcripts(info, filepath.Join(dir, info.ID), subagentsName, list, own)
}

// mostNested is how many folders deep transcripts are looked for.
const mostNested = 16

// transcripts lists the subagents' transcripts of a folder inside a session's own, at a path, then those of the folders in it:
// a workflow has one.
func (d *discovery) transcripts(info *FileInfo, folder, inside string, list func(string) []fs.DirEntry, own *os.Root) {
	entries := list(inside)
	for _, f := range entries {
		id, ok := SessionID(f.Name())
		if f.IsDir() || !ok || !strings.HasPrefix(id, agentPrefix) {
			continue
		}
		name := filepath.Join(inside, f.Name())
		path := filepath.Join(folder, name)
		if !IsID(id) {
			d.warn(path, "its name is not an agent id: not read")
			continue
		}
		st, err := own.Stat(name)
		if err != nil {
			d.unreadable(path, err)
			continue
		}
		if !st.Mode().IsRegular() {
			d.warn(path, "not read: it is not a regular file")
			continue
		}
		a := Subagent{ID: strings.TrimPrefix(id, agentPrefix), Path: path, Size: st.Size()}
		a.readMeta(own, filepath.Join(inside, id+".meta.json"))
		info.Subagents = append(info.Subagents, a)
	}
	for _, f := range entries {
		switch name := filepath.Join(inside, f.Name()); {
		case !f.IsDir():
		case strings.Count(name, string(filepath.Separator)) >= mostNested:
			d.warn(filepath.Join(folder, name), "not read: it is more than %d folders deep", mostNested)
		default:
			d.transcripts(info, folder, name, list, own)
		}
	}
}

// ofSubagent is the session's own folder of a subagent's file in it; false: it is none.
func ofSubagent(file string) (folder string, ok bool) {
	dir, base := filepath.Split(filepath.Clean(file))
	dir = filepath.Clean(dir)
	for range mostNested {
		if filepath.Base(dir) == subagentsName {
			return filepath.Dir(dir), true
		}
		if !strings.HasPrefix(base, agentPrefix) {
			break
		}
		dir = filepath.Dir(dir)
	}
	return "", false
}

// Subagents lists the transcripts of a session's subagents: the files in the session's folder, sorted by name, or the
// sessions in its database.
func Subagents(path string) ([]Subagent, []Warning, error) {
	return subagents(path, func(string) bool { return true })
}

// subagents is Subagents without the files next to the session's that are not wanted, by the subagent's id: they are not read.
func subagents(path string, wanted func(id string) bool) ([]Subagent, []Warning, error) {
	if file, id, ok := InDatabase(path); ok {
		list, err := descendants(file, id)
		return list, nil, err
	}
	id, ok := SessionID(filepath.Base(path))
	if !ok || !IsID(id) {
		return nil, nil, nil
	}
	dir := filepath.Dir(path)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	d := &discovery{}
	info := FileInfo{ID: id}
	d.beside(root, &info, dir)
	entries, err := foreign.ReadDir(root, ".")
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		name, _ := SessionID(e.Name())
		agent, ok := strings.CutPrefix(name, agentPrefix)
		return !ok || strings.HasPrefix(id, agentPrefix) || !wanted(agent)
	})
	for _, r := range d.read(root, dir, entries) {
		if r.err == nil && r.sameAs == "" && r.info.session == id {
			info.claim(&r.info)
		}
	}
	return info.Subagents, d.warnings, err
}
