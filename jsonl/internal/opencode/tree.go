package opencode

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/foreign"
)

// gather makes the document of a session in the storage folder, as an export of it would be, from the place of the
// session's file:
//
//	session/PROJECT/SESSION.json   message/SESSION/MESSAGE.json   part/MESSAGE/PART.json
//
// Each file is one line of it. Nothing outside of the folder is read. It returns nil for a file that has no messages
// next to it.
func gather(file string, w *foreign.Writer) (io.Reader, error) {
	id, ok := strings.CutSuffix(filepath.Base(file), ".json")
	if !ok {
		return nil, nil
	}
	root, err := os.OpenRoot(filepath.Join(filepath.Dir(file), "..", ".."))
	if err != nil {
		return nil, nil
	}
	defer root.Close()
	t := tree{root: root, w: w}
	messages := t.list(path.Join("message", id))
	if messages == nil {
		return nil, nil
	}
	info, ok := t.read(path.Join("session", filepath.Base(filepath.Dir(file)), id+".json"))
	if !ok {
		return nil, errors.New("the session's own file cannot be read again")
	}
	slices.SortStableFunc(messages, func(a, b stored) int { return cmp.Compare(a.created, b.created) })
	var out bytes.Buffer
	fmt.Fprintf(&out, `{"info":%s,"messages":[`, info)
	for i, m := range messages {
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, "\n{\"info\":%s,\"parts\":[", m.text)
		for k, p := range t.list(path.Join("part", m.id)) {
			if k > 0 {
				out.WriteByte(',')
			}
			out.WriteByte('\n')
			out.Write(p.text)
		}
		out.WriteString("]}")
	}
	out.WriteString("]}\n")
	return &out, nil
}

// files lists what gather reads.
func files(file string) (folder string, names []string) {
	id, ok := strings.CutSuffix(filepath.Base(file), ".json")
	folder = filepath.Join(filepath.Dir(file), "..", "..")
	root, err := os.OpenRoot(folder)
	if !ok || err != nil {
		return folder, nil
	}
	defer root.Close()
	list := func(dir string) (found []string) {
		entries, _ := foreign.ReadDir(root, dir) // of a folder that cannot be read there is nothing
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".json") && e.Type().IsRegular() {
				found = append(found, path.Join(dir, e.Name()))
			}
		}
		return found
	}
	messages := list(path.Join("message", id))
	if messages == nil {
		return folder, nil
	}
	names = append([]string{path.Join("session", filepath.Base(filepath.Dir(file)), id+".json")}, messages...)
	for _, m := range messages {
		names = append(names, list(path.Join("part", strings.TrimSuffix(path.Base(m), ".json")))...)
	}
	return folder, names
}

// tree is a storage folder.
type tree struct {
	root *os.Root
	w    *foreign.Writer
	size int64 // bytes that were read
}

// stored is a file of the tree: a message or a part.
type stored struct {
	id      string
	text    []byte
	created float64
}

// list reads the files of a folder by their names, which are the order of their ids; nil: there is no such folder.
func (t *tree) list(dir string) []stored {
	entries, err := foreign.ReadDir(t.root, dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			t.refuse(dir, "it cannot be read")
		}
		return nil
	}
	out := make([]stored, 0, len(entries))
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || e.IsDir() {
			continue
		}
		text, ok := t.read(path.Join(dir, e.Name()))
		if !ok {
			continue
		}
		var own info
		_ = json.Unmarshal(text, &own) // convert says what is wrong with it
		out = append(out, stored{id, text, own.Time.Created})
	}
	return out
}

// read reads a file: a JSON object, made one line.
func (t *tree) read(name string) ([]byte, bool) {
	st, err := t.root.Stat(name) // before it is opened: opening a pipe would wait
	if err != nil || !st.Mode().IsRegular() {
		t.refuse(name, "it is no regular file of the folder")
		return nil, false
	}
	f, err := t.root.Open(name)
	if err != nil {
		t.refuse(name, "it cannot be opened")
		return nil, false
	}
	defer f.Close()
	most := t.w.Limits.Filled().Document
	text, err := io.ReadAll(io.LimitReader(f, max(most-t.size, 0)+1))
	switch t.size += int64(len(text)); {
	case err != nil:
		t.refuse(name, "it cannot be read to its end")
		return nil, false
	case t.size > most:
		t.refuse(name, (&jsonl.LimitError{Name: "document", Most: most}).Error())
		return nil, false
	}
	var line bytes.Buffer
	if json.Compact(&line, text) != nil || line.Len() == 0 || line.Bytes()[0] != '{' {
		t.refuse(name, "it is not a JSON object")
		return nil, false
	}
	return line.Bytes(), true
}

// refuse sets a file aside.
func (t *tree) refuse(name, why string) {
	t.w.Aside(t.w.Unit(0), "unreadable file of the storage folder")
	t.w.Warn(0, codeMalformed, "%s: %s: it is set aside", name, why)
}
