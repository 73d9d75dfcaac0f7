package session

import (
	"cmp"
	"encoding/json"
	"io"
	"os"
	"time"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/jsonl"
)

const (
	peekBytes    = 128 << 10 // read of the start of a file, and first of its end
	promptLength = 200       // longest FileInfo.Prompt, in bytes
)

// read fills the fields that the file and its file system provide.
func (i *FileInfo) read(root *os.Root, name string) error {
	f, err := openPlain(root, name)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	i.Size, i.Changed = st.Size(), st.ModTime()
	content, packed, free, err := jsonl.Unpack(f)
	if err == nil {
		i.head(content, name)
		free()
	}
	if !packed {
		i.Last = lastTime(f, st.Size(), name)
	}
	return nil
}

// head reads the start of a session. It ignores lines that cannot be read: a replay of the file reports them.
func (i *FileInfo) head(r io.Reader, name string) {
	lines := jsonl.NewReader(io.LimitReader(r, peekBytes), name, jsonl.ReadOptions{})
	for lines.Scan() {
		e := lines.Item().Entry
		if e == nil {
			continue
		}
		if i.Created.IsZero() && !e.Time.IsZero() {
			i.Created = e.Time
		}
		i.Version, i.Project, i.session = cmp.Or(i.Version, e.Version), cmp.Or(i.Project, e.CWD), cmp.Or(i.session, e.SessionID)
		if i.Title == "" && e.Type == "summary" || e.Type == "custom-title" || e.Type == "ai-title" || i.Branch == "" && e.HasMessage {
			i.title(e)
		}
		if i.Prompt == "" && e.Type == "user" && e.HasMessage && classify(e) == ClassPrompt {
			i.Prompt = shorten(e.Message.Head, promptLength)
		}
	}
}

func (i *FileInfo) title(e *jsonl.Entry) {
	var t titles
	if json.Unmarshal(e.Raw, &t) != nil {
		return
	}
	i.Branch = cmp.Or(i.Branch, t.GitBranch)
	i.Title = cmp.Or(t.CustomTitle, t.AITitle, t.Summary, i.Title)
}

// lastTime is the latest time in the last lines of a plain file that have one.
func lastTime(f io.ReaderAt, size int64, name string) time.Time {
	for n := int64(peekBytes); ; n *= 4 {
		from := max(0, size-n)
		var last time.Time
		// The first line is usually incomplete, and then no entry.
		lines := jsonl.NewReader(io.NewSectionReader(f, from, size-from), name, jsonl.ReadOptions{})
		for lines.Scan() {
			if e := lines.Item().Entry; e != nil && e.Time.After(last) {
				last = e.Time
			}
		}
		if !last.IsZero() || from == 0 || n > 64<<20 {
			return last
		}
	}
}

// shorten cuts a text to at most n bytes, at a rune.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
