package stage

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// outline is the deterministic extractive summary: what a view says about
// itself, in the sections of the client's 9-section form. No model writes it:
// each line quotes a message or points to one.
type outline struct {
	c       *policy.Context
	prompts []string
	files   map[string]*touched
	order   int
	errors  []string
	failed  string // tool of the last error without what followed
	todos   []todo
	last    []string
	err     error
}

// touched is what a view did to one file.
type touched struct {
	read, written, edited int
	last                  int // order of the last touch
	where                 string
}

type todo struct {
	Content string `json:"content"`
	Subject string `json:"subject"`
	Status  string `json:"status"`
}

// maxQuoted is how many characters of one quoted text an outline line holds;
// user prompts are quoted whole.
const maxQuoted = 300

// maxLines is how many lines of a section an outline lists.
const maxLines = 40

// outlineSummary is the outline of the view of c, in the 9-section form.
func outlineSummary(c *policy.Context) (string, error) {
	o := &outline{c: c, files: map[string]*touched{}}
	for id := range c.View.Items {
		o.item(id)
		if o.err != nil {
			return "", o.err
		}
	}
	return o.write(), nil
}

func (o *outline) text(t policy.Target) string {
	s, err := o.c.Texts.Text(t)
	if err != nil && o.err == nil {
		o.err = err
	}
	return s
}

func (o *outline) item(id policy.ItemID) {
	if s := o.c.View.Synthetic(id); s != nil {
		return
	}
	m := o.c.View.Message(id)
	for b := range m.Blocks {
		t := policy.Target{Item: id, Block: b}
		switch bl := &m.Blocks[b]; {
		case bl.Kind == jsonl.KindText && m.Class == session.ClassPrompt:
			o.prompts = append(o.prompts, o.text(t))
		case bl.Kind == jsonl.KindAttachment && m.Class == session.ClassPrompt:
			o.prompts = append(o.prompts, o.text(t))
		case bl.Kind == jsonl.KindText && m.Role == session.Assistant:
			text := strings.TrimSpace(o.text(t))
			if text == "" {
				continue
			}
			o.followed("then: " + quote(text))
			o.last = append(o.last, pointer(m)+quote(text))
		case bl.Kind == jsonl.KindToolUse:
			o.toolUse(m, bl, t)
		case bl.Kind == jsonl.KindToolResult && bl.IsError:
			o.errors = append(o.errors, pointer(m)+o.c.Conv.ToolName(bl.ID)+": "+quote(o.text(t)))
			o.failed = o.c.Conv.ToolName(bl.ID)
		}
	}
}

// toolUse notes the files a call touches, the todos it sets, and what
// followed a failure.
func (o *outline) toolUse(m *session.Message, bl *session.Block, t policy.Target) {
	switch bl.Name {
	case "Read", "Write", "Edit", "MultiEdit", "NotebookEdit", "TodoWrite", "TaskCreate":
	default:
		o.followed("then: " + bl.Name + " was called again")
		return
	}
	var in struct {
		FilePath string          `json:"file_path"`
		Notebook string          `json:"notebook_path"`
		Todos    json.RawMessage `json:"todos"`
		Subject  string          `json:"subject"`
	}
	if json.Unmarshal([]byte(o.text(t)), &in) != nil {
		return
	}
	switch bl.Name {
	case "TodoWrite":
		var list []todo
		if json.Unmarshal(in.Todos, &list) == nil {
			o.todos = list
		}
		return
	case "TaskCreate":
		o.todos = append(o.todos, todo{Subject: in.Subject, Status: "pending"})
		return
	}
	path := in.FilePath
	if path == "" {
		path = in.Notebook
	}
	if path == "" {
		return
	}
	o.followed("then: " + bl.Name + " " + path)
	f := o.files[path]
	if f == nil {
		f = &touched{}
		o.files[path] = f
	}
	o.order++
	f.last, f.where = o.order, pointer(m)
	switch bl.Name {
	case "Read":
		f.read++
	case "Write":
		f.written++
	default:
		f.edited++
	}
}

func (o *outline) followed(what string) {
	if o.failed != "" {
		o.errors[len(o.errors)-1] += "; " + what
		o.failed = ""
	}
}

func (o *outline) write() string {
	var b strings.Builder
	b.WriteString("<summary>\n")
	section := func(n int, title string, lines []string) {
		fmt.Fprintf(&b, "%d. %s:\n", n, title)
		if len(lines) == 0 {
			lines = []string{"N/A"}
		}
		if over := len(lines) - maxLines; over > 0 {
			lines = append([]string{fmt.Sprintf("(%d earlier lines left out)", over)}, lines[over:]...)
		}
		for _, l := range lines {
			b.WriteString("   " + strings.ReplaceAll(l, "\n", "\n   ") + "\n")
		}
		b.WriteString("\n")
	}
	var intent []string
	if len(o.prompts) > 0 {
		intent = append(intent, quote(o.prompts[0]))
		if len(o.prompts) > 1 {
			intent = append(intent, "latest: "+quote(o.prompts[len(o.prompts)-1]))
		}
	}
	section(1, "Primary Request and Intent", intent)
	section(2, "Key Technical Concepts", nil)
	section(3, "Files and Code Sections", o.fileLines())
	section(4, "Errors and fixes", o.errors)
	section(5, "Problem Solving", nil)
	section(6, "All user messages", bullets(o.prompts))
	pending, current := o.todoLines()
	section(7, "Pending Tasks", pending)
	section(8, "Current Work", o.last[max(len(o.last)-3, 0):])
	section(9, "Optional Next Step", current)
	b.WriteString("</summary>")
	return b.String()
}

func bullets(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = "- " + strings.TrimSpace(l)
	}
	return out
}

func (o *outline) fileLines() []string {
	paths := make([]string, 0, len(o.files))
	for p := range o.files {
		paths = append(paths, p)
	}
	sort.Slice(paths, func(i, j int) bool { return o.files[paths[i]].last < o.files[paths[j]].last })
	lines := make([]string, len(paths))
	for i, p := range paths {
		f := o.files[p]
		lines[i] = fmt.Sprintf("- %s (read %d, written %d, edited %d; last %s)", p, f.read, f.written, f.edited, strings.TrimSuffix(strings.TrimPrefix(f.where, "["), "] "))
	}
	return lines
}

func (o *outline) todoLines() (pending, current []string) {
	for _, t := range o.todos {
		text := t.Content
		if text == "" {
			text = t.Subject
		}
		switch t.Status {
		case "completed", "deleted":
		case "in_progress":
			current = append(current, "- "+quote(text))
			fallthrough
		default:
			pending = append(pending, "- "+quote(text))
		}
	}
	return pending, current
}

// pointer names a message by its line, so that a reader finds it.
func pointer(m *session.Message) string { return fmt.Sprintf("[line %d] ", m.Line) }

// quote is the beginning of a text on one line, in quotation marks.
func quote(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	r := []rune(s)
	if len(r) > maxQuoted {
		s = string(r[:maxQuoted]) + "…"
	}
	return `"` + s + `"`
}
