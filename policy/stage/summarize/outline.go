package summarize

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// outline is the deterministic extractive summary of a view. No model writes it: each line quotes a message or points
// to one. Earlier summaries are quoted too. outline_form.go arranges it in the sections of a client's form.
type outline struct {
	c       *policy.Context
	failed  map[string]bool   // tool_use ids whose results are errors
	named   map[string]string // tool_use id of a TaskCreate -> the task its result names
	earlier []string
	prompts []prompt
	files   map[string]*touched
	order   int
	errors  []string
	waiting []int // errors that nothing has followed yet
	TaskList
	last     []string // the agent's answers
	commands []string // the shell's, in order
	steps    []string // every call, in order
	err      error
}

type prompt struct{ where, text string }

// touched counts what a view did to one file.
type touched struct {
	read, written, edited, failed int

	last  int // order of the last touch
	where string
}

const (
	maxQuoted  = 300  // characters of one quoted text; user prompts are quoted whole
	maxLines   = 40   // lines of a section; the user's messages are all listed
	maxEarlier = 8000 // characters of an earlier summary, half from its beginning, half from its end
	maxWork    = 3    // last answers that are the current work
)

// gather reads items of the view of c, in order.
func gather(c *policy.Context, items iter.Seq[policy.ItemID]) (*outline, error) {
	o := &outline{c: c, failed: map[string]bool{}, named: map[string]string{}, files: map[string]*touched{}}
	for id := range items {
		o.outcomes(id)
	}
	for id := range items {
		if o.item(id); o.err != nil {
			break
		}
	}
	return o, o.err
}

func (o *outline) text(t policy.Target) string {
	s, err := o.c.Texts.Text(t)
	o.fail(err)
	return s
}

// outcomes notes the results of the calls that an item answers.
func (o *outline) outcomes(id policy.ItemID) {
	m := o.c.View.Message(id)
	if m == nil {
		return
	}
	for b := range m.Blocks {
		bl := &m.Blocks[b]
		switch {
		case bl.Kind != jsonl.KindToolResult:
		case bl.IsError:
			o.failed[bl.ID] = true
		case o.c.Conv.ToolName(bl.ID) == "TaskCreate":
			t := policy.BlockOf(id, b)
			number := TaskNumber(o.text(t))
			if number != "" {
				o.named[bl.ID] = number
			}
		}
	}
}

func (o *outline) item(id policy.ItemID) {
	m := o.c.View.Message(id)
	if s := o.c.View.Synthetic(id); s != nil && s.Summary || m != nil && m.Class == session.ClassSummary {
		o.summary(id)
		return
	}
	if m == nil {
		return
	}
	for b := range m.Blocks {
		t := policy.BlockOf(id, b)
		bl := &m.Blocks[b]
		where := pointer(m, bl)
		switch {
		case m.Class == session.ClassPrompt && (bl.Kind == jsonl.KindText || bl.Kind == jsonl.KindAttachment):
			o.prompts = append(o.prompts, prompt{where, strings.TrimSpace(o.text(t))})
		case bl.Kind == jsonl.KindText && m.Role == session.Assistant:
			if text := strings.TrimSpace(o.text(t)); text != "" {
				o.followed(quote(text), where)
				o.last = append(o.last, where+" "+quote(text))
			}
		case bl.Kind == jsonl.KindToolUse:
			o.toolUse(bl, t, where)
		case bl.Kind == jsonl.KindToolResult && bl.IsError:
			o.waiting = append(o.waiting, len(o.errors))
			o.errors = append(o.errors, where+" "+cmp.Or(o.c.Conv.ToolName(bl.ID), "a tool")+": "+quoteEnds(o.text(t)))
		}
	}
}

func (o *outline) fail(err error) {
	if o.err == nil {
		o.err = err
	}
}

// summary quotes an earlier summary: nothing else is known of what it covers.
func (o *outline) summary(id policy.ItemID) {
	var parts []string
	for t := range policy.Targets(o.c.View, id) {
		if c := o.c.View.Replacement(t); c != nil && c.Ref == nil && c.Text == "" && c.Tokens > 0 {
			parts = append(parts, fmt.Sprintf("(a placeholder of %d tokens)", c.Tokens))
		} else if text := strings.TrimSpace(Bare(o.text(t))); text != "" {
			parts = append(parts, text)
		}
	}
	if len(parts) > 0 {
		o.earlier = append(o.earlier, "Earlier summary:\n"+indent(shortened(strings.Join(parts, "\n"))))
	}
}

// shortened cuts a text to maxEarlier characters.
func shortened(text string) string {
	r := []rune(text)
	if len(r) <= maxEarlier {
		return text
	}
	const half = maxEarlier / 2
	return fmt.Sprintf("%s\n(%d characters left out)\n%s", string(r[:half]), len(r)-2*half, string(r[len(r)-half:]))
}

// toolUse notes what a call did to files and tasks, and which failures it followed. A call that failed did nothing.
func (o *outline) toolUse(bl *session.Block, t policy.Target, where string) {
	what := o.c.Conv.Alike(bl.Name)
	path := ""
	shell := ""
	switch what {
	case "Read", "Write", "Edit", "MultiEdit", "NotebookEdit", "Bash":
		var in struct {
			Path     string `json:"file_path"`
			Notebook string `json:"notebook_path"`
			Command  string `json:"command"`
		}
		if json.Unmarshal(o.c.Conv.AlikeInput(bl.Name, []byte(o.text(t))), &in) != nil {
			break
		}
		if what != "Bash" {
			path = cmp.Or(in.Path, in.Notebook)
		} else if in.Command != "" {
			shell = " " + quote(in.Command)
			o.commands = append(o.commands, where+shell)
		}
	}
	if path != "" {
		o.touch(path, bl, where)
		what += " " + path
	}
	if IsTaskTool(bl.Name) && !o.failed[bl.ID] {
		o.Call(bl.Name, o.text(t), o.named[bl.ID], where)
	}
	o.followed(what, where)
	step := where + " " + what + shell
	if o.failed[bl.ID] {
		step += ", failed"
	}
	o.steps = append(o.steps, step)
}

func (o *outline) touch(path string, bl *session.Block, where string) {
	if o.files[path] == nil {
		o.files[path] = &touched{}
	}
	f := o.files[path]
	o.order++
	f.last = o.order
	f.where = where
	switch {
	case o.failed[bl.ID]:
		f.failed++
	case o.c.Conv.Alike(bl.Name) == "Read":
		f.read++
	case o.c.Conv.Alike(bl.Name) == "Write":
		f.written++
	default:
		f.edited++
	}
}

// followed adds to the failures that nothing has followed yet what did.
func (o *outline) followed(what, where string) {
	for _, e := range o.waiting {
		o.errors[e] += "; then: " + what + " " + where
	}
	o.waiting = nil
}

// pointer names a block by its line, so that a reader finds it.
func pointer(m *session.Message, bl *session.Block) string {
	return fmt.Sprintf("[line %d]", cmp.Or(bl.Line, m.Line))
}

func indent(s string) string { return "   " + strings.ReplaceAll(s, "\n", "\n   ") }

// quote returns the beginning of a text on one line, in quotation marks.
func quote(s string) string { return quoteParts(s, maxQuoted, "…", 0) }

// quoteEnds quotes the beginning and the end: an error often has its cause at its end.
func quoteEnds(s string) string { return quoteParts(s, maxQuoted/2, " … ", maxQuoted/2) }

func quoteParts(s string, first int, gap string, last int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > maxQuoted {
		s = string(r[:first]) + gap + string(r[len(r)-last:])
	}
	return `"` + s + `"`
}
