package session

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"math"
	"path"
	"slices"
	"sort"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/foreign"
	"github.com/ctxkit/ctxkit/jsonl/internal/cline"
	"github.com/ctxkit/ctxkit/jsonl/internal/codex"
	"github.com/ctxkit/ctxkit/jsonl/internal/copilot"
	"github.com/ctxkit/ctxkit/jsonl/internal/gemini"
	"github.com/ctxkit/ctxkit/jsonl/internal/kimi"
	"github.com/ctxkit/ctxkit/jsonl/internal/opencode"
	"github.com/ctxkit/ctxkit/jsonl/internal/pi"
	"github.com/ctxkit/ctxkit/jsonl/internal/qwen"
	"github.com/ctxkit/ctxkit/jsonl/internal/tables"
)

// Forms returns the session formats, other than that of Claude Code, that Load reads.
func Forms() []foreign.Form {
	return []foreign.Form{
		cline.Form(), cline.CLI(), codex.Form(), copilot.Form(), tables.Crush(), gemini.Form(), tables.Goose(), opencode.Kilo(), kimi.Form(), opencode.Form(), pi.Form(), qwen.Form(), cline.Roo(),
	}
}

// alike are the tools of a client that have a counterpart in Claude Code.
func alike(product string) map[string]string {
	for _, f := range Forms() {
		if f.Name == product {
			return f.Tools
		}
	}
	return nil
}

// convertHead converts the beginning of another agent's session, as far as it goes, or all of one that is a tree of
// files, whose first is at a path.
func convertHead(f *foreign.Form, b []byte, path string) []byte {
	var lines bytes.Buffer
	w := foreign.NewWriter()
	in, err := gathered(f, path, w)
	if err != nil {
		return nil // a replay of the file reports what is wrong
	}
	if in == nil {
		in = bytes.NewReader(b)
	}
	_ = w.Run(f, in, &lines)
	return lines.Bytes()
}

// gathered is the content of a session that is a tree of files, from the place of its first; nil: that file holds all,
// or there is no place.
func gathered(f *foreign.Form, path string, w *foreign.Writer) (io.Reader, error) {
	if f.Gather == nil || path == "" {
		return nil, nil
	}
	return f.Gather(path, w)
}

// inside reports whether a folder below the given one, at a path with slashes, may hold sessions of another agent.
func inside(rel string) bool {
	for _, f := range Forms() {
		for _, pattern := range f.Store.Inside {
			if ok, err := path.Match(pattern, rel); ok && err == nil {
				return true
			}
		}
	}
	return false
}

// Bytes of a file that are looked at to tell its format: few first, many where they do not tell.
const (
	fewBytes  = 64 << 10
	manyBytes = 16 << 20
)

// Recognise finds out from the beginning of a source which agent recorded it. The form is nil for Claude Code. A source
// that is not a session gives an error. A source that cannot be read is taken for a session of Claude Code; the later
// loading then returns the error.
func Recognise(src *jsonl.Source) (*foreign.Form, error) {
	formats := Forms()
	n := fewBytes
	for {
		b, err := src.Head(n)
		if isOwn(b) || err != nil && !errors.Is(err, io.EOF) && len(b) == 0 {
			return nil, nil
		}
		h := foreign.NewBeginning(b, err != nil)
		if f := foreign.Looks(h, src.Name(), formats); f != nil {
			return f, nil
		}
		if err != nil || n == manyBytes {
			return nil, &jsonl.FileError{Path: src.Name(), Err: foreign.Refuse(h, formats)}
		}
		n = manyBytes
	}
}

// Unread returns the error that kept every message of another agent's session from being read. It returns nil if at
// least one message was read, or if reading ended without an error.
func Unread(f *foreign.Form, src *jsonl.Source) error {
	in, out := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, err := src.WriteTo(out)
		out.CloseWithError(err)
	}()
	w := foreign.NewWriter()
	err := w.Run(f, in, io.Discard)
	in.Close()
	<-done
	if !w.Empty() {
		return nil
	}
	return err
}

// recognise returns the source to read: of another agent's session its lines. file is where it is, "" for a stream.
func (ld *loader) recognise(src *jsonl.Source, file string) (*jsonl.Source, error) {
	f, err := Recognise(src)
	switch {
	case err != nil:
		src.Close()
		return nil, err
	case f == nil:
		return src, nil
	}
	ld.foreign = foreign.NewWriter()
	ld.foreign.Limits = ld.limits
	for _, what := range ld.lost {
		ld.foreign.Aside(ld.foreign.Unit(0), "unreadable in the database")
		ld.foreign.Warn(0, string(CodeMalformed), "%s", what)
	}
	return src.Through(func(in io.Reader, out io.Writer) error {
		whole, err := gathered(f, file, ld.foreign)
		if err != nil {
			return err
		}
		if whole != nil {
			in = whole
		}
		return ld.foreign.Run(f, in, out)
	}), nil
}

// isOwn reports whether a file that begins with b holds a line of a Claude Code session.
func isOwn(b []byte) bool {
	if ofQwen(b) {
		return false
	}
	r := jsonl.NewReader(bytes.NewReader(b), "", jsonl.ReadOptions{})
	for r.Scan() {
		e := r.Item().Entry
		if e == nil {
			continue
		}
		switch e.Type {
		case "":
		case "user", "assistant":
			if e.HasMessage || e.UUID != "" {
				return true
			}
		case foreign.TypeSession, foreign.TypeTotals, foreign.TypeCall, "summary", "custom-title", "ai-title", "last-prompt", "file-history-snapshot", "file-history-delta",
			typeQueue, typeCommit, typeSnapshot, typeReplacement:
			return true
		default:
			if e.UUID != "" || e.SessionID != "" {
				return true
			}
		}
	}
	return false
}

