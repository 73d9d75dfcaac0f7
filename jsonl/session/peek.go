package session

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/foreign"
	"github.com/ctxkit/ctxkit/jsonl/memo"
)

const (
	headBytes    = 128 << 10 // read of the start of a file
	tailBytes    = 16 << 10  // first read of its end
	titleBytes   = 64 << 10  // read of its end for titles, which Claude Code repeats there
	packedTail   = 1 << 20   // kept of the end of a compressed file, in bytes of its content
	mostUnpacked = 256 << 20 // largest content of a compressed file that is read for its end
	promptLength = 200       // longest FileInfo.Prompt, in bytes
)

// peeked is what the start and the end of a file say.
type peeked struct {
	Created, Last                   time.Time
	Project, Branch, Version, Title string
	Prompt, Session, Product        string
	Parent                          string // session that started it as a subagent
	Refused                         string // why it is no session; "": it may be one

	titles titles
	alone  bool // the first file of a tree without the others: they may come while it stays as it is
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
		} else {
			i.stamp = stamp
		}
	}
	g, ok := known.Get(name, stamp)
	if !ok {
		if g = peek(f, st.Size(), name, i.Path); !g.alone {
			known.Put(name, stamp, g)
		}
	}
	if g.Refused != "" {
		return noSession(g.Refused)
	}
	i.Created = g.Created
	i.Last = g.Last
	i.Project = g.Project
	i.Branch = g.Branch
	i.Version = g.Version
	i.Title = g.Title
	i.Prompt = g.Prompt
	i.session = g.Session
	i.Product = g.Product
	i.Parent = g.Parent
	return nil
}

// noSession is the error of a file that is something else.
type noSession string

func (e noSession) Error() string { return string(e) }

// peek reads the start and the end of a file, which is at a path.
func peek(f *os.File, size int64, name, path string) (g peeked) {
	content, packed, free, err := jsonl.Unpack(f)
	if err != nil {
		return g
	}
	defer free()
	if !packed {
		if g.head(content, name, path); g.Refused == "" {
			end := make([]byte, min(size, titleBytes))
			if readEnd, err := f.ReadAt(end, size-int64(len(end))); err == nil || errors.Is(err, io.EOF) {
				g.named(end[:readEnd], name, false)
			}
			if g.Last = lastTime(f, size, name); g.Last.IsZero() && g.Product != "" {
				g.Last = lastPut(io.NewSectionReader(f, 0, size), g.Product, name, path)
			}
		}
		return g
	}
	end := &tail{}
	if g.head(io.TeeReader(content, end), name, path); g.Refused != "" {
		return g
	}
	n, _ := io.Copy(end, io.LimitReader(content, mostUnpacked)) // as far as it can be read
	g.named(*end, name, false)
	if n < mostUnpacked {
		g.Last = lastTime(bytes.NewReader(*end), int64(len(*end)), name)
	}
	if n < mostUnpacked && g.Last.IsZero() && g.Product != "" { // it is one document
		if content, _, free, err := jsonl.Unpack(io.NewSectionReader(f, 0, size)); err == nil {
			defer free()
			g.Last = lastPut(content, g.Product, name, path)
		}
	}
	return g
}

// tail keeps the end of what is written, packedTail bytes at least.
type tail []byte

func (t *tail) Write(p []byte) (int, error) {
	if *t = append(*t, p...); len(*t) > 2*packedTail {
		*t = append((*t)[:0], (*t)[len(*t)-packedTail:]...)
	}
	return len(p), nil
}

// head reads the start of a session. It ignores lines that cannot be read: a replay of the file reports them.
func (g *peeked) head(r io.Reader, name, path string) {
	data := make([]byte, headBytes)
	n, err := io.ReadFull(r, data) // as far as it can be read
	data = data[:n]
	if !isOwn(data) {
		var converted []byte
		if f := foreign.Looks(foreign.NewBeginning(data, err != nil), path, Forms()); f != nil {
			converted = convertHead(f, data, path)
			g.alone = f.Gather != nil && len(converted) == 0
		} else if n > 0 || errors.Is(err, io.EOF) {
			if g.refuse(data, r, err); g.Refused != "" {
				return
			}
		}
		data = converted
	}
	rest := g.lines(data, name, func() bool {
		return !g.Created.IsZero() && g.Version != "" && g.Project != "" && g.Session != "" && g.Prompt != ""
	})
	g.named(rest, name, true)
}

