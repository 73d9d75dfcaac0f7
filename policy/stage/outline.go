package stage

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// outline is the deterministic extractive summary: what a view says about
// itself, in the sections of the client's 9-section form. No model writes it:
// each line quotes a message or points to one, and what an earlier compaction
// said is quoted too.
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
	todos   []task
	tasks   []*task
	last    []string
	err     error
}

type prompt struct{ where, text string }

// touched is what a view did to one file.
type touched struct {
	read, written, edited, failed int

	last  int // order of the last touch
	where string
}

// task is an entry of one of the two lists of tasks: that of TodoWrite, which
// is replaced as a whole, or that of TaskCreate and TaskUpdate.
type task struct {
	id, text, status string
	where            string // what the text is quoted from
	changed          string // what the status is quoted from, where that is another message
}

// maxQuoted is how many characters of one quoted text an outline line holds;
// user prompts are quoted whole.
const maxQuoted = 300

// maxLines is how many lines of a section an outline lists; the user's
// messages are all there.
const maxLines = 40

// maxEarlier is how many characters of an earlier summary an outline quotes:
// half of them from its beginning, half from its end.
const maxEarlier = 8000

// maxWork is how many of the last answers stand for the current work.
const maxWork = 3

// outlineSummary is the outline of the view of c, in the 9-section form and
// between <summary> tags; bare takes those off.
func outlineSummary(c *policy.Context) (string, error) {
	o := &outline{c: c, failed: map[string]bool{}, named: map[string]string{}, files: map[string]*touched{}}
	for id := range c.View.Items {
		o.outcomes(id)
	}
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

// taskNumber is how a TaskCreate's result names the task.
var taskNumber = regexp.MustCompile(`Task #(\d+)`)

// outcomes notes what became of the calls that an item answers.
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
			if n := taskNumber.FindStringSubmatch(o.text(policy.Target{Item: id, Block: b})); n != nil {
				o.named[bl.ID] = n[1]
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
		t := policy.Target{Item: id, Block: b}
		bl := &m.Blocks[b]
		where := pointer(m, bl)
		switch {
		case m.Class == session.ClassPrompt && (bl.Kind == jsonl.KindText || bl.Kind == jsonl.KindAttachment):
			o.prompts = append(o.prompts, prompt{where, strings.TrimSpace(o.text(t))})
		case bl.Kind == jsonl.KindText && m.Role == session.Assistant:
			text := strings.TrimSpace(o.text(t))
			if text == "" {
				continue
			}
			o.followed(quote(text), where)
			o.last = append(o.last, where+" "+quote(text))
		case bl.Kind == jsonl.KindToolUse:
			o.toolUse(bl, t, where)
		case bl.Kind == jsonl.KindToolResult && bl.IsError:
			tool := o.c.Conv.ToolName(bl.ID)
			if tool == "" {
				tool = "a tool"
			}
			o.waiting = append(o.waiting, len(o.errors))
			o.errors = append(o.errors, where+" "+tool+": "+quoteEnds(o.text(t)))
		}
	}
}

// summary takes up what an earlier compaction left: what it summarised is
// known from there alone.
func (o *outline) summary(id policy.ItemID) {
	var parts []string
	for b := range o.c.View.Blocks(id) {
		t := policy.Target{Item: id, Block: b}
		if c := o.c.View.Replacement(t); c != nil && c.Ref == nil && c.Text == "" && c.Tokens > 0 {
			parts = append(parts, fmt.Sprintf("(a stand-in of %d tokens)", c.Tokens))
		} else if text := strings.TrimSpace(bare(o.text(t))); text != "" {
			parts = append(parts, text)
		}
	}
	if len(parts) == 0 {
		return
	}
	text := strings.Join(parts, "\n")
	if r := []rune(text); len(r) > maxEarlier {
		const half = maxEarlier / 2
		text = fmt.Sprintf("%s\n(%d characters left out)\n%s", string(r[:half]), len(r)-2*half, string(r[len(r)-half:]))
	}
	o.earlier = append(o.earlier, "Earlier summary:\n"+indent(text))
}

// toolUse notes what a call did to files and tasks, and which failures it
// followed. A call that failed did nothing.
func (o *outline) toolUse(bl *session.Block, t policy.Target, where string) {
	what := bl.Name
	switch bl.Name {
	case "Read", "Write", "Edit", "MultiEdit", "NotebookEdit":
		var in struct {
			FilePath string `json:"file_path"`
			Notebook string `json:"notebook_path"`
		}
		if json.Unmarshal([]byte(o.text(t)), &in) != nil {
			break
		}
		path := in.FilePath
		if path == "" {
			path = in.Notebook
		}
		if path != "" {
			what += " " + path
			o.touch(path, bl, where)
		}
	case "TodoWrite", "TaskCreate", "TaskUpdate":
		if !o.failed[bl.ID] {
			o.plan(bl, t, where)
		}
	}
	o.followed(what, where)
}

func (o *outline) touch(path string, bl *session.Block, where string) {
	f := o.files[path]
	if f == nil {
		f = &touched{}
		o.files[path] = f
	}
	o.order++
	f.last, f.where = o.order, where
	switch {
	case o.failed[bl.ID]:
		f.failed++
	case bl.Name == "Read":
		f.read++
	case bl.Name == "Write":
		f.written++
	default:
		f.edited++
	}
}

