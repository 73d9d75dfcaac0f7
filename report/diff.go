package report

import (
	"fmt"
	"io"
	"strings"

	unified "github.com/rogpeppe/go-internal/diff"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/diff"
)

// DiffSchema is the version of the JSON form of a diff.
const DiffSchema = "ctxkit.diff/v1"

// NamedDiff is how two views of a conversation differ at one request, or what a
// policy changed from one request to another.
type NamedDiff struct {
	Schema  string `json:"schema"`
	Session string `json:"session"`
	Agent   string `json:"agent,omitempty"`
	File    string `json:"file"`
	Policy  string `json:"policy"`
	Against string `json:"against"`        // raw, another policy, or the same one if From is set
	From    int    `json:"from,omitempty"` // number of the earlier request
	Request int    `json:"request"`        // number of the main request; Of + 1 is the end of the file
	Of      int    `json:"requests"`       // how many main requests there are
	*diff.Diff
	Stat  []diff.Row  `json:"stat"`
	Edits []diff.Edit `json:"edits"` // all edits of the view, or those since From
}

// DiffLayout says how a diff is printed.
type DiffLayout struct {
	Layout
	Stat bool // sums alone
}

// NewNamedDiff returns a diff with the names of its conversation.
func NewNamedDiff(conv *session.Conversation, d *diff.Diff) *NamedDiff {
	return &NamedDiff{
		Schema: DiffSchema, Session: conv.SessionID, Agent: conv.Agent, File: conv.Path, Of: len(conv.Requests),
		Diff: d, Stat: d.Stat(), Edits: []diff.Edit{},
	}
}

// NewDiffs returns the printer of diffs.
func NewDiffs(w io.Writer, opt DiffLayout) Printer[*NamedDiff] {
	if opt.Format != FormatJSON {
		return &pagePrinter[*NamedDiff]{w: w, opt: opt.Layout, page: func(p *page, d *NamedDiff) {
			page := &diffPage{page: p, d: d}
			page.head()
			if !opt.Stat {
				page.messages()
			}
			page.stat()
		}}
	}
	return &jsonPrinter[*NamedDiff]{
		jsonStream: jsonStream{w: w, head: object{{"schema", DiffSchema}}, list: "diffs"},
		single:     !opt.Several,
		item: func(d *NamedDiff) any {
			if !opt.Stat {
				return d
			}
			out, sums := *d, *d.Diff
			sums.Messages = []diff.Message{}
			out.Diff, out.Edits = &sums, []diff.Edit{}
			return &out
		},
	}
}

// diffPage prints one diff.
type diffPage struct {
	*page
	d      *NamedDiff
	reason string // the last one printed
}

func (p *diffPage) left() string {
	if p.d.From > 0 {
		return "request " + thousands(p.d.From)
	}
	return p.d.Against
}

func (p *diffPage) right() string {
	if p.d.From > 0 {
		return requestName(p.d.Request, p.d.Of)
	}
	return p.d.Policy
}

func requestName(n, of int) string {
	if n > of {
		return "the end of the file"
	}
	return "request " + thousands(n)
}

func (p *diffPage) head() {
	d := p.d
	p.heading(sessionTitle(d.Session, d.Agent))
	what := fmt.Sprintf("%s to %s, at %s of %s", p.left(), p.right(), requestName(d.Request, d.Of), thousands(d.Of))
	if d.From > 0 {
		what = fmt.Sprintf("%s, %s to %s of %s", d.Policy, p.left(), p.right(), thousands(d.Of))
	}
	p.fields([2]string{"file", d.File}, [2]string{"diff", what})
	if d.From > 0 {
		p.note(bold, firstText(d.First))
	}
}

func firstText(f *diff.First) string {
	if f == nil {
		return "Nothing changed of what was sent: the cached prefix is reused."
	}
	where := ""
	if f.Line > 0 {
		where = fmt.Sprintf(", line %d", f.Line)
	}
	block := ""
	if f.Block >= 0 {
		block = fmt.Sprintf("block %d of ", f.Block)
	}
	return fmt.Sprintf("The first change is at %s%s%s: %s. %s of the %s tokens sent come before it and are unchanged.",
		block, f.About, where, sideText(&f.Side), thousands(f.Prefix), thousands(f.Sent))
}

// sideText describes how a view shows something, and the edit that made it so.
func sideText(s *diff.Side) string {
	if s.Stage == "" {
		return string(s.Status)
	}
	text := string(s.Status)
	if s.Server {
		text += " on the server"
	}
	text += " by " + s.Stage
	if s.Request > 0 {
		return text + " at request " + thousands(s.Request)
	}
	return text + " at the end"
}

