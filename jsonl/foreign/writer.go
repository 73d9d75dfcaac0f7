package foreign

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"sync"

	"github.com/ctxkit/ctxkit/jsonl"
)

// Unit is a line, message or part of the original.
type Unit int

// unit says what became of one.
type unit struct {
	line  int
	put   int    // lines that were put from it
	lost  int    // those of them that were set aside
	aside string // reason; "": used
}

// Writer takes a session from its format. It is safe for one writing and one reading goroutine.
type Writer struct {
	mu      sync.Mutex
	to      io.Writer
	err     error // the first that writing had
	session Session
	product string
	last    map[string]string // by agent: uuid of the last chained line
	from    []Unit            // of each line written; -1: none
	units   []unit
	losses  []loss
	Remarks []Remark

	Limits jsonl.InputLimits // of what is read
}

// NewWriter returns a Writer for one Run.
func NewWriter() *Writer { return &Writer{last: map[string]string{}} }

// Run converts a session to lines on out. It may be called once.
func (w *Writer) Run(f *Form, in io.Reader, out io.Writer) error {
	w.to = out
	w.product = f.Name
	return f.Convert(in, w)
}

// Begin writes the session's own line. It comes before any other; a further one says that the window is another from
// here on.
func (w *Writer) Begin(s Session) {
	s.Product = w.product
	w.session = s
	w.write(-1, struct {
		Type string `json:"type"`
		Session
	}{TypeSession, s})
}

// Unit begins the next unit of the original, at a 1-based line no smaller than that of the unit before. It counts as
// used until it is set aside.
func (w *Writer) Unit(line int) Unit {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.units = append(w.units, unit{line: line})
	return Unit(len(w.units) - 1)
}

// Aside sets a unit aside.
func (w *Writer) Aside(u Unit, reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.units[u].aside = reason
}

// Warn adds a warning.
func (w *Writer) Warn(line int, code, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Remarks = append(w.Remarks, Remark{line, code, fmt.Sprintf(format, args...)})
}

// Decode decodes a line into what a reader makes of it. A field of another type than it should have is left out, with a
// warning.
func (w *Writer) Decode(raw []byte, line int, into any) {
	if json.Unmarshal(raw, into) != nil {
		w.Warn(line, "unreadable-metadata", "a field is not of its type: the readable part of the line is used")
	}
}

// Format warns of a session whose format has a newer version than what is read.
func (w *Writer) Format(line int, version, newest float64) {
	if version > newest {
		w.Warn(line, "unreadable-metadata", "version %v of the format is newer than what is read, %v: what is new in it is left out", version, newest)
	}
}

// Put writes a line that comes from a unit, or from none, -1, and returns its uuid.
func (w *Writer) Put(u Unit, l Line) string {
	s := &w.session
	switch l.Type {
	case "ai-title", "last-prompt", TypeReplaced, TypeCollapsed: // they are not chained
	default:
		if l.UUID == "" {
			l.UUID = fmt.Sprintf("%s-%06d", s.Product, len(w.from))
		}
		if l.Parent == "" && !l.Root {
			l.Parent = w.last[l.Agent]
		}
		w.last[l.Agent] = l.UUID
	}
	if l.Version == "" {
		l.Version = s.Version
	}
	l.SessionID = s.ID
	l.CWD = s.CWD
	if m := l.Message; m != nil && m.Role == "" {
		m.Role = l.Type
	}
	if m := l.Message; m != nil && m.Content == nil {
		m.Content = []Block{}
	}
	type line Line
	full := struct {
		line
		Parent *string `json:"parentUuid"` // null: it is a root
	}{line: line(l)}
	if l.Parent != "" {
		full.Parent = &l.Parent
	}
	w.write(u, full)
	return l.UUID
}

// Empty reports whether no line of a conversation was put.
func (w *Writer) Empty() bool { return len(w.last) == 0 }

// Last is the uuid of the last chained line of the main conversation that was put.
func (w *Writer) Last() string { return w.last[""] }

// Leaf names the line whose branch is the conversation. It comes after all others.
func (w *Writer) Leaf(uuid string) {
	w.write(-1, struct {
		Type      string `json:"type"`
		UUID      string `json:"leafUuid"`
		SessionID string `json:"sessionId,omitempty"`
	}{"last-prompt", uuid, w.session.ID})
}

// PutTotals writes RunTotals that come from a unit.
func (w *Writer) PutTotals(u Unit, t RunTotals) {
	w.write(u, struct {
		Type      string `json:"type"`
		SessionID string `json:"sessionId,omitempty"`
		RunTotals
	}{TypeTotals, w.session.ID, t})
}

// PutCall writes a BilledCall that comes from a unit.
func (w *Writer) PutCall(u Unit, c BilledCall) {
	w.write(u, struct {
		Type      string `json:"type"`
		SessionID string `json:"sessionId,omitempty"`
		BilledCall
	}{TypeCall, w.session.ID, c})
}

func (w *Writer) write(u Unit, v any) {
	w.mu.Lock()
	w.from = append(w.from, u)
	if u >= 0 {
		w.units[u].put++
	}
	w.mu.Unlock()
	enc := json.NewEncoder(w.to)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		w.mu.Lock()
		w.err = cmp.Or(w.err, err)
		w.mu.Unlock()
	}
}

// Err is the first error of writing. After one the reader of the lines is gone, and a Form stops converting.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Origin is the original's line of a written one, both 1-based; 0: none.
func (w *Writer) Origin(line int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if line < 1 || line > len(w.from) || w.from[line-1] < 0 {
		return 0
	}
	return w.units[w.from[line-1]].line
}

// Lost notes that a written line of the original's line was set aside by its reader: a unit of which nothing is left
// is set aside for the same reason.
func (w *Writer) Lost(line int, reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.losses = append(w.losses, loss{line, reason})
}

// loss is a written line that its reader set aside.
type loss struct {
	line   int // of the original
	reason string
}

// lose takes a loss off its unit. All lines are put: before, it would depend on how far writing is ahead of reading.
func (w *Writer) lose(line int, reason string) {
	i := sort.Search(len(w.units), func(i int) bool { return w.units[i].line >= line })
	for ; i < len(w.units) && w.units[i].line == line; i++ {
		u := &w.units[i]
		if u.aside == "" && u.lost < u.put {
			if u.lost++; u.lost == u.put {
				u.aside = reason
			}
			return
		}
	}
}

// Account counts the units, once all are written: read, used, and those set aside by reason.
func (w *Writer) Account() (read, used int, aside map[string]int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.losses {
		w.lose(l.line, l.reason)
	}
	w.losses = nil
	aside = map[string]int{}
	for i := range w.units {
		if r := w.units[i].aside; r != "" {
			aside[r]++
		} else {
			used++
		}
	}
	return len(w.units), used, aside
}