// plan follows the lists of tasks.
func (o *outline) plan(bl *session.Block, t policy.Target, where string) {
	var in struct {
		Todos []struct {
			Content string `json:"content"`
			Status  string `json:"status"`
		} `json:"todos"`
		Subject string          `json:"subject"`
		TaskID  json.RawMessage `json:"taskId"` // a string, seldom a number
		Status  string          `json:"status"`
	}
	if json.Unmarshal([]byte(o.text(t)), &in) != nil {
		return
	}
	switch bl.Name {
	case "TodoWrite":
		o.todos = nil
		for _, d := range in.Todos {
			o.todos = append(o.todos, task{text: d.Content, status: d.Status, where: where})
		}
	case "TaskCreate":
		id, ok := o.named[bl.ID]
		if !ok {
			id = strconv.Itoa(len(o.tasks) + 1)
		}
		o.tasks = append(o.tasks, &task{id: id, text: in.Subject, status: "pending", where: where})
	case "TaskUpdate":
		id := strings.Trim(string(in.TaskID), `"`)
		if id == "" || id == "null" || in.Subject == "" && in.Status == "" {
			return
		}
		at := slices.IndexFunc(o.tasks, func(k *task) bool { return k.id == id })
		if at < 0 { // created before the view begins
			at = len(o.tasks)
			o.tasks = append(o.tasks, &task{id: id})
		}
		k := o.tasks[at]
		if in.Subject != "" {
			k.text, k.where = in.Subject, where
		}
		if in.Status != "" {
			k.status, k.changed = in.Status, where
		}
	}
}

// followed says of the failures that nothing has followed yet what did.
func (o *outline) followed(what, where string) {
	for _, e := range o.waiting {
		o.errors[e] += "; then: " + what + " " + where
	}
	o.waiting = o.waiting[:0]
}

func (o *outline) write() string {
	var b strings.Builder
	b.WriteString("<summary>\n")
	section := func(n int, title string, lines []string) {
		fmt.Fprintf(&b, "%d. %s:\n", n, title)
		if len(lines) == 0 {
			lines = []string{"N/A"}
		}
		for _, l := range lines {
			b.WriteString(indent(l) + "\n")
		}
		b.WriteString("\n")
	}
	intent := o.earlier
	if n := len(o.prompts); n > 0 {
		intent = append(intent, o.prompts[0].where+" "+quote(o.prompts[0].text))
		if n > 1 {
			intent = append(intent, "latest: "+o.prompts[n-1].where+" "+quote(o.prompts[n-1].text))
		}
	}
	said := make([]string, len(o.prompts))
	for i, p := range o.prompts {
		said[i] = "- " + p.where + " " + p.text
	}
	pending, current := o.taskLines()
	section(1, "Primary Request and Intent", intent)
	section(2, "Key Technical Concepts", nil)
	section(3, "Files and Code Sections", newest(o.fileLines()))
	section(4, "Errors and fixes", newest(o.errors))
	section(5, "Problem Solving", nil)
	section(6, "All user messages", said)
	section(7, "Pending Tasks", newest(pending))
	section(8, "Current Work", o.last[max(len(o.last)-maxWork, 0):])
	section(9, "Optional Next Step", newest(current))
	b.WriteString("</summary>")
	return b.String()
}

// newest is the end of a list that is too long.
func newest(lines []string) []string {
	over := len(lines) - maxLines
	if over <= 0 {
		return lines
	}
	return append([]string{fmt.Sprintf("(%d earlier lines left out)", over)}, lines[over:]...)
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
		failed := ""
		if f.failed > 0 {
			failed = fmt.Sprintf(", failed %d", f.failed)
		}
		lines[i] = fmt.Sprintf("- %s (read %d, written %d, edited %d%s; last %s)", p, f.read, f.written, f.edited, failed, f.where)
	}
	return lines
}

// taskLines are the open tasks, and those of them at work.
func (o *outline) taskLines() (pending, current []string) {
	list := slices.Clone(o.todos)
	for _, k := range o.tasks {
		list = append(list, *k)
	}
	for _, k := range list {
		line := "- " + k.where + " " + quote(k.text)
		if k.where == "" {
			line = "- task #" + k.id
		}
		if k.changed != "" {
			line += "; " + k.status + " " + k.changed
		}
		switch k.status {
		case "completed", "deleted":
		case "in_progress":
			current = append(current, line)
			fallthrough
		default:
			pending = append(pending, line)
		}
	}
	return pending, current
}

// pointer names a block by its line, so that a reader finds it.
func pointer(m *session.Message, bl *session.Block) string {
	if bl.Line > 0 {
		return fmt.Sprintf("[line %d]", bl.Line)
	}
	return fmt.Sprintf("[line %d]", m.Line)
}

func indent(s string) string { return "   " + strings.ReplaceAll(s, "\n", "\n   ") }

// quote is the beginning of a text on one line, in quotation marks.
func quote(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > maxQuoted {
		s = string(r[:maxQuoted]) + "…"
	}
	return `"` + s + `"`
}

// quoteEnds quotes the beginning and the end: an error often says at its end
// what went wrong.
func quoteEnds(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > maxQuoted {
		s = string(r[:maxQuoted/2]) + " … " + string(r[len(r)-maxQuoted/2:])
	}
	return `"` + s + `"`
}
