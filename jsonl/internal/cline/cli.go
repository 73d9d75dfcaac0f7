package cline

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/foreign"
)

// Ends of the names of a session's files: its messages, what its last compaction left, and what it is. A subagent has
// messages alone.
const (
	messagesEnd   = ".messages.json"
	compactionEnd = ".compaction.json"
	manifestEnd   = ".json"
)

// mostBeside is how many bytes of a file next to the messages are read.
const mostBeside = 64 << 20

// CLI is the form of the sessions of Cline's CLI, from 3.0 on (@cline/core, and sessions of 3.0.65).
//
//	sessions/ID/ID.messages.json   ID.compaction.json   ID.json
func CLI() foreign.Form {
	f := form(clineName, "Cline CLI", "")
	f.Store = foreign.Store{Env: "CLINE_DATA_DIR", Home: ".cline/data", Folder: "sessions", Inside: []string{"*"}}
	f.Declared = foreign.Declared{
		Reads:     "`ID.messages.json`, with the compaction next to it",
		Exact:     "tokens and cost of each request, the newest compaction",
		Estimated: "compactions before the newest, and the requests that summarise",
	}
	f.Looks = func(v *foreign.Value) bool {
		return v.Has("agent", "sessionId", "origin.source") && v.Fields["messages"] == "["
	}
	f.Beside = nil
	f.Gather = gatherCLI
	f.Files = filesCLI
	f.Needs = nil
	return f
}

func filesCLI(file string) (folder string, names []string) {
	folder, name := filepath.Split(file)
	stem, ok := strings.CutSuffix(name, messagesEnd)
	for _, end := range []string{messagesEnd, compactionEnd, manifestEnd} {
		if _, err := os.Stat(folder + stem + end); ok && err == nil {
			names = append(names, stem+end)
		}
	}
	return folder, names
}

// gatherCLI puts what is next to the messages in front of them, on their first line.
func gatherCLI(file string, out *foreign.Writer) (io.Reader, error) {
	stem, ok := strings.CutSuffix(file, messagesEnd)
	if !ok {
		return nil, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	head := bytes.Buffer{}
	in := bufio.NewReader(f)
	for _, end := range []string{compactionEnd, manifestEnd} {
		text, err := foreign.ReadFile(stem+end, mostBeside)
		if json.Valid(text) {
			head.WriteString(`,"` + end + `":`)
			_ = json.Compact(&head, text) // it is valid
		} else if !errors.Is(err, fs.ErrNotExist) {
			out.Warn(0, "unreadable-metadata", "%s cannot be read: what it says is not known", filepath.Base(stem+end))
		}
	}
	if begin, err := in.Peek(1); err != nil || begin[0] != '{' || head.Len() == 0 {
		return &foreign.Closing{Reader: in, Files: []*os.File{f}}, nil
	}
	_, _ = in.Discard(1) // it was read
	head.Bytes()[0] = '{'
	head.WriteByte(',')
	return &foreign.Closing{Reader: io.MultiReader(&head, in), Files: []*os.File{f}}, nil
}

// compaction is what the last compaction left of the first messages.
type compaction struct {
	Count    int       `json:"source_message_count"`
	Messages []message `json:"messages"`
}

// metrics are the tokens of a request, as those of asked.
type metrics struct {
	In     float64 `json:"inputTokens"`
	Out    float64 `json:"outputTokens"`
	Writes float64 `json:"cacheWriteTokens"`
	Reads  float64 `json:"cacheReadTokens"`
	Cost   float64 `json:"cost"`
}

// ofCLI takes a member of a session of the CLI.
func (t *task) ofCLI(name string, value []byte) {
	switch name {
	case "sessionId":
		_ = json.Unmarshal(value, &t.id) // a string
		if root, _, ok := strings.Cut(t.id, "__"); ok {
			t.about.Parent = root
		}
	case "origin", manifestEnd:
		_ = json.Unmarshal(value, &t.about) // the version; the folder and the provider
	case compactionEnd:
		_ = json.Unmarshal(value, &t.compaction) // the readable part
	}
}

// compacted puts the last compaction before message i, where it stands for all before that. Who asked for it is not
// recorded.
func (t *task) compacted(i int) {
	kept := map[string]bool{}
	var summary []foreign.Block
	for k := range t.compaction.Messages {
		m := &t.compaction.Messages[k]
		if kept[m.ID] = m.ID != ""; m.ID == "" {
			summary = append(summary, blocksOf(m.Content)...)
		}
	}
	if t.compact(i, -1, "unknown", func(k int) bool { return !kept[t.messages[k].ID] }) {
		l := foreign.Line{Type: "user", Time: foreign.Millis(t.messages[i].Time), Summary: true, Message: foreign.Said(summary...)}
		t.live = append(t.live, line{i, t.Put(-1, l)})
	}
}

// fell warns, once, where a request was much smaller than the one before and no compaction is recorded for it.
func (t *task) fell(m *message, a *asked) {
	if a.whole && a.In < t.input*3/4 && t.sent != t.compaction.Count+1 && !t.warned {
		t.warned = true
		t.Warn(m.line, "unreadable-metadata", "the input falls from %.0f to %.0f tokens here: the client compacted, and records its newest compaction alone", t.input, a.In)
	}
	t.input = a.In
}

// typedText is what a person typed, without the client's tag around it, which is not sent.
func typedText(text string) string {
	if rest, ok := strings.CutPrefix(text, "<user_input"); ok {
		if _, said, ok := strings.Cut(rest, ">"); ok {
			return strings.TrimSuffix(said, "</user_input>")
		}
	}
	return text
}

// resultText is the content of a result as it is sent: JSON where the tool returned no blocks.
func resultText(raw json.RawMessage, content any) any {
	list, _ := content.([]any)
	for _, one := range list {
		if b, ok := one.(map[string]any); !ok || b["type"] == nil {
			var text bytes.Buffer
			_ = json.Compact(&text, raw) // it was read
			return text.String()
		}
	}
	return content
}
