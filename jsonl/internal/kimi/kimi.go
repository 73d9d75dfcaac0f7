// Package kimi reads the sessions of Kimi CLI: the journal of what it showed, with the summaries that stand in the
// contexts next to it.
//
//	sessions/HASH/ID/wire.jsonl   context.jsonl   context_1.jsonl …   kimi.json, three folders up
//
// The journal has every prompt, response, result and usage, but not what a compaction wrote: that begins the context
// that the client went on with. HASH is the hash of the working directory, which kimi.json lists. (wire/types.py,
// soul/context.py and soul/compaction.py of kimi-cli 1.49.)
package kimi

import (
	"bufio"
	"bytes"
	"crypto/md5"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/foreign"
)

// words.txt lists the words that carry the structure of a session.
//
//go:embed words.txt
var words string

// Names of the files of a session, and the newest version of the journal that was read.
const (
	journalName = "wire.jsonl"
	contextName = "context.jsonl"
	minorRead   = 10 // of version 1
)

// Form is the form of Kimi CLI's sessions.
func Form() foreign.Form {
	return foreign.Form{
		Name: "kimi-cli", Client: "Kimi CLI", Looks: looks, Convert: convert, Words: words,
		Declared: foreign.Declared{
			Reads:     "`wire.jsonl`, with the summaries in the contexts next to it",
			Exact:     "tokens of each request, the window, compactions",
			Estimated: "the model, reminders, the request of a compaction, subagents in the background",
		},
		Store:  foreign.Store{Env: "KIMI_SHARE_DIR", Home: ".kimi", Folder: "sessions", Inside: []string{"*", "*" + strings.Repeat("[0-9a-f]", 2*md5.Size) + "/*"}},
		Gather: gather,
		Files:  files,
		Needs:  map[string]string{"context*.jsonl": journalName},
		Tools: foreign.Tools(`
			Read: ReadFile ReadMediaFile
			Write: WriteFile
			Edit: StrReplaceFile
			Bash: Shell
			WebFetch: FetchURL
			WebSearch: SearchWeb
			Task: Agent
			TodoWrite: SetTodoList
		`),
	}
}

// looks recognises the first line, which Kimi Code's journals have with a time, or an event.
func looks(v *foreign.Value) bool {
	return v.Fields["type"] == "metadata" && v.Has("protocol_version") && !v.Has("created_at") || v.Has("timestamp", "message.type") && v.Fields["message.payload"] == "{"
}

// header is the first line, with what gather adds to it.
type header struct {
	Type      string    `json:"type"`
	Version   string    `json:"protocol_version"`
	ID        string    `json:"session,omitempty"`
	CWD       string    `json:"cwd,omitempty"`
	Summaries []context `json:"summaries,omitempty"` // of the compactions
}

// context is the message that begins a context behind a compaction.
type context struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// files lists the files of a session.
func files(file string) (folder string, names []string) {
	folder = filepath.Dir(file)
	if filepath.Base(file) != journalName {
		return folder, nil
	}
	names = []string{journalName}
	for n := 1; ; n++ {
		name := fmt.Sprintf("context_%d.jsonl", n)
		if _, err := os.Lstat(filepath.Join(folder, name)); err != nil {
			break
		}
		names = append(names, name)
	}
	if _, err := os.Lstat(filepath.Join(folder, contextName)); err == nil {
		names = append(names, contextName)
	}
	return folder, names
}

// most is how many bytes of a file next to the journal are read.
const most = 1 << 20

// gather puts the first line of the journal with what is next to it; nil: the journal has none.
func gather(file string, _ *foreign.Writer) (io.Reader, error) {
	folder, names := files(file)
	if names == nil {
		return nil, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	in := bufio.NewReader(f)
	first, _ := in.ReadSlice('\n')
	h := header{}
	if json.Unmarshal(first, &h) != nil || h.Type != "metadata" {
		f.Close()
		return nil, nil
	}
	h.ID = filepath.Base(folder)
	h.CWD = directory(filepath.Dir(folder))
	for i, name := range names[1:] {
		s := summary(filepath.Join(folder, name))
		if s != nil && i == 0 {
			break // of a fork: how many compactions its original had before it is not known
		}
		if n := len(h.Summaries); s != nil && (n == 0 || !bytes.Equal(h.Summaries[n-1].Content, s.Content)) { // what is undone goes on in a copy
			h.Summaries = append(h.Summaries, *s)
		}
	}
	text, err := json.Marshal(h)
	return &foreign.Closing{Reader: io.MultiReader(bytes.NewReader(append(text, '\n')), in), Files: []*os.File{f}}, err
}

// summary is the message that begins a context, where a compaction wrote it: a tag of the client's, and a text; nil: none.
func summary(file string) *context {
	text, _ := foreign.ReadFile(file, most) // without it the summary is not known
	for line := range bytes.Lines(text) {
		c := &context{}
		if json.Unmarshal(line, c) != nil || strings.HasPrefix(c.Role, "_") {
			continue
		}
		parts := partsOf(c.Content)
		if c.Role == "user" && len(parts) > 1 && strings.HasPrefix(parts[0].Text, "<system>") && strings.HasSuffix(parts[0].Text, "</system>") {
			return c
		}
		return nil
	}
	return nil
}

// directory is the working directory of a folder of sessions; "": it is not known.
func directory(folder string) string {
	text, _ := foreign.ReadFile(filepath.Join(folder, "..", "..", "kimi.json"), most)
	var list struct {
		Dirs []struct {
			Path string `json:"path"`
		} `json:"work_dirs"`
	}
	_ = json.Unmarshal(text, &list) // the readable part
	for _, d := range list.Dirs {
		if sum := md5.Sum([]byte(d.Path)); strings.HasSuffix(filepath.Base(folder), hex.EncodeToString(sum[:])) {
			return d.Path
		}
	}
	return ""
}