// messages prints the messages that differ and counts the others.
func (p *diffPage) messages() {
	list := p.d.Messages
	for i := 0; i < len(list); {
		j := i + 1
		switch m := &list[i]; {
		case m.Same:
			for j < len(list) && list[j].Same {
				j++
			}
			p.unchanged(list[i:j])
		case m.Group > 0:
			for j < len(list) && !list[j].Same && list[j].Group == m.Group && list[j].Left.Status == m.Left.Status {
				j++
			}
			p.together(list[i:j])
		default:
			p.changed(m)
		}
		i = j
	}
}

func (p *diffPage) unchanged(list []diff.Message) {
	shown, gone, n := 0, 0, 0
	for i := range list {
		if list[i].Shown {
			shown++
		} else {
			gone++
		}
		n += list[i].Right.Tokens
	}
	var parts []string
	if shown > 0 {
		parts = append(parts, count(shown, "message")+" unchanged, "+thousands(n)+" tokens")
	}
	if gone > 0 {
		parts = append(parts, count(gone, "message")+" in neither view")
	}
	p.line("")
	p.line(p.paint(faint, "  "+strings.Join(parts, "; ")))
}

// shownGone is how many of the messages that one edit removed are listed at each end.
const shownGone = 5

// together prints messages that one edit removed.
func (p *diffPage) together(list []diff.Message) {
	n := 0
	for i := range list {
		n += list[i].Left.Tokens
	}
	m := &list[0]
	p.line("")
	p.cut(bold, "", fmt.Sprintf("- %s %s, %s tokens", count(len(list), "message"), p.sides(m), thousands(n)))
	p.because(m.Right.Reason)
	for i := range list {
		if hidden := len(list) - 2*shownGone; !p.Full && i >= shownGone && i < len(list)-shownGone && hidden > 1 {
			if i == shownGone {
				p.folded("  ", hidden, "message", 0)
			}
			continue
		}
		p.cut(red, "", fmt.Sprintf("- %s  %s tokens", title(&list[i]), thousands(list[i].Left.Tokens)))
	}
}

// sides describes a message in the right view, or in both if neither is raw.
func (p *diffPage) sides(m *diff.Message) string {
	if p.d.Against == againstRaw || p.d.From > 0 {
		return sideText(&m.Right)
	}
	return sideText(&m.Left) + " | " + sideText(&m.Right)
}

// againstRaw is the left side of a diff with no policy.
const againstRaw = "raw"

func (p *diffPage) because(reason string) {
	if reason == "" || reason == p.reason {
		return
	}
	p.reason = reason
	p.wrapped(faint, "  ", "  ", reason)
}

func title(m *diff.Message) string {
	s := m.Role + "  " + m.About
	if m.Line > 0 {
		s += fmt.Sprintf("  line %d", m.Line)
	}
	return Clean(s)
}

func (p *diffPage) changed(m *diff.Message) {
	mark, st := "~ ", yellow
	switch {
	case m.Left.Status == diff.Absent:
		mark, st = "+ ", green
	case m.Right.Status == diff.Absent:
		mark, st = "- ", red
	}
	p.line("")
	p.cut(st, "", fmt.Sprintf("%s%s  %s to %s tokens  %s", mark, title(m), thousands(m.Left.Tokens), thousands(m.Right.Tokens), p.sides(m)))
	p.because(m.Right.Reason)
	for i := range m.Blocks {
		p.block(&m.Blocks[i], len(m.Blocks) > 1)
	}
	if m.Text != "" {
		p.text(green, "", "+ ", m.Text, 1)
	}
}

// diffLines is how many lines of one block's diff are shown.
const diffLines = 16

// block prints the line diff of a changed block.
func (p *diffPage) block(b *diff.Block, named bool) {
	if named {
		p.cut(cyan, "  ", fmt.Sprintf("block %d, %s: %s", b.Index, b.Type, sideText(&b.Right)))
	}
	text := string(unified.Diff("left", lastLine(b.Before), "right", lastLine(b.Replacement)))
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) < 3 { // the same text
		return
	}
	// The first and the last lines: the old text and the new one.
	lines = lines[3:]
	head, tail := lines, lines[:0]
	if !p.Full && len(lines) > diffLines {
		head, tail = lines[:diffLines/2-1], lines[len(lines)-diffLines/2:]
	}
	for _, l := range head {
		p.diffLine(l)
	}
	p.folded("  ", len(lines)-len(head)-len(tail), "line", 0)
	for _, l := range tail {
		p.diffLine(l)
	}
}

func (p *diffPage) diffLine(l string) {
	st := map[byte]style{'+': green, '-': red, '@': cyan}[l[0]]
	p.line("  " + p.paint(st, cut(l[:1]+cleanLine(l[1:]), lineWidth-2)))
}

// lastLine ends a text with a newline, so that only its lines can differ.
func lastLine(s string) []byte {
	if s != "" && !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	return []byte(s)
}