// named reads the lines that may hold a title and, at the start of a file, a summary or a branch.
func (g *peeked) named(data []byte, name string, start bool) {
	var names []byte
	for line := range bytes.Lines(data) {
		if bytes.Contains(line, []byte(`-title"`)) || start && (g.Title == "" && bytes.Contains(line, []byte(`"summary"`)) ||
			g.Branch == "" && bytes.Contains(line, []byte(`"gitBranch":`)) && !bytes.Contains(line, []byte(`"gitBranch":""`))) {
			names = append(names, line...)
		}
	}
	g.lines(names, name, func() bool { return false })
}

// refuse notes that a file is no session, where its start, and as much more as Recognise looks at, do not tell that it
// may be one. err is what ended reading the start.
func (g *peeked) refuse(data []byte, rest io.Reader, err error) {
	if err == nil {
		more, e := io.ReadAll(io.LimitReader(rest, int64(manyBytes-len(data))))
		data = append(data, more...)
		err = e
		if len(data) < manyBytes {
			err = io.EOF
		}
	}
	forms := Forms()
	h := foreign.NewBeginning(data, err != nil)
	if !isOwn(data) && foreign.Looks(h, "", forms) == nil {
		g.Refused = foreign.Refuse(h, forms).Error()
	}
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
			g.Product = s.Product
			g.Version = s.Version
			g.Session = s.ID
			g.Project = s.CWD
			g.Parent = s.Parent
		}
		if g.Created.IsZero() && !e.Time.IsZero() {
			g.Created = e.Time
		}
		g.Version = cmp.Or(g.Version, e.Version)
		g.Project = cmp.Or(g.Project, e.CWD)
		g.Session = cmp.Or(g.Session, e.SessionID)
		if g.Title == "" && e.Type == "summary" || e.Type == "custom-title" || e.Type == "ai-title" ||
			g.Branch == "" && e.HasMessage && bytes.Contains(e.Raw, []byte(`"gitBranch"`)) {
			g.titles.read(e)
			g.Title = g.titles.title()
			g.Branch = cmp.Or(g.Branch, g.titles.GitBranch)
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

// lastTime is the latest time in the last lines of a text that have one.
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

// lastPut is the latest time of a session of another agent whose files are documents: they have no lines with times.
func lastPut(in io.Reader, product, name, path string) (last time.Time) {
	forms := Forms()
	i := slices.IndexFunc(forms, func(f foreign.Form) bool { return f.Name == product })
	if i < 0 {
		return last
	}
	out, lines := io.Pipe()
	go func() {
		w := foreign.NewWriter()
		whole, err := gathered(&forms[i], path, w)
		if whole != nil {
			in = whole
		}
		if err == nil {
			err = w.Run(&forms[i], in, lines)
		}
		lines.CloseWithError(err)
	}()
	r := jsonl.NewReader(out, name, jsonl.ReadOptions{Block: headBytes})
	for r.Scan() {
		if e := r.Item().Entry; e != nil && e.Time.After(last) {
			last = e.Time
		}
	}
	out.Close()
	return last
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

// titles are the fields of lines that name a session.
type titles struct {
	Summary     string `json:"summary"`
	CustomTitle string `json:"customTitle"`
	AITitle     string `json:"aiTitle"`
	GitBranch   string `json:"gitBranch"`
}

// read notes the names on a line: of repeated titles the last, as the client shows it, and of summaries the first.
func (t *titles) read(e *jsonl.Entry) {
	var one titles
	if json.Unmarshal(e.Raw, &one) == nil {
		*t = titles{cmp.Or(t.Summary, one.Summary), cmp.Or(one.CustomTitle, t.CustomTitle), cmp.Or(one.AITitle, t.AITitle), cmp.Or(t.GitBranch, one.GitBranch)}
	}
}

// title is the name that the user gave, else that of the client.
func (t *titles) title() string { return cmp.Or(t.CustomTitle, t.AITitle, t.Summary) }
