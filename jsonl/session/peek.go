package session

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"os"
	"time"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/foreign"
	"github.com/ctxkit/ctxkit/jsonl/memo"
)

const (
	headBytes    = 128 << 10 // read of the start of a file
	tailBytes    = 16 << 10  // first read of its end
	promptLength = 200       // longest FileInfo.Prompt, in bytes
)

// peeked is what the start and the end of a file say.
type peeked struct {
	Created, Last                   time.Time
	Project, Branch, Version, Title string
	Prompt, Session, Product        string
}

// read fills the fields that the file and its file system provide. What its content says is taken from known, where the
// file has not changed since.
func (i *FileInfo) read(root *os.Root, name string, known *memo.Folder[peeked]) error {
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
	var stamp memo.Stamp
	if known != nil {
		if stamp, err = memo.StampOf(f, st); err != nil {
			known = nil // it changes right now
		}
	}
	g, ok := known.Get(name, stamp)
	if !ok {
		g = peek(f, st.Size(), name)
		known.Put(name, stamp, g)
	}
	i.Created, i.Last, i.Project, i.Branch, i.Version = g.Created, g.Last, g.Project, g.Branch, g.Version
	i.Title, i.Prompt, i.session, i.Product = g.Title, g.Prompt, g.Session, g.Product
	return nil
}

// peek reads the start and the end of a file.
func peek(f *os.File, size int64, name string) (g peeked) {
	content, packed, free, err := jsonl.Unpack(f)
	if err == nil {
		g.head(content, name)
		free()
	}
	if !packed {
		g.Last = lastTime(f, size, name)
	}
	return g
}

// head reads the start of a session. It ignores lines that cannot be read: a replay of the file reports them.
func (g *peeked) head(r io.Reader, name string) {
	data := make([]byte, headBytes)
	n, _ := io.ReadFull(r, data) // as far as it can be read
	data = data[:n]
	if !isOwn(data) {
		data = convertHead(data)
	}
	rest := g.lines(data, name, func() bool {
		return !g.Created.IsZero() && g.Version != "" && g.Project != "" && g.Session != "" && g.Prompt != ""
	})
	var names []byte // the lines after that which may hold a title or a branch
	for line := range bytes.Lines(rest) {
		if bytes.Contains(line, []byte(`-title"`)) || g.Title == "" && bytes.Contains(line, []byte(`"summary"`)) ||
			g.Branch == "" && bytes.Contains(line, []byte(`"gitBranch":`)) && !bytes.Contains(line, []byte(`"gitBranch":""`)) {
			names = append(names, line...)
		}
	}
	g.lines(names, name, func() bool { return false })
}

// lines reads lines until it has all that is wanted, and returns the rest.
func (g *peeked) lines(data []byte, name string, enough func() bool) []byte {
	lines := jsonl.NewReader(bytes.NewReader(data), name, jsonl.ReadOptions{Block: min(len(data)+1, tailBytes)})
	for lines.Scan() {
		e := lines.Item().Entry
		if e == nil {
			continue
		}
		if e.Type == foreign.TypeSession {
			var s foreign.Session
			_ = json.Unmarshal(e.Raw, &s) // what does not read is left out
			g.Product, g.Version, g.Session, g.Project = s.Product, s.Version, s.ID, s.CWD
		}
		if g.Created.IsZero() && !e.Time.IsZero() {
			g.Created = e.Time
		}
		g.Version, g.Project, g.Session = cmp.Or(g.Version, e.Version), cmp.Or(g.Project, e.CWD), cmp.Or(g.Session, e.SessionID)
		if g.Title == "" && e.Type == "summary" || e.Type == "custom-title" || e.Type == "ai-title" ||
			g.Branch == "" && e.HasMessage && bytes.Contains(e.Raw, []byte(`"gitBranch"`)) {
			g.title(e)
		}
		if g.Prompt == "" && e.Type == "user" && e.HasMessage && classify(e) == ClassPrompt {
			g.Prompt = shorten(e.Message.Head, promptLength)
		}
		if enough() {
			at := lines.Item().Span
			return data[at.Off+int64(at.Len):]
		}
	}
	return nil
}

func (g *peeked) title(e *jsonl.Entry) {
	var t titles
	if json.Unmarshal(e.Raw, &t) != nil {
		return
	}
	g.Branch = cmp.Or(g.Branch, t.GitBranch)
	g.Title = cmp.Or(t.CustomTitle, t.AITitle, t.Summary, g.Title)
}

// lastTime is the latest time in the last lines of a plain file that have one.
func lastTime(f io.ReaderAt, size int64, name string) time.Time {
	for n := int64(tailBytes); ; n *= 4 {
		from := max(0, size-n)
		var last time.Time
		// The first line is usually incomplete, and then no entry.
		lines := jsonl.NewReader(io.NewSectionReader(f, from, size-from), name, jsonl.ReadOptions{Block: int(min(n, 256<<10))})
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