// ofQwen reports whether the first message of a file is Qwen Code's, whose lines are like Claude Code's but for their
// messages: those are Gemini's.
func ofQwen(b []byte) bool {
	if !bytes.Contains(b, []byte(`"parts":`)) {
		return false
	}
	r := jsonl.NewReader(bytes.NewReader(b), "", jsonl.ReadOptions{})
	for r.Scan() {
		e := r.Item().Entry
		if e == nil || e.Type != "user" && e.Type != "assistant" {
			continue
		}
		var line struct {
			Message struct{ Content, Parts json.RawMessage }
		}
		return json.Unmarshal(e.Raw, &line) == nil && line.Message.Content == nil && bytes.HasPrefix(line.Message.Parts, []byte("["))
	}
	return false
}

// ownFormat reports whether Claude Code recorded the session.
func (ld *loader) ownFormat() bool { return cmp.Or(ld.recorded.Product, Product) == Product }

// recorder reads the line that says what recorded the session.
func (ld *loader) recorder(e *jsonl.Entry) {
	if err := json.Unmarshal(e.Raw, &ld.recorded); err != nil {
		ld.warn(CodeMetadata, e.Line, "%s is partly unreadable: the readable part is used", e.Type)
	}
	if n := ld.recorded.Window; n > 0 && (len(ld.windows) == 0 || ld.windows[len(ld.windows)-1].tokens != n) {
		ld.windows = append(ld.windows, window{len(ld.nodes), n})
	}
	if ld.foreign == nil {
		ld.aside(e.Line, Reason("metadata: "+e.Type))
	}
}

// total reads a line of totals.
func (ld *loader) total(e *jsonl.Entry) {
	var t foreign.RunTotals
	if err := json.Unmarshal(e.Raw, &t); err != nil {
		ld.warn(CodeMetadata, e.Line, "%s is unreadable: the line is set aside", e.Type)
		ld.aside(e.Line, Reason("metadata: "+e.Type))
		return
	}
	ld.totals = append(ld.totals, RunTotals{Line: e.Line, Model: t.Model, Time: t.Time, Requests: t.Requests, Usage: *recordedUsage(&t.Usage)})
	ld.lines.Used++
}

// otherCall reads a line of a call that has no other.
func (ld *loader) otherCall(e *jsonl.Entry) {
	var line foreign.BilledCall
	if err := json.Unmarshal(e.Raw, &line); err != nil {
		ld.warn(CodeMetadata, e.Line, "%s is unreadable: the line is set aside", e.Type)
		ld.aside(e.Line, Reason("metadata: "+e.Type))
		return
	}
	q := Charge{ID: line.ID, Kind: ChargeOther, Line: e.Line, Model: line.Model, Time: line.Time, Calls: max(line.Requests, 1)}
	if k := slices.Index(chargeNames, line.Kind); k >= 0 {
		q.Kind = ChargeKind(k)
	}
	if line.Usage != nil {
		q.Usage = *recordedUsage(line.Usage)
		q.HasUsage = true
	}
	ld.billed = append(ld.billed, q)
	ld.covered = append(ld.covered, line.Covers...)
	ld.lines.Used++
}

// maxRecorded caps each figure of a recorded usage.
const maxRecorded = 1_000_000_000_000

// recordedUsage is a usage as it is read; nil of nil.
func recordedUsage(u *foreign.Usage) *jsonl.Usage {
	if u == nil {
		return nil
	}
	in := func(n int) int { return min(max(n, 0), maxRecorded) }
	out := &jsonl.Usage{Input: in(u.Input), CacheWrite: in(u.CacheWrite), CacheRead: in(u.CacheRead), Output: in(u.Output), Tier: u.Tier, Nano: billionths(u.Cost)}
	if u.Lifetimes != nil {
		out.Write5m, out.Write1h = in(u.Lifetimes.Minutes), in(u.Lifetimes.Hour)
	}
	if u.Details != nil {
		out.Thinking = in(u.Details.Thinking)
	}
	return out
}

// billionths is a cost in USD in billionths, 0 for one that is not believed.
func billionths(usd float64) int64 {
	if usd > 0 && usd < 1e9 {
		return int64(math.Round(usd * 1e9))
	}
	return 0
}

// window is a model's whole context window from a node on.
type window struct {
	from   int
	tokens int
}

// windowAt is the recorded window at node i: what is before the first one has that too; 0 where none is recorded.
func (ld *loader) windowAt(i int) int {
	if len(ld.windows) == 0 {
		return 0
	}
	after := sort.Search(len(ld.windows), func(k int) bool { return ld.windows[k].from > i })
	return ld.windows[max(after-1, 0)].tokens
}

// origin puts the account of another agent's session and its warnings in the place of those of the lines made of it.
func (ld *loader) origin() {
	if ld.foreign == nil {
		return
	}
	read, used, aside := ld.foreign.Account()
	ld.lines = Accounting{Read: read, Used: used, SetAside: map[Reason]int{}}
	for r, n := range aside {
		ld.lines.SetAside[Reason(r)] = n
	}
	for _, w := range ld.foreign.Remarks {
		ld.warn(Code(w.Code), w.Line, "%s", w.Text)
	}
}
